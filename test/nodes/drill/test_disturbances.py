# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Disturbances of the controller by other nodes, on the wall clock.

Apart from the hazards in lockstep: a module has a ROS domain of its own, and in a domain there can
be one session at a time, because its nodes have the names of every other's.
"""

from __future__ import annotations

import pytest

pytest.importorskip("rclpy", reason="ROS 2 is not installed")

from robot_dynamics.app.scenarios.cell import build_system
from robot_dynamics.app.scenarios.scenario import load_scenario
from robot_dynamics.nodes.drill.hazards import HAZARDS, Trial
from robot_dynamics.nodes.drill.process import WALL_CLOCK_RATE_HZ, at_most
from robot_dynamics.nodes.drill.session import DrillSession, NodeMonitor

OF_OTHER_NODES = [hazard for hazard in HAZARDS if hazard.disturbance is not None]


@pytest.fixture(scope="module")
def trial(ros, tmp_path_factory):
    """Return a trial of nodes that move the object."""
    scenario = at_most(load_scenario("lift_box"), WALL_CLOCK_RATE_HZ)
    monitor = NodeMonitor(build_system(scenario))
    with DrillSession(
        monitor, scenario, tmp_path_factory.mktemp("nodes"), lockstep=False
    ) as session:
        session.start_nodes()
        session.begin()
        yield Trial(session, monitor, scenario)
    monitor.close()


@pytest.mark.slow
@pytest.mark.parametrize("hazard", OF_OTHER_NODES, ids=lambda hazard: hazard.name)
def test_other_nodes_do_not_stop_control(trial, hazard):
    """Proves that commands go on, without gaps and without steps."""
    result = trial.run(hazard)
    assert result.ok, result.problems
    assert result.largest_gap_s is not None
