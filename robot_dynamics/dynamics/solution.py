# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The methods of solving closed-loop dynamics (section 8.5) by name, and an automatic choice.

All solve the same equations with the same definition of rank, and return the same accelerations
and multipliers, of least norm with redundant constraints.
"""

from __future__ import annotations

import numpy as np

from robot_dynamics.arrays import Array
from robot_dynamics.dynamics.direct import direct_solution
from robot_dynamics.dynamics.full_rank import SMALLEST_PIVOT
from robot_dynamics.dynamics.independent import independent_accelerations, independent_form
from robot_dynamics.dynamics.rank import ConstraintRank
from robot_dynamics.dynamics.redundant import (
    ConstrainedMotion,
    least_multipliers,
    motion_of,
    rank_revealing_solution,
    require_finite,
)
from robot_dynamics.errors import RobotDynamicsError, UnknownNameError
from robot_dynamics.model import Model

DIRECT = "direct"
MULTIPLIERS_FIRST = "multipliers first"
INDEPENDENT_FIRST = "independent accelerations first"
AUTO = "auto"
MAXIMAL = "maximal coordinates"
#: The methods that start from H, C, K and k.
OF_TERMS = (AUTO, DIRECT, MULTIPLIERS_FIRST, INDEPENDENT_FIRST)
#: All methods, including the one that does not compute H (see `maximal_coordinates`).
METHODS = (*OF_TERMS, MAXIMAL)


def solution(
    model: Model,
    ranked: ConstraintRank,
    H: Array,
    force: Array,
    K: Array,
    k: Array,
    method: str = AUTO,
) -> ConstrainedMotion:
    """Solve `[[H, K^T], [K, 0]] [qdd; -lambda] = [force; k]` at any rank of K.

    Args:
        model: The mechanism.
        ranked: The rank of K.
        H: Inertia matrix (nv, nv).
        force: tau - C (nv,).
        K: Constraint Jacobian (n^c, nv).
        k: Right-hand side (n^c,), stabilisation included.
        method: One of `OF_TERMS`. "auto" solves for multipliers first, or for independent
            accelerations first if H is singular because parts have no inertia.

    Raises:
        UnknownNameError: If there is no such method.
        RobotDynamicsError: If a number is not finite, or a part without inertia needs another
            method.
    """
    if method not in OF_TERMS:
        raise UnknownNameError("method", method, OF_TERMS)
    require_finite(H, force, K, k)
    if method == AUTO:
        method = MULTIPLIERS_FIRST if _has_inertia(H) else INDEPENDENT_FIRST
    if method == DIRECT:
        return direct_solution(ranked, H, force, K, k)
    if method == MULTIPLIERS_FIRST:
        return rank_revealing_solution(model, H, force, K, k, ranked=ranked)
    try:
        form = independent_form(model, K, k, ranked)
        qdd = independent_accelerations(model, form, H, force)
    except np.linalg.LinAlgError as error:
        bare = [body.name for body in model.bodies if not any(body.inertia.components())]
        lacking = f"; expected mass on link {' or '.join(map(repr, bare))}" if bare else ""
        raise RobotDynamicsError(
            "the loops allow a motion without inertia: its acceleration is not "
            f"determined{lacking}."
        ) from error
    return motion_of(ranked, K, k, qdd, least_multipliers(ranked, H @ qdd - force))


def _has_inertia(H: Array) -> bool:
    """Return whether the relative pivots of H leave the accuracy that full rank needs."""
    diagonal = np.diagonal(H)
    if not np.all(diagonal > 0.0):
        return False
    size = np.sqrt(diagonal)
    try:
        # Backwards, as `factor` eliminates: the squares are D_ii / H_ii of its factors.
        lower = np.linalg.cholesky((H / np.outer(size, size))[::-1, ::-1])
    except np.linalg.LinAlgError:
        return False
    return bool(np.all(np.diagonal(lower) ** 2 >= SMALLEST_PIVOT))
