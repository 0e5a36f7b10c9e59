# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Closed-loop forward dynamics, multipliers first (section 8.5, method 2), at full rank."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from robot_dynamics.dynamics.algorithm import Algorithm
from robot_dynamics.dynamics.articulated_factors import ArticulatedFactors, articulated_factors
from robot_dynamics.dynamics.couplings import with_couplings
from robot_dynamics.dynamics.full_rank import full_rank_pivot, inertia_pivot
from robot_dynamics.dynamics.inertia_matrix import composite_inertia_matrix, is_deep
from robot_dynamics.dynamics.inverse import (
    joint_forces,
    net_forces,
    velocities_and_accelerations,
)
from robot_dynamics.dynamics.kinematics import joint_transforms, motion_subspaces
from robot_dynamics.dynamics.loops import LoopTerms, loop_terms
from robot_dynamics.dynamics.passive import passive_forces
from robot_dynamics.model import Model
from robot_dynamics.model.parameters import Parameters
from robot_dynamics.scalar.functions import minimum
from robot_dynamics.scalar.linear_algebra import (
    Factors,
    dot,
    factor,
    is_zero,
    times,
    transposed_times,
)
from robot_dynamics.spatial import Scalar, Transform


@dataclass(frozen=True)
class ClosedLoopTerms:
    """The equation of motion of a closed-loop system at one state (8.6).

    Attributes:
        H: Joint-space inertia matrix (nv, nv).
        C: Bias force (nv,), gravity, springs and dampers of loop joints included: C - tau_a.
        loops: K, k and the constraint errors.
    """

    H: list[list[Scalar]]
    C: list[Scalar]
    loops: LoopTerms


@dataclass(frozen=True)
class FactoredTerms:
    """The equation of motion of a deep tree, with factors of H instead of the matrix."""

    H: ArticulatedFactors
    C: list[Scalar]
    loops: LoopTerms


def closed_loop_terms(
    model: Model, q: Sequence[Scalar], qd: Sequence[Scalar], parameters: Parameters
) -> ClosedLoopTerms:
    """Return H, C and the constraints at positions `q` (nq,) and velocities `qd` (nv,)."""
    return terms_of_transforms(model, joint_transforms(model, q), qd, parameters, q)


def terms_to_solve(
    model: Model, q: Sequence[Scalar], qd: Sequence[Scalar], parameters: Parameters
) -> ClosedLoopTerms | FactoredTerms:
    """Return the terms that accelerations are solved from; for deep trees with factors of H."""
    of_state = factored_terms if is_deep(model) else closed_loop_terms
    return of_state(model, q, qd, parameters)


def factored_terms(
    model: Model, q: Sequence[Scalar], qd: Sequence[Scalar], parameters: Parameters
) -> FactoredTerms:
    """Return the terms with factors of H."""
    Xup = joint_transforms(model, q)
    factors = articulated_factors(model, Xup, motion_subspaces(model, q), parameters)
    return FactoredTerms(factors, *_bias_and_loops(model, Xup, qd, parameters, q))


def terms_of_transforms(
    model: Model,
    Xup: Sequence[Transform],
    qd: Sequence[Scalar],
    parameters: Parameters,
    q: Sequence[Scalar] | None = None,
) -> ClosedLoopTerms:
    """Return the same from the joint transforms, for callers that have them already.

    The positions `q` are needed only where a motion subspace or a coupling depends on them.
    """
    H = composite_inertia_matrix(model, Xup, parameters, q)
    return ClosedLoopTerms(H, *_bias_and_loops(model, Xup, qd, parameters, q))


def _bias_and_loops(
    model: Model,
    Xup: Sequence[Transform],
    qd: Sequence[Scalar],
    parameters: Parameters,
    q: Sequence[Scalar] | None,
) -> tuple[list[Scalar], LoopTerms]:
    """Return C and the constraints."""
    v, avp = velocities_and_accelerations(model, Xup, qd, None, parameters.gravity, q)
    passive = passive_forces(model, Xup, v, qd, parameters, q)
    of_tree = joint_forces(model, Xup, net_forces(v, avp, parameters), q)
    C = [c - tau_a for c, tau_a in zip(of_tree, passive, strict=True)]  # Table 8.2
    loops = loop_terms(model, Xup, v, avp, parameters, q)
    return C, with_couplings(loops, model, q, qd)


@dataclass(frozen=True)
class ConstraintFactors:
    """The factors of H and of A = K H^-1 K^T, shared by accelerations, impulses and projections.

    Attributes:
        H: Factors of the inertia matrix.
        Y: The rows of L^-T K^T, transposed (n^c, nv).
        A: Factors of K H^-1 K^T (8.38).
    """

    H: Factors | ArticulatedFactors
    Y: list[list[Scalar]]
    A: Factors

    def correction(self, error: Sequence[Scalar]) -> list[Scalar]:
        """Return the smallest motion (nv,) in the metric of H that changes K qd by minus `error`.

        It is -H^-1 K^T A^-1 error: the change of positions or velocities by the projection.
        """
        push = self.half_push(self.A.solve(error))
        return [-value for value in self.H.back_solve(self.H.scale(push))]

    def diagonal(self) -> list[Scalar]:
        """Return the diagonal of A = K H^-1 K^T (n^c,)."""
        return [dot(row, self.H.scale(row)) for row in self.Y]

    def half_push(self, multipliers: Sequence[Scalar]) -> list[Scalar]:
        """Return L^-T K^T multipliers (nv,), the first half of H^-1 K^T multipliers."""
        return transposed_times(self.Y, multipliers, len(self.H.inverse_diagonal))


