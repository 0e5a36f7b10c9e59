# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A node that is interrupted while it is imported ends like one that runs."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
from pathlib import Path

import pytest
from waiting import PATIENCE_S

ROOT = Path(__file__).resolve().parents[2]

CALL = "import sys; sys.path.insert(0, sys.argv[1]); from robot_dynamics.nodes.entry_points import start"  # noqa: E501


def outcome(folder, text):
    """Start a module of some text; return exit status and output."""
    (folder / "some_node.py").write_text(text)
    done = subprocess.run(
        [sys.executable, "-c", f"{CALL}; start('some_node')", str(folder)],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize("signal", ["SIGINT", "SIGTERM", "SIGHUP"])
@pytest.mark.parametrize(
    "after",
    [
        "finally:\n    pass\n",
        "except KeyboardInterrupt:\n    raise ImportError\n",
        "except KeyboardInterrupt:\n    main = print\n",
    ],
)
def test_a_signal_during_the_imports(tmp_path, signal, after):
    """Status 0 and no traceback, also where an import makes another error of it, or nothing."""
    text = f"import os, signal\ntry:\n    os.kill(os.getpid(), signal.{signal})\n"
    assert outcome(tmp_path, text + after) == (0, "")


def test_a_signal_inside_of_an_exec(tmp_path):
    """Run as a module, Python would end by SIGINT, whatever becomes of the exception."""
    kill = "import os, signal; os.kill(os.getpid(), signal.SIGINT)"
    (tmp_path / "some_node.py").write_text(f"exec({kill!r})\n")
    (tmp_path / "some_command.py").write_text(
        "from robot_dynamics.nodes.entry_points import start\nstart('some_node')\n"
    )
    done = subprocess.run(
        [sys.executable, "-m", "some_command"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        timeout=PATIENCE_S,
        check=False,
    )
    assert done.returncode == 0


def test_two_signals_during_the_imports(tmp_path):
    """As `ros2 launch` sends them: the second one comes while the interpreter ends."""
    text = "import atexit, os, signal\natexit.register(os.kill, os.getpid(), signal.SIGINT)\n"
    assert outcome(tmp_path, f"{text}os.kill(os.getpid(), signal.SIGINT)\n") == (0, "")


def test_main_runs_after_the_imports(tmp_path):
    """And an import that fails by itself says so."""
    assert outcome(tmp_path, "def main():\n    raise SystemExit('ran')") == (1, "ran\n")
    status, said = outcome(tmp_path, "import no_such_module")
    assert status == 1
    assert "No module named 'no_such_module'" in said


@pytest.mark.parametrize("node", ["simulator", "controller", "guard"])
def test_a_node_that_is_started_as_a_module(tmp_path, node):
    """`python -m` is as good as the command."""
    (tmp_path / "rclpy.py").write_text("import os, signal\nos.kill(os.getpid(), signal.SIGINT)\n")
    done = subprocess.run(
        [sys.executable, "-m", f"robot_dynamics.nodes.{node}"],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), str(ROOT)])},
    )
    assert (done.returncode, done.stdout + done.stderr) == (0, "")


@pytest.mark.parametrize("node", ["simulator", "controller", "guard"])
def test_help_of_a_node(node, monkeypatch, capfd):
    """Its parameters with their defaults, on standard output; nothing is started."""
    pytest.importorskip("rclpy", reason="ROS 2 is not installed")
    monkeypatch.setattr(sys, "argv", [node, "--help"])
    with pytest.raises(SystemExit) as end:
        importlib.import_module(f"robot_dynamics.nodes.{node}").main()
    said = capfd.readouterr()
    assert (end.value.code, said.err) == (0, "")
    assert said.out.startswith(f"usage: {node} [--ros-args")
    assert "  scenario: lift_box\n" in said.out
    assert "  mode: lockstep\n" in said.out
