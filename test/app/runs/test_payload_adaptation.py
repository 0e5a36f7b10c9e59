# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Runs in which control estimates the payload: benefit, and harm by false data."""

from __future__ import annotations

import numpy as np
import pytest

from robot_dynamics.app.runs.run import simulate
from robot_dynamics.app.scenarios.cell import build_system, true_system
from robot_dynamics.app.scenarios.laws import control_loop
from robot_dynamics.app.scenarios.plant import make_plant
from robot_dynamics.app.scenarios.scenario import load_scenario
from robot_dynamics.control.faults import SafetyError
from robot_dynamics.control.task.held_law import HeldLaw
from robot_dynamics.control.task.held_plan import PlanPart
from robot_dynamics.control.task.phases import Now

ADAPT, HEAVY = "control.payload=adapt", "plant.object_mass_scale=1.2"
NOISE = ["plant.sensors.position=1.0e-4", "plant.sensors.force=0.3", "plant.sensors.moment=0.02"]
# Farthest that false data may move the object beyond its error without adaptation: the mass that
# control uses changes by 5 kg in a second at most, which the integral of the servo follows.
MOST_M = 1e-4

pytestmark = pytest.mark.slow


def run(*changes, duration=1.6):
    """Return times, errors of the object [m] and the recording of a run of `lift_box`."""
    found = simulate(load_scenario("lift_box", changes), duration=duration).recording
    error = found["object_pose"][:, :3] - found["reference_pose"][:, :3]
    return found["time"], np.linalg.norm(error, axis=1), found


def test_a_heavy_box_is_learned_on_the_way():
    """With noise: from 1.4 mm to less than 0.1 mm."""
    time, error, found = run(ADAPT, HEAVY, *NOISE)
    assert error[time < 0.2].max() > 1e-3
    assert error[time > 0.6].max() < 1e-4
    off = found["estimated_payload"][-1] - [12.0, 0.0, 0.0, 0.0]
    assert np.abs(off)[:1] < 0.01
    assert (np.abs(off) < 4.0 * found["payload_deviation"][-1]).all()


def test_tared_sensors_weigh_the_box_before_the_start():
    """The first torque carries it: no sag at all."""
    _, error, found = run(ADAPT, HEAVY, "control.start.tare=true", *NOISE, duration=0.3)
    assert error.max() < 1e-4
    assert found["estimated_payload"][0, 0] == pytest.approx(12.0, abs=0.15)


def test_biased_sensors_hardly_move_the_box():
    """20 N that are not there count as 2 kg, but slowly."""
    _, error, found = run(ADAPT, "plant.sensors.force_bias=[-10.0, -10.0, 0.0]")
    assert found["estimated_payload"][:, 0].max() > 11.5
    _, without, _ = run("plant.sensors.force_bias=[-10.0, -10.0, 0.0]")
    assert error.max() < without.max() + MOST_M


def test_a_resumed_task_and_a_refused_start_keep_the_payload():
    """The arms still hold the object; the estimate must not fall back to the stated payload."""
    scenario = load_scenario("lift_box", [ADAPT, HEAVY])
    system = build_system(scenario)
    loop = control_loop(scenario, system)
    plant = make_plant(scenario, true_system(scenario, system))
    seen = plant.reset()
    loop.check(seen.q, seen.qd)
    loop.start_at(0, 0, seen.q, seen.qd, seen.wrenches)
    for tick in range(400):
        torque = loop.update(tick, tick, seen.q, seen.qd, seen.wrenches).torque
        seen = plant.step(torque)
    law, ratio = loop.law, loop.law.mass_ratio
    assert ratio == pytest.approx(1.2, abs=0.02)
    loop._checked_start, loop.wrist_sensors.tared = seen.q, True
    law.check_start = lambda q, qd: None
    with pytest.raises(SafetyError, match="start refused"):
        loop.start_at(400, 400, seen.q, seen.qd, 0.9 * seen.wrenches)
    assert law.mass_ratio == ratio
    held = HeldLaw.__new__(HeldLaw)
    held.law = law
    part = PlanPart(law.plan, 0.0, 0.1, law.period)
    held.resume(Now(0.0, seen.q, seen.qd, None, torque), part)
    assert law.mass_ratio == ratio
    law.start(seen.q, seen.qd, torque)
    assert law.mass_ratio == 1.0


def test_torques_alone_tell_the_payload():
    """Without wrist sensors; the fallback then holds up the box as if its mass were stated."""
    scenario = load_scenario("lift_box", [ADAPT, HEAVY])
    system = build_system(scenario)
    loop = control_loop(scenario, system, wrist_sensors=False)
    plant = make_plant(scenario, true_system(scenario, system))
    measured = plant.reset()
    loop.check(measured.q, measured.qd)
    loop.start_at(0, 0, measured.q, measured.qd, None)
    for tick in range(500):
        outcome = loop.update(tick, tick, measured.q, measured.qd, None)
        measured = plant.step(outcome.torque)
    assert loop.law.mass_ratio == pytest.approx(1.2, abs=2e-3)
    stated = control_loop(load_scenario("lift_box", ["cell.object.mass=12.0"]))
    q = measured.q
    support = stated.law.hold_support(q)
    assert loop.law.hold_support(q) == pytest.approx(support, abs=2e-3 * np.abs(support).max())
    empty, laden = loop._arms.inertia(q), loop._laden.inertia(q)
    assert loop._inertia(q, True) - empty == pytest.approx(1.2 * (laden - empty), rel=2e-3)
    loop.law.start(q, 0.0 * q)
    assert loop.law.mass_ratio == 1.0
