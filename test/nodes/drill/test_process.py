# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The command, with the real nodes: a hazard in a few seconds, all of them in the long run."""

from __future__ import annotations

import json

import pytest

pytest.importorskip("rclpy", reason="ROS 2 is not installed")

from robot_dynamics.app.command_line import main
from robot_dynamics.app.scenario import load_scenario
from robot_dynamics.errors import UnknownNameError
from robot_dynamics.nodes.drill.process import at_most, try_hazards


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
