# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Comparison of the model of linear separability with the unified one: results and cost.

Swain and Morris doubt that arms and base may be "separated linearly" as in appendix A, where the
joints of the whole are sorted into active and passive ones and the equations of motion into four
blocks. Here the blocks are made in three ways that share no code beyond kinematics: by the paper's
stacked operators (7) to (24), corrected; as blocks of the joint-space inertia matrix, as appendix
A has it; and column by column from inverse dynamics. Then all accelerations are compared with the
closed-loop engine, and everything is timed.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from robot_dynamics.app.pictures.figures import BLUE, GREEN, GREY, ORANGE, VERMILION
from robot_dynamics.arrays import Array
from robot_dynamics.reproductions.study import Check, StudyOutcome, Tell, largest
from robot_dynamics.reproductions.swain_morris import TOOLS, grasps, held_at, held_box, two_armed
from robot_dynamics.reproductions.unified import (
    Operators,
    Partition,
    UnifiedSystem,
    forward_dynamics,
    unified_system,
)
from robot_dynamics.robot import Robot

BLOCKS = ("M_p", "M_ap", "M_a", "C_p", "C_a", "J_p", "J_a", "J_dot_v")
_STATES = 1000
_STILL = np.array([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0])
OPERATORS, PARTITION, ENGINE = "stacked operators", "compiled partition", "closed-loop engine"


def partition_of_inverse_dynamics(
    system: UnifiedSystem, robot: Robot, q: Array, qd: Array
) -> dict[str, Array]:
    """Return M and C of the parts, columns of M from inverse dynamics, one acceleration each."""
    n = system.model.nv
    a, p = system.driven, system.following
    still = np.zeros(n)
    C = robot.inverse_dynamics(q, qd, still)
    rest = robot.inverse_dynamics(q, still, still)
    H = robot.inverse_dynamics(q, still, np.eye(n)) - rest
    return {
        "M_p": H[np.ix_(p, p)],
        "M_ap": H[np.ix_(a, p)].T,
        "M_a": H[np.ix_(a, a)],
        "C_p": C[p],
        "C_a": C[a],
    }


def largest_difference(one: Any, other: Any, names: tuple[str, ...]) -> float:
    """Return the largest difference of the blocks of two models, relative to each block."""
    worst = 0.0
    for name in names:
        left, right = (x[name] if isinstance(x, dict) else getattr(x, name) for x in (one, other))
        size = float(np.max(np.abs(right), initial=0.0)) or 1.0
        worst = largest(worst, float(np.max(np.abs(left - right), initial=0.0)) / size)
    return worst


def printed_bias(operators: Operators, system: UnifiedSystem, parts: Partition) -> float:
    """Return the error of C (28) as printed, with X_b^-1 read as a pseudo-inverse.

    Printed are C_a = Phi^T X^T (b + M_q X_dot Phi qd) and, with the base's own inertia M_b and
    bias, C_p = X_b^T (b + M_q X_dot Phi qd) - M_b X_b^-1 X_dot_b V_b + b_b.
    """
    a, p = system.driven, system.following
    o = operators
    J = o.X @ o.Phi
    arms, base = slice(6, None), slice(0, 6)
    X_b, X_dot_b = J[arms][:, p], (o.X_dot @ o.Phi)[arms][:, p]
    V_b, qd = o.qd[p], o.qd[a]
    M_q, b = o.M_q[arms, arms], o.b[arms]
    swept = b + M_q @ ((o.X_dot @ o.Phi)[arms][:, a] @ qd)
    C_a = J[arms][:, a].T @ swept
    lost = o.M_q[base, base] @ (np.linalg.pinv(X_b) @ (X_dot_b @ V_b)) - o.b[base]
    C_p = X_b.T @ swept - lost
    C = C_a - parts.disturbance_jacobian.T @ C_p
    return float(np.max(np.abs(C - parts.C)) / np.max(np.abs(parts.C)))


