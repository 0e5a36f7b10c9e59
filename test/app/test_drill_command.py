# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The command line of the drill: what it passes on, prints, writes, and ends with."""

from __future__ import annotations

import json

import pytest

from robot_dynamics.app import drill, ros_environment
from robot_dynamics.app.command_line import main
from test.app.test_drill_report import BAD, GOOD


@pytest.fixture
def fake(monkeypatch):
    """Return a function that sets what the drill finds; it returns what it was called with."""
    monkeypatch.setattr(ros_environment, "require_ros", lambda: None)

    def make(results, hazards, soak=None):
        calls = []

        def run(scenario, arguments, progress):
            calls.append((scenario, arguments))
            return results, hazards, {**(soak or {}), "ok": bool(soak)}

        monkeypatch.setattr(drill, "drill", run)
        return calls

    return make


def test_a_good_drill(fake, tmp_path, capsys):
    """Status 0, a table, and the file."""
    calls = fake([GOOD], 1)
    file = tmp_path / "drill.json"
    arguments = ["drill", "--json", str(file), "--only", GOOD.hazard, "--set", "plant.seed=3"]
    assert main(arguments) == 0
    ((scenario, passed),) = calls
    assert scenario.plant.seed == 3
    assert passed == [f"--only={GOOD.hazard}"]
    assert GOOD.hazard in capsys.readouterr().out
    assert json.loads(file.read_text())["ok"] is True


def test_a_bad_drill(fake, capsys):
    """Status 1, and a sentence for what was wrong."""
    fake([GOOD, BAD], 2)
    assert main(["drill"]) == 1
    assert "simulator killed: a torque was 1.2." in capsys.readouterr().err


def test_a_soak(fake, capsys):
    """Its seconds and seed are passed on, and its figures printed."""
    figures = {
        "simulated_s": 5.0,
        "wall_s": 3.0,
        "faults": {},
        "commands": 10,
        "largest_torque": 0.5,
        "memory_mb": {},
        "open_files": {},
        "problems": [],
    }
    calls = fake([], 0, figures)
    assert main(["drill", "--soak", "5", "--seed", "4"]) == 0
    assert calls[0][1] == ["--soak=5.0", "--seed=4"]
    assert "5 s simulated in 3 s" in capsys.readouterr().out


def test_bad_arguments(fake, capsys):
    """What is no time, and a folder that is not there, are refused before anything starts."""
    calls = fake([], 0)
    with pytest.raises(SystemExit):
        main(["drill", "--soak", "-1"])
    assert main(["drill", "--json", "/no/such/folder/x.json"]) == 2
    assert not calls
