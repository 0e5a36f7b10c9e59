# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Closed-loop forward dynamics when constraints depend on one another, or may do.

Decisions about rank depend on numbers, so this is NumPy code on top of the traced terms. The
accelerations are unique whatever the rank; the multipliers returned are those of minimum norm in
a stated metric, and the constraints that the others already imply are named.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve, qr

from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.model import Model

Array = NDArray[np.float64]

# Relative size below which a row adds nothing to the rows before it. Twelve-digit rows leave about
# sqrt(n) 1e-15 of rounding after orthogonalisation; closure errors of e m change directions by e.
RANK_TOLERANCE = 1e-9


@dataclass(frozen=True)
class ConstrainedMotion:
    """Accelerations of a closed-loop system, and how far its constraints determine the forces.

    Attributes:
        qdd: Accelerations (nv,); unique.
        multipliers: Constraint forces lambda (n^c,) in the directions of T [N m, N]; of minimum
            norm, with moments divided by `length`, where they are not unique.
        rank: Number of independent constraints.
        redundant: Names of the constraints that the others imply, as "loop.direction".
        determined: For each multiplier whether it is unique (n^c,).
        residual: Largest entry of K qdd - k that is left [rad/s^2, m/s^2].
        length: The length [m] that makes moments and forces comparable.
    """

    qdd: Array
    multipliers: Array
    rank: int
    redundant: tuple[str, ...]
    determined: NDArray[np.bool_]
    residual: float
    length: float


def constraint_names(model: Model) -> tuple[str, ...]:
    """Return a name for each row: the loop joint and the direction it blocks, or the coupling."""
    of_loops = [f"{loop.name}.{row.direction}" for loop in model.loops for row in loop.type.rows]
    return (*of_loops, *(coupling.name for coupling in model.couplings))


def rank_revealing_solution(
    model: Model,
    H: Array,
    force: Array,
    K: Array,
    k: Array,
    *,
    length: float = 1.0,
    tolerance: float = RANK_TOLERANCE,
    rank: int | None = None,
) -> ConstrainedMotion:
    """Solve `[[H, K^T], [K, 0]] [qdd; -lambda] = [force; k]` at any rank of K.

    Args:
        model: The mechanism, for the names of its constraints.
        H: Inertia matrix (nv, nv).
        force: tau - C (nv,).
        K: Constraint Jacobian (n^c, nv).
        k: Right-hand side (n^c,), stabilisation included.
        length: A length of the mechanism [m]; rotational rows count as displacements at this
            distance, so that the rank does not depend on the unit of length.
        tolerance: Relative size under which a constraint counts as implied by the others.
        rank: The rank, if it is known. Where the loops are open by a little, constraints that
            depend on one another when closed contradict each other by as little: the solution
            then heeds only what has this rank.

    Raises:
        RobotDynamicsError: If a number is not finite or H is not positive definite.
    """
    for name, values in (("H", H), ("tau - C", force), ("K", K), ("k", k)):
        if not np.all(np.isfinite(values)):
            raise RobotDynamicsError(f"{name} has entries that are not finite; expected numbers.")
    try:
        factors = cho_factor(H, lower=True)
    except np.linalg.LinAlgError as error:
        raise RobotDynamicsError(
            "the joint-space inertia matrix is not positive definite: a moving body has no "
            "inertia."
        ) from error
    lower = np.tril(factors[0])
    weight = np.array(
        [length if row.rotational else 1.0 for loop in model.loops for row in loop.type.rows]
        + [length if coupling.rotational else 1.0 for coupling in model.couplings]
    )
    # Rows in the metric of H^-1: their products are the entries of A = K H^-1 K^T.
    rows = np.linalg.solve(lower, (K * weight[:, None]).T).T
    found, independent = _independent_rows(rows, tolerance)
    rank = found if rank is None else min(rank, found)
    unconstrained = cho_solve(factors, force)
    drift = weight * (k - K @ unconstrained)
    U, s, _ = np.linalg.svd(rows, full_matrices=False)
    keep = slice(0, rank)
    scaled = U[:, keep] @ ((U[:, keep].T @ drift) / s[keep] ** 2)  # minimum norm
    multipliers = weight * scaled
    qdd = unconstrained + cho_solve(factors, K.T @ multipliers)
    names = constraint_names(model)
    range_projector = U[:, keep] @ U[:, keep].T
    determined = np.abs(np.diag(range_projector) - 1.0) < 1e-6
    return ConstrainedMotion(
        qdd=qdd,
        multipliers=multipliers,
        rank=rank,
        redundant=tuple(n for i, n in enumerate(names) if i not in independent),
        determined=determined,
        residual=float(np.max(np.abs(K @ qdd - k), initial=0.0)),
        length=length,
    )


def _independent_rows(rows: Array, tolerance: float) -> tuple[int, frozenset[int]]:
    """Return the rank and a set of rows that span the row space, earlier rows first."""
    if rows.size == 0:
        return 0, frozenset()
    norms = np.linalg.norm(rows, axis=1)
    unit = rows / np.where(norms > 0.0, norms, 1.0)[:, None]
    _, R, _ = qr(unit.T, mode="economic", pivoting=True)
    rank = int(np.sum(np.abs(np.diag(R)) > tolerance * max(abs(R[0, 0]), 1e-300)))
    basis: list[Array] = []
    chosen: list[int] = []
    for i, row in enumerate(unit):
        rest = row.copy()
        for b in (*basis, *basis):  # twice: rounding of the first pass is taken out as well
            rest -= b * (b @ rest)
        size = float(np.linalg.norm(rest))
        if size > tolerance and len(chosen) < rank:
            basis.append(rest / size)
            chosen.append(i)
    return len(chosen), frozenset(chosen)
