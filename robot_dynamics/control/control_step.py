# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What a step of the coordinated controller is."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

_NONE: Array = np.zeros(0)

_SUPPORT_TORQUE_RATIO = 3  # in ControlStep.scales: the largest support over its limit


class ControlStep(NamedTuple):
    """What one control step commands and what it found out; arrays over arm joints are (na,).

    Attributes:
        torque: The command [N m].
        memory: Integrals and last torque, for the next step.
        pose: Estimated pose of the object, x y z qx qy qz qw in the world (7,).
        twist: Its estimated angular velocity and velocity, world axes (6,).
        error: Rotation vector and displacement from it to the reference, world axes (6,).
        closure: Disagreement of the other arms with the first about the pose (6(k-1),).
        internal_force: Measured internal force (6(k-1),).
        support: The part of the torque that holds everything up.
        scales: Let through of the internal force and of the motion, of the torque's change, then
            the largest support over its limit and the smallest relative pivot of the arms (5,).
        reference: The row of the reference that was followed.
    """

    torque: Array
    memory: Array
    pose: Array
    twist: Array
    error: Array
    closure: Array
    internal_force: Array
    support: Array
    scales: Array
    reference: Array

    @property
    def task_scale(self) -> float:
        """The smallest part of the task that limits let through, from 0 to 1."""
        return float(min(self.scales[:_SUPPORT_TORQUE_RATIO].tolist()))

    @property
    def support_torque_ratio(self) -> float:
        """The largest support over its limit."""
        return float(self.scales[_SUPPORT_TORQUE_RATIO])

    @property
    def poses(self) -> tuple[Array]:
        """The pose of the object, which is one body."""
        return (self.pose,)

    @property
    def contact_force(self) -> Array:
        """None: there are no surfaces."""
        return _NONE

    @property
    def slip_margins(self) -> Array:
        """None: rigid grasps do not slip."""
        return _NONE

    def held_body_wrenches(self) -> None:
        """Return nothing: the law does not tell."""

    @property
    def recorded(self) -> tuple[Array, ...]:
        """The values of the columns of `step_columns`."""
        return self.pose, self.twist, self.closure, self.internal_force, self.scales


def step_columns(force: int) -> dict[str, int]:
    """Return the columns that a step adds to a recording, and how wide they are.

    Args:
        force: Numbers of the internal force, 6(k-1).
    """
    return {
        "estimated_pose": 7,
        "estimated_twist": 6,
        "estimated_closure": force,
        "estimated_internal_force": force,
        "control_scales": 5,
    }