def constraint_factors(
    H: list[list[Scalar]] | ArticulatedFactors, K: list[list[Scalar]]
) -> ConstraintFactors:
    """Factor H, if it is not in factors, and A = K H^-1 K^T.

    A is singular exactly if constraints depend on one another. Constraints that no joint affects,
    such as those normal to a planar loop, are removed: their undetermined multipliers are 0.0.
    """
    of_H = H if isinstance(H, ArticulatedFactors) else factor(H)
    Y = [of_H.half_solve(row) for row in K]
    scaled = [of_H.scale(row) for row in Y]
    A = [[dot(Y[i], scaled[j]) for j in range(i + 1)] for i in range(len(K))]
    idle = [i for i, row in enumerate(K) if all(is_zero(entry) for entry in row)]
    for i in idle:
        A[i][i] = 1.0
    of_A = factor(A)
    inverse = [0.0 if i in idle else value for i, value in enumerate(of_A.inverse_diagonal)]
    return ConstraintFactors(of_H, Y, replace(of_A, inverse_diagonal=inverse))


def closed_loop_accelerations(
    terms: ClosedLoopTerms | FactoredTerms,
    factors: ConstraintFactors,
    tau: Sequence[Scalar],
    k: Sequence[Scalar],
) -> tuple[list[Scalar], list[Scalar]]:
    """Return accelerations (nv,) and multipliers lambda (n^c,) at full rank (8.37 to 8.39).

    Args:
        terms: The equation of motion.
        factors: Its factors.
        tau: Joint forces (nv,), with friction already subtracted.
        k: Right-hand side of the constraints (n^c,), stabilisation included.
    """
    half = factors.H.half_solve([t - c for t, c in zip(tau, terms.C, strict=True)])
    drift = times(factors.Y, factors.H.scale(half))  # K H^-1 (tau - C)
    multipliers = factors.A.solve([k_l - d for k_l, d in zip(k, drift, strict=True)])
    total = [h + p for h, p in zip(half, factors.half_push(multipliers), strict=True)]
    return factors.H.back_solve(factors.H.scale(total)), multipliers


def closed_loop_forward_dynamics(
    model: Model,
    q: Sequence[Scalar],
    qd: Sequence[Scalar],
    tau: Sequence[Scalar],
    parameters: Parameters,
    stabilisation_time: float | None = None,
) -> tuple[list[Scalar], list[Scalar], Scalar]:
    """Return accelerations, multipliers and the pivot that shows full rank.

    The solution assumes independent constraints. Near dependence the pivot tends to zero and the
    first two results are invalid (see `full_rank`): use the rank-revealing solution of
    `redundant.py` then. The pivot is NaN if an acceleration is.

    Args:
        model: The mechanism.
        q: Positions (nq,).
        qd: Velocities (nv,).
        tau: Joint forces (nv,), with friction already subtracted.
        parameters: Gravity, inertias and loop placements.
        stabilisation_time: T_stab of Baumgarte's method [s]; None for no stabilisation.
    """
    terms = terms_to_solve(model, q, qd, parameters)
    return full_rank_motion(model, terms, tau, stabilisation_time)


def full_rank_motion(
    model: Model,
    terms: ClosedLoopTerms | FactoredTerms,
    tau: Sequence[Scalar],
    stabilisation_time: float | None = None,
) -> tuple[list[Scalar], list[Scalar], Scalar]:
    """Return the results of `closed_loop_forward_dynamics` from the equation of motion."""
    factors = constraint_factors(terms.H, terms.loops.K)
    k = terms.loops.k if stabilisation_time is None else terms.loops.stabilised(stabilisation_time)
    qdd, multipliers = closed_loop_accelerations(terms, factors, tau, k)
    pivot = full_rank_pivot(model, terms.loops, factors.A.smallest_pivot)
    pivot = minimum(pivot, inertia_pivot(model, factors.H.smallest_pivot))
    # A pivot is 1 at most: this only propagates NaN.
    return qdd, multipliers, minimum(pivot, 1.0 + dot(qdd, qdd))


def constraint_terms(
    model: Model, q: Sequence[Scalar], qd: Sequence[Scalar], parameters: Parameters
) -> tuple[Any, ...]:
    """Return H, C, K, k and the constraint errors, the terms of Eq 8.6, one by one."""
    terms = closed_loop_terms(model, q, qd, parameters)
    loops = terms.loops
    return terms.H, terms.C, loops.K, loops.k, loops.position_error, loops.velocity_error


def closure(
    model: Model, q: Sequence[Scalar], parameters: Parameters
) -> tuple[list[list[Scalar]], list[Scalar]]:
    """Return K and the position error of loop joints, without couplings."""
    loops = terms_to_solve(model, q, [0.0] * model.nv, parameters).loops
    own = len(loops.K) - len(model.couplings)
    return loops.K[:own], loops.position_error[:own]


CLOSED_LOOP = Algorithm(
    "closed_loop",
    closed_loop_forward_dynamics,
    "q, qd, tau -> qdd (nv), multipliers (constraints), pivot ()",
)
CONSTRAINT_TERMS = Algorithm(
    "constraint_terms",
    constraint_terms,
    "q, qd -> H (nv, nv), C (nv), K (constraints, nv), k (constraints), "
    "position_error (constraints), velocity_error (constraints)",
)
CLOSURE = Algorithm(
    "closure", closure, "q -> K (own constraints, nv), position_error (own constraints)"
)
