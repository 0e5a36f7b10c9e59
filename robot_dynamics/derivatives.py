# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The derivatives of the algorithms as programs of a model and its parameter block."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from robot_dynamics.algorithms import inverse_dynamics_program, traced
from robot_dynamics.compile.columns import by_columns
from robot_dynamics.compile.differentiation import jacobian_times_vector, vector_times_jacobian
from robot_dynamics.compile.program import Program
from robot_dynamics.compile.tracing import call
from robot_dynamics.dynamics.articulated_factors import (
    articulated_factors,
    columns_in_base,
)
from robot_dynamics.dynamics.closed_loop import (
    closed_loop_accelerations,
    closed_loop_terms,
    constraint_factors,
    full_rank_motion,
    terms_to_solve,
)
from robot_dynamics.dynamics.consistency import inconsistency
from robot_dynamics.dynamics.coriolis import coriolis_matrix, velocity_forces
from robot_dynamics.dynamics.full_rank import full_rank_pivot, inertia_pivot
from robot_dynamics.dynamics.inertia_matrix import inertia_matrix
from robot_dynamics.dynamics.inverse import inverse_dynamics
from robot_dynamics.dynamics.inverse_derivatives import (
    derivative_columns,
    has_constant_subspaces,
    tree_derivatives,
)
from robot_dynamics.dynamics.kinematics import (
    body_transforms,
    body_velocities,
    joint_transforms,
    motion_subspaces,
)
from robot_dynamics.dynamics.loop_derivatives import loop_derivatives
from robot_dynamics.dynamics.passive import has_passive_forces, passive_forces
from robot_dynamics.dynamics.regressor import (
    energy_regressor,
    inverse_dynamics_regressor,
    regressor_columns,
)
from robot_dynamics.model import Model
from robot_dynamics.model.parameters import Parameters, unpack
from robot_dynamics.scalar.derivatives import directional_derivative, jacobian
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


def inverse_dynamics_regressor_program(model: Model) -> Program:
    """Y (nv, 10 N) of q, qd, qdd: tau is Y times the inertial parameters of the bodies."""

    def run(q: Any, qd: Any, qdd: Any, block: Any) -> dict[str, Any]:
        gravity = unpack(model, block).gravity
        return {"Y": inverse_dynamics_regressor(model, q, qd, qdd, gravity)}

    shapes = {"q": model.nq, "qd": model.nv, "qdd": model.nv}
    return traced(model, run, "inverse_dynamics_regressor", **shapes)


def payload_regressor_program(model: Model, link: str) -> Program:
    """Y (nv, 10) of q, qd, qdd: of something that a link carries, in the link's frame."""

    def run(q: Any, qd: Any, qdd: Any, block: Any) -> dict[str, Any]:
        gravity, links = unpack(model, block).gravity, [model.link(link)]
        return {"Y": inverse_dynamics_regressor(model, q, qd, qdd, gravity, links)}

    shapes = {"q": model.nq, "qd": model.nv, "qdd": model.nv}
    return traced(model, run, f"payload_regressor_{link}", **shapes)


def energy_regressor_program(model: Model) -> Program:
    """What each inertial parameter adds to kinetic and potential energy (10 N,), of q, qd."""

    def run(q: Any, qd: Any, block: Any) -> dict[str, Any]:
        kinetic, potential = energy_regressor(model, q, qd, unpack(model, block).gravity)
        return {"kinetic": kinetic, "potential": potential}

    return traced(model, run, "energy_regressor", q=model.nq, qd=model.nv)


def coriolis_matrix_program(model: Model) -> Program:
    """C (nv, nv) of q, qd: Coriolis and centrifugal forces are C qd."""

    def run(q: Any, qd: Any, block: Any) -> dict[str, Any]:
        return {"C": coriolis_matrix(model, q, qd, unpack(model, block))}

    return traced(model, run, "coriolis_matrix", q=model.nq, qd=model.nv)


