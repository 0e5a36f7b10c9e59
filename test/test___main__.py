# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The package run as a module."""

import os
import subprocess
import sys
from pathlib import Path

from waiting import PATIENCE_S

from robot_dynamics import __main__, __version__

ROOT = Path(__file__).resolve().parents[1]


def test_run_as_a_module():
    """`python -m robot_dynamics` is the command."""
    done = subprocess.run(
        [sys.executable, "-m", "robot_dynamics", "--version"],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert (done.returncode, done.stdout) == (0, f"robot_dynamics {__version__}\n")


def test_interrupted_while_it_is_imported(monkeypatch, capsys):
    """Ctrl-C before the command has come to its own handling ends with 130 and one line."""

    def interrupt(more):
        raise KeyboardInterrupt

    monkeypatch.setattr("robot_dynamics.app.command_line.main._parser", interrupt)
    assert __main__.main() == 130
    assert capsys.readouterr().err == "robot_dynamics: interrupted.\n"
