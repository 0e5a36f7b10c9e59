# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Samples reach the loop with the right times, and none that is odd ends the node."""

from __future__ import annotations

import time

import pytest

pytest.importorskip("rclpy", reason="ROS 2 is not installed")

from fake_arms import FakeArms
from support.control_loops import sampled_loop
from waiting import wait_until

from robot_dynamics.app.scenario import load_scenario
from robot_dynamics.control.clock import LockstepClock, WallClock
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
