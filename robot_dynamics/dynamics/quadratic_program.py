# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The point nearest to a goal within linear bounds, by the active-set solver DAQP.

Bounds are met, and optimality holds, to rounding: unlike interior-point methods, the solver ends
exactly in a vertex of the active set.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from robot_dynamics.arrays import Array
from robot_dynamics.errors import RobotDynamicsError

# Tolerance of rows scaled to size one: far above rounding, far below any measurement.
TOLERANCE = 1e-10
# Regularisation of proximal iterations, for numbers of about one. DAQP's own value takes more
# iterations than it allows if contacts carry bodies of very different mass.
_PROXIMAL = 1e-6
# Exit flags of DAQP.
_NOTHING_WITHIN, _NO_LEAST = -1, -3


def nearest_within(goal: Array, rows: Array, lower: Array, upper: Array) -> Array | None:
    """Return the point of `lower <= rows x <= upper` whose first entries are nearest to a goal.

    Args:
        goal: Desired values (k,) of the first entries of x; the others have no cost.
        rows: (m, n) with n >= k; entries of about one.
        lower: (m,), or -inf.
        upper: (m,), or inf.

    Returns:
        x (n,), or None if nothing is within the bounds.

    Raises:
        RobotDynamicsError: If there is no solver, or it gave up.
    """
    count, goals, slope = rows.shape[1], len(goal), -goal
    if goals < count:
        slope = np.concatenate([slope, np.zeros(count - goals)])
    # Entries without cost make the problem semidefinite: it needs proximal iterations.
    found = _minimum(
        "bounds on efforts and forces",
        _hessian(count, goals).copy(), slope, rows, lower, upper, -1.0 if goals < count else 0.0,
    )  # fmt: skip
    return None if found is None else found[0]


class Minimum(NamedTuple):
    """The solution of a quadratic program.

    Attributes:
        x: Minimiser (n,).
        multipliers: Multiplier of each row (m,): positive at its upper bound, negative at its
            lower one.
    """

    x: Array
    multipliers: Array


def minimum_within(P: Array, p: Array, rows: Array, lower: Array, upper: Array) -> Minimum | None:
    """Return the minimum of x . P x / 2 + p . x for `lower <= rows x <= upper`.

    Args:
        P: Symmetric, positive semidefinite (n, n); entries of about one.
        p: (n,), of about one.
        rows: (m, n), of about one.
        lower: (m,), or -inf.
        upper: (m,), or inf.

    Returns:
        The minimum, or None if no point is within the bounds or the problem is unbounded.

    Raises:
        RobotDynamicsError: If there is no solver, or it gave up.
    """
    try:
        np.linalg.cholesky(P - TOLERANCE * np.eye(len(p)))
        proximal = 0.0
    except np.linalg.LinAlgError:
        proximal = _PROXIMAL
    what = "quadratic programs of contact forces"
    found = _minimum(what, np.array(P), np.array(p), rows, lower, upper, proximal)
    return None if found is None else Minimum(*found)


def _minimum(
    what: str, P: Array, p: Array, rows: Array, lower: Array, upper: Array, proximal: float
) -> tuple[Array, Array] | None:
    """Return minimiser and multipliers."""
    x, _, flag, info = _solver(what)(
        P, p, np.ascontiguousarray(rows), upper, lower,
        np.zeros(len(rows), dtype=np.int32),
        primal_tol=TOLERANCE, dual_tol=TOLERANCE, eps_prox=proximal,
    )  # fmt: skip
    if flag in (_NOTHING_WITHIN, _NO_LEAST):
        return None
    if flag != 1 or not math.isfinite(sum(x.tolist())):
        raise RobotDynamicsError(
            f"the quadratic program of {len(p)} unknowns and {len(rows)} bounds was not solved "
            f"(DAQP's exit flag {flag})."
        )
    return x, info["lam"]


@cache
def _hessian(count: int, goals: int) -> Array:
    """Return the Hessian of half the squared distance in the first entries (count, count)."""
    return np.diag(np.where(np.arange(count) < goals, 1.0, 0.0))


@cache
def _solver(what: str) -> Any:
    try:
        from daqp import solve
    except ImportError as error:
        raise RobotDynamicsError(
            f"{what} need the solver daqp: install it with `pip install daqp`."
        ) from error
    return solve
