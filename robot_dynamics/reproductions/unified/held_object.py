# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The object and its grip matrix, (29) to (35)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from robot_dynamics.arrays import Array


@dataclass(frozen=True)
class HeldObjectTerms:
    """M_o V_dot_o + b_o = W^T f_e (32), (33), in the object's frame.

    Attributes:
        M_o: Spatial inertia (6, 6).
        b_o: Bias (6,), gravity included.
        W: Grip matrix (6m, 6): V_e = W V_o (34); constant, since the grasps are rigid.
    """

    M_o: Array
    b_o: Array
    W: Array

    def needed(self, acceleration: Array) -> Array:
        """Return the wrench W^T f_e (6,) of a spatial acceleration V_dot_o (6,)."""
        return self.M_o @ acceleration + self.b_o

    def grasp_wrenches(self, acceleration: Array, length: float, internal: Array) -> Array:
        """Return grasp wrenches f_e (6m,) of an acceleration and a chosen internal part.

        Args:
            acceleration: V_dot_o (6,).
            length: Length [m] at which a moment counts like a force; the wrenches are the least
                in that sense.
            internal: Wrenches (6m,), of which the part that moves the object is removed.
        """
        scale = np.tile([1.0 / length] * 3 + [1.0] * 3, len(self.W) // 6)
        spread = np.linalg.pinv(self.W.T / scale) / scale[:, None]  # of the scaled wrenches
        return np.asarray(spread @ (self.needed(acceleration) - self.W.T @ internal) + internal)


def grip_matrix(grasps: Sequence[Array]) -> Array:
    """Return W (6m, 6), from the object's velocity to the end-effectors' velocities.

    The blocks are velocity transforms from object to end-effector; the printed (30), (31) have the
    opposite direction.

    Args:
        grasps: Pose (4, 4) of each end-effector's frame in the object's.
    """
    blocks = []
    for grasp in grasps:
        to_effector, (x, y, z) = grasp[:3, :3].T, grasp[:3, 3]
        arm = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
        zero = np.zeros((3, 3))
        blocks.append(np.block([[to_effector, zero], [-to_effector @ arm, to_effector]]))
    return np.vstack(blocks)
