# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The residual of the closed-loop equation of motion (8.6) and its derivatives.

At q, qd, qdd and multipliers lambda it is ID - K^T lambda (nv,), the joint forces, and K qdd - k
(n^c,), which is zero if the accelerations keep the loops closed.
"""

from __future__ import annotations

from typing import Any

from robot_dynamics.compile.differentiation import jacobian_times_vector, vector_times_jacobian
from robot_dynamics.compile.program import Program
from robot_dynamics.dynamics.algorithm import Algorithm
from robot_dynamics.dynamics.closed_loop import terms_to_solve
from robot_dynamics.dynamics.inverse import inverse_dynamics, velocities_and_accelerations
from robot_dynamics.dynamics.inverse_derivatives import (
    along_motions,
    along_velocities,
    has_constant_subspaces,
    torque_derivatives,
)
from robot_dynamics.dynamics.kinematics import joint_transforms
from robot_dynamics.dynamics.loop_derivatives import loop_derivatives
from robot_dynamics.dynamics.loop_frames import loop_frames
from robot_dynamics.dynamics.loops import loop_terms
from robot_dynamics.model import WORLD, Model
from robot_dynamics.model.parameters import Parameters
from robot_dynamics.scalar.derivatives import jacobian
from robot_dynamics.scalar.linear_algebra import add, dot, times
from robot_dynamics.spatial import Force


def residual(
    model: Model, q: Any, qd: Any, qdd: Any, multipliers: Any, parameters: Parameters
) -> list[Any]:
    """Return the residual (nv + n^c,).

    K is not needed: constraint forces act as external forces on the bodies, and the constraints
    are the accelerations of the two ends of each loop.
    """
    if not model.constraint_count:
        return inverse_dynamics(model, q, qd, qdd, parameters)
    Xup = joint_transforms(model, q)
    v, a = velocities_and_accelerations(model, Xup, qd, qdd, parameters.gravity, q)
    # With accelerations in the place of velocity products, k is k - K qdd.
    rates = [-k for k in loop_terms(model, Xup, v, a, parameters, q).k]
    external = [Force.zero() for _ in model.bodies]
    start = 0
    for frame in loop_frames(model, Xup, parameters, q):
        T = frame.joint.type.constraints(frame.placement)
        f = Force.zero()
        for direction, multiplier in zip(T, multipliers[start : start + len(T)], strict=True):
            f = f + direction * multiplier
        start += len(T)
        ends = (frame.joint.successor, frame.of_successor, f)
        for body, X, force in (ends, (frame.joint.predecessor, frame.of_predecessor, -f)):
            if body != WORLD:
                external[body] = external[body] + X.inverse_times(force)
    tau = inverse_dynamics(model, q, qd, qdd, parameters, external)
    for coupling, multiplier in zip(model.couplings, multipliers[start:], strict=True):
        places = [(model.v_slices[body].start, factor) for body, factor in coupling.terms]
        rates.append(dot([factor for _, factor in places], [qdd[i] for i, _ in places]))
        for i, factor in places:
            tau[i] = tau[i] - multiplier * factor
    return [*tau, *rates]


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
    return jacobian_times_vector(residual_program(model), at, rates, block)["residual"]


def residual_vjp(
    model: Model,
    q: Any,
    qd: Any,
    qdd: Any,
    multipliers: Any,
    weights: Any,
    lambda_weights: Any,
    parameters: Parameters,
) -> tuple[Any, ...]:
    """Return the gradients of the weighted residual by q, along velocities, qd, qdd and lambda.

    The function is the sum of weights times the joint forces (nv,) and of `lambda_weights` times
    the rates of the constraints (n^c,).
    """
    at = [q, qd, qdd, multipliers]
    both = [[*weights, *lambda_weights]]
    found = vector_times_jacobian(residual_program(model), at, both, parameters.block)
    by_q = along_velocities(model, q, found["q"])
    return by_q, found["qd"], found["qdd"], found["multipliers"]


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
_last: tuple[Model | None, Program | None] = None, None


def residual_program(model: Model) -> Program:
    """Return `RESIDUAL.program` of a model; the last one is kept, because derivatives share it."""
    global _last
    known, program = _last
    if known is not model or program is None:
        program = RESIDUAL.program(model)
        _last = model, program
    return program


RESIDUAL_JVP = Algorithm(
    "residual_jvp",
    residual_jvp,
    "q, qd, qdd, multipliers, dq, dqd -> residual (nv + constraints)",
)
RESIDUAL_VJP = Algorithm(
    "residual_vjp",
    residual_vjp,
    "q, qd, qdd, multipliers, weights, lambda_weights -> q (nv), qd (nv), qdd (nv), "
    "multipliers (constraints)",
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
