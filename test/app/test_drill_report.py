# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A drill is good when every hazard was tried and went as it has to."""

from __future__ import annotations

import json

from robot_dynamics.app.drill import (
    DrillResult,
    drill_report,
    drill_table,
    result_of,
    soak_lines,
)

GOOD = DrillResult(
    "NaN in a position", True, "left: it is nan", 0.002, 0.004, 0.0, 0.66, 300, "controller/reset"
)
ON = DrillResult("messages duplicated", False, "", None, None, 0.0, 0.5, 300, "none")
BAD = DrillResult(
    "simulator killed", False, "", 0.5, 0.1, 0.0, 1.2, 9, "start", ("a torque was 1.2.",)
)


def test_the_report_needs_all_of_them_good():
    """One that failed, or one that was never tried, is enough."""
    assert drill_report([GOOD, ON], 2)["ok"]
    assert not drill_report([GOOD, ON], 3)["ok"]
    assert not drill_report([GOOD, BAD], 2)["ok"]
    report = json.loads(json.dumps(drill_report([GOOD, BAD], 2)))
    assert [hazard["ok"] for hazard in report["hazards"]] == [True, False]


def test_results_come_back_from_json():
    """As the drill's process sends them, with more beside."""
    said = json.loads(json.dumps({"event": "result", **BAD.__dict__}))
    assert result_of(said) == BAD


def test_the_table():
    """One line for each hazard, in columns; what failed says why."""
    lines = drill_table([GOOD, ON, BAD]).splitlines()
    assert len(lines) == 5
    assert len({line.count("|") for line in lines}) == 1
    assert len({len(line) for line in lines}) == 1
    assert "2.0 ms" in lines[2]
    assert "4 ms" in lines[2]
    assert "66 %" in lines[2]
    assert "control goes on" in lines[3]
    assert "FAILED: a torque was 1.2." in lines[4]


def test_the_figures_of_a_soak():
    """Time, memory and files, and what has failed."""
    soak = {
        "simulated_s": 60.0,
        "wall_s": 30.0,
        "faults": {"silent": 2, "frozen": 1},
        "commands": 1000,
        "largest_torque": 0.9,
        "memory_mb": {"simulator": [100.0, 106.0]},
        "open_files": {"simulator": [18, 18]},
        "problems": ["memory of the simulator grew by 6.0 MB."],
    }
    lines = soak_lines(soak)
    assert lines[0].startswith("60 s simulated in 30 s with 3 faults, 1000 commands")
    assert "100.0 MB after warming up, 106.0 MB at the end; 18 files" in lines[1]
    assert lines[2] == "FAILED: memory of the simulator grew by 6.0 MB."
