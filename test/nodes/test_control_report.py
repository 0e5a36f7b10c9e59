# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Diagnostics say where the controller stands and why; a run is counted, told of and recorded."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("diagnostic_msgs", reason="ROS 2 is not installed")

from support.control_loops import sampled_loop
from support.law_steps import law_step

from robot_dynamics.app.recordings.recording import Recording
from robot_dynamics.app.scenarios.cell import true_system
from robot_dynamics.app.scenarios.plant import make_plant
from robot_dynamics.app.scenarios.scenario import load_scenario
from robot_dynamics.control.faults import Cause
from robot_dynamics.nodes.control_report import ControlRecord, condition, figures
from robot_dynamics.nodes.diagnostics import ERROR, OK, WARN

SCENARIO = load_scenario("lift_box")


@pytest.fixture(scope="module")
def measured():
    """Return the measurements of the arms at the start."""
    return make_plant(SCENARIO, true_system(SCENARIO)).reset()


def feed(loop, measured, tick, **changes):
    """Bring a measurement to the loop."""
    seen = measured._replace(**changes)
    for arm, wrench in zip(loop.wrenches, seen.wrenches, strict=True):
        loop.take_wrench(arm, tick, wrench, tick)
    names = list(loop.system.joint_names)
    loop.joint_states.take("joint_states", tick, names, seen.q, seen.qd, tick)


def test_the_states_of_a_run(measured):
    """Inactive, starting, fallback, stopped; each with its cause."""
    loop = sampled_loop(SCENARIO)
    assert condition(loop) == (OK, "inactive")
    assert figures(loop, None) == {}
    assert condition(loop, "start refused: far away.") == (
        WARN,
        "inactive: start refused: far away.",
    )
    feed(loop, measured, 0, q=np.full(14, np.inf))
    level, words = condition(loop)
    assert level == WARN
    assert words.startswith("inactive: left: position of joint 'left_joint1' is inf")

    feed(loop, measured, 1)
    assert condition(loop) == (OK, "inactive")
    assert figures(loop, None)["closure error [m or rad]"] < 1e-6  # before any step of the law
    loop.prepare(1)()
    loop.start(1, 1)
    step = loop.cycle(1, 1).step
    assert condition(loop) == (OK, "starting")
    found = figures(loop, step)
    assert found["motion scale"] == 1.0
    assert 0.0 < found["support over limit"] < 1.0
    assert 0.0 <= found["closure error [m or rad]"] < 1e-9

    feed(loop, measured, 2, qd=np.full(14, np.nan))
    loop.cycle(2, 2)
    level, words = condition(loop)
    assert level == ERROR
    assert words.startswith("fallback: left: velocity of joint 'left_joint1' is nan")
    found = figures(loop, step)
    assert str(found["fault 1"]).startswith("left: velocity")
    assert str(found["fault 2"]).startswith("right: velocity")

    # After the declared time drives that brake hold arms that are lost.
    loop.safety.fallback.note_drives(np.zeros_like, ("left", "right"))
    last = 3 + round(SCENARIO.safety.lost_arm_end_after_s / SCENARIO.control.period)
    for tick in range(3, last):
        feed(loop, measured, tick, qd=np.full(14, np.nan))
        loop.cycle(tick, tick)
    assert figures(loop, step)["left to their drives"] == "left, right"
    loop.stop(last)
    level, words = condition(loop)
    assert level == ERROR
    assert words.startswith("stopped: left: velocity")


def test_further_figures_of_laws_with_surfaces():
    """The scale of surface forces within limits, and the acceleration lost at a singularity."""
    loop = sampled_loop(SCENARIO)
    step = SimpleNamespace(scales=np.arange(7.0), closure=np.zeros(6), slip_margins=np.zeros(0))
    found = figures(loop, step)
    assert found["smallest pivot"] == 4.0
    assert found["contact force scale"] == 5.0
    assert found["lost acceleration [m/s^2]"] == 6.0


def test_old_samples_are_counted(measured):
    """Duplicated and reordered messages are no fault, but worth knowing."""
    loop = sampled_loop(SCENARIO)
    for tick in (5, 4, 5):
        feed(loop, measured, tick)
    loop.prepare(5)()
    loop.start(5, 5)
    for tick in (6, 5, 6):
        feed(loop, measured, tick)
    assert figures(loop, None)["left old samples"] >= 2


