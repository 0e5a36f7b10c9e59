# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A node that is interrupted while it is imported ends like one that runs."""

from __future__ import annotations

import subprocess
import sys

import pytest

CALL = (
    "import sys; sys.path.insert(0, sys.argv[1]); from robot_dynamics.nodes.commands import start"
)


def outcome(folder, text):
    """Start a module of some text; return exit status and what was printed."""
    (folder / "some_node.py").write_text(text)
    done = subprocess.run(
        [sys.executable, "-c", f"{CALL}; start('some_node')", str(folder)],
        capture_output=True,
        text=True,
        timeout=60.0,
        check=False,
    )
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize("signal", ["SIGINT", "SIGTERM"])
@pytest.mark.parametrize("after", ["", "except KeyboardInterrupt:\n    raise ImportError\n"])
def test_a_signal_during_the_imports(tmp_path, signal, after):
    """Status 0 and no traceback, also where an import makes another error of it."""
    text = f"import os, signal\ntry:\n    os.kill(os.getpid(), signal.{signal})\n"
    assert outcome(tmp_path, text + (after or "finally:\n    pass\n")) == (0, "")


def test_main_runs_after_the_imports(tmp_path):
    """And an import that fails by itself says so."""
    assert outcome(tmp_path, "def main():\n    raise SystemExit('ran')") == (1, "ran\n")
    status, said = outcome(tmp_path, "import no_such_module")
    assert status == 1
    assert "No module named 'no_such_module'" in said
