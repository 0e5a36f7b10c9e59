# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The demo starts two nodes, watches both, and makes one recording of their files.

The nodes here are substitutes without ROS, each with its side of a run that was made beforehand;
the real ones are tested in test/nodes.
"""

import json
import os
import signal
import subprocess
import sys
from functools import cache

import numpy as np
import pytest
from waiting import interrupted_when

from robot_dynamics.app.command_line.main import INTERRUPTED, main
from robot_dynamics.app.node_process import NodeError
from robot_dynamics.app.recordings.recording_files import load_recording
from robot_dynamics.app.runs import demo
from robot_dynamics.app.runs.demo import demonstrate
from robot_dynamics.app.runs.run import RunInterrupted, simulate
from robot_dynamics.app.scenarios.scenario import load_scenario

# Where both finish, each substitute is given the scenario of a run and writes its side of this.
NODE = """
import sys, time, yaml, os, signal
from pathlib import Path
from robot_dynamics.app.progress import print_event
parameters = yaml.safe_load(Path(sys.argv[-1]).read_text())["/**"]["ros__parameters"]
side = Path(sys.argv[-1]).stem
assert parameters["mode"] == "lockstep" and parameters["progress"] is True
assert 1 <= int(os.environ["ROS_DOMAIN_ID"]) <= 101
Path("{trace}", side).write_text(str(os.getpid()))
fate = "{fate}"
if fate == side + " dies":
    os.kill(os.getpid(), signal.SIGKILL)
if fate == "both are busy":
    while time.process_time() < 2.5:
        pass
elif fate not in ("both finish", "both are interrupted"):
    if fate != side + " is mute":
        print_event("done")
    time.sleep(600)
from robot_dynamics.app.recordings.recording import Recording
run = Recording.load("{run}")
assert Path(parameters["scenario"]).read_text() == run.get("scenario_text")
assert parameters["duration"] == {duration}
ours = ("tick", "joint_", "object_", "grasp_", "time", "internal_force", "closure_", "correction",
        "applied_torque")
if fate == "both are interrupted":  # each writes what there is by then
    Path("{trace}", side + " runs").touch()
    try:
        time.sleep(600)
    except KeyboardInterrupt:
        if "{kept}" == "nothing":
            sys.exit()
        length = dict(simulator=7, controller=6)[side]
        run.columns.update({{n: v[:length] for n, v in run.columns.items()}})
mine = {{n: v for n, v in run.columns.items()
        if n == "tick" or n.startswith(ours) == (side == "simulator")}}
print_event("ready")
if side == "controller":
    print_event("progress", tick=5, ticks=10, time_s=0.1, servo_error_mm=0.2, squeeze_n=3.0,
                torque_fraction=0.5)
times = ("wall_time_s", "plant_step_median_us", "start_to_first_torque_s")
Recording(mine, run.metadata | dict.fromkeys(times, 1.0)).save(parameters["output"])
try:
    print_event("done", output=parameters["output"])
    time.sleep(600)
except KeyboardInterrupt:
    pass
"""


@pytest.fixture
def nodes(tmp_path, monkeypatch):
    """Return a function that makes the substitutes; they write their process numbers there."""
    monkeypatch.setattr(demo, "MODULES", dict.fromkeys(demo.MODULES, "fake_demo_node"))
    monkeypatch.setattr(demo, "require_ros", lambda: None)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))

    def make(fate="both finish", kept="all", name="lift_box", duration=0.2):
        run = whole_run(name).recording.save(tmp_path / "run.npz")
        text = NODE.format(trace=tmp_path, fate=fate, kept=kept, run=run, duration=duration)
        (tmp_path / "fake_demo_node.py").write_text(text)
        return tmp_path

    return make


@cache
def whole_run(name):
    """Return a run of a scenario for 0.2 s."""
    return simulate(name, duration=0.2)


def assert_gone(folder):
    """Check that no substitute is left."""
    for side in ("simulator", "controller"):
        file = folder / side
        if file.exists():
            with pytest.raises(ProcessLookupError):
                os.kill(int(file.read_text()), 0)


def test_two_sides_make_one_run(nodes, scenario):
    """The demo's recording is that of both nodes; their progress is passed on; both have ended."""
    folder = nodes()
    heard = []
    run = demonstrate(scenario, duration=0.2, progress=heard.append)
    assert run.report["state_hash"] == whole_run("lift_box").report["state_hash"]
    assert [(p.tick, p.squeeze_n) for p in heard] == [(5, 3.0)]
    assert_gone(folder)


@pytest.mark.parametrize("side", ["simulator", "controller"])
def test_one_dies(nodes, scenario, side):
    """If either node dies, the other one is stopped and the message says which."""
    folder = nodes(f"{side} dies")
    with pytest.raises(NodeError, match=f"the {side} ended by signal SIGKILL"):
        demonstrate(scenario, duration=0.2)
    assert_gone(folder)


