# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Closed-loop forward dynamics of overconstrained mechanisms, in traced code.

Constraints that the others imply at every configuration, such as one of the five of Bricard's last
hinge, make K H^-1 K^T singular everywhere. The set of redundant ones hardly ever changes along a
motion, so they are omitted when the program is made (see `general_rows`), and the program checks
them: an acceleration that satisfies them with the forces of the others is the solution.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from robot_dynamics.arrays import Array
from robot_dynamics.dynamics.algorithm import Algorithm
from robot_dynamics.dynamics.assembly import AssemblyError, assemble, generic
from robot_dynamics.dynamics.closed_loop import (
    ClosedLoopTerms,
    FactoredTerms,
    closed_loop_accelerations,
    constraint_factors,
    full_rank_motion,
    terms_to_solve,
)
from robot_dynamics.dynamics.consistency import inconsistency
from robot_dynamics.dynamics.full_rank import full_rank_pivot, inertia_pivot, margin_of_others
from robot_dynamics.dynamics.independent import pivots
from robot_dynamics.dynamics.rank import constraint_rank
from robot_dynamics.model import Model
from robot_dynamics.model.parameters import Parameters
from robot_dynamics.scalar.functions import minimum
from robot_dynamics.scalar.linear_algebra import dot
from robot_dynamics.spatial import Scalar

# Largest number of starts of the search for a configuration in general position.
_RESTARTS = 3


def general_rows(
    model: Model, closure: Callable[[Array], tuple[Array, Array]]
) -> tuple[int, ...] | None:
    """Return constraints that imply the others in general position, ascending.

    Args:
        model: The mechanism.
        closure: Returns K and the position error at positions.

    Returns:
        None if all constraints are needed, or no configuration that closes the loops was found.
    """
    try:
        q = assemble(model, closure, generic(model), limits=False, restarts=_RESTARTS).q
    except AssemblyError:
        return None
    ranked = constraint_rank(model, *closure(q), q)
    if ranked.rank == model.constraint_count:
        return None
    return tuple(sorted(row for row, _ in pivots(model, ranked)))


def independent_rows_motion(
    model: Model,
    terms: ClosedLoopTerms | FactoredTerms,
    tau: Sequence[Scalar],
    rows: Sequence[int],
) -> tuple[list[Scalar], Scalar]:
    """Return accelerations (nv,) from some of the constraints, and the pivot that shows full rank.

    The pivot is below `SMALLEST_PIVOT` if those constraints depend on one another, or if the
    acceleration violates the others by more than the closure error explains.

    Args:
        model: The mechanism.
        terms: Its equation of motion.
        tau: Joint forces (nv,), friction already subtracted.
        rows: The constraints that are used, ascending.
    """
    loops = terms.loops.of_rows(rows)
    factors = constraint_factors(terms.H, loops.K)
    qdd, _ = closed_loop_accelerations(terms, factors, tau, loops.k)
    pivot = full_rank_pivot(model, terms.loops, factors.A.smallest_pivot, rows)
    others = margin_of_others(model, terms.loops, rows, qdd, factors.A.smallest_pivot)
    pivot = minimum(minimum(pivot, others), inertia_pivot(model, factors.H.smallest_pivot))
    # A pivot is 1 at most: this only propagates NaN.
    return qdd, minimum(pivot, 1.0 + dot(qdd, qdd))


def closed_forward_dynamics(
    model: Model,
    q: Sequence[Scalar],
    qd: Sequence[Scalar],
    tau: Sequence[Scalar],
    parameters: Parameters,
    rows: Sequence[int] | None = None,
) -> list[Scalar]:
    """Return qdd (nv,), the `inconsistency` of the state and the smallest pivot, in one list.

    One output instead of three saves 0.4 us a call.

    Args:
        model: The mechanism.
        q: Positions (nq,).
        qd: Velocities (nv,).
        tau: Joint forces (nv,).
        parameters: Gravity, inertias and placements of loop joints.
        rows: Used constraints, if others are redundant in every configuration, see `general_rows`;
            all by default.
    """
    terms = terms_to_solve(model, q, qd, parameters)
    if rows is None:
        qdd, _, pivot = full_rank_motion(model, terms, tau)
    else:
        qdd, pivot = independent_rows_motion(model, terms, tau, rows)
    return [*qdd, inconsistency(model, terms.loops, qd), pivot]


#: Option: the rows. The output is qdd, the inconsistency and the pivot.
CLOSED_FORWARD_DYNAMICS = Algorithm(
    "closed_forward_dynamics", closed_forward_dynamics, "q, qd, tau -> qdd_and_checks (nv + 2)"
)
