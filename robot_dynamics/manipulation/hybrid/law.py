# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The linearising law (32) to (37): motion, contact force and internal force, decoupled."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.manipulation.hybrid.force_distribution import ForceDistribution
from robot_dynamics.manipulation.hybrid.system import HybridTerms

Array = NDArray[np.float64]

_SINGULAR = 1e-9


@dataclass(frozen=True)
class HybridTorque:
    """The torques of the law and what they are to bring about.

    Attributes:
        torque: tau (n,) (32).
        qdd: Joint accelerations (n,) (34).
        object_acceleration: Rate of the object's twist (6,) (35).
        contact_forces: F_hS (d,) (37).
    """

    torque: Array
    qdd: Array
    object_acceleration: Array
    contact_forces: Array


def hybrid_torque(
    terms: HybridTerms,
    rotation: Array,
    distribution: ForceDistribution,
    motion: Array,
    contact_force: Array,
    internal_force: Array,
    joint_motion: Array | None = None,
) -> HybridTorque:
    """Return the torques for which s accelerates at u1, f_F = u2 and f_IS = u3, model permitting.

    Args:
        terms: The system at its state.
        rotation: Orientation of the object (3, 3), in whose axes the distribution is.
        distribution: Sharing of forces.
        motion: u1 (6 - C,).
        contact_force: u2 (C,).
        internal_force: u3 (m,).
        joint_motion: Accelerations (n,) that arms with freedom to spare follow (the paper's d_q);
            zero by default.

    Raises:
        RobotDynamicsError: If an arm cannot make all velocities that its contact blocks.
    """
    wanted = terms.environment.acceleration(np.asarray(motion))
    # The general form of (34): S^T J need only have full row rank, J itself need not, so that
    # fingers with three joints are served as well. In the metric of the arms' inertia.
    free = np.zeros(len(terms.h)) if joint_motion is None else np.asarray(joint_motion)
    J = terms.J_S
    lower = np.linalg.cholesky(terms.M)
    half = np.linalg.solve(lower, J.T)  # L^-1 J^T
    A = half.T @ half
    sizes = np.linalg.eigvalsh(A)
    if not sizes[0] > _SINGULAR**2 * sizes[-1]:
        raise RobotDynamicsError(
            "an arm is at a singularity: it cannot make all velocities that its contact blocks."
        )
    rest = terms.W_S.T @ wanted + terms.drift - J @ free
    push = np.linalg.solve(A, rest)
    qdd = free + np.linalg.solve(lower.T, half @ push)
    # (37), in the object's axes
    needed = terms.I_B @ wanted + terms.Q_B + terms.environment.E_F.T @ contact_force
    own = np.concatenate([rotation.T @ needed[:3], rotation.T @ needed[3:]])
    forces = distribution.contact_forces(own, np.asarray(internal_force))
    torque = terms.M @ qdd + terms.h + J.T @ forces  # (32), (33), (36)
    return HybridTorque(torque, qdd, wanted, forces)