def test_one_hangs(nodes, scenario):
    """A run in which no node reports anything is given up with a message."""
    folder = nodes("controller is mute")
    with pytest.raises(NodeError, match=r"the controller reported nothing for 4 s"):
        demonstrate(scenario, duration=0.2, silence_s=4.0)
    assert_gone(folder)


def test_nodes_that_work_in_silence_are_waited_for(nodes, scenario):
    """Nodes that compile on a busy machine report nothing for long, but use the processor."""
    nodes("both are busy")
    assert demonstrate(scenario, duration=0.2, silence_s=1.0).report["state_hash"]


def test_interrupted(nodes, scenario):
    """Ctrl-C stops both nodes before it goes on."""
    folder = nodes("controller is mute")
    with pytest.raises(KeyboardInterrupt), interrupted_when((folder / "controller").exists):
        demonstrate(scenario, duration=0.2)
    assert_gone(folder)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_interrupted_run_is_kept(nodes, tmp_path, capsys, number):
    """After a signal the periods that both nodes recorded are one recording with its report."""
    folder = nodes("both are interrupted", name="gravity")
    begun = [folder / f"{side} runs" for side in demo.MODULES]
    place = tmp_path / "run"
    with interrupted_when(lambda: all(file.exists() for file in begun), number=number):
        status = main(["demo", "gravity", "--duration", "0.2", "--output", str(place)])
    assert status == INTERRUPTED
    kept = load_recording(place / "recording.npz")
    assert kept["tick"].tolist() == list(range(6))
    assert kept.get("interrupted_s") == pytest.approx(0.012)
    report = json.loads((place / "report.json").read_text())
    assert report["failures"][0] == "the run was interrupted after 0.012 of 0.2 s."
    assert "interrupted" in capsys.readouterr().err
    assert_gone(folder)


def test_before_the_first_period_there_is_nothing_to_keep(nodes, tmp_path, capsys):
    """Nodes that have recorded nothing write nothing, and no folder is left."""
    folder = nodes("both are interrupted", kept="nothing", name="gravity", duration=0.0)
    place = tmp_path / "run"
    with interrupted_when((folder / "controller runs").exists):
        assert main(["demo", "gravity", "--output", str(place)]) == INTERRUPTED
    assert "nothing was written: no control period had ended." in capsys.readouterr().err
    assert not place.exists()
    assert_gone(folder)


# In a process of its own: routines that a process has loaded are in no other cache.
DEMO = """
import sys
from pathlib import Path
from robot_dynamics.app.runs import demo
from robot_dynamics.app.scenarios.scenario import load_scenario
cache, started, start = Path(sys.argv[1]), [], demo.start_with_parameters
def listed():
    return {file.name for file in cache.glob("*.kernel")}
def start_later(*arguments):
    started.append(listed())
    return start(*arguments)
demo.start_with_parameters = start_later
demo.demonstrate(load_scenario("lift_box"), duration=0.1)
assert started[0] and listed() == started[0], listed() - started[0]
"""


def test_nodes_find_what_they_need_compiled(tmp_path):
    """All is in the cache before they start."""
    pytest.importorskip("rclpy")
    environment = os.environ | {"ROBOT_DYNAMICS_CACHE_DIR": str(tmp_path)}
    subprocess.run([sys.executable, "-c", DEMO, str(tmp_path)], env=environment, check=True)


def test_on_topics_the_run_is_the_same(scenario):
    """With the real nodes, over ROS 2 topics, every state is equal to the last bit."""
    pytest.importorskip("rclpy")
    heard = []
    run = demonstrate(scenario, duration=0.3, progress=heard.append)
    assert run.report["state_hash"] == simulate(scenario, duration=0.3).report["state_hash"]
    assert heard[-1].tick == heard[-1].ticks
    assert run.report["real_time_factor"] > 0.0
    assert run.report["start_to_first_torque_s"] > 0.0


def test_on_topics_an_interrupted_run_is_the_beginning_of_the_whole(scenario):
    """Every period until then is equal to the last bit, and the end of the nodes is no fault."""
    pytest.importorskip("rclpy")
    heard = []
    with pytest.raises(RunInterrupted) as raised, interrupted_when(lambda: heard):
        demonstrate(scenario, duration=60.0, progress=heard.append)
    kept = raised.value.run.recording
    assert "fault" not in kept.metadata
    whole = simulate(scenario, duration=kept.get("interrupted_s")).recording
    for column in ("tick", "object_pose", "commanded_torque", "applied_torque"):
        assert np.array_equal(kept[column], whole[column])


def test_a_refused_run_ends_as_in_one_process():
    """Runs refused before any motion are bad input: status 2 with nodes and without."""
    pytest.importorskip("rclpy")
    scenario = load_scenario("lift_box", ["reference.segments=[{duration_s: 2, move: [0, 0, 3]}]"])
    with pytest.raises(NodeError, match="reference refused at") as raised:
        demonstrate(scenario)
    assert raised.value.exit_status == 2