def test_arms_that_disagree_are_a_warning(measured):
    """Before they count as lost."""
    loop = sampled_loop(SCENARIO)
    feed(loop, measured, 0)
    loop.prepare(0)()
    loop.start(0, 0)
    bent = measured.q + 0.003 * np.eye(14)[1]
    feed(loop, measured, 1, q=bent)
    step = loop.cycle(1, 1).step
    assert condition(loop) == (WARN, "starting: the arms disagree about the object")
    closure = figures(loop, step)["closure error [m or rad]"]
    assert SCENARIO.safety.closure_warning_m < closure < SCENARIO.safety.closure_limit_m


def test_a_biased_wrist_sensor_is_a_warning(measured):
    """It is named as long as it measures too much."""
    loop = sampled_loop(SCENARIO)
    feed(loop, measured, 0)
    loop.prepare(0)()
    loop.start(0, 0)
    loop.safety.wrench_warning = "left: it measures 7 N too much."
    assert condition(loop) == (WARN, "starting: left: it measures 7 N too much.")


def test_warnings_of_an_observer_say_that_they_are(monkeypatch):
    """Of the law that commands they stand by themselves."""
    loop = sampled_loop(SCENARIO)
    monkeypatch.setattr(type(loop.law), "warnings", ("left is about to slip.",))
    assert condition(loop) == (WARN, "inactive: left is about to slip.")
    loop.controller = SimpleNamespace()
    assert condition(loop) == (WARN, "inactive: the observer warns: left is about to slip.")


def test_another_publisher_is_an_error_while_this_node_commands(measured):
    """Before the start it is a warning; a fault's own cause comes first."""
    loop = sampled_loop(SCENARIO)
    other_publisher = "the node '/joystick' publishes as well."
    assert condition(loop, other_publisher=other_publisher) == (
        WARN,
        f"inactive: {other_publisher}",
    )
    feed(loop, measured, 0)
    loop.prepare(0)()
    loop.start(0, 0)
    assert condition(loop, other_publisher=other_publisher) == (
        ERROR,
        f"starting: {other_publisher}",
    )
    loop.stop(0)
    assert condition(loop, other_publisher=other_publisher) == (
        ERROR,
        "stopped: stop: stopped on request.",
    )


def test_torques_that_the_safety_layer_held_back_are_counted(measured):
    """They are no fault."""
    loop = sampled_loop(SCENARIO)
    feed(loop, measured, 0)
    loop.prepare(0)()
    loop.start(0, 0)
    assert "torque changes held back" not in figures(loop, None)
    loop.safety.command(0, law_step(loop.safety.last + 5.0))
    assert figures(loop, None)["torque changes held back"] == 1


def test_slip_warnings_are_shown_before_the_start():
    """The plan of a tray that will drop: a warning, and how far contacts are from slipping."""
    scenario = load_scenario("tray_dropped")
    loop = sampled_loop(scenario)
    level, words = condition(loop)
    assert level == WARN
    assert words.startswith("inactive: contact 'left' slips: it falls short of its margin of 5 N")
    assert "contact 'right' slips" in words
    seen = make_plant(scenario, true_system(scenario)).reset()
    found = figures(loop, loop.law.start(seen.q, seen.qd))
    # The planned squeeze is the same for both; both are held above the declared 5 N at rest.
    left, right = (found[f"{name} slip margin [N]"] for name in ("left", "right"))
    assert left == pytest.approx(right, rel=1e-9)  # mirror images, to rounding
    assert left > 5.0


# -- recording and progress


class Launcher:
    """Remembers its messages."""

    enabled = True

    def __init__(self):
        self.heard = []

    def report(self, event, **figures):
        """Take a report."""
        self.heard.append({"event": event, **figures})


@pytest.fixture(scope="module")
def started():
    """Return a loop that was started, and the measurements of the arms at rest."""
    loop = sampled_loop(SCENARIO)
    measured = make_plant(SCENARIO, true_system(SCENARIO)).reset()
    return loop, measured


def cycle(loop, measured, tick, q=None):
    """Bring a measurement, and return the outcome."""
    for arm, wrench in zip(loop.wrenches, measured.wrenches, strict=True):
        loop.take_wrench(arm, tick, wrench, tick)
    names = list(loop.system.joint_names)
    q = measured.q if q is None else q
    loop.joint_states.take("joint_states", tick, names, q, measured.qd, tick)
    if loop.began is None:
        loop.prepare(tick)()
        loop.start(tick, tick)
    return loop.cycle(tick, tick)


