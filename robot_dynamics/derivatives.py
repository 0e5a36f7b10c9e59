# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The derivatives of the algorithms as programs of a model and its parameter block."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from robot_dynamics.algorithms import traced
from robot_dynamics.compile.program import Program
from robot_dynamics.compile.tracing import call
from robot_dynamics.dynamics.closed_loop import (
    ClosedLoopTerms,
    closed_loop_accelerations,
    closed_loop_terms,
    constraint_factors,
    full_rank_motion,
)
from robot_dynamics.dynamics.coriolis import coriolis_matrix
from robot_dynamics.dynamics.inertia_matrix import inertia_matrix
from robot_dynamics.dynamics.inverse import inverse_dynamics
from robot_dynamics.dynamics.regressor import energy_regressor, inverse_dynamics_regressor
from robot_dynamics.model import Model
from robot_dynamics.model.parameters import unpack
from robot_dynamics.scalar.derivatives import directional_derivative, jacobian
from robot_dynamics.scalar.linear_algebra import times, transposed_times


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
        return {
            "tau_q": _along_motions(
                model, lambda q: inverse_dynamics(model, q, qd, qdd, parameters), q
            ),
            "tau_qd": jacobian(lambda qd: inverse_dynamics(model, q, qd, qdd, parameters), qd),
            "tau_qdd": inertia_matrix(model, q, parameters),
        }

    shapes = {"q": model.nq, "qd": model.nv, "qdd": model.nv}
    return traced(model, run, "inverse_dynamics_derivatives", **shapes)


def residual_derivatives_program(model: Model) -> Program:
    """Derivatives by q and qd of ID - K^T lambda (nv, nv) and of K qdd - k (n^c, nv).

    At q, qd, qdd and multipliers lambda: of what is tau and zero in (8.6).
    """

    def run(q: Any, qd: Any, qdd: Any, multipliers: Any, block: Any) -> dict[str, Any]:
        parameters, n = unpack(model, block), model.nv

        def residual(q: Any, qd: Any) -> list[Any]:
            tau = inverse_dynamics(model, q, qd, qdd, parameters)
            loops = closed_loop_terms(model, q, qd, parameters).loops
            push = transposed_times(loops.K, multipliers, n)
            motion = [t - p for t, p in zip(tau, push, strict=True)]
            return [*motion, *(a - k for a, k in zip(times(loops.K, qdd), loops.k, strict=True))]

        by_q = _along_motions(model, lambda q: residual(q, qd), q)
        by_qd = jacobian(lambda qd: residual(q, qd), qd)
        return {
            "motion_q": by_q[:n],
            "motion_qd": by_qd[:n],
            "rates_q": by_q[n:],
            "rates_qd": by_qd[n:],
        }

    shapes = {"q": model.nq, "qd": model.nv, "qdd": model.nv}
    return traced(model, run, "residual_derivatives", **shapes, multipliers=model.constraint_count)


def velocity_constraint_derivatives_program(model: Model) -> Program:
    """Derivative (n^c, nv) of K qd by q, of q and qd."""

    def run(q: Any, qd: Any, block: Any) -> dict[str, Any]:
        parameters = unpack(model, block)

        def rates(q: Any) -> list[Any]:
            return times(closed_loop_terms(model, q, qd, parameters).loops.K, qd)

        return {"rates_q": _along_motions(model, rates, q)}

    return traced(model, run, "velocity_constraint_derivatives", q=model.nq, qd=model.nv)


def forward_dynamics_derivatives_program(model: Model) -> Program:
    """The smallest pivot, and derivatives of qdd (nv, nv) and lambda (n^c, nv) by q, qd and tau.

    Those of lambda only where there are constraints. Of q, qd, tau, at full rank: those of the
    residual, solved with the factors of the equation.
    """
    n, m = model.nv, model.constraint_count
    residual = residual_derivatives_program(model)

    def run(q: Any, qd: Any, tau: Any, block: Any) -> dict[str, Any]:
        terms = closed_loop_terms(model, q, qd, unpack(model, block))
        qdd, multipliers, pivot = full_rank_motion(model, terms, tau)
        of = call(residual, q, qd, qdd, multipliers, parameters=block)
        factors = constraint_factors(terms.H, terms.loops.K)
        without_bias = ClosedLoopTerms(terms.H, [0.0] * n, terms.loops)

        def solved(motion: Any, rates: Any) -> list[Any]:
            """Return what columns of both sides make of accelerations and multipliers, by row."""
            columns = []
            for force, rate in zip(zip(*motion, strict=True), rates, strict=True):
                found = closed_loop_accelerations(without_bias, factors, force, rate)
                columns.append([*found[0], *found[1]])
            return [list(row) for row in zip(*columns, strict=True)]

        unit = [[float(i == j) for j in range(n)] for i in range(n)]
        by = {
            "q": solved(_minus(of["motion_q"]), _minus(_columns(of["rates_q"], n))),
            "qd": solved(_minus(of["motion_qd"]), _minus(_columns(of["rates_qd"], n))),
            "tau": solved(unit, [[0.0] * m] * n),
        }
        motion = {f"qdd_{name}": rows[:n] for name, rows in by.items()}
        forces = {f"lambda_{name}": rows[n:] for name, rows in by.items()} if m else {}
        return {"pivot": pivot, **motion, **forces}

    shapes = {"q": model.nq, "qd": model.nv, "tau": model.nv}
    return traced(model, run, "forward_dynamics_derivatives", **shapes)


def _minus(matrix: Any) -> list[list[Any]]:
    return [[-x for x in row] for row in matrix]


def _columns(matrix: Any, count: int) -> list[list[Any]]:
    """Return the columns of a matrix that may have no rows."""
    return [[row[j] for row in matrix] for j in range(count)]


def _along_motions(model: Model, function: Callable[[Any], Any], q: Any) -> list[list[Any]]:
    """Return the derivatives of a function of positions along each velocity (m, nv) (3.8)."""
    n = model.nv
    rates = [model.position_rate(q, [float(i == j) for i in range(n)]) for j in range(n)]
    columns = [directional_derivative(function, q, rate)[1] for rate in rates]
    return [list(row) for row in zip(*columns, strict=True)]
