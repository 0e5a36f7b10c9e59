# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The residual of the closed-loop equation of motion (8.6) and its derivatives.

At q, qd, qdd and multipliers lambda it is ID - K^T lambda (nv,), the joint forces, and K qdd - k
(n^c,), which is zero if the accelerations keep the loops closed.
"""

from __future__ import annotations

from typing import Any

from robot_dynamics.compile.differentiation import jacobian_times_vector
from robot_dynamics.dynamics.algorithm import Algorithm
from robot_dynamics.dynamics.closed_loop import terms_to_solve
from robot_dynamics.dynamics.inverse import inverse_dynamics
from robot_dynamics.dynamics.inverse_derivatives import (
    along_motions,
    has_constant_subspaces,
    torque_derivatives,
)
from robot_dynamics.dynamics.loop_derivatives import loop_derivatives
from robot_dynamics.model import Model
from robot_dynamics.model.parameters import Parameters
from robot_dynamics.scalar.derivatives import jacobian
from robot_dynamics.scalar.linear_algebra import add, subtract, times, transposed_times


def residual(
    model: Model, q: Any, qd: Any, qdd: Any, multipliers: Any, parameters: Parameters
) -> list[Any]:
    """Return the residual (nv + n^c,)."""
    tau = inverse_dynamics(model, q, qd, qdd, parameters)
    if not model.constraint_count:
        return tau
    loops = terms_to_solve(model, q, qd, parameters).loops
    push = transposed_times(loops.K, multipliers, model.nv)
    return [*subtract(tau, push), *subtract(times(loops.K, qdd), loops.k)]


def residual_derivatives(
    model: Model, q: Any, qd: Any, qdd: Any, multipliers: Any, parameters: Parameters
) -> tuple[Any, Any, Any, Any]:
    """Return the derivatives of both parts by q, along velocities, and by qd.

    Both of the first part (nv, nv), then both of the second (n^c, nv).
    """
    if has_constant_subspaces(model):
        tau_q, tau_qd = torque_derivatives(model, q, qd, qdd, parameters)
        loops = loop_derivatives(model, q, qd, qdd, multipliers, parameters)
        motion_q = [add(a, b) for a, b in zip(tau_q, loops.forces_q, strict=True)]
        return motion_q, tau_qd, loops.rates_q, loops.rates_qd

    def at(q: Any, qd: Any) -> list[Any]:
        return residual(model, q, qd, qdd, multipliers, parameters)

    n = model.nv
    by_q = along_motions(model, lambda q: at(q, qd), q)
    by_qd = jacobian(lambda qd: at(q, qd), qd)
    return by_q[:n], by_qd[:n], by_q[n:], by_qd[n:]


def residual_jvp(
    model: Model,
    q: Any,
    qd: Any,
    qdd: Any,
    multipliers: Any,
    dq: Any,
    dqd: Any,
    parameters: Parameters,
) -> Any:
    """Return the rate of the residual as q and qd change, at fixed qdd and multipliers."""
    fixed = [0.0] * model.nv, [0.0] * model.constraint_count
    rates = [model.position_rate(q, dq), dqd, *fixed]
    return residual_rate(model, [q, qd, qdd, multipliers], rates, parameters.block)


def residual_rate(model: Model, at: list[Any], rates: list[Any], block: Any) -> Any:
    """Return the rate of the residual at q, qd, qdd and multipliers that change at `rates`."""
    return jacobian_times_vector(RESIDUAL.program(model), at, rates, block)["residual"]


def velocity_constraint_derivatives(
    model: Model, q: Any, qd: Any, parameters: Parameters
) -> list[list[Any]]:
    """Return the derivative (n^c, nv) of K qd by q, along velocities."""
    if has_constant_subspaces(model):
        still, none = [0.0] * model.nv, [0.0] * model.constraint_count
        return loop_derivatives(model, q, qd, still, none, parameters).drift_q

    def rates(q: Any) -> list[Any]:
        return times(terms_to_solve(model, q, qd, parameters).loops.K, qd)

    return along_motions(model, rates, q)


RESIDUAL = Algorithm(
    "residual", residual, "q, qd, qdd, multipliers -> residual (nv + constraints)"
)
RESIDUAL_JVP = Algorithm(
    "residual_jvp",
    residual_jvp,
    "q, qd, qdd, multipliers, dq, dqd -> residual (nv + constraints)",
)
RESIDUAL_DERIVATIVES = Algorithm(
    "residual_derivatives",
    residual_derivatives,
    "q, qd, qdd, multipliers -> motion_q (nv, nv), motion_qd (nv, nv), "
    "rates_q (constraints, nv), rates_qd (constraints, nv)",
)
VELOCITY_CONSTRAINT_DERIVATIVES = Algorithm(
    "velocity_constraint_derivatives",
    velocity_constraint_derivatives,
    "q, qd -> rates_q (constraints, nv)",
)
