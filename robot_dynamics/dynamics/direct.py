# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Closed-loop forward dynamics in one system of equations (8.36), method 1 of section 8.5.

The matrix is symmetric and indefinite, and singular if constraints are redundant. Redundant ones
are removed first: the independent constraints are orthonormal rows of the matrix, so that nearly
dependent ones cost no digits in its factors. It needs no inverse of H, and therefore also works
for parts without inertia, if every motion that the loops allow moves some inertia.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import lapack

from robot_dynamics.arrays import Array
from robot_dynamics.dynamics.rank import ConstraintRank
from robot_dynamics.dynamics.redundant import ConstrainedMotion, motion_of
from robot_dynamics.errors import RobotDynamicsError

# Reciprocal condition below which the matrix is singular to working precision.
_SINGULAR = 1e-15


def direct_solution(
    ranked: ConstraintRank, H: Array, force: Array, K: Array, k: Array
) -> ConstrainedMotion:
    """Solve `[[H, K^T], [K, 0]] [qdd; -lambda] = [force; k]` in one system.

    Args:
        ranked: The rank of K: combinations of rows that do not act are left out.
        H: Inertia matrix (nv, nv); it may be singular.
        force: tau - C (nv,).
        K: Constraint Jacobian (n^c, nv).
        k: Right-hand side (n^c,), stabilisation included.

    Raises:
        RobotDynamicsError: If the matrix is singular: a motion that the loops allow has no
            inertia.
    """
    n, rank = len(H), ranked.rank
    # Displacements instead of angles, and inertias of size one beside ratios of distances.
    unit = 1.0 / ranked.column_scales
    scaled = H * unit[:, None] * unit
    size = float(np.mean(np.diag(scaled))) or 1.0
    # J x = U S V^T x = scaled k, in the least-squares sense if it is contradictory. It divides
    # once by singular values; rows of J would divide by their squares.
    matrix = np.zeros((n + rank,) * 2)
    matrix[:n, :n], matrix[:n, n:], matrix[n:, :n] = scaled / size, ranked.V, ranked.V.T
    b = ranked.U.T @ (ranked.row_scales * k) / ranked.s
    right = np.concatenate([force * unit / size, b])
    x = _symmetric_solution(matrix, right)
    if x is None:
        raise RobotDynamicsError(
            "the loops allow a motion without inertia: its acceleration is not determined."
        )
    multipliers = ranked.row_scales * (ranked.U @ (-size * x[n:] / ranked.s))
    return motion_of(ranked, K, k, x[:n] * unit, multipliers)


def _symmetric_solution(matrix: Array, right: Array) -> Array | None:
    """Return the solution by L D L^T with pivoting and one refinement; None if it is singular."""
    factors, order, failed = lapack.dsytrf(matrix, lower=1)
    if failed:
        return None
    condition, _ = lapack.dsycon(factors, order, np.linalg.norm(matrix, 1), lower=1)
    if not condition > _SINGULAR:
        return None
    x, _ = lapack.dsytrs(factors, order, right, lower=1)
    correction, _ = lapack.dsytrs(factors, order, right - matrix @ x, lower=1)
    return np.asarray(x + correction)
