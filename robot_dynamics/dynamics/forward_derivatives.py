# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Derivatives of accelerations and constraint forces at full rank, loops closed.

They follow from the derivatives of the `residual` at the solution: the matrix of (8.6), whose
factors gave the solution, is solved once more.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from robot_dynamics.compile.columns import by_columns
from robot_dynamics.compile.differentiation import jacobian_times_vector, vector_times_jacobian
from robot_dynamics.compile.tracing import call
from robot_dynamics.dynamics.algorithm import Algorithm
from robot_dynamics.dynamics.articulated_factors import columns_in_base
from robot_dynamics.dynamics.closed_loop import (
    closed_loop_accelerations,
    closed_loop_terms,
    constraint_factors,
    factored_terms,
    full_rank_motion,
    terms_to_solve,
)
from robot_dynamics.dynamics.inverse_derivatives import (
    along_velocities,
    base_columns,
    by_components,
    unit_vectors,
)
from robot_dynamics.dynamics.kinematics import body_transforms, joint_transforms
from robot_dynamics.dynamics.loop_derivatives import loop_columns
from robot_dynamics.dynamics.residual import (
    RESIDUAL_VJP,
    residual,
    residual_derivatives,
    residual_program,
    residual_rate,
    residual_vjp,
)
from robot_dynamics.model import Model
from robot_dynamics.model.parameters import Parameters
from robot_dynamics.scalar.derivatives import directional_derivative
from robot_dynamics.scalar.functions import absolute, minimum
from robot_dynamics.scalar.linear_algebra import (
    Factors,
    add,
    dot,
    factor,
    subtract,
    times,
    transposed,
    transposed_times,
)
from robot_dynamics.spatial import Motion, Transform


class _Motion:
    """Solution of (8.6) at a state, with factors that solve it for other right-hand sides.

    Attributes:
        qdd: Accelerations (nv,).
        multipliers: lambda (n^c,).
        pivot: The smallest pivot, which shows full rank.

    Args:
        dense: Whether to factor H itself also for deep trees, for `inverses`.
    """

    def __init__(
        self,
        model: Model,
        q: Any,
        qd: Any,
        tau: Any,
        parameters: Parameters,
        dense: bool = False,
    ) -> None:
        of_state: Callable[..., Any] = closed_loop_terms if dense else terms_to_solve
        terms = of_state(model, q, qd, parameters)
        self._model, self._parameters = model, parameters
        self.qdd, self.multipliers, self.pivot = full_rank_motion(model, terms, tau)
        self._factors = constraint_factors(terms.H, terms.loops.K)
        self._without_bias = replace(terms, C=[0.0] * model.nv)

    def solved(self, force: Any, rate: Any) -> tuple[list[Any], list[Any]]:
        """Return x (nv,) and y (n^c,) of H x - K^T y = force and K x = rate."""
        return closed_loop_accelerations(self._without_bias, self._factors, force, rate)

    def rates(self, q: Any, qd: Any, dq: Any, dqd: Any, dtau: Any) -> tuple[list[Any], list[Any]]:
        """Return the rates of accelerations and multipliers along a direction."""
        n, model, block = len(self.qdd), self._model, self._parameters.block
        at = [q, qd, self.qdd, self.multipliers]
        still = [0.0] * n, [0.0] * len(self.multipliers)
        change = residual_rate(model, at, [model.position_rate(q, dq), dqd, *still], block)
        force = [t - r for t, r in zip(dtau, change[:n], strict=True)]
        return self.solved(force, [-r for r in change[n:]])

    def inverses(self) -> tuple[list[list[Any]], list[list[Any]], Factors]:
        """Return H^-1 (nv, nv), W = H^-1 K^T (nv, n^c) and the factors of K H^-1 K^T."""
        H = factor(self._without_bias.H)
        columns = [H.back_solve(H.scale(half)) for half in self._factors.Y]
        return H.inverse(), transposed(columns, len(self.qdd)), self._factors.A


