# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The drill: its process (here a substitute), its report, and its command line."""

from __future__ import annotations

import json
import os
import signal

import pytest
from waiting import PATIENCE_S, interrupted_when

from robot_dynamics.app import node_process
from robot_dynamics.app.command_line.main import INTERRUPTED, main
from robot_dynamics.app.node_process import NodeError
from robot_dynamics.app.runs import drill as module
from robot_dynamics.app.runs.drill import (
    DrillResult,
    drill,
    drill_report,
    drill_table,
    result_of,
    soak_lines,
)
from robot_dynamics.app.scenarios.scenario import load_scenario

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
                recovery="none", largest_gap_s=None, gap_bound_s=None, largest_step=0.3,
                step_bound=2.0, problems=["no"])
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


def test_results_of_the_process_are_returned(process, scenario):
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
    [("fails", PATIENCE_S, "it cannot go on"), ("hangs", 1.0, "reported nothing for 1 s")],
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


def test_results_until_ctrl_c_are_kept(process, tmp_path, capsys):
    """Table and report have them, the status is that of an interrupted run."""
    trace, place = process("hangs"), tmp_path / "drill.json"
    with interrupted_when(trace.exists, pause_s=1.0, number=signal.SIGTERM):
        assert main(["drill", "--json", str(place)]) == INTERRUPTED
    report = json.loads(place.read_text())
    assert not report["ok"]
    assert [result["hazard"] for result in report["hazards"]] == ["one"]
    said = capsys.readouterr()
    assert "| one " in said.out
    assert "1 of 2 hazards were tried." in said.err
    assert_gone(trace)


COMMANDS = {"gap_bound_s": 0.05, "largest_step": 0.3, "step_bound": 2.0}
GOOD = DrillResult(
    *("NaN in a position", True, "left: it is nan", 0.002, 0.004, 0.0, 0.66, 300, "reset"),
    **COMMANDS,
    largest_gap_s=None,
)
ON = DrillResult(
    *("messages duplicated", False, "", None, None, 0.0, 0.5, 300, "none"),
    **COMMANDS,
    largest_gap_s=0.012,
)
BAD = DrillResult(
    *("simulator killed", False, "", 0.5, 0.1, 0.0, 1.2, 9, "start"),
    **COMMANDS,
    largest_gap_s=0.09,
    problems=("a torque was 1.2.",),
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
    """One line for each hazard, in columns; a failure has its reason."""
    lines = drill_table([GOOD, ON, BAD]).splitlines()
    assert len(lines) == 5
    assert len({line.count("|") for line in lines}) == 1
    assert len({len(line) for line in lines}) == 1
    assert "2.0 ms" in lines[2]
    assert "4 ms" in lines[2]
    assert "66 %" in lines[2]
    assert "0.30 of 2 N m" in lines[2]
    assert "12 ms" in lines[3]
    assert "control continues" in lines[3]
    assert "FAILED: a torque was 1.2." in lines[4]


def test_the_figures_of_a_soak():
    """Time, memory, files, and failures."""
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


@pytest.fixture
def fake(monkeypatch):
    """Return a function that sets the drill's findings; it returns the arguments of the call."""
    monkeypatch.setattr(node_process, "require_ros", lambda: None)

    def make(results, hazards, soak=None):
        calls = []

        def run(scenario, arguments, progress):
            calls.append((scenario, arguments))
            return results, hazards, {**(soak or {}), "ok": bool(soak)}

        monkeypatch.setattr(module, "drill", run)
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
    """Status 1, and a sentence for each failure."""
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
    """Invalid times and missing folders are refused before the start."""
    calls = fake([], 0)
    with pytest.raises(SystemExit):
        main(["drill", "--soak", "-1"])
    assert main(["drill", "--json", "/no/such/folder/x.json"]) == 2
    assert not calls
