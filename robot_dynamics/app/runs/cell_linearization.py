# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The linearised control period of a cell with its law: eigenvalues of the sampled loop.

In a period the law computes a torque from the measured joints and wrenches and from its memory,
the torque acts after the command delay, and the plant moves. Both are differentiated exactly, the
law as its program and the plant as `Simulation.linearize` does, and put together here.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import numpy as np

from robot_dynamics.app.scenarios.cell import build_system, true_system
from robot_dynamics.app.scenarios.laws import control_loop
from robot_dynamics.app.scenarios.plant import make_plant, scene_of
from robot_dynamics.app.scenarios.scenario import Scenario, load_scenario
from robot_dynamics.arrays import Array
from robot_dynamics.control.hybrid.law import HybridLaw
from robot_dynamics.dynamics.arguments import positive_number
from robot_dynamics.errors import ArgumentError, RobotDynamicsError
from robot_dynamics.robot import Robot
from robot_dynamics.simulation.rigid_engine import RigidEngine
from robot_dynamics.simulation.settings import SensorSettings


class CellLinearization(NamedTuple):
    """Linearised control period of a cell with its law: the change of x after it is A dx.

    Attributes:
        A: (n, n).
        parts: The parts of x: positions "q", along velocities, and velocities "qd" of arms and
            object (nv each); measured grasp "wrenches" (6 k); torques that wait for the command
            delay, "delayed", the oldest first (na each); the "memory" of the law.
        robot: The mechanism, whose `model` has the order of the joints.
    """

    A: Array
    parts: dict[str, slice]
    robot: Robot


def linearize_cell(
    scenario: Scenario | str | Path, *, time: float, overrides: Iterable[str] = ()
) -> CellLinearization:
    """Return the linear model of a control period of a scenario with its law, at a time of a run.

    The reference does not change with the state. Limits of the drives, friction, command delay and
    the closure of the grasps are included; the memory of the law counts as it is stored, with the
    four numbers of a quaternion. At rest, eigenvalues of A within the unit circle show a stable
    loop.

    Args:
        scenario: A scenario, a file, or the name of a shipped one: rigid grasps, the plant
            "engine", the law "hybrid" or "impedance", no faults, sensors without errors.
        time: Time of the run [s] at which the period begins.
        overrides: Values to replace, as "control.object.bandwidth_hz=2".

    Raises:
        ArgumentError: If the scenario is another one, or the time is too short.
        RobotDynamicsError: If the law corrects the internal force at that time, or a derivative
            is not finite.
    """
    scenario = load_scenario(scenario, overrides, "engine")
    ticks = round(positive_number("time", time) / scenario.control.period)
    control, believed = scenario.control, build_system(scenario)
    true = true_system(scenario, believed)
    if (
        control.law not in ("hybrid", "impedance")
        or control.object_pose == "sensor"
        or scenario.plant.sensors != SensorSettings()
        or scenario.plant.faults
        or any(arm.sensor_tool_mass for arm in believed.arms)
        or not scene_of(scenario, true).rigid
    ):
        raise ArgumentError(
            f"{scenario.name}: only cells with rigid grasps, the law 'hybrid' or 'impedance', and "
            "neither faults nor sensors with errors or tools have derivatives with their law; "
            "expected such a scenario."
        )
    delay = scenario.plant.command_delay_periods
    if ticks <= delay:
        raise ArgumentError(
            f"time is {time:g} s, expected more than {delay} control periods: the brakes hold "
            "until the first command acts."
        )
    loop, plant = control_loop(scenario, believed), make_plant(scenario, true)
    law, engine = loop.law, plant.engine
    assert isinstance(law, HybridLaw)
    assert isinstance(engine, RigidEngine)
    _, _, q, qd, wrenches = plant.reset()
    loop.begin_law(q, qd)
    sent: list[Array] = []
    for tick in range(ticks):
        torque = loop.update_unchecked(tick, tick, q, qd, wrenches).torque
        assert torque is not None
        _, _, q, qd, wrenches = plant.step(torque)
        sent.append(torque)
    if law.running.corrects_now:
        raise RobotDynamicsError(
            f"{scenario.name}: the internal force is being corrected at {time:g} s, which has no "
            "derivatives; expected a time without a correction."
        )
    ramp = min(1.0, ticks / law.ramp_ticks)
    row, memory = law.row(ticks), law.running.memory
    of_torque, of_memory = law.running.derivatives(q, qd, wrenches, row, memory, ramp)
    acting = law.running.evaluate(q, qd, wrenches, row, memory, ramp).torque
    period = engine.period_derivatives(sent[-delay] if delay else acting)
    nv, na = engine.model.nv, len(q)
    parts, size = {}, 0
    for name, length in (
        ("q", nv), ("qd", nv), ("wrenches", wrenches.size), ("delayed", delay * na),
        ("memory", len(memory)),
    ):  # fmt: skip
        parts[name] = slice(size, size + length)
        size += length
    _, joints = engine.joints_at
    at = np.arange(size)
    measured = [at[parts["q"]][joints], at[parts["qd"]][joints]]
    columns = np.concatenate([*measured, at[parts["wrenches"]], at[parts["memory"]]])
    A, command = np.zeros((size, size)), np.zeros((na, size))
    command[:, columns] = of_torque
    A[parts["memory"], columns] = of_memory
    queue = np.vstack([np.eye(size)[parts["delayed"]], command])
    A[parts["delayed"]] = queue[na:]
    inputs = np.vstack([np.eye(size)[: 2 * nv], queue[:na]])
    A[: 2 * nv] = period.state @ inputs
    A[parts["wrenches"]] = period.multipliers @ inputs
    if not np.isfinite(A).all():
        raise RobotDynamicsError(
            f"{scenario.name}: the law has no finite derivatives at {time:g} s, expected a time "
            "at which it is smooth."
        )
    return CellLinearization(A, parts, engine.robot)