def test_a_run_from_its_start_to_its_end(started, tmp_path):
    """Every period is a row; the last one saves, and says so."""
    loop, measured = started
    launcher, file = Launcher(), tmp_path / "run.npz"
    topics = {"left/commands": ["/effort/commands"]}
    record = ControlRecord(SCENARIO, loop, launcher, str(file), 5, topics)
    for tick in range(5):
        assert not record.done
        record.write(tick, cycle(loop, measured, tick))
    assert record.done
    record.close()
    record.poll()
    recording = Recording.load(file)
    assert recording["tick"].tolist() == [0, 1, 2, 3, 4]
    assert np.isfinite(recording["commanded_torque"]).all()
    # What was measured is there, for a replay, on the topics that the node had.
    np.testing.assert_array_equal(recording["joint_position"], np.tile(measured.q, (5, 1)))
    np.testing.assert_array_equal(recording["joint_velocity"], np.tile(measured.qd, (5, 1)))
    wrenches = np.ravel(measured.wrenches)
    np.testing.assert_array_equal(recording["grasp_wrench"], np.tile(wrenches, (5, 1)))
    assert recording.get("topics") == {"left/commands": ["/effort/commands"]}
    assert set(recording.get("units")) == set(recording.columns)
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
    record.write(5, cycle(loop, measured, 5))
    assert launcher.heard[-1] is done
    assert loop.safety.law_runs


def test_a_fault_is_recorded(started, tmp_path):
    """With its time; rows continue, without the columns of the law."""
    loop, measured = started
    file = tmp_path / "run.npz"
    record = ControlRecord(SCENARIO, loop, Launcher(), str(file), 20)
    for tick in range(6, 10):
        q = measured.q + (np.nan if tick == 8 else 0.0)
        record.write(tick, cycle(loop, measured, tick, q))
    assert record.done is False
    record.close()
    recording = Recording.load(file)
    assert recording["tick"].tolist() == [6, 7, 8, 9]
    fault = recording.get("fault")
    assert fault.startswith("at 0.016 s: left: position of joint 'left_joint1' is nan")
    assert np.isfinite(recording["commanded_torque"]).all()
    assert np.isfinite(recording["estimated_pose"][:2]).all()
    assert np.isnan(recording["estimated_pose"][2:]).all()


def test_a_fault_before_the_first_step_ends_the_run_as_well(started, tmp_path):
    """The launcher learns the end, and the file has the fault."""
    loop, measured, file = sampled_loop(SCENARIO), started[1], tmp_path / "run.npz"
    launcher = Launcher()
    record = ControlRecord(SCENARIO, loop, launcher, str(file), 3)
    loop.joint_states.take(
        "joint_states", 0, list(loop.system.joint_names), measured.q, measured.qd, 0
    )
    for arm, wrench in zip(loop.wrenches, measured.wrenches, strict=True):
        loop.take_wrench(arm, 0, wrench, 0)
    loop.prepare(0)()
    loop.start(0, 0)
    for tick in range(3):
        record.write(tick, cycle(loop, measured, tick, measured.q + np.nan))
    assert record.done
    record.close()
    record.poll()
    assert [one["event"] for one in launcher.heard] == ["done"]
    recording = Recording.load(file)
    assert recording["tick"].tolist() == [0, 1, 2]
    assert recording.get("fault").startswith("at 0 s: left: position of joint 'left_joint1' is")
    record._fault_tick = 882_200_000_001  # by the system clock
    assert record._recording()().get("fault").startswith("at 1764400000.002 s: left: ")


def test_without_a_file_nothing_is_recorded(started):
    """But the run is counted."""
    loop, measured = started
    loop.reset(9)
    loop.began = None
    launcher = Launcher()
    record = ControlRecord(SCENARIO, loop, launcher, "", 2)
    for tick in (10, 11):
        record.write(tick, cycle(loop, measured, tick))
    assert record.done
    record.poll()
    assert launcher.heard[-1] == {"event": "done", "output": ""}


def test_the_stop_of_an_interrupted_run_is_no_fault_of_it(started, tmp_path):
    """Its rows are kept; the fallback that takes over as the node ends comes after them."""
    loop, measured, file = sampled_loop(SCENARIO), started[1], tmp_path / "run.npz"
    record = ControlRecord(SCENARIO, loop, Launcher(), str(file), 20)
    for tick in (0, 1):
        record.write(tick, cycle(loop, measured, tick))
    record.end()
    loop.fall_back(2, Cause.STOP_REQUESTED, "controller", "the controller ends.")
    record.write(2, cycle(loop, measured, 2))
    record.close()
    recording = Recording.load(file)
    assert recording["tick"].tolist() == [0, 1]
    assert "fault" not in recording.metadata


def test_nothing_is_recorded_before_the_start():
    """There is no torque then."""
    loop = sampled_loop(SCENARIO)
    record = ControlRecord(SCENARIO, loop, Launcher(), "", 1)
    record.write(0, loop.cycle(0, 0))
    assert record.step is None
    assert not record.done
