# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The integration step at states where constraints depend on one another.

The same scheme as `step.py` in NumPy, with the rank-revealing solution in the place of the factors
that exist only at full rank. Slow, and right. The rank is that of the state from which the step
goes: at the states within it the loops are open by the square of its length, and constraints that
depend on one another when closed would contradict each other and stop the motion. Constraints on
velocities alone have no part in the projection of positions.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from robot_dynamics.dynamics.rank import constraint_rank
from robot_dynamics.dynamics.redundant import rank_revealing_solution
from robot_dynamics.robot import Robot
from robot_dynamics.simulation.step import Drives, drive_forces

Array = NDArray[np.float64]


def singular_step(
    robot: Robot, drives: Drives, step: float, q: Array, qd: Array, torque: Array
) -> tuple[Array, Array, Array, Array, Array]:
    """Return q, qd, multipliers, closure at the start and drift at the end of one step.

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
