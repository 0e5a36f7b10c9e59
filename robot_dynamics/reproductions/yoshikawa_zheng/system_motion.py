# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Motion and forces by Yoshikawa and Zheng's system equation K X = B (31)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from robot_dynamics.arrays import Array
from robot_dynamics.dynamics.arguments import finite_vector
from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.manipulation.hybrid import HybridTerms, system_matrix

_SINGULAR = 1e-12


@dataclass(frozen=True)
class HybridMotion:
    """The solution X.

    Attributes:
        qdd: Joint accelerations (n,).
        object_acceleration: Rate of the object's twist (6,), world axes.
        contact_forces: F_hS (d,), by the arms on the object.
        surface_forces: f_F (C,), by the object on the surfaces; positive where it presses.
    """

    qdd: Array
    object_acceleration: Array
    contact_forces: Array
    surface_forces: Array


def right_side(terms: HybridTerms, torque: Array) -> Array:
    """Return B: b1 to b4 of (24) to (30)."""
    return np.concatenate(
        [torque - terms.h, -terms.Q_B, terms.drift, -terms.environment.E_F_dot_v]
    )


def system_motion(terms: HybridTerms, torque: Array) -> HybridMotion:
    """Return motion and forces under joint torques (n,).

    All contacts and surfaces hold; unilateral ones are not checked.

    Raises:
        ArgumentError: If the torques have the wrong shape or are not finite.
        RobotDynamicsError: If K is singular: an arm cannot make all velocities that its contact
            blocks, or surfaces depend on one another.
    """
    K = system_matrix(terms)
    # Equilibrated, so that the test does not depend on units.
    scale = 1.0 / np.sqrt(np.maximum(np.abs(K).max(axis=1), 1e-300))
    scaled = scale[:, None] * K * scale
    sizes = np.linalg.svd(scaled, compute_uv=False)
    if not sizes[-1] > _SINGULAR * sizes[0]:
        raise RobotDynamicsError(
            "the system equation is singular: an arm cannot move in all directions that its "
            "contact blocks, or surfaces are dependent; expected determined contact forces."
        )
    X = scale * np.linalg.solve(
        scaled, scale * right_side(terms, finite_vector("torque", torque, len(terms.h)))
    )
    n, d = len(terms.h), len(terms.drift)
    return HybridMotion(X[:n], X[n : n + 6], X[n + 6 : n + 6 + d], X[n + 6 + d :])
