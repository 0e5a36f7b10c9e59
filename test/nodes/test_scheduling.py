# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What controls goes before other processes, what it does on the side does not."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from robot_dynamics.nodes import scheduling
from robot_dynamics.nodes.process import PriorityError, go_before_others

ROOT = Path(__file__).resolve().parents[2]
# Each thread says of itself what it is; a process of its own, which may not stay as it is.
PROGRAM = """
import json, os, threading
from robot_dynamics.nodes.process import PriorityError, go_before_others

policies, done = {}, threading.Event()

def note(name):
    policies[name] = os.sched_getscheduler(0) & ~os.SCHED_RESET_ON_FORK

def earlier():
    done.wait()
    note("earlier")

thread = threading.Thread(target=earlier)
thread.start()
try:
    go_before_others(5)
except PriorityError as error:
    policies["refused"] = str(error)
else:
    note("main")
    policies["priority"] = os.sched_getparam(0).sched_priority
    later = threading.Thread(target=note, args=("later",))
    later.start()
    later.join()
done.set()
thread.join()
print(json.dumps(policies))
"""


@pytest.mark.skipif(not hasattr(os, "SCHED_FIFO"), reason="needs Linux")
def test_only_what_controls_goes_before_others():
    """The main thread does; threads that were there before, or come later, do not."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    found = json.loads(done.stdout)
    if "refused" in found:
        pytest.skip(found["refused"])
    assert found == {
        "main": os.SCHED_FIFO,
        "priority": 5,
        "earlier": os.SCHED_OTHER,
        "later": os.SCHED_OTHER,
    }


def test_a_priority_that_is_not_granted(monkeypatch):
    """One sentence says what was expected."""

    def refuse(*_):
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(scheduling.os, "sched_setscheduler", refuse, raising=False)
    with pytest.raises(PriorityError, match=r"priority 5 .*not permitted.*`rtprio`"):
        go_before_others(5)