def inverse_dynamics_derivatives_program(model: Model) -> Program:
    """Derivatives (nv, nv) of tau with respect to q, qd and qdd, of q, qd, qdd."""

    def run(q: Any, qd: Any, qdd: Any, block: Any) -> dict[str, Any]:
        parameters = unpack(model, block)
        tau_q, tau_qd = _tree_derivatives(model, q, qd, qdd, parameters)
        return {"tau_q": tau_q, "tau_qd": tau_qd, "tau_qdd": inertia_matrix(model, q, parameters)}

    shapes = {"q": model.nq, "qd": model.nv, "qdd": model.nv}
    return traced(model, run, "inverse_dynamics_derivatives", **shapes)


def residual_derivatives_program(model: Model) -> Program:
    """Derivatives by q and qd of ID - K^T lambda (nv, nv) and of K qdd - k (n^c, nv).

    At q, qd, qdd and multipliers lambda: of what is tau and zero in (8.6).
    """

    def run(q: Any, qd: Any, qdd: Any, multipliers: Any, block: Any) -> dict[str, Any]:
        return _residual_derivatives(model, q, qd, qdd, multipliers, unpack(model, block))

    shapes = {"q": model.nq, "qd": model.nv, "qdd": model.nv}
    return traced(model, run, "residual_derivatives", **shapes, multipliers=model.constraint_count)


def _residual_derivatives(
    model: Model, q: Any, qd: Any, qdd: Any, multipliers: Any, parameters: Parameters
) -> dict[str, Any]:
    names = ("motion_q", "motion_qd", "rates_q", "rates_qd")
    if has_constant_subspaces(model):
        tau_q, tau_qd = _tree_derivatives(model, q, qd, qdd, parameters)
        loops = loop_derivatives(model, q, qd, qdd, multipliers, parameters)
        motion_q = [add(a, b) for a, b in zip(tau_q, loops.forces_q, strict=True)]
        return dict(zip(names, (motion_q, tau_qd, loops.rates_q, loops.rates_qd), strict=True))

    def residual(q: Any, qd: Any) -> list[Any]:
        return _residual(model, q, qd, qdd, multipliers, parameters)

    n = model.nv
    by_q = _along_motions(model, lambda q: residual(q, qd), q)
    by_qd = jacobian(lambda qd: residual(q, qd), qd)
    return dict(zip(names, (by_q[:n], by_qd[:n], by_q[n:], by_qd[n:]), strict=True))


def velocity_constraint_derivatives_program(model: Model) -> Program:
    """Derivative (n^c, nv) of K qd by q, of q and qd."""

    def run(q: Any, qd: Any, block: Any) -> dict[str, Any]:
        parameters = unpack(model, block)

        if has_constant_subspaces(model):
            still, none = [0.0] * model.nv, [0.0] * model.constraint_count
            return {"rates_q": loop_derivatives(model, q, qd, still, none, parameters).drift_q}

        def rates(q: Any) -> list[Any]:
            return times(terms_to_solve(model, q, qd, parameters).loops.K, qd)

        return {"rates_q": _along_motions(model, rates, q)}

    return traced(model, run, "velocity_constraint_derivatives", q=model.nq, qd=model.nv)


