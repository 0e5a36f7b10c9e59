# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Closed-loop forward dynamics with constraints that are, or may be, redundant.

Decisions about rank depend on numbers, so this is NumPy code on top of the traced terms. The
accelerations are unique for any rank. The returned multipliers have the least norm; redundant
constraints and undetermined multipliers are named.

With J = U S V^T, the constraints as ratios of distances (see `rank`), K qdd = k says that
V^T x = S^-1 U^T (scaled k) for the scaled accelerations x. These r equations are as well
conditioned as the inertia allows, also for nearly dependent constraints: singular values divide
once, and are not squared as in K H^-1 K^T.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular

from robot_dynamics.arrays import Array
from robot_dynamics.dynamics.rank import ConstraintRank, constraint_rank
from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.model import Model


@dataclass(frozen=True)
class ConstrainedMotion:
    """Accelerations of a closed-loop system, constraint forces, and whether they are determined.

    Attributes:
        qdd: Accelerations (nv,); unique.
        multipliers: Constraint forces lambda (n^c,) in the directions of T [N m, N]. If they are
            not unique, they have the least sum of squares, with moments divided by `length`.
        rank: Number of independent constraints.
        redundant: Names of the constraints that the others imply, as "loop.direction".
        determined: Whether each multiplier is unique (n^c,).
        undetermined: Names of the constraints whose multipliers are not unique: changes of these
            do not affect the motion.
        residual: Largest entry of K qdd - k [rad/s^2, m/s^2].
        closure_error: Largest closure error of the loops [m], rotations at `length`.
        tolerance: Least strength of a constraint that counts, as a ratio of distances; from
            closure error, rounding and `length` (see `dynamics.rank`).
        conditioning: Strength of the weakest constraint that counts; None without constraints.
        length: The length [m] that makes moments and forces, rotations and displacements
            comparable.
    """

    qdd: Array
    multipliers: Array
    rank: int
    redundant: tuple[str, ...]
    determined: NDArray[np.bool_]
    undetermined: tuple[str, ...]
    residual: float
    closure_error: float
    tolerance: float
    conditioning: float | None
    length: float


def rank_revealing_solution(
    model: Model,
    H: Array,
    force: Array,
    K: Array,
    k: Array,
    *,
    ranked: ConstraintRank | None = None,
) -> ConstrainedMotion:
    """Solve `[[H, K^T], [K, 0]] [qdd; -lambda] = [force; k]` at any rank of K.

    With a small closure error redundant constraints contradict each other slightly: they are then
    satisfied in the least-squares sense.

    Args:
        model: The mechanism, for the names of its constraints.
        H: Inertia matrix (nv, nv).
        force: tau - C (nv,).
        K: Constraint Jacobian (n^c, nv).
        k: Right-hand side (n^c,), stabilisation included.
        ranked: The rank of K, from `constraint_rank`; by default the rank for closed loops.

    Raises:
        RobotDynamicsError: If a number is not finite or H is not positive definite.
    """
    require_finite(H, force, K, k)
    try:
        lower = np.linalg.cholesky(H)
    except np.linalg.LinAlgError as error:
        raise RobotDynamicsError(
            "the joint-space inertia matrix is not positive definite: a moving body has no "
            "inertia."
        ) from error
    ranked = constraint_rank(model, K) if ranked is None else ranked
    # B qdd = b are the constraints without noise; in the metric of H its rows are Y.
    B = ranked.V.T * ranked.column_scales
    b = ranked.U.T @ (ranked.row_scales * k) / ranked.s
    Y = solve_triangular(lower, B.T, lower=True)
    pushed = solve_triangular(lower, force, lower=True)
    # L^T qdd is the point nearest to L^-1 force among those that satisfy the constraints.
    Q, R = np.linalg.qr(Y)
    along = solve_triangular(R, b, trans="T")
    half = pushed + Q @ (along - Q.T @ pushed)
    of_rows = solve_triangular(R, along - Q.T @ pushed)
    qdd = solve_triangular(lower, half, lower=True, trans="T")
    multipliers = ranked.row_scales * (ranked.U @ (of_rows / ranked.s))
    return motion_of(ranked, K, k, qdd, multipliers)


def motion_of(
    ranked: ConstraintRank, K: Array, k: Array, qdd: Array, multipliers: Array
) -> ConstrainedMotion:
    """Return accelerations and multipliers with the facts about the constraints."""
    return ConstrainedMotion(
        qdd=qdd,
        multipliers=multipliers,
        rank=ranked.rank,
        redundant=ranked.redundant,
        determined=ranked.determined,
        undetermined=ranked.undetermined,
        residual=float(np.max(np.abs(K @ qdd - k), initial=0.0)),
        closure_error=ranked.closure_error,
        tolerance=ranked.tolerance,
        conditioning=ranked.smallest,
        length=ranked.length,
    )


def least_multipliers(ranked: ConstraintRank, force: Array) -> Array:
    """Return the multipliers (..., n^c) of least norm that exert joint forces: K^T lambda = force.

    Args:
        ranked: The rank of K.
        force: Constraint forces (..., nv) at the joints; parts that no constraint can exert are
            left out.
    """
    # J^T mu = scaled force with J = U S V^T; combinations outside U have no effect.
    of_rows = (force / ranked.column_scales) @ ranked.V / ranked.s
    return np.asarray(ranked.row_scales * (of_rows @ ranked.U.T))


def require_finite(H: Array, force: Array, K: Array, k: Array) -> None:
    """Raise `RobotDynamicsError` if a term of the equation of motion is not finite."""
    for name, values in (("H", H), ("tau - C", force), ("K", K), ("k", k)):
        if not np.all(np.isfinite(values)):
            raise RobotDynamicsError(f"{name} has entries that are not finite; expected numbers.")
