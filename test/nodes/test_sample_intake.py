# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Samples reach the loop with the right times, and none that is odd ends the node."""

from __future__ import annotations

import time
from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="ROS 2 is not installed")

from fake_arms import FakeArms
from support.control_loops import sampled_loop
from waiting import wait_until

from robot_dynamics.app.scenarios.scenario import load_scenario
from robot_dynamics.control.clock import LockstepClock, WallClock, stamp_of
from robot_dynamics.control.faults import State
from robot_dynamics.nodes.background_work import BackgroundWork
from robot_dynamics.nodes.inputs import Action, SampleIntake, StateGate
from robot_dynamics.nodes.topics import Inbox

SCENARIO = load_scenario("lift_box")
PERIOD = SCENARIO.control.period


@pytest.fixture
def make(ros):
    """Return a function that makes an intake with its loop, and the arms that it hears."""
    nodes, inboxes = [], []

    def make(clock):
        node = ros.create_node("intake")
        nodes.append(node)
        inboxes.append(Inbox(node))
        loop = sampled_loop(SCENARIO, clock(PERIOD), stale_after_s=10.0)
        told = []
        intake = SampleIntake(
            inboxes[-1],
            loop,
            ["joint_states"],
            BackgroundWork(told.append),
        )
        intake.subscribe_to_sensors()
        intake.subscribe_to_joint_states()
        arms = FakeArms(node, SCENARIO)
        arms.wait_for_listener()

        def hear(tick):
            arms.tick = tick
            arms.publish()

            def read():
                inboxes[-1].wait(0.05)
                inboxes[-1].read()

            wait_until(lambda: intake.tick == tick and loop.complete, read)

        return intake, loop, told, hear

    yield make
    for inbox, node in zip(inboxes, nodes, strict=True):
        inbox.close()
        node.destroy_node()


def test_in_lockstep_times_are_ticks(make):
    """Of the messages' own stamps; a state is complete with its wrenches."""
    intake, loop, _, hear = make(LockstepClock)
    before = time.monotonic()
    hear(5)
    assert loop.joint_states.now == 5
    assert [watch.arrival for watch in loop._watches] == [5] * 4
    assert not intake.incomplete
    assert intake.received_at >= before


def test_on_the_wall_clock_they_are_of_a_steady_clock(make):
    """In nanoseconds."""
    _, loop, _, hear = make(WallClock)
    before = time.monotonic_ns()
    hear(5)
    assert all(before <= watch.arrival <= time.monotonic_ns() for watch in loop._watches)


def test_frames_of_wrenches(make):
    """A link fixed to the tool is good, no name is the sensor frame, and others are refused."""
    intake, loop, told, hear = make(WallClock)
    hear(1)
    read = loop.wrenches["left"]
    wrench = np.arange(1.0, 7.0)
    for tick, frame in enumerate(("left_tool", "left_link7", "", ""), 2):
        intake._on_wrench("left", (stamp_of(tick, PERIOD), wrench, frame))
        expected = loop.wrist_sensors.frames.to_tool("left", frame)
        expected = wrench if expected is None else expected @ wrench
        np.testing.assert_array_equal(read.values, expected)
    assert told == ["left/wrench: frame_id is empty; expected a frame: 'left_tool' is assumed."]
    for tick, frame in enumerate(("left_link6", "/left_tool"), 9):
        intake._on_wrench("left", (stamp_of(tick, PERIOD), 2.0 * wrench, frame))
        assert f"left/wrench: its frame '{frame}'" in loop.complaint
        np.testing.assert_array_equal(read.values, expected)


class Loop:
    """Arms that accept the samples of one of two publishers, while control runs."""

    def __init__(self):
        self.clock, self.wrenches, self.object_pose = WallClock(PERIOD), {}, None
        self.safety = SimpleNamespace(state=State.ACTIVE)
        self.joint_states = self
        self.ready = False

    def take(self, topic, stamp, names, position, velocity, now):
        """Accept samples of the arms."""
        self.ready = names == ["arm"]
        return self.ready


def ticks_of(stamps, names=("arm",)):
    """Return the ticks at which commands are computed, for samples with stamps [s]."""
    loop = Loop()
    inbox = SimpleNamespace(published=0)
    intake, found = SampleIntake(inbox, loop, ["joint_states"], None), []
    loop.safety.state = State.INACTIVE
    for stamp in stamps:
        for name in names:
            at = stamp if name == "arm" else 77.0 + stamp  # another machine's clock
            intake._on_joints("joint_states", (round(1e9 * at), [name], [0.0], [0.0], []))
            if intake.decide() is Action.COMPUTE:
                loop.clock.tick = intake.tick
                loop.ready = False
                found.append(intake.tick)
        loop.safety.state = State.ACTIVE
    return np.array(found)