def linearized(model: Model, q: Any, qd: Any, tau: Any, parameters: Parameters) -> tuple[Any, ...]:
    """Return the pivot, the derivatives of the residual, and the matrices that solve with them.

    These are H^-1 (nv, nv), W = H^-1 K^T, the triangle of K H^-1 K^T (see `_minus_solution`), and
    M (nv, nv) and F (n^c, nv), the derivatives of accelerations and multipliers by joint forces.
    """
    at = _Motion(model, q, qd, tau, parameters, dense=True)
    inverse, W, A = at.inverses()
    n, m = len(inverse), len(A.inverse_diagonal)
    F = transposed([[-x for x in A.solve(row)] for row in W], m)
    M = [[0.0] * n for _ in range(n)]
    for i in range(n):
        for j in range(i + 1):  # of symmetric ones
            loops = dot(W[i], [F[k][j] for k in range(m)])
            M[i][j] = M[j][i] = inverse[i][j] + loops
    of_residual = residual_derivatives(model, q, qd, at.qdd, at.multipliers, parameters)
    return at.pivot, *of_residual, inverse, W, _triangle(A), M, F


def forward_dynamics_derivatives(
    model: Model, q: Any, qd: Any, tau: Any, parameters: Parameters
) -> tuple[Any, ...]:
    """Return the smallest pivot, and derivatives of qdd (nv, nv) and lambda (n^c, nv).

    Three of each: by q along velocities, by qd and by tau; lambda only with constraints.
    """
    n = model.nv
    at = call(_LINEARIZED.program(model), q, qd, tau, parameters=parameters.block)
    change = [
        [*by_q, *by_qd]
        for by_q, by_qd in zip(
            [*at["motion_q"], *at["rates_q"]], [*at["motion_qd"], *at["rates_qd"]], strict=True
        )
    ]
    rows = by_columns(_minus_solution, (at["inverse"], at["W"], at["triangle"]), change, 2 * n)
    found = [at["pivot"]]
    for of_rows, by_tau in ((rows[:n], at["M"]), (rows[n:], at["F"])):
        if by_tau:
            found += [[row[:n] for row in of_rows], [row[n:] for row in of_rows], by_tau]
    return tuple(found)


def forward_columns(
    model: Model, q: Any, qd: Any, tau: Any, parameters: Parameters
) -> tuple[Any, ...]:
    """Return the smallest pivot, accelerations, and vectors for the same derivatives.

    The vectors are in base coordinates: motions and forces (21, nv each) of `derivative_columns`
    and factors of H (nv, 18) of `columns_in_base`. With constraints there are also lambda, K and
    W^T = K H^-1 (n^c, nv each), the triangle of K H^-1 K^T (see `_minus_solution`), the
    derivatives of K qdd - k by q and qd (n^c, nv each) and J, m and f of the loops (18 L, nv), see
    `loop_columns`.
    """
    terms = factored_terms(model, q, qd, parameters)
    qdd, multipliers, pivot = full_rank_motion(model, terms, tau)
    vectors = by_components(base_columns(model, q, qd, qdd, parameters))
    X0 = body_transforms(model, joint_transforms(model, q))
    found = pivot, qdd, *vectors, columns_in_base(terms.H, X0)
    if not model.constraint_count:
        return found
    factors = constraint_factors(terms.H, terms.loops.K)
    W = [terms.H.back_solve(terms.H.scale(half)) for half in factors.Y]
    loops = loop_columns(model, q, qd, qdd, multipliers, parameters)
    return *found, multipliers, terms.loops.K, W, _triangle(factors.A), *loops


def _triangle(A: Factors) -> list[list[Any]]:
    """Return L of A = L^T D L, with D^-1 on its diagonal."""
    m = len(A.inverse_diagonal)
    return [[*A.lower[i], A.inverse_diagonal[i], *[0.0] * (m - i - 1)] for i in range(m)]


def _minus_solution(change: Any, inverse: Any, W: Any, triangle: Any) -> list[Any]:
    """Return -x (nv,) and -y (n^c,) of H x - K^T y = force and K x = rate.

    (K H^-1 K^T)^-1 itself is not used: without loops light bodies would accelerate far more than
    they do, and only multipliers from a solution cancel this.

    Args:
        change: Force and rate (nv + n^c,).
        inverse: H^-1 (nv, nv).
        W: H^-1 K^T (nv, n^c).
        triangle: L of K H^-1 K^T = L^T D L, with D^-1 on its diagonal (n^c, n^c).
    """
    n, m = len(inverse), len(triangle)
    force, rate = change[:n], change[n:]
    A = Factors([triangle[i][:i] for i in range(m)], [triangle[i][i] for i in range(m)], 1.0)
    minus_y = A.solve(subtract(transposed_times(W, force, m), rate))
    return [*subtract(times(W, minus_y), times(inverse, force)), *minus_y]


