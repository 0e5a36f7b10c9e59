# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Forward dynamics by the paper's Table I, through the closed chain, step by step."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from robot_dynamics.arrays import Array
from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.reproductions.unified.system import UnifiedTerms

# Relative eigenvalue of H below which end-effectors cannot be moved in a direction.
_SINGULAR = 1e-12


@dataclass(frozen=True)
class UnifiedMotion:
    """Results of Table I.

    Attributes:
        open_acceleration: Accelerations of the end-effectors without the object (6m,) (44).
        object_acceleration: V_dot_o (6,), spatial, in the object's frame (49).
        grasp_wrenches: f_e (6m,), by the end-effectors on the object, in their frames (47).
        joint_accelerations: Accelerations of the driven joints (a,) (28).
        following_accelerations: Accelerations of base and passive joints (p,).
    """

    open_acceleration: Array
    object_acceleration: Array
    grasp_wrenches: Array
    joint_accelerations: Array
    following_accelerations: Array


def forward_dynamics(
    terms: UnifiedTerms, torque: Array, force: Array | None = None
) -> UnifiedMotion:
    """Return all accelerations and the grasp wrenches.

    Args:
        terms: The system at its state.
        torque: Torques of the drives (a,).
        force: Forces on base and passive joints (p,), for example of thrusters; zero by default.

    Raises:
        RobotDynamicsError: If the end-effectors cannot move in some direction, in which forces are
            not determined; the closed-loop engine still computes the motion.
    """
    parts, held = terms.parts, terms.held
    force = np.zeros(len(parts.C_p)) if force is None else np.asarray(force, dtype=float)
    torque = np.asarray(torque, dtype=float)
    # Step 1
    open_acceleration = parts.open_acceleration(torque, force)
    object_acceleration: Array = np.zeros(6)
    f_e: Array = np.zeros(len(open_acceleration))
    if held is not None:
        H, W = parts.H, held.W
        sizes = np.linalg.eigvalsh(H)
        if not sizes[0] > _SINGULAR * sizes[-1]:
            raise RobotDynamicsError(
                "the Jacobian of the end-effectors is rank-deficient at these positions; expected "
                f"rank {len(H)}, for which the grasp wrenches are determined."
            )
        # Step 2: (49); printed with the inverse of M_o and without W^T
        push = np.linalg.solve(H, open_acceleration)
        felt = held.M_o + W.T @ np.linalg.solve(H, W)
        object_acceleration = np.asarray(np.linalg.solve(felt, W.T @ push - held.b_o))
        # Step 3: (47)
        f_e = np.asarray(np.linalg.solve(H, open_acceleration - W @ object_acceleration))
    # Step 4
    qdd = parts.joint_accelerations(torque, force, f_e)
    following = parts.following_accelerations(force, f_e, qdd)
    return UnifiedMotion(open_acceleration, object_acceleration, f_e, qdd, following)
