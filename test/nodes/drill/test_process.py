# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The command, with the real nodes: a hazard in a few seconds, all of them in the long run."""

from __future__ import annotations

import json

import pytest

pytest.importorskip("rclpy", reason="ROS 2 is not installed")

from robot_dynamics.app.command_line import main


@pytest.mark.slow
def test_all_hazards(tmp_path, capsys):
    """Proves the table of docs/drill.md on this machine, which must have time to spare."""
    file = tmp_path / "drill.json"
    status = main(["drill", "--json", str(file)])
    report = json.loads(file.read_text())
    failed = [hazard for hazard in report["hazards"] if not hazard["ok"]]
    assert not failed
    assert status == 0


def test_unknown_hazards_are_refused(capsys):
    """With the name that was probably meant."""
    assert main(["drill", "--only", "NaN in a positon"]) == 2
    assert "did you mean 'NaN in a position'" in capsys.readouterr().err
