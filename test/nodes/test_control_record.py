# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A controlled run is counted, told of and written down, faults included."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="ROS 2 is not installed")

from robot_dynamics.app.recording import Recording
from robot_dynamics.app.run import make_plant
from robot_dynamics.app.scenario import load_scenario, true_system
from robot_dynamics.nodes.control_loop import ControlLoop
from robot_dynamics.nodes.control_record import ControlRecord

SCENARIO = load_scenario("lift_box")


class Launcher:
    """Remembers what it is told."""

    enabled = True

    def __init__(self):
        self.heard = []

    def report(self, event, **figures):
        """Take a report."""
        self.heard.append({"event": event, **figures})


@pytest.fixture(scope="module")
def started():
    """Return a loop that was started, and what the arms measure while they stand still."""
    loop = ControlLoop(SCENARIO, SCENARIO.control.period)
    measured = make_plant(SCENARIO, true_system(SCENARIO)).reset()
    return loop, measured


def cycle(loop, measured, tick, q=None):
    """Bring a measurement, and return the outcome."""
    for arm, wrench in zip(loop.wrenches, measured.wrenches, strict=True):
        loop.take_wrench(arm, tick, wrench, tick)
    names = list(loop.system.joint_names)
    q = measured.q if q is None else q
    loop.arms.take("joint_states", tick, names, q, measured.qd, tick)
    if loop.began is None:
        loop.prepare(tick)()
        loop.start(tick, tick)
    return loop.cycle(tick, tick)


def test_a_run_from_its_start_to_its_end(started, tmp_path):
    """Every period is a row; the last one saves, and says so."""
    loop, measured = started
    launcher, file = Launcher(), tmp_path / "run.npz"
    record = ControlRecord(SCENARIO, loop, launcher, str(file), 5)
    for tick in range(5):
        assert not record.done
        record.note(tick, cycle(loop, measured, tick))
    assert record.done
    record.close()
    record.look()
    recording = Recording.load(file)
    assert recording["tick"].tolist() == [0, 1, 2, 3, 4]
    assert np.isfinite(recording["commanded_torque"]).all()
    assert recording.get("start_to_first_torque_s") > 0.0
    assert "fault" not in recording.metadata
    progress, done = launcher.heard[-2:]
    assert (done["event"], done["output"]) == ("done", str(file))
    assert progress["event"] == "progress"
    assert (progress["tick"], progress["ticks"]) == (5, 5)
    effort = loop.system.limits["effort"]
    fractions = np.abs(recording["commanded_torque"] / effort).max(axis=1)
    told = [said["torque_fraction"] for said in launcher.heard if said["event"] == "progress"]
    assert max(told) == pytest.approx(fractions.max())

    # What comes afterwards belongs to no run.
    record.note(5, cycle(loop, measured, 5))
    assert launcher.heard[-1] is done
    assert loop.safety.law_runs


def test_a_fault_is_written_down(started, tmp_path):
    """With its time; rows go on, without what the law did not see any more."""
    loop, measured = started
    file = tmp_path / "run.npz"
    record = ControlRecord(SCENARIO, loop, Launcher(), str(file), 20)
    for tick in range(6, 10):
        q = measured.q + (np.nan if tick == 8 else 0.0)
        record.note(tick, cycle(loop, measured, tick, q))
    assert record.done is False
    record.close()
    recording = Recording.load(file)
    assert recording["tick"].tolist() == [6, 7, 8, 9]
    fault = recording.get("fault")
    assert fault.startswith("at 0.016 s: left: position of joint 'left_joint1' is nan")
    assert np.isfinite(recording["commanded_torque"]).all()
    assert np.isfinite(recording["estimated_pose"][:2]).all()
    assert np.isnan(recording["estimated_pose"][2:]).all()


def test_without_a_file_nothing_is_kept(started):
    """But the run is counted."""
    loop, measured = started
    loop.reset(9)
    loop.began = None
    launcher = Launcher()
    record = ControlRecord(SCENARIO, loop, launcher, "", 2)
    for tick in (10, 11):
        record.note(tick, cycle(loop, measured, tick))
    assert record.done
    record.look()
    assert launcher.heard[-1] == {"event": "done", "output": ""}


def test_nothing_is_noted_before_the_start():
    """There is no torque then."""
    loop = ControlLoop(SCENARIO, SCENARIO.control.period)
    record = ControlRecord(SCENARIO, loop, Launcher(), "", 1)
    record.note(0, loop.cycle(0, 0))
    assert record.step is None
    assert not record.done
