# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Measurements of sensors other than the arms' own: checks, and their place in the kernel."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics.arrays import Array
from robot_dynamics.control.hybrid.law_inputs import Layout
from robot_dynamics.control.reference import POSE, TWIST
from robot_dynamics.dynamics.arguments import finite_vector
from robot_dynamics.errors import ArgumentError


class SensorInputs:
    """Inputs of the kernel from sensors: their existence, and measured values.

    Args:
        layout: Positions of the parts of inputs.
        pose: Pose of the object until one is measured (7,).
        senses: Whether the kernel takes pose and twist of the object.

    Attributes:
        with_wrenches: The input `sensors` with measured grasp wrenches.
        without_wrenches: The same without them.
        with_estimates: The same with grasp wrenches that torques tell, for the payload alone.
        no_wrenches: Grasp wrenches without sensors (k, 6).
        more: Pose and twist of the object (13,), if the kernel takes them.
    """

    def __init__(self, layout: Layout, pose: Array, *, senses: bool) -> None:
        self._at = layout.sensors
        self.with_wrenches = np.zeros(Layout.size(self._at))
        self.without_wrenches = self.with_wrenches.copy()
        self.with_estimates = self.with_wrenches.copy()
        self.with_wrenches[self._at["wrenches"]] = 1.0
        for sensors in (self.with_wrenches, self.with_estimates):
            sensors[self._at["payload"]] = 1.0
        self.no_wrenches = np.zeros((layout.arms, 6))
        self._object = np.concatenate([pose, np.zeros(6)])
        self.more = (self._object,) if senses else ()

    def take(
        self, pose: ArrayLike | None, twist: ArrayLike | None, contact_force: ArrayLike | None
    ) -> None:
        """Take measurements for the steps that follow; see `SensesObject.sense`.

        Raises:
            ArgumentError: If one has a wrong shape or is not finite, or the quaternion is zero;
                no measurement is taken then.
        """
        at = self._at
        count = at["forces"].stop - at["forces"].start
        unit = None if pose is None else unit_pose(pose)
        moving = None if twist is None else finite_vector("twist", twist, 6)
        pushed = (
            None if contact_force is None else finite_vector("contact_force", contact_force, count)
        )
        if unit is not None:
            self._object[POSE] = unit
        if moving is not None:
            self._object[TWIST] = moving
        for sensors in (self.with_wrenches, self.without_wrenches, self.with_estimates):
            sensors[at["contact"]] = pushed is not None
            sensors[at["forces"]] = 0.0 if pushed is None else pushed


def unit_pose(values: ArrayLike) -> Array:
    """Return a pose x y z qx qy qz qw (7,) with a quaternion of unit length.

    Raises:
        ArgumentError: As `finite_vector`; or if the quaternion is zero.
    """
    pose = finite_vector("pose", values, 7).copy()
    largest = np.abs(pose[3:]).max()
    if largest == 0.0:
        raise ArgumentError("pose has a quaternion of zeros, expected one of unit length.")
    pose[3:] /= largest  # squares of what is left neither overflow nor vanish
    pose[3:] /= np.linalg.norm(pose[3:])
    return pose
