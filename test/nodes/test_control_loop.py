# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The controller node without ROS: samples go in, torques come out, whatever the samples are."""

from __future__ import annotations

import numpy as np
import pytest

from robot_dynamics.app.laws import supervised_law
from robot_dynamics.app.run import make_plant
from robot_dynamics.app.scenario import load_scenario, true_system
from robot_dynamics.control.faults import Cause, SafetyError, StaleStreamError, State
from robot_dynamics.control.start_check import StartError
from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.nodes.control_loop import ControlLoop

SCENARIO = load_scenario("lift_box")
PERIOD = SCENARIO.control.period
PERIOD_NS = round(PERIOD * 1e9)


@pytest.fixture(scope="module")
def plant():
    """Return the plant of the scenario."""
    return make_plant(SCENARIO, true_system(SCENARIO))


@pytest.fixture
def measured(plant):
    """Return what is measured at the start."""
    return plant.reset()


@pytest.fixture
def loop():
    """Return a loop in lockstep."""
    return ControlLoop(SCENARIO, PERIOD)


@pytest.fixture
def clocked():
    """Return a loop on a clock in nanoseconds."""
    return ControlLoop(SCENARIO, 1e-9)


def feed(loop, measured, stamp, now=None, q=None):
    """Bring a measurement to a loop."""
    now = stamp if now is None else now
    for arm, wrench in zip(loop.wrenches, measured.wrenches, strict=False):
        loop.take_wrench(arm, stamp, wrench, now)
    names = list(loop.system.joint_names)
    q = measured.q if q is None else q
    return loop.arms.take("joint_states", stamp, names, q, measured.qd, now)


def started(loop, measured):
    """Start a loop at its time 0."""
    feed(loop, measured, 0)
    loop.prepare(0)()
    loop.start(0, 0)
    return loop


def test_torques_are_those_of_the_supervised_controller(loop, plant, measured):
    """Streams and times add nothing: a lift over 100 periods is the same to the last bit."""
    other = supervised_law(SCENARIO, loop.system)
    other.check(measured.q, measured.qd)
    other.start(0, measured.q, measured.qd, measured.wrenches)
    started(loop, measured)
    for tick in range(100):
        feed(loop, measured, tick)
        outcome = loop.cycle(tick, tick)
        expected, _ = other.update(tick, tick, measured.q, measured.qd, measured.wrenches)
        assert np.array_equal(outcome.torque, expected)
        assert outcome.released == ()
        measured = plant.step(expected)


def test_nothing_is_sent_before_the_start(loop, measured):
    """Whatever comes in."""
    feed(loop, measured, 0)
    assert loop.cycle(0, 0).torque is None
    feed(loop, measured, 1, q=np.full(14, np.nan))
    assert loop.cycle(1, 1).torque is None
    assert loop.safety.state is State.INACTIVE


def test_a_start_needs_samples_of_everything(loop, measured):
    """The sentence names what is missing, and why if that is known."""
    with pytest.raises(StaleStreamError, match="start refused: left: no sample has come yet"):
        loop.prepare(0)
    with pytest.raises(SafetyError, match="start refused: left: no sample has come yet"):
        loop.start(0, 0)
    loop.arms.take("joint_states", 0, ["l1", "l2"], [0.0, 0.0], [0.0, 0.0], 0)
    with pytest.raises(SafetyError, match="start refused: joint_states: unknown joint 'l1'"):
        loop.start(0, 0)
    names = list(loop.system.joint_names)
    loop.arms.take("joint_states", 0, names, measured.q, measured.qd, 0)
    with pytest.raises(SafetyError, match="start refused: left/wrench: no sample has come yet"):
        loop.start(0, 0)


def test_a_start_needs_a_check_before(loop, measured):
    """Of the very place from which it starts."""
    feed(loop, measured, 0)
    with pytest.raises(StartError, match="has moved since the reference was checked"):
        loop.start(0, 0)
    loop.prepare(0)()
    moved = measured.q + 0.01 * np.eye(14)[3]
    feed(loop, measured, 1, q=moved)
    with pytest.raises(StartError, match="left_joint4"):
        loop.start(1, 1)