def placement_rate(
    model: Model,
    q: Any,
    qd: Any,
    qdd: Any,
    multipliers: Any,
    motions: Any,
    parameters: Parameters,
) -> list[Any]:
    """Return the rate of the residual (nv + n^c,) as frames of loop joints move.

    Args:
        model: The mechanism.
        q: Positions (nq,).
        qd: Velocities (nv,).
        qdd: Accelerations (nv,).
        multipliers: lambda (n^c,).
        motions: Rates of all frames (12 L,), as of `placement_derivatives`.
        parameters: Gravity, inertias and placements of loop joints.
    """
    ends = [X for loop in parameters.loops for X in loop]

    def moved_residual(values: Any) -> list[Any]:
        X = [Transform.of(values[12 * at : 12 * at + 12]) for at in range(len(ends))]
        moved = replace(parameters, loops=tuple(zip(X[::2], X[1::2], strict=True)))
        return residual(model, q, qd, qdd, multipliers, moved)

    rates = [
        rate
        for at, X in enumerate(ends)
        for rate in X.component_rates(Motion.of(motions[6 * at : 6 * at + 6]))
    ]
    at = [x for X in ends for x in X.components()]
    return directional_derivative(moved_residual, at, rates)[1]


def placement_derivatives(
    model: Model, q: Any, qd: Any, tau: Any, parameters: Parameters
) -> tuple[Any, Any, Any]:
    """Return the smallest pivot, and derivatives of qdd (nv, 12 L) and lambda (n^c, 12 L).

    By small motions of the frames of all L loop joints in their bodies, each in its own
    coordinates: the frame on the predecessor, then the frame on the successor.
    """
    motion = _Motion(model, q, qd, tau, parameters)

    def change(loop: int, end: int, unit: list[float]) -> list[Any]:
        def moved_residual(X: Any) -> list[Any]:
            loops = [list(ends) for ends in parameters.loops]
            loops[loop][end] = Transform.of(X)
            moved = replace(parameters, loops=tuple((p, s) for p, s in loops))
            return residual(model, q, qd, motion.qdd, motion.multipliers, moved)

        X = parameters.loops[loop][end]
        rates = X.component_rates(Motion.of(unit))
        return directional_derivative(moved_residual, X.components(), rates)[1]

    columns = []
    for loop in range(len(model.loops)):
        for end in range(2):
            for unit in unit_vectors(6):
                minus = [-x for x in change(loop, end, unit)]
                columns.append(motion.solved(minus[: model.nv], minus[model.nv :]))
    qdd, multipliers = (list(zip(*each, strict=True)) for each in zip(*columns, strict=True))
    return motion.pivot, qdd, multipliers


def forward_dynamics_jvp(
    model: Model, q: Any, qd: Any, tau: Any, dq: Any, dqd: Any, dtau: Any, parameters: Parameters
) -> tuple[Any, ...]:
    """Return the smallest pivot, and rates of qdd (nv,) and lambda (n^c,) along a direction."""
    motion = _Motion(model, q, qd, tau, parameters)
    qdd, multipliers = motion.rates(q, qd, dq, dqd, dtau)
    pivot = _if_finite(motion.pivot, dq, dqd, dtau)
    return (pivot, qdd, multipliers) if model.constraint_count else (pivot, qdd)


def forward_dynamics_vjp(
    model: Model,
    q: Any,
    qd: Any,
    tau: Any,
    weights: Any,
    lambda_weights: Any,
    parameters: Parameters,
) -> tuple[Any, ...]:
    """Return the smallest pivot, and the gradient (nv,) of weighted qdd and lambda by q, qd, tau.

    The matrix of (8.6) is symmetric up to a sign: its factors solve for the weights as well.
    """
    motion = _Motion(model, q, qd, tau, parameters)
    by_tau, y = motion.solved(weights, [-w for w in lambda_weights])
    at = [q, qd, motion.qdd, motion.multipliers]
    program, minus = residual_program(model), [*(-x for x in by_tau), *y]
    found = vector_times_jacobian(program, at, [minus], parameters.block)
    by_q = along_velocities(model, q, found["q"])
    return _if_finite(motion.pivot, weights, lambda_weights), by_q, found["qd"], by_tau


