# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The process of the drill tries every hazard, or random faults for hours."""

from __future__ import annotations

import json
import os

import pytest

pytest.importorskip("rclpy", reason="ROS 2 is not installed")

from robot_dynamics.app.command_line.main import main
from robot_dynamics.app.scenarios.cell import build_system
from robot_dynamics.app.scenarios.scenario import load_scenario
from robot_dynamics.errors import UnknownNameError
from robot_dynamics.nodes.drill.process import Soak, Usage, at_most, try_hazards
from robot_dynamics.nodes.drill.session import NodeMonitor


@pytest.mark.slow
def test_all_hazards(tmp_path, capsys):
    """Proves the table of docs/drill.md on this machine, which must have time to spare."""
    file = tmp_path / "drill.json"
    status = main(["drill", "--json", str(file)])
    report = json.loads(file.read_text())
    failed = [hazard for hazard in report["hazards"] if not hazard["ok"]]
    assert not failed
    assert status == 0


def test_the_wall_clock_has_a_slower_rate():
    """A scenario keeps its own if that is slower still."""
    scenario = load_scenario("lift_box")
    assert at_most(scenario, 250.0).control.period == 0.004
    assert at_most(scenario, 1000.0) == scenario


def test_unknown_hazards_are_refused(tmp_path):
    """Before anything is started, with the name that was probably meant."""
    scenario = load_scenario("lift_box")
    with pytest.raises(UnknownNameError, match="did you mean 'NaN in a position'"):
        try_hazards(None, ["NaN in a positon"], scenario, scenario, tmp_path)


@pytest.mark.slow
def test_refusals_reach_the_command_line(capsys):
    """Proves that the sentence comes out of the drill's process, and the status of bad input."""
    assert main(["drill", "--only", "NaN in a positon"]) == 2
    assert "did you mean 'NaN in a position'" in capsys.readouterr().err


def test_usage_of_a_process(tmp_path):
    """The first look and the last one: memory and files that have come since are told."""
    usage = Usage()
    usage.measure(os.getpid())
    assert usage.problems("test") == []
    kept = b"x" * 2**26  # one block of such a size is new memory, never what was freed before
    with open(tmp_path / "file", "w"):
        usage.measure(os.getpid())
    assert len(usage.memory_mb) == 2
    memory, files = usage.problems("test")
    assert memory.startswith("memory of the test grew by")
    assert files.startswith("1 files of the test stayed open")
    assert len(kept) == 2**26


@pytest.mark.slow
def test_a_minute(ros, tmp_path):
    """Proves that nodes survive faults of every kind and keep nothing: see docs for an hour."""
    scenario = load_scenario("lift_box", ["control.rate_hz=250"])
    monitor = NodeMonitor(build_system(scenario))
    found = Soak(monitor, scenario, tmp_path, 60.0, 1).run()
    monitor.close()
    assert found["problems"] == []
    assert found["simulated_s"] >= 60.0
    assert found["largest_torque"] <= 1.0
    assert sum(found["faults"].values()) > 4
