# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""One integration step of a closed-loop system under its drives, loops closed by projection.

The step is one kernel, `step_program`. If constraints depend on one another at a state,
`singular_step` replaces it.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from robot_dynamics.arrays import Array
from robot_dynamics.compile import Program, call, trace
from robot_dynamics.compile.differentiation import jacobian_times_vector
from robot_dynamics.dynamics.full_rank import SMALLEST_PIVOT
from robot_dynamics.dynamics.rank import constraint_rank
from robot_dynamics.dynamics.redundant import rank_revealing_solution
from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.model import Model
from robot_dynamics.model.parameters import pack
from robot_dynamics.robot import Robot
from robot_dynamics.scalar.functions import maximum, minimum, sqrt
from robot_dynamics.simulation.drives import DriveParameters
from robot_dynamics.simulation.runge_kutta import CLASSICAL, ClosedMotion, JointForces, step_of
from robot_dynamics.spatial import Scalar


def step_parameters(model: Model, drives: DriveParameters, step: float) -> Array:
    """Return the parameter block of `step_program`: model, drives, length of the step [s]."""
    return np.concatenate([pack(model), drives.pack(), [step]])


def step_program(model: Model, actuated: Sequence[int]) -> Program:
    """Return the program of one Runge-Kutta step of fourth order, followed by projection.

    Inputs: q (nq,), qd (nv,), torque (na,), held over the step. Outputs: q, qd after the step, the
    loop multipliers there (n^c,), the position errors at the start of the step (n^c,) and before
    the projection (n^c,), and the smallest pivot (), which shows full rank.

    Positions and velocities are projected in the metric of H, so that the kinetic energy never
    grows by it.

    Args:
        model: The mechanism.
        actuated: Indices of the actuated joints in the velocities.
    """
    forces = partial(drive_forces, model.nv, actuated)
    drives = JointForces(len(actuated), 3 * len(actuated) + 1, forces)
    motion = ClosedMotion(model, drives)
    outputs = ("q", "qd", "multipliers", "closure", "drift", "pivot")
    return step_of(model, CLASSICAL, motion.rate(), motion.projection(), outputs)


def step_derivative_program(model: Model, actuated: Sequence[int]) -> Program:
    """Return the program of the directional derivatives of a step of `step_program`.

    Inputs: q (nq,), qd (nv,), torque (na,), and their changes; the change of q is along velocities
    (nv,). Outputs: the changes of q (nq,), qd (nv,) and the loop multipliers (n^c,) after the
    step, q after the step, and the smallest pivot. Parameters are as for `step_program`.
    """
    step = step_program(model, actuated)

    def run(q: Any, qd: Any, torque: Any, dq: Any, dqd: Any, dtorque: Any, block: Any) -> Any:
        rates = [model.position_rate(q, dq), dqd, dtorque]
        found = jacobian_times_vector(step, [q, qd, torque], rates, block)
        end = call(step, q, qd, torque, parameters=block)
        loops = {"dmultipliers": found["multipliers"]} if model.constraint_count else {}
        state = {"dq": found["q"], "dqd": found["qd"], "q": end["q"]}
        return {**state, "pivot": end["pivot"], **loops}

    changes = {"dq": model.nv, "dqd": model.nv, "dtorque": len(actuated)}
    return trace(run, "step_derivative", {**step.inputs, **changes}, step.parameters)


class StepDerivatives(NamedTuple):
    """Derivatives of a step by positions, along velocities, velocities and torques, side by side.

    Attributes:
        state: Of positions, along velocities, and velocities (2 nv, 2 nv + na).
        multipliers: Of the loop multipliers at its end (n^c, 2 nv + na).
    """

    state: Array
    multipliers: Array


def step_derivatives(
    model: Model, function: Any, q: Array, qd: Array, torque: Array
) -> StepDerivatives:
    """Return the derivatives of a step.

    If a torque is at its limit, or friction at a kink, they are the mean of both sides.

    Args:
        model: The mechanism.
        function: The compiled `step_derivative_program`.
        q: Positions (nq,).
        qd: Velocities (nv,).
        torque: Torques (na,), held over the step.

    Raises:
        RobotDynamicsError: If constraints depend on one another.
    """
    n, na = model.nv, len(torque)
    changes = np.split(np.eye(2 * n + na), [n, 2 * n], axis=1)
    dq, dqd, ends, pivots, *loops = function(q, qd, torque, *changes)
    if not np.all(pivots >= SMALLEST_PIVOT):
        raise RobotDynamicsError(
            f"{model.name}: constraints depend on one another here, so that a step has no "
            "derivatives."
        )
    rates = [model.position_rate(ends[0].tolist(), unit) for unit in np.eye(n).tolist()]
    along = np.linalg.lstsq(np.array(rates).T, dq.T, rcond=None)[0]
    multipliers = loops[0].T if loops else np.zeros((0, 2 * n + na))
    return StepDerivatives(np.vstack([along, dqd.T]), multipliers)


