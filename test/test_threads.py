# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Linear algebra takes one thread in commands and nodes."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from waiting import PATIENCE_S

from robot_dynamics.threads import ONE_THREAD, use_one_thread

COUNT = (
    "import os, numpy; numpy.linalg.svd(numpy.eye(300)); print(len(os.listdir('/proc/self/task')))"
)


def threads_of(code, **changes):
    """Return the number of threads of a Python after some linear algebra."""
    before = {name: value for name, value in os.environ.items() if name not in ONE_THREAD}
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=before | {"PYTHONPATH": os.pathsep.join(sys.path)} | changes,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=True,
    )
    return int(done.stdout)


@pytest.mark.skipif(not os.path.isdir("/proc/self/task"), reason="threads are counted on Linux")
@pytest.mark.skipif((os.cpu_count() or 1) < 2, reason="one core has one thread")
@pytest.mark.parametrize(
    "start",
    [
        "from robot_dynamics.threads import use_one_thread; use_one_thread()",
        "import sys; sys.argv[1:] = ['--version']; from robot_dynamics.__main__ import main\n"
        "try:\n    sys.stdout, out = sys.stderr, sys.stdout; main()\n"
        "except SystemExit:\n    sys.stdout = out",
        "from robot_dynamics.nodes.entry_points import start\n"
        "try:\n    start('os')\nexcept AttributeError:  # it has no main\n    pass",
    ],
    ids=["by itself", "command", "node"],
)
def test_one_thread(start):
    """NumPy's library finds the setting before it makes its threads."""
    assert threads_of(f"{start}\n{COUNT}") == 1


def test_the_environment_comes_first(monkeypatch):
    """Whoever has given a number keeps it."""
    for name in ONE_THREAD:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "3")
    use_one_thread()
    assert {name: os.environ[name] for name in ONE_THREAD} == ONE_THREAD | {
        "OPENBLAS_NUM_THREADS": "3"
    }