def forward_dynamics_derivatives_program(model: Model) -> Program:
    """The smallest pivot, and derivatives of qdd (nv, nv) and lambda (n^c, nv) by q, qd and tau.

    Those of lambda only where there are constraints. Of q, qd, tau, at full rank: those of the
    residual, solved with the inverse of H and the factors of K H^-1 K^T.
    """
    n = model.nv
    linearized = _linearized_program(model)

    def run(q: Any, qd: Any, tau: Any, block: Any) -> dict[str, Any]:
        at = call(linearized, q, qd, tau, parameters=block)
        change = [
            [*by_q, *by_qd]
            for by_q, by_qd in zip(
                [*at["motion_q"], *at["rates_q"]], [*at["motion_qd"], *at["rates_qd"]], strict=True
            )
        ]
        matrices = at["inverse"], at["W"], at["triangle"]
        rows = by_columns(_minus_solution, matrices, change, 2 * n)
        result = {"pivot": at["pivot"]}
        for name, of_name, tau_rows in (("qdd", rows[:n], at["M"]), ("lambda", rows[n:], at["F"])):
            if tau_rows:
                result[f"{name}_q"] = [row[:n] for row in of_name]
                result[f"{name}_qd"] = [row[n:] for row in of_name]
                result[f"{name}_tau"] = tau_rows
        return result

    shapes = {"q": model.nq, "qd": model.nv, "tau": model.nv}
    return traced(model, run, "forward_dynamics_derivatives", **shapes)


