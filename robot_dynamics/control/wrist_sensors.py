# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Offsets of wrist sensors and the weight of the tools that they carry, subtracted."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics.arrays import Array
from robot_dynamics.control.faults import SafetyError
from robot_dynamics.dynamics.kinematics import body_transforms, joint_transforms
from robot_dynamics.errors import ArgumentError
from robot_dynamics.manipulation.system import GraspSystem
from robot_dynamics.manipulation.wrist_sensors import SensorFrames, ToolWeights
from robot_dynamics.model import pose_of

_HELD = 0.5  # of the object's weight, within which what sensors carry together is the object
# A force along gravity counts as an object up to so many times as heavy; its part across gravity
# is smaller than this part of it.
_HEAVIEST, _UPRIGHT = 4.0, 0.1


class WristSensors:
    """Grasp wrenches from measurements of wrist sensors.

    Attributes:
        offset: Measurements of sensors that carry only their tools (k, 6), less the weight of
            these; zero until they are tared.
        tared: Whether they were tared.
        frames: Frames in which wrenches can be measured.

    Args:
        system: Arms and object according to the model.
    """

    def __init__(self, system: GraspSystem) -> None:
        self._system, self._weights = system, ToolWeights(system)
        self.frames = SensorFrames(system)
        self.offset = np.zeros((len(system.arms), 6))
        self.tared = False

    def grasp_wrenches(self, q: Array, measured: Array) -> Array:
        """Return the wrenches by the arms on the object (k, 6), in tool frames.

        Args:
            q: Positions of the arm joints (na,).
            measured: Measured wrenches (k, 6); returned itself if there is nothing to subtract.
        """
        if self._weights.any:
            measured = measured - self._weights.wrenches(q)
        return measured - self.offset if self.tared else measured

    def tare(self, q: Array, measured: ArrayLike) -> None:
        """Set the offsets to the present measurements.

        Args:
            q: Positions of the arm joints (na,).
            measured: Measured wrenches (k, 6), the mean over some time.

        Raises:
            ArgumentError: If the shape is wrong, or a number is not finite.
            SafetyError: If the sensors together carry the object.
        """
        wrenches = np.array(measured, dtype=float)
        if wrenches.shape != self.offset.shape or not np.isfinite(wrenches).all():
            raise ArgumentError(
                f"wrenches to tare by of shape {wrenches.shape}; expected finite numbers of shape "
                f"{self.offset.shape}."
            )
        offset = wrenches - self._weights.wrenches(q)
        self._require_free(q, offset)
        self.offset, self.tared = offset, True

    def _require_free(self, q: Array, wrenches: Array) -> None:
        """Refuse to tare by wrenches (k, 6) that together carry the object."""
        system = self._system
        model = system.model
        weight = -system.object_mass * np.array(model.gravity, dtype=float)
        X0 = body_transforms(model, joint_transforms(model, system.positions(q).tolist()))
        carried = np.zeros(3)
        for arm, wrench in zip(system.arms, wrenches, strict=True):
            loop = model.loops[arm.loop]
            tool = pose_of(loop.predecessor_placement.compose(X0[loop.predecessor]))
            carried += tool[:3, :3] @ wrench[3:]
        heavy = float(np.linalg.norm(weight))
        if heavy == 0.0:
            return
        along = float(carried @ weight) / heavy
        upright = np.linalg.norm(carried - along * weight / heavy) < _UPRIGHT * along
        heavier = upright and _HELD * heavy < along < _HEAVIEST * heavy
        if heavier or np.linalg.norm(carried - weight) < _HELD * heavy:
            raise SafetyError(
                f"taring refused: the wrist sensors carry {np.linalg.norm(carried):.3g} N "
                f"together, and the object weighs {heavy:.3g} N; expected sensors that carry "
                "nothing but the tools of `sensor_tool`, before the grasp."
            )
