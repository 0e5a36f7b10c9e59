# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What plants of any engine share: control periods, command delay, drives, sensors, the hash."""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robot_dynamics.errors import ArgumentError
from robot_dynamics.manipulation.grasp_map import GraspMap, transmitted_force_map
from robot_dynamics.manipulation.system import GraspSystem
from robot_dynamics.simulation.faults import Faults
from robot_dynamics.simulation.plant import Measurement, Truth
from robot_dynamics.simulation.sensors import CommandDelay, Sensors
from robot_dynamics.simulation.settings import PlantSettings
from robot_dynamics.simulation.step import Drives

Array = NDArray[np.float64]


class PeriodicPlant(ABC):
    """A plant that an engine moves, one control period at a time.

    An engine says how it returns to the start, how it moves under a torque, and what its state is;
    it calls `reset` at the end of its own constructor.

    Attributes:
        faults: What goes wrong.

    Args:
        system: Arms, object and grasps as they truly are.
        start: Positions (nq,) of the start, grasps closed.
        period: Control period [s].
        settings: Step, delay, friction, sensors.
        grasp_map: What is meant by the internal force; by default the wrench transmitted through
            the object.
    """

    def __init__(
        self,
        system: GraspSystem,
        start: Array,
        period: float,
        settings: PlantSettings,
        grasp_map: GraspMap | None = None,
    ) -> None:
        self.system, self.period = system, period
        self.drives = drives_of(system, settings)
        shares = [arm.load_share for arm in system.arms]
        self._map = grasp_map or transmitted_force_map(system.grasps, shares)
        self._start = np.array(start, dtype=float)
        self._passive_joints = np.zeros(len(self.drives.effort) - len(system.joint_names))
        self._delay = CommandDelay(settings.command_delay_periods)
        self._arms = dict(zip([arm.name for arm in system.arms], system.arm_slices, strict=True))
        self.faults = Faults(tuple(self._arms), settings.faults, period)
        self._sensors = Sensors(settings.sensors, settings.seed, self._arms, self.faults)

    def reset(self) -> Measurement:
        """Return to the start at rest, brakes on."""
        self._tick = 0
        self._torque = np.zeros(len(self.system.joint_names))
        self._begin()
        self._hash = hashlib.sha256()
        self._delay.reset()
        self.faults.reset()
        self._sensors.reset()
        return self._measurement()

    def step(self, torque: Array) -> Measurement:
        """Advance by one control period; see `Plant`.

        Raises:
            ArgumentError: If the torque has the wrong shape or is not finite.
        """
        applied = self._delay.push(checked_torque(torque, self._torque.shape))
        if applied is not None:  # else the brakes still hold
            effort = self.drives.effort[: len(applied)]
            self._torque = np.minimum(np.maximum(applied, -effort), effort)
            for arm, own in self._arms.items():
                if self.faults.is_on("torque_dropout", arm):
                    self._torque[own] = 0.0
            self._run(np.concatenate([self._torque, self._passive_joints]))
        self._tick += 1
        self.faults.move(self._tick)
        self._hash.update(self._state())
        return self._measurement()

    @abstractmethod
    def truth(self) -> Truth:
        """Return the present true state."""

    def passive_joints(self) -> tuple[Array, Array]:
        """Return true positions and velocities of the joints without drives, if there are any."""
        return np.zeros(0), np.zeros(0)

    def contacts(self) -> tuple[Any, ...]:
        """Return a `contact.ContactReport` of each contact; none where nothing can open."""
        return ()

    def state_hash(self) -> str:
        """Return a SHA-256 over the states of all control instants since `reset`."""
        return self._hash.hexdigest()

    @abstractmethod
    def _begin(self) -> None:
        """Take the engine to the start."""

    @abstractmethod
    def _run(self, torque: Array) -> None:
        """Move the engine by one control period under limited torques, ordered as `drives`."""

    @abstractmethod
    def _state(self) -> bytes:
        """Return the engine's state."""

    @abstractmethod
    def _seen(self) -> tuple[Array, Array, Array]:
        """Return true positions and velocities of the arm joints, and grasp wrenches (k, 6)."""

    def _measurement(self) -> Measurement:
        true = Measurement(self._tick, self._tick * self.period, *self._seen())
        return self._sensors.measure(true)


def drives_of(system: GraspSystem, settings: PlantSettings) -> Drives:
    """Return the drives of a system's arm joints with the friction of their descriptions.

    After them stand the joints of arms with loops that have none: friction, and no torque.
    """
    model, names = system.model, (*system.joint_names, *system.passive_joint_names)
    at = [model.joint_index(name) for name in names]
    joints = [model.bodies[i].joint for i in at]
    effort = np.zeros(len(names))
    driven = len(system.joint_names)
    effort[:driven] = system.limits["effort"] if settings.torque_limit else np.inf
    return Drives(
        v_index=np.array([model.v_slices[i].start for i in at], dtype=np.intp),
        effort=effort,
        damping=settings.damping_scale * np.array([joint.damping for joint in joints]),
        friction=settings.friction_scale * np.array([joint.friction for joint in joints]),
        friction_velocity=settings.friction_velocity,
    )


def checked_torque(torque: Array, shape: tuple[int, ...]) -> Array:
    """Return a copy of a torque command.

    Raises:
        ArgumentError: If its shape is wrong or an entry is not finite.
    """
    values = np.array(torque, dtype=float)
    if values.shape != shape:
        raise ArgumentError(f"torque has shape {values.shape}, expected {shape}.")
    if not np.isfinite(values).all():
        raise ArgumentError("torque has entries that are not finite.")
    return values