def _minus_solution(change: Any, inverse: Any, W: Any, triangle: Any) -> list[Any]:
    """Return -x (nv,) and -y (n^c,) of H x - K^T y = force and K x = rate.

    Not with (K H^-1 K^T)^-1 itself: what light bodies would do without loops is far more than what
    they do, and only multipliers that are solved for take that away.

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


def _linearized_program(model: Model) -> Program:
    """The motion at full rank, the derivatives of the residual there, and what solves with them.

    M and F: what forces do to accelerations (nv, nv) and multipliers (n^c, nv).
    """

    def run(q: Any, qd: Any, tau: Any, block: Any) -> dict[str, Any]:
        at = _Motion(model, q, qd, tau, block, dense=True)
        inverse, W, A = at.inverses()
        n, m = len(inverse), len(A.inverse_diagonal)
        F = transposed([[-x for x in A.solve(row)] for row in W], m)
        M = [[0.0] * n for _ in range(n)]
        for i in range(n):
            for j in range(i + 1):  # of symmetric ones
                loops = dot(W[i], [F[k][j] for k in range(m)])
                M[i][j] = M[j][i] = inverse[i][j] + loops
        parameters = unpack(model, block)
        return {
            "pivot": at.pivot,
            **_residual_derivatives(model, q, qd, at.qdd, at.multipliers, parameters),
            "inverse": inverse,
            "W": W,
            "triangle": [
                [*A.lower[i], A.inverse_diagonal[i], *[0.0] * (m - i - 1)] for i in range(m)
            ],
            "M": M,
            "F": F,
        }

    shapes = {"q": model.nq, "qd": model.nv, "tau": model.nv}
    return traced(model, run, "linearized", **shapes)


def inverse_dynamics_jvp_program(model: Model) -> Program:
    """The rate of tau (nv,) of q, qd, qdd and their rates (nv,) along velocities."""
    program = inverse_dynamics_program(model)

    def run(q: Any, qd: Any, qdd: Any, dq: Any, dqd: Any, dqdd: Any, block: Any) -> dict[str, Any]:
        rates = [model.position_rate(q, dq), dqd, dqdd]
        return jacobian_times_vector(program, [q, qd, qdd], rates, block)

    names = ("qd", "qdd", "dq", "dqd", "dqdd")
    return traced(model, run, "inverse_dynamics_jvp", q=model.nq, **dict.fromkeys(names, model.nv))


def inverse_dynamics_vjp_program(model: Model) -> Program:
    """The gradient (nv,) of tau times weights by q, along velocities, qd and qdd."""
    program = inverse_dynamics_program(model)

    def run(q: Any, qd: Any, qdd: Any, weights: Any, block: Any) -> dict[str, Any]:
        found = vector_times_jacobian(program, [q, qd, qdd], [weights], block)
        return {
            "q": _along_velocities(model, q, found["q"]),
            "qd": found["qd"],
            "qdd": found["qdd"],
        }

    names = ("qd", "qdd", "weights")
    return traced(model, run, "inverse_dynamics_vjp", q=model.nq, **dict.fromkeys(names, model.nv))


def inverse_dynamics_hvp_program(model: Model) -> Program:
    """The rate of that gradient (nv,) along a direction: the same transformation once more."""
    program = inverse_dynamics_vjp_program(model)

    def run(q: Any, qd: Any, qdd: Any, w: Any, dq: Any, dqd: Any, dqdd: Any, block: Any) -> Any:
        rates = [model.position_rate(q, dq), dqd, dqdd, [0.0] * model.nv]
        return jacobian_times_vector(program, [q, qd, qdd, w], rates, block)

    names = ("qd", "qdd", "weights", "dq", "dqd", "dqdd")
    return traced(model, run, "inverse_dynamics_hvp", q=model.nq, **dict.fromkeys(names, model.nv))


def residual_program(model: Model) -> Program:
    """ID - K^T lambda (nv,) and K qdd - k (n^c,) of q, qd, qdd, lambda: tau and zero in (8.6)."""

    def run(q: Any, qd: Any, qdd: Any, multipliers: Any, block: Any) -> dict[str, Any]:
        return {"residual": _residual(model, q, qd, qdd, multipliers, unpack(model, block))}

    shapes = {"q": model.nq, "qd": model.nv, "qdd": model.nv}
    return traced(model, run, "residual", **shapes, multipliers=model.constraint_count)


def _residual(
    model: Model, q: Any, qd: Any, qdd: Any, multipliers: Any, parameters: Parameters
) -> list[Any]:
    tau = inverse_dynamics(model, q, qd, qdd, parameters)
    if not model.constraint_count:
        return tau
    loops = terms_to_solve(model, q, qd, parameters).loops
    push = transposed_times(loops.K, multipliers, model.nv)
    return [*subtract(tau, push), *subtract(times(loops.K, qdd), loops.k)]


def _tree_derivatives(
    model: Model, q: Any, qd: Any, qdd: Any, parameters: Parameters
) -> tuple[list[list[Any]], list[list[Any]]]:
    """Return the derivatives (nv, nv) of inverse dynamics along velocities and by qd."""
    if not has_constant_subspaces(model):
        return (
            _along_motions(model, lambda q: inverse_dynamics(model, q, qd, qdd, parameters), q),
            jacobian(lambda qd: inverse_dynamics(model, q, qd, qdd, parameters), qd),
        )
    by_q, by_qd = tree_derivatives(model, q, qd, qdd, parameters)
    if not has_passive_forces(model):
        return by_q, by_qd

    def passive(q: Any, qd: Any) -> list[Any]:
        Xup = joint_transforms(model, q)
        return passive_forces(model, Xup, body_velocities(model, Xup, qd, q), qd, parameters, q)

    passive_q = _along_motions(model, lambda q: passive(q, qd), q)
    passive_qd = jacobian(lambda qd: passive(q, qd), qd)
    return (
        [subtract(a, b) for a, b in zip(by_q, passive_q, strict=True)],
        [subtract(a, b) for a, b in zip(by_qd, passive_qd, strict=True)],
    )


def derivative_columns_program(model: Model) -> Program:
    """Motions and forces (nv, 24) in base coordinates, of q, qd, qdd: see `derivative_columns`."""

    def run(q: Any, qd: Any, qdd: Any, block: Any) -> dict[str, Any]:
        motions, forces = derivative_columns(model, q, qd, qdd, unpack(model, block))
        return {"motions": motions, "forces": forces}

    shapes = {"q": model.nq, "qd": model.nv, "qdd": model.nv}
    return traced(model, run, "derivative_columns", **shapes)


def regressor_columns_program(model: Model) -> Program:
    """S (nv, 6) and forces (10 N, 6) in base coordinates, of q, qd, qdd."""

    def run(q: Any, qd: Any, qdd: Any, block: Any) -> dict[str, Any]:
        S, forces = regressor_columns(model, q, qd, qdd, unpack(model, block).gravity)
        return {"S": S, "forces": forces}

    shapes = {"q": model.nq, "qd": model.nv, "qdd": model.nv}
    return traced(model, run, "regressor_columns", **shapes)


def factor_columns_program(model: Model) -> Program:
    """Factors of H (nv, 18), see `columns_in_base`, and the pivot of H (), of q."""

    def run(q: Any, block: Any) -> dict[str, Any]:
        Xup, S = joint_transforms(model, q), motion_subspaces(model, q)
        factors = articulated_factors(model, Xup, S, unpack(model, block))
        return {
            "columns": columns_in_base(factors, body_transforms(model, Xup)),
            "pivot": inertia_pivot(model, factors.smallest_pivot),
        }

    return traced(model, run, "factor_columns", q=model.nq)


def loop_terms_program(model: Model) -> Program:
    """K, k, errors of positions and velocities (n^c,), and three checks, of q, qd.

    Checks are how far the state is from closed loops, and what `full_rank_pivot` makes of a pivot
    of 1 with the sizes of rows and without.
    """

    def run(q: Any, qd: Any, block: Any) -> dict[str, Any]:
        loops = terms_to_solve(model, q, qd, unpack(model, block)).loops
        pivots = [full_rank_pivot(model, loops, 1.0), full_rank_pivot(model, loops, 1.0, [])]
        return {
            "K": loops.K,
            "k": loops.k,
            "position_error": loops.position_error,
            "velocity_error": loops.velocity_error,
            "checks": [inconsistency(model, loops, qd), *pivots],
        }

    return traced(model, run, "loop_terms", q=model.nq, qd=model.nv)


def loop_columns_program(model: Model) -> Program:
    """Rates by q and qd (n^c, nv), and columns (..., 18) of all loops, one after the other.

    Of q, qd, qdd and multipliers; columns are J, m and f of `LoopForceColumns`.
    """

    def run(q: Any, qd: Any, qdd: Any, multipliers: Any, block: Any) -> dict[str, Any]:
        loops = loop_derivatives(model, q, qd, qdd, multipliers, unpack(model, block))
        columns = [
            [x for vector in vectors for x in vector.components()]
            for of in loops.forces
            for vectors in zip(of.J, of.moments, of.turning, strict=True)
        ]
        return {"rates_q": loops.rates_q, "rates_qd": loops.rates_qd, "columns": columns}

    shapes = {"q": model.nq, "qd": model.nv, "qdd": model.nv}
    return traced(model, run, "loop_columns", **shapes, multipliers=model.constraint_count)


def velocity_forces_jvp_program(model: Model) -> Program:
    """The rate (nv,) of Coriolis and centrifugal forces of q, qd, as qd changes."""

    def run(q: Any, qd: Any, dqd: Any, block: Any) -> dict[str, Any]:
        parameters = unpack(model, block)

        def forces(qd: Any) -> list[Any]:
            return velocity_forces(model, q, qd, parameters)

        return {"rate": directional_derivative(forces, qd, dqd)[1]}

    return traced(model, run, "velocity_forces_jvp", q=model.nq, qd=model.nv, dqd=model.nv)


def residual_jvp_program(model: Model) -> Program:
    """The rate of the residual (nv + n^c,) at fixed qdd and lambda, as q and qd change."""
    program = residual_program(model)

    def run(
        q: Any, qd: Any, qdd: Any, multipliers: Any, dq: Any, dqd: Any, block: Any
    ) -> dict[str, Any]:
        fixed = [0.0] * model.nv, [0.0] * model.constraint_count
        rates = [model.position_rate(q, dq), dqd, *fixed]
        return jacobian_times_vector(program, [q, qd, qdd, multipliers], rates, block)

    n, m = model.nv, model.constraint_count
    shapes = {"q": model.nq, "qd": n, "qdd": n, "multipliers": m, "dq": n, "dqd": n}
    return traced(model, run, "residual_jvp", **shapes)


def placement_derivatives_program(model: Model) -> Program:
    """The smallest pivot, and derivatives of qdd (nv, 12 L) and lambda (n^c, 12 L) of q, qd, tau.

    By small motions of the frames of all L loop joints in their bodies, each in its own
    coordinates: that on the predecessor, then that on the successor.
    """

    def run(q: Any, qd: Any, tau: Any, block: Any) -> dict[str, Any]:
        motion, parameters = _Motion(model, q, qd, tau, block), unpack(model, block)

        def change(loop: int, end: int, unit: list[float]) -> list[Any]:
            def residual(X: Any) -> list[Any]:
                loops = [list(ends) for ends in parameters.loops]
                loops[loop][end] = Transform.of(X)
                moved = replace(parameters, loops=tuple((p, s) for p, s in loops))
                return _residual(model, q, qd, motion.qdd, motion.multipliers, moved)

            X = parameters.loops[loop][end]
            rates = X.component_rates(Motion.of(unit))
            return directional_derivative(residual, X.components(), rates)[1]

        columns = []
        for loop in range(len(model.loops)):
            for end in range(2):
                for unit in _units(6):
                    minus = [-x for x in change(loop, end, unit)]
                    columns.append(motion.solved(minus[: model.nv], minus[model.nv :]))
        qdd, multipliers = (list(zip(*each, strict=True)) for each in zip(*columns, strict=True))
        return {"pivot": motion.pivot, "qdd": qdd, "lambda": multipliers}

    shapes = {"q": model.nq, "qd": model.nv, "tau": model.nv}
    return traced(model, run, "placement_derivatives", **shapes)


def forward_dynamics_jvp_program(model: Model) -> Program:
    """The smallest pivot, and the rates of qdd (nv,) and lambda (n^c,) as q, qd, tau change."""
    n, m = model.nv, model.constraint_count
    residual = residual_program(model)

    def run(q: Any, qd: Any, tau: Any, dq: Any, dqd: Any, dtau: Any, block: Any) -> dict[str, Any]:
        motion = _Motion(model, q, qd, tau, block)
        at = [q, qd, motion.qdd, motion.multipliers]
        rates = [model.position_rate(q, dq), dqd, [0.0] * n, [0.0] * m]
        change = jacobian_times_vector(residual, at, rates, block)["residual"]
        force = [t - r for t, r in zip(dtau, change[:n], strict=True)]
        qdd, multipliers = motion.solved(force, [-r for r in change[n:]])
        pivot = _if_finite(motion.pivot, dq, dqd, dtau)
        return {"pivot": pivot, "qdd": qdd, **({"lambda": multipliers} if m else {})}

    names = ("qd", "tau", "dq", "dqd", "dtau")
    return traced(model, run, "forward_dynamics_jvp", q=model.nq, **dict.fromkeys(names, n))


def forward_dynamics_vjp_program(model: Model) -> Program:
    """The smallest pivot, and the gradient (nv,) of qdd and lambda times weights by q, qd, tau.

    The matrix of (8.6) is symmetric up to a sign: its factors solve for the weights as well.
    """
    n, m = model.nv, model.constraint_count
    residual = residual_program(model)

    def run(q: Any, qd: Any, tau: Any, of_qdd: Any, *others: Any) -> dict[str, Any]:
        *weights, block = others
        of_lambda = weights[0] if m else []
        motion = _Motion(model, q, qd, tau, block)
        of_tau, y = motion.solved(of_qdd, [-w for w in of_lambda])
        at = [q, qd, motion.qdd, motion.multipliers]
        found = vector_times_jacobian(residual, at, [[*(-x for x in of_tau), *y]], block)
        of_q = _along_velocities(model, q, found["q"])
        pivot = _if_finite(motion.pivot, of_qdd, of_lambda)
        return {"pivot": pivot, "q": of_q, "qd": found["qd"], "tau": of_tau}

    names = ("qd", "tau", "weights")
    shapes = {"q": model.nq, **dict.fromkeys(names, n), **({"lambda_weights": m} if m else {})}
    return traced(model, run, "forward_dynamics_vjp", **shapes)


def forward_dynamics_hvp_program(model: Model) -> Program:
    """The smallest pivot, and the rate of that gradient (nv,) along a direction."""
    n, m = model.nv, model.constraint_count
    program = forward_dynamics_vjp_program(model)

    def run(
        q: Any, qd: Any, tau: Any, dq: Any, dqd: Any, dtau: Any, *others: Any
    ) -> dict[str, Any]:
        *weights, block = others
        at = [q, qd, tau, *weights]
        rates = [model.position_rate(q, dq), dqd, dtau, *([0.0] * len(w) for w in weights)]
        pivot = _if_finite(_Motion(model, q, qd, tau, block).pivot, dq, dqd, dtau, *weights)
        return {**jacobian_times_vector(program, at, rates, block), "pivot": pivot}

    names = ("qd", "tau", "dq", "dqd", "dtau", "weights")
    shapes = {"q": model.nq, **dict.fromkeys(names, n), **({"lambda_weights": m} if m else {})}
    return traced(model, run, "forward_dynamics_hvp", **shapes)


class _Motion:
    """The equation of motion at a state at full rank (8.6): its solution, and that of others.

    Attributes:
        qdd: Accelerations (nv,).
        multipliers: lambda (n^c,).
        pivot: What shows full rank.

    Args:
        dense: Whether to take H itself where the tree is deep, too, for `inverses`.
    """

    def __init__(
        self, model: Model, q: Any, qd: Any, tau: Any, block: Any, dense: bool = False
    ) -> None:
        of_state: Callable[..., Any] = closed_loop_terms if dense else terms_to_solve
        terms = of_state(model, q, qd, unpack(model, block))
        self.qdd, self.multipliers, self.pivot = full_rank_motion(model, terms, tau)
        self._factors = constraint_factors(terms.H, terms.loops.K)
        self._without_bias = replace(terms, C=[0.0] * model.nv)

    def solved(self, force: Any, rate: Any) -> tuple[list[Any], list[Any]]:
        """Return x (nv,) and y (n^c,) of H x - K^T y = force and K x = rate."""
        return closed_loop_accelerations(self._without_bias, self._factors, force, rate)

    def inverses(self) -> tuple[list[list[Any]], list[list[Any]], Factors]:
        """Return H^-1 (nv, nv), W = H^-1 K^T (nv, n^c) and the factors of K H^-1 K^T."""
        H = factor(self._without_bias.H)
        columns = [H.back_solve(H.scale(half)) for half in self._factors.Y]
        return H.inverse(), transposed(columns, len(self.qdd)), self._factors.A


def _if_finite(pivot: Any, *vectors: Any) -> Any:
    """Return a pivot, which is 1 at most; NaN if an entry of a vector is not finite."""
    total = 1.0
    for vector in vectors:
        for x in vector:
            total = total + absolute(x)
    return minimum(pivot, (1.0 + total) / total)


def _along_velocities(model: Model, q: Any, gradient: Any) -> list[Any]:
    """Return a gradient by positions (nq,) as one along velocities (nv,)."""
    return [dot(model.position_rate(q, unit), gradient) for unit in _units(model.nv)]


def _units(count: int) -> list[list[float]]:
    """Return the rows of a unit matrix."""
    return [[float(i == j) for i in range(count)] for j in range(count)]


def _along_motions(model: Model, function: Callable[[Any], Any], q: Any) -> list[list[Any]]:
    """Return the derivatives of a function of positions along each velocity (m, nv) (3.8)."""
    n = model.nv
    rates = [model.position_rate(q, unit) for unit in _units(n)]
    columns = [directional_derivative(function, q, rate)[1] for rate in rates]
    return [list(row) for row in zip(*columns, strict=True)]
