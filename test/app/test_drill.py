# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The drill's process is started, listened to and ended; the process here is a substitute."""

from __future__ import annotations

import os

import pytest
from waiting import PATIENCE_S, interrupted_when

from robot_dynamics.app import drill as module
from robot_dynamics.app.drill import drill
from robot_dynamics.app.node_process import NodeError
from robot_dynamics.app.scenario import load_scenario

PROCESS = """
import os, sys, time
from pathlib import Path
from robot_dynamics.app.progress import print_event
Path(r"{trace}").write_text(str(os.getpid()))
assert Path(sys.argv[1]).is_file() and 1 <= int(os.environ["ROS_DOMAIN_ID"]) <= 101
print_event("hazards", count=2)
print_event("progress", tick=0, ticks=2, doing="one")
if "--soak=3.0" in sys.argv:
    print_event("soak", problems=[], simulated_s=3.0)
else:
    print_event("result", hazard="one", lockstep=True, seen="", fallback_s=None, bound_s=None,
                stalled_s=0.0, largest_torque=0.5, commands=3, attempts=1,
                recovery="none", problems=["no"])
fate = "{fate}"
if fate == "fails":
    print_event("error", message="it cannot go on")
    sys.exit(1)
if fate == "hangs":
    time.sleep(600)
print_event("done")
"""


@pytest.fixture
def process(tmp_path, monkeypatch):
    """Return a function that makes the substitute, and the file with its process number."""
    monkeypatch.setattr(module, "MODULE", "fake_drill")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))

    def make(fate="finishes"):
        trace = tmp_path / "number"
        (tmp_path / "fake_drill.py").write_text(PROCESS.format(trace=trace, fate=fate))
        return trace

    return make


@pytest.fixture(scope="module")
def scenario():
    """Return any scenario."""
    return load_scenario("lift_box")


def assert_gone(trace):
    """Check that the process has ended; one that is given up may not have come to its number."""
    if not trace.exists():
        return
    with pytest.raises(ProcessLookupError):
        os.kill(int(trace.read_text()), 0)


def test_what_it_says_comes_back(process, scenario):
    """Results, how many there were to be, and the figures of a soak."""
    trace, heard = process(), []
    results, hazards, soak = drill(scenario, [], heard.append)
    assert hazards == 2
    assert [result.problems for result in results] == [("no",)]
    assert not soak["ok"]
    assert [(p.tick, p.ticks, p.doing) for p in heard] == [(0, 2, "one")]
    assert_gone(trace)
    _, _, soak = drill(scenario, ["--soak=3.0"], heard.append)
    assert soak["ok"]
    assert soak["simulated_s"] == 3.0


@pytest.mark.parametrize(
    ("fate", "silence", "words"),
    [("fails", PATIENCE_S, "it cannot go on"), ("hangs", 1.0, "said nothing for 1 s")],
)
def test_a_drill_that_ends_early(process, scenario, fate, silence, words):
    """Its own sentence, or that it hangs; nothing is left."""
    trace = process(fate)
    with pytest.raises(NodeError, match=words):
        drill(scenario, [], lambda progress: None, silence_s=silence)
    assert_gone(trace)


def test_ctrl_c_ends_it(process, scenario):
    """Nothing is left behind."""
    trace = process("hangs")
    with pytest.raises(KeyboardInterrupt), interrupted_when(trace.exists):
        drill(scenario, [], lambda progress: None)
    assert_gone(trace)