def test_arms_far_from_their_grasps_are_not_started(loop, measured):
    """The check says which one and how far."""
    feed(loop, measured, 0, q=measured.q + 0.2 * np.eye(14)[7])
    with pytest.raises(RobotDynamicsError, match="start refused: arm 'right' is"):
        loop.prepare(0)()


def test_time_may_jump_before_the_start(loop, measured):
    """A simulator that was reset, or a clock that was set, is no fault then."""
    feed(loop, measured, 0)
    assert feed(loop, measured, 100000)
    assert feed(loop, measured, 3)
    assert loop.complete
    assert loop.complaint == ""


def test_time_must_not_jump_afterwards(loop, measured):
    """Both arms are lost; the new time is taken for a restart after a reset."""
    started(loop, measured)
    assert not feed(loop, measured, 5000)
    outcome = loop.cycle(5000, 5000)
    assert np.isfinite(outcome.torque).all()
    assert {f.subject for _, f in loop.safety.faults if f.cause is Cause.ARM_LOST} == {
        "left",
        "right",
    }
    feed(loop, measured, 5001)
    loop.cycle(5001, 5001)
    loop.reset(5001)
    loop.prepare(5001)()
    loop.start(5001, 5001)
    assert loop.safety.state is State.STARTING


def test_complaints_end_with_good_samples(loop, measured):
    """What was wrong once is not given as the reason for something else."""
    feed(loop, measured, 0, q=np.full(14, np.nan))
    assert "position of joint 'left_joint1' is nan" in loop.complaint
    feed(loop, measured, 1)
    assert loop.complaint == ""


def test_a_lost_wrist_sensor_brings_the_object_to_rest(loop, plant, measured):
    """The law goes on without it, and the reference comes to a halt on its way."""
    started(loop, measured)
    for tick in range(200):
        feed(loop, measured, tick)
        measured = plant.step(loop.cycle(tick, tick).torque)
    loop.take_wrench("left", 200, np.full(6, np.nan), 200)
    for tick in range(200, 700):
        names = list(loop.system.joint_names)
        loop.arms.take("joint_states", tick, names, measured.q, measured.qd, tick)
        outcome = loop.cycle(tick, tick)
        assert np.isfinite(outcome.torque).all()
        measured = plant.step(outcome.torque)
    assert loop.safety.faults[0][1].cause is Cause.WRENCH_LOST
    assert loop.safety.law_runs
    # It was to go on moving for a second and more.
    assert np.abs(measured.qd).max() < 1e-3
    assert np.abs(outcome.step.reference[7:13]).max() < 1e-12


def test_on_a_clock_silence_is_noticed_without_any_message(clocked, measured):
    """Within the declared number of periods; the fallback carries the arms from then on."""
    feed(clocked, measured, 0)
    clocked.prepare(0)()
    clocked.start(0, 0)
    clocked.cycle(0, 0)
    limit = SCENARIO.safety.stale_after_periods * PERIOD_NS
    assert clocked.arms.known(limit)
    assert not clocked.arms.known(limit + 1)
    outcome = clocked.cycle_without_samples(limit + 1)
    assert clocked.safety.state is State.FALLBACK
    assert "no new sample for" in clocked.safety.cause
    assert np.isfinite(outcome.torque).all()


def test_another_limit_for_silence(measured):
    """For simulations in real time on machines that stutter."""
    loop = ControlLoop(SCENARIO, 1e-9, stale_after_s=0.5)
    feed(loop, measured, 0)
    assert loop.arms.known(499_000_000)
    assert not loop.arms.known(501_000_000)