@pytest.mark.parametrize("phase", [0.0, 0.25, 0.5, 0.75])
@pytest.mark.parametrize("drift", [-2e-4, 0.0, 2e-4])
def test_every_sample_of_the_arms_gets_one_cycle(phase, drift):
    """Whatever the phase of their stamps is, with jitter and drift; time makes no jump.

    Drift by a period takes 10 s at 2e-4: then one tick is left out or one sample is not used.
    """
    rng, n = np.random.default_rng(0), 10_000
    even = (np.arange(n) + phase) * (1.0 + drift) * PERIOD
    ticks = ticks_of(even + rng.uniform(-0.15e-3, 0.15e-3, n))
    assert abs(len(ticks) - n) <= 3
    steps = np.diff(ticks)
    assert steps.min() == 1
    assert (steps > 1).sum() <= 3
    assert steps.max() <= 2


def test_stamps_that_come_to_lie_between_two_ticks():
    """The phase follows within a few samples, also if jitter puts them on both sides in turn."""
    jitter = 0.15e-3 * (-1.0) ** np.arange(400)
    late = np.where(np.arange(400) < 100, 0.0, 0.5 * PERIOD + jitter)
    ticks = ticks_of(PERIOD * np.arange(400) + late)
    assert len(ticks) >= 395
    assert np.array_equal(np.diff(ticks)[-280:], np.ones(280))


def test_samples_of_others_are_no_time_of_control():
    """A gripper on the same topic, with another clock, moves no reference."""
    ticks = ticks_of(1.0 + PERIOD * np.arange(200), names=("gripper", "arm", "gripper"))
    assert np.array_equal(np.diff(ticks), np.ones(199))


def test_samples_that_come_twice_as_often_get_every_second_cycle():
    """One cycle a control period."""
    rng = np.random.default_rng(1)
    stamps = 0.5 * PERIOD * np.arange(2000) + rng.uniform(-1e-4, 1e-4, 2000)
    ticks = ticks_of(stamps)
    assert len(ticks) == pytest.approx(1000, abs=3)
    assert np.diff(ticks).max() <= 2


def test_an_unexpected_error_of_a_sample_ends_in_the_fallback(make, monkeypatch):
    """It is told once, and ends in the fallback where arms hang on the loop."""
    _, loop, told, hear = make(LockstepClock)
    hear(5)
    loop.prepare(5)()
    loop.start(5, 5)

    def fail(*_):
        raise TypeError("odd")

    monkeypatch.setattr(loop.joint_states, "take", fail)
    hear(6)
    hear(7)
    assert told == ["samples of 'joint_states': unexpected TypeError: odd"]
    assert loop.safety.state is State.FALLBACK
    assert (
        loop.safety.cause == "joint_states: a sample could not be read: unexpected TypeError: odd"
    )


# -- which messages of a tick have come


def test_the_answer_is_computed_when_all_messages_have_come():
    """And is computed once, when the last message has come."""
    gate = StateGate(["left", "right", "joint_states"])
    for part in ("left", "right"):
        assert gate.offer(part, 0)
        assert gate.decide() is Action.WAIT
        assert gate.incomplete
    assert gate.offer("joint_states", 0)
    assert gate.decide() is Action.COMPUTE
    assert gate.decide() is Action.WAIT
    assert not gate.incomplete


def test_a_repeated_state_gets_the_same_answer_again():
    """Its messages are not taken a second time."""
    gate = StateGate(["wrench", "joint_states"])
    gate.offer("wrench", 3)
    gate.offer("joint_states", 3)
    assert gate.decide() is Action.COMPUTE
    assert not gate.offer("wrench", 3)
    assert not gate.offer("joint_states", 3)
    assert gate.decide() is Action.REPEAT


def test_a_lost_message_does_not_stop_simulated_time():
    """When the others are repeated, the answer is computed without it."""
    gate = StateGate(["wrench", "joint_states"])
    gate.offer("joint_states", 0)
    assert gate.decide() is Action.WAIT
    gate.offer("joint_states", 0)
    assert gate.decide() is Action.COMPUTE


def test_a_reset_simulator_is_answered():
    """A tick that is earlier than the last one is collected like any other."""
    gate = StateGate(["joint_states"])
    for tick in (0, 1, 2, 0):
        assert gate.offer("joint_states", tick)
        assert gate.tick == tick
        assert gate.decide() is Action.COMPUTE