def run(quick: bool, tell: Tell) -> StudyOutcome:
    """Compare blocks, accelerations and times."""
    tell(0.0, "compiling")
    system = unified_system(two_armed("floating", 300.0), TOOLS, held_box(40.0), grasps())
    robot = Robot(system.model)
    ahead = _STILL + 1.5 * np.eye(7)[0]
    ready = held_at(system, robot, _STILL, ahead)
    rng = np.random.default_rng(0)
    count = 20 if quick else _STATES
    differences = {
        "operators": 0.0,
        "inverse dynamics": 0.0,
        "accelerations": 0.0,
        "wrenches": 0.0,
    }
    printed = []
    for i in range(count):
        q, qd = _state(rng, system, robot, ready)
        terms = system.terms(q, qd)
        operators = Operators.of(system, q, qd)
        by_operators = operators.partition(system)
        by_columns = partition_of_inverse_dynamics(system, robot, q, qd)
        found = {
            "operators": largest_difference(by_operators, terms.parts, BLOCKS),
            "inverse dynamics": largest_difference(by_columns, terms.parts, BLOCKS[:5]),
        }
        tau = np.zeros(system.model.nv)
        tau[:18] = 10.0 * rng.normal(size=18)
        ours = forward_dynamics(terms, tau[system.driven], tau[system.following])
        engine = robot.constrained_motion(q, qd, tau)
        qdd = np.concatenate(
            [ours.following_accelerations, ours.joint_accelerations, ours.object_acceleration]
        )
        found["accelerations"] = _relative(qdd, engine.qdd)
        found["wrenches"] = _relative(ours.grasp_wrenches, engine.multipliers)
        differences = {name: largest(found[name], value) for name, value in differences.items()}
        printed.append(printed_bias(operators, system, terms.parts))
        tell(0.05 + 0.85 * (i + 1) / count, f"{i + 1} states of {count}")
    tell(0.92, "timing")
    times = _times(system, robot, q, qd, tau, 20 if quick else 200)
    figures = {
        "states": count,
        "largest relative difference": differences,
        "relative error of C as printed, median": float(np.median(printed)),
        "time of the blocks and the accelerations [us]": times,
    }
    checks = (
        Check("blocks by operators beside the partition", differences["operators"], 1e-10),
        Check("blocks by inverse dynamics beside it", differences["inverse dynamics"], 1e-10),
        Check("accelerations beside the closed-loop engine", differences["accelerations"], 1e-9),
        Check("grasp wrenches beside the closed-loop engine", differences["wrenches"], 1e-9),
    )

    def draw(figure: Any) -> None:
        left, right = figure.subplots(1, 2)
        names = list(differences)
        values = [max(value, 1e-17) for value in differences.values()]
        left.barh(names[::-1], values[::-1], color=BLUE)
        left.barh(["C as printed"], [figures["relative error of C as printed, median"]],
                  color=VERMILION)  # fmt: skip
        left.set(xscale="log", title=f"Largest relative difference over {count} states")
        left.axvline(1e-9, color=GREY, linestyle=(0, (5, 3)), linewidth=1.0)
        right.barh(list(times)[::-1], list(times.values())[::-1], color=[GREEN, ORANGE, BLUE][:3])
        for name, value in times.items():
            right.annotate(f" {value:.0f} µs", (value, name), va="center")
        right.set(xscale="log", title="Time of one state", xlabel="[µs]")
        right.set_xlim(right=6.0 * max(times.values()))
        figure.suptitle("Linear separability beside the unified model", x=0.01, ha="left")

    return StudyOutcome(figures, checks, draw, (11.0, 3.6))


def _state(
    rng: np.random.Generator, system: UnifiedSystem, robot: Robot, ready: Array
) -> tuple[Array, Array]:
    """Return a state at random, the box held and velocities such that it stays held."""
    model = system.model
    base = model.integrate(model.neutral().tolist(), [*rng.normal(size=6), *[0.0] * 18])[:7]
    start = ready.copy()
    start[7:19] += 0.2 * rng.normal(size=12)
    start[:7] = base
    # The box is near its pose in the left hand; the nearest posture holds it.
    there = robot.pose(TOOLS[0], start) @ np.linalg.inv(system.grasps[0])
    start[19:] = [*there[:3, 3], *Rotation.from_matrix(there[:3, :3]).as_quat()]
    found = robot.assemble(start, held=["carrier"], velocities=rng.normal(size=model.nv))
    return found.q, found.qd


def _relative(one: Array, other: Array) -> float:
    return float(np.max(np.abs(one - other)) / np.max(np.abs(other)))


def _times(
    system: UnifiedSystem, robot: Robot, q: Array, qd: Array, tau: Array, repeats: int
) -> dict[str, float]:
    """Return the time of one state by each route [us], the best of some tries."""
    torque, force = tau[system.driven], tau[system.following]
    held = system.terms(q, qd)

    def by_operators() -> Any:
        parts = Operators.of(system, q, qd).partition(system)
        return forward_dynamics(type(held)(parts, held.held), torque, force)

    def by_partition() -> Any:
        return forward_dynamics(system.terms(q, qd), torque, force)

    routes: dict[str, Callable[[], Any]] = {
        OPERATORS: by_operators,
        PARTITION: by_partition,
        ENGINE: lambda: robot.forward_dynamics(q, qd, tau),
    }
    times = {}
    for name, route in routes.items():
        route()
        tries = []
        for _ in range(repeats):
            start = time.perf_counter()
            route()
            tries.append(time.perf_counter() - start)
        times[name] = 1e6 * min(tries)
    return times