def test_control_waits_for_every_arm(clocked, measured):
    """A sample is used once, and those of both arms together."""
    names = list(clocked.system.joint_names)
    assert not clocked.arms.all_newer
    feed(clocked, measured, 0)
    assert clocked.arms.all_newer
    clocked.cycle(0, 0)
    assert not clocked.arms.all_newer
    own = [names[:7], measured.q[:7], measured.qd[:7]]
    clocked.arms.take("joint_states", PERIOD_NS, *own, PERIOD_NS)
    assert not clocked.arms.all_newer
    own = [names[7:], measured.q[7:], measured.qd[7:]]
    clocked.arms.take("joint_states", PERIOD_NS, *own, PERIOD_NS)
    assert clocked.arms.all_newer


def test_without_wrist_sensors_the_force_is_fed_forward(measured):
    """Nothing waits for them."""
    loop = ControlLoop(SCENARIO, PERIOD, use_wrenches=False)
    assert loop.wrenches == {}
    outcome = started(loop, measured).cycle(0, 0)
    assert np.isfinite(outcome.torque).all()


def test_locked_joints_may_be_in_the_messages(loop, measured):
    """Those that the scenario locks, and those that were announced."""
    other = ControlLoop(SCENARIO, PERIOD, ignored_joints=["gripper"])
    names = ["gripper", *other.system.joint_names]
    q, qd = np.append(0.5, measured.q), np.append(0.0, measured.qd)
    assert other.arms.take("joint_states", 0, names, q, qd, 0)
    assert not loop.arms.take("joint_states", 0, names, q, qd, 0)


def test_a_stop_and_a_fault_from_outside(loop, measured):
    """Both end in the fallback, which says why."""
    started(loop, measured).cycle(0, 0)
    loop.stop(1)
    assert loop.safety.state is State.STOPPED
    feed(loop, measured, 1)
    assert np.isfinite(loop.cycle(1, 1).torque).all()
    loop.reset(1)
    loop.prepare(1)()
    loop.start(1, 1)
    outcome = loop.fall_back(2, Cause.ARM_LOST, "left", "the simulator is gone.")
    assert loop.safety.cause == "left: the simulator is gone."
    assert np.isfinite(outcome.torque).all()


def fail(*_, **__):
    """Raise what nobody expects."""
    raise IndexError("out of range")


@pytest.mark.parametrize("where", ["supervised", "arms", "safety"])
def test_an_error_around_the_law_ends_in_the_fallback(loop, measured, monkeypatch, where):
    """In the safety layer's own checks or in what looks at samples; latched, within limits."""
    started(loop, measured)
    feed(loop, measured, 1)
    name = {"supervised": "_watch", "arms": "use", "safety": "observe"}[where]
    monkeypatch.setattr(getattr(loop, where), name, fail)
    outcome = loop.cycle(1, 1)
    assert np.isfinite(outcome.torque).all()
    assert loop.safety.state is State.FALLBACK
    assert loop.safety.cause == "controller: unexpected IndexError: out of range"


def test_an_error_of_the_fallback_is_raised(loop, measured, monkeypatch):
    """Nothing can be sent then; before the start nothing needs to be."""
    feed(loop, measured, 0)
    monkeypatch.setattr(loop.safety, "observe", fail)
    with pytest.raises(IndexError):
        loop.cycle(0, 0)
    monkeypatch.undo()
    started(loop, measured)
    monkeypatch.setattr(loop.supervised, "update", fail)
    monkeypatch.setattr(loop.safety, "command", fail)
    with pytest.raises(IndexError):
        loop.cycle(1, 1)


def test_a_start_that_breaks_off_ends_in_the_fallback(loop, measured, monkeypatch):
    """The arms have begun to rely on it."""
    feed(loop, measured, 0)
    loop.prepare(0)()
    monkeypatch.setattr(loop.supervised.controller, "start", fail)
    with pytest.raises(IndexError):
        loop.start(0, 0)
    assert loop.safety.state is State.FALLBACK
    assert np.isfinite(loop.cycle(1, 1).torque).all()


def test_a_start_while_control_runs_changes_nothing(loop, measured):
    """It is refused, and no fault."""
    started(loop, measured)
    with pytest.raises(SafetyError, match="expected inactive"):
        loop.start(0, 0)
    assert loop.safety.law_runs