def drive_forces(
    nv: int,
    actuated: Sequence[int],
    qd: Sequence[Scalar],
    torque: Sequence[Scalar],
    drives: Sequence[Scalar],
) -> list[Scalar]:
    """Return the joint forces (nv,) of limited torques less friction; `drives` is packed."""
    na = len(actuated)
    effort, damping, friction = (drives[i * na : (i + 1) * na] for i in range(3))
    v0 = drives[3 * na]
    tau: list[Scalar] = [0.0] * nv
    for j, at in enumerate(actuated):
        limited = minimum(maximum(torque[j], -effort[j]), effort[j])
        rate = qd[at]
        tau[at] = limited - damping[j] * rate - friction[j] * rate / sqrt(rate * rate + v0 * v0)
    return tau


def singular_step(
    robot: Robot, drives: DriveParameters, step: float, q: Array, qd: Array, torque: Array
) -> tuple[Array, Array, Array, Array, Array]:
    """Return q, qd, multipliers, closure at the start and drift at the end of one step.

    The scheme of `step_program` in NumPy, which is slow, with the rank-revealing solution instead
    of factors that exist only at full rank. The rank is taken at the start of the step: within the
    step the loops are open by the square of its length, so that dependent constraints would
    contradict each other and stop the motion. Constraints on velocities alone are left out of the
    projection of positions.

    Args:
        robot: The closed-loop system.
        drives: Limits and friction.
        step: Length of the step [s].
        q: Positions (nq,).
        qd: Velocities (nv,).
        torque: Torques of the actuated joints (na,), held over the step.
    """
    model = robot.model
    packed, actuated = drives.pack(), drives.v_index.tolist()

    def joint_forces(at_v: Array) -> Array:
        forces = drive_forces(model.nv, actuated, at_v.tolist(), torque.tolist(), packed.tolist())
        return np.array(forces)

    _, _, K, _, closure, _ = robot.constraint_terms(q, qd)
    on_positions = model.holonomic[:, None]
    rank = constraint_rank(model, K, closure, q).rank
    rank_of_positions = constraint_rank(model, K * on_positions, closure, q).rank

    def slopes(at_q: Array, at_v: Array) -> tuple[Array, Array]:
        H, C, K, k, error, _ = robot.constraint_terms(at_q, at_v)
        ranked = constraint_rank(model, K, error, at_q, rank=rank)
        force = joint_forces(at_v) - C
        motion = rank_revealing_solution(model, H, force, K, k, ranked=ranked)
        return np.array(model.position_rate(at_q.tolist(), at_v.tolist())), motion.qdd

    stages: list[tuple[Array, Array]] = []
    for fraction in (0.0, 0.5, 0.5, 1.0):
        dq, dv = stages[-1] if stages else (np.zeros(model.nq), np.zeros(model.nv))
        stages.append(slopes(q + fraction * step * dq, qd + fraction * step * dv))
    weights = np.array([1.0, 2.0, 2.0, 1.0]) * step / 6.0
    new_q = np.array(model.normalized((q + weights @ np.array([s[0] for s in stages])).tolist()))
    new_v = qd + weights @ np.array([s[1] for s in stages])

    H, C, K, k, drift, speed = robot.constraint_terms(new_q, new_v)
    ranked = constraint_rank(model, K, drift, new_q, rank=rank)
    of_positions = K * on_positions
    narrow = constraint_rank(model, of_positions, drift, new_q, rank=rank_of_positions)
    end = rank_revealing_solution(model, H, joint_forces(new_v) - C, K, k, ranked=ranked)
    # A jump of the motion by the constraints' errors is the same problem without forces.
    at_rest = np.zeros(model.nv)
    dq = rank_revealing_solution(model, H, at_rest, of_positions, -drift, ranked=narrow).qdd
    dv = rank_revealing_solution(model, H, at_rest, K, -speed, ranked=ranked).qdd
    return (
        np.array(model.integrate(new_q.tolist(), dq.tolist())),
        new_v + dv,
        end.multipliers,
        closure,
        drift,
    )