def forward_dynamics_hvp(
    model: Model,
    q: Any,
    qd: Any,
    tau: Any,
    dq: Any,
    dqd: Any,
    dtau: Any,
    weights: Any,
    lambda_weights: Any,
    parameters: Parameters,
) -> tuple[Any, ...]:
    """Return the smallest pivot, and the rate of that gradient (nv,) along a direction."""
    motion = _Motion(model, q, qd, tau, parameters)
    by_tau, y = motion.solved(weights, [-w for w in lambda_weights])
    dqdd, dmultipliers = motion.rates(q, qd, dq, dqd, dtau)
    at = [q, qd, motion.qdd, motion.multipliers]
    rates = [model.position_rate(q, dq), dqd, dqdd, dmultipliers]
    # The gradient is that of the residual with minus the solution for the weights, which changes
    # with the matrix of (8.6), so that its product with the matrix stays.
    of_residual = [[-x for x in by_tau], *([y] if y else [])]
    still = [[0.0] * len(x) for x in of_residual]
    program, block = RESIDUAL_VJP.program(model), parameters.block
    found = jacobian_times_vector(program, [*at, *of_residual], [*rates, *still], block)
    x, y = motion.solved([-r for r in found["qdd"]], found["multipliers"])
    of_change = x, [-each for each in y]
    more = residual_vjp(model, q, qd, motion.qdd, motion.multipliers, *of_change, parameters)
    pivot = _if_finite(motion.pivot, dq, dqd, dtau, weights, lambda_weights)
    by_q, by_qd = add(found["q"], more[0]), add(found["qd"], more[1])
    return pivot, by_q, by_qd, [-each for each in x]


def _if_finite(pivot: Any, *vectors: Any) -> Any:
    """Return a pivot, which is 1 at most; NaN if an entry of a vector is not finite."""
    total = 1.0
    for vector in vectors:
        for x in vector:
            total = total + absolute(x)
    return minimum(pivot, (1.0 + total) / total)


_LINEARIZED = Algorithm(
    "linearized",
    linearized,
    "q, qd, tau -> pivot (), motion_q (nv, nv), motion_qd (nv, nv), rates_q (constraints, nv), "
    "rates_qd (constraints, nv), inverse (nv, nv), W (nv, constraints), "
    "triangle (constraints, constraints), M (nv, nv), F (constraints, nv)",
)
FORWARD_COLUMNS = Algorithm(
    "forward_columns",
    forward_columns,
    "q, qd, tau -> pivot (), qdd (nv), motions (21, nv), forces (21, nv), factors (nv, 18), "
    "multipliers (constraints), K (constraints, nv), W (constraints, nv), "
    "triangle (constraints, constraints), rates_q (constraints, nv), "
    "rates_qd (constraints, nv), loops (loop vectors, nv)",
)
FORWARD_DYNAMICS_DERIVATIVES = Algorithm(
    "forward_dynamics_derivatives",
    forward_dynamics_derivatives,
    "q, qd, tau -> pivot (), qdd_q (nv, nv), qdd_qd (nv, nv), qdd_tau (nv, nv), "
    "lambda_q (constraints, nv), lambda_qd (constraints, nv), lambda_tau (constraints, nv)",
    needs_inertia="without loops",
)
PLACEMENT_RATE = Algorithm(
    "placement_rate",
    placement_rate,
    "q, qd, qdd, multipliers, motions -> residual (nv + constraints)",
)
PLACEMENT_DERIVATIVES = Algorithm(
    "placement_derivatives",
    placement_derivatives,
    "q, qd, tau -> pivot (), qdd (nv, placements), lambda (constraints, placements)",
)
FORWARD_DYNAMICS_JVP = Algorithm(
    "forward_dynamics_jvp",
    forward_dynamics_jvp,
    "q, qd, tau, dq, dqd, dtau -> pivot (), qdd (nv), lambda (constraints)",
    needs_inertia="without loops",
)
FORWARD_DYNAMICS_VJP = Algorithm(
    "forward_dynamics_vjp",
    forward_dynamics_vjp,
    "q, qd, tau, weights, lambda_weights -> pivot (), q (nv), qd (nv), tau (nv)",
    needs_inertia="without loops",
)
FORWARD_DYNAMICS_HVP = Algorithm(
    "forward_dynamics_hvp",
    forward_dynamics_hvp,
    "q, qd, tau, dq, dqd, dtau, weights, lambda_weights -> pivot (), q (nv), qd (nv), tau (nv)",
    needs_inertia="without loops",
)
