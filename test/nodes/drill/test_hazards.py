# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The hazards of the drill, and how one is tried."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import pytest

pytest.importorskip("rclpy", reason="ROS 2 is not installed")

from robot_dynamics.app.scenarios.cell import build_system
from robot_dynamics.app.scenarios.scenario import load_scenario
from robot_dynamics.nodes.drill.hazards import (
    HAZARDS,
    Trial,
    bound_s,
    gap_bound_s,
    problems_of_commands,
)
from robot_dynamics.nodes.drill.session import DrillSession, NodeMonitor
from robot_dynamics.simulation.faults import KINDS, fault_of


@pytest.mark.parametrize("hazard", HAZARDS, ids=lambda hazard: hazard.name)
def test_each_has_one_cause(hazard):
    """A fault that the simulator knows, a signal, another node, or parameters of a node."""
    disturbed = hazard.disturbance is not None
    causes = bool(hazard.faults) + bool(hazard.signal) + disturbed + bool(hazard.parameters)
    assert causes == 1
    if hazard.faults:
        fault_of(hazard.faults)
    assert bool(hazard.nodes) == (bool(hazard.signal) or hazard.parameters is not None)


def test_all_kinds_of_faults_are_there():
    """Names are unique, and no kind is left out but those that whole runs without nodes test."""
    assert len({hazard.name for hazard in HAZARDS}) == len(HAZARDS)
    drilled = {fault_of(h.faults).kind for h in HAZARDS if h.faults}
    assert drilled | SIMULATED == set(KINDS)
    assert not drilled & SIMULATED


#: Only planned by scenarios: tested by `test/app/runs/test_edges.py`.
SIMULATED = {"late_joints", "joint_stuck"}


BY_NAME = {hazard.name: hazard for hazard in HAZARDS}
SCENARIO = load_scenario("lift_box")


@pytest.fixture(scope="module")
def trial(ros, tmp_path_factory):
    """Return a trial of nodes that move the object."""
    monitor = NodeMonitor(build_system(SCENARIO))
    with DrillSession(
        monitor, SCENARIO, tmp_path_factory.mktemp("nodes"), lockstep=True
    ) as session:
        session.start_nodes()
        session.begin()
        yield Trial(session, monitor, SCENARIO)
    monitor.close()


def _others(*names):
    """Return names of hazards that are tried in the long run."""
    return [pytest.param(name, marks=pytest.mark.slow) for name in names]


@pytest.mark.parametrize(
    "name",
    ["NaN in a position", *_others("Inf in a velocity", "missing joint", "a position jumps")],
)
def test_the_fallback_comes_in_the_same_period(trial, name):
    """Its cause is told, torques stay within the limits, and there is a way back."""
    result = trial.run(BY_NAME[name])
    assert result.ok, result.problems
    assert result.fallback_s == 0.0
    assert BY_NAME[name].cause in result.seen
    assert 0.0 < result.largest_torque <= 1.0
    assert result.largest_gap_s is None
    assert 0.0 < result.largest_step <= result.step_bound + 1e-9
    assert result.commands > 100


@pytest.mark.parametrize(
    "name", ["stop in mid-air, then resumed", *_others("stop in mid-air, then put down")]
)
def test_a_stopped_run_goes_on(trial, name):
    """Control stops, is reset and starts where the object is, without a step of a torque."""
    result = trial.run(BY_NAME[name])
    assert result.ok, result.problems
    assert 0.0 < result.largest_step <= result.step_bound
    assert result.commands > 100


@pytest.mark.slow
def test_another_order_of_joints_does_not_end_control(trial):
    """Proves that joints are matched by name, and control goes on."""
    result = trial.run(BY_NAME["joints in another order"])
    assert result.ok, result.problems
    assert (result.fallback_s, result.seen) == (None, "")


@pytest.mark.slow
def test_a_hazard_that_does_other_things_than_expected_is_no_success(trial):
    """Proves that a trial can fail: here control ends where it should go on."""
    ends = replace(BY_NAME["NaN in a position"], cause="", bound=None)
    assert "control ended" in trial.run(ends).problems[0]


def test_bounds(tmp_path):
    """Two control periods, and the declared delay."""
    session = DrillSession(
        SimpleNamespace(), SCENARIO, tmp_path, lockstep=False
    )  # nothing is started
    period = SCENARIO.control.period
    bounds = {
        name: bound_s(BY_NAME[name], session, period, SCENARIO.safety)
        for name in ("NaN in a wrench", "joint states silent", "controller killed with -9")
    }
    assert bounds == {
        "NaN in a wrench": pytest.approx(0.004),
        "joint states silent": pytest.approx(0.104),
        "controller killed with -9": pytest.approx(0.254),
    }
    assert bound_s(BY_NAME["messages duplicated"], session, period, SCENARIO.safety) is None
    gaps = {
        name: gap_bound_s(BY_NAME[name], session, period)
        for name in (
            *("messages duplicated", "joint states silent"),
            *("controller killed with -9", "guard killed"),
        )
    }
    assert gaps == {
        "messages duplicated": 0.05,
        "joint states silent": pytest.approx(0.104),
        "controller killed with -9": pytest.approx(0.254),
        "guard killed": 0.05,
    }
    assert gap_bound_s(BY_NAME["both suspended, guard continues first"], session, period) is None


def test_invalid_commands_are_found():
    """Numbers, limits, and steps beyond the torque rate."""
    assert problems_of_commands(0, 1.0, 2.0, 2.0) == []
    not_finite, large, step = problems_of_commands(3, 1.2, 19.65, 4.0)
    assert not_finite.startswith("3 commands were not finite")
    assert large == "a torque was 1.2 of its limit; expected at most 1."
    assert step == "a torque changed by 19.6 N m at once; expected at most 4."
