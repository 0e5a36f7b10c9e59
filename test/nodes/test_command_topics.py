# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Commands of two arms on their topics."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="ROS 2 is not installed")

from std_msgs.msg import Float64MultiArray
from waiting import wait_until

from robot_dynamics.app import topic_names as topics
from robot_dynamics.app.scenario import build_system, load_scenario
from robot_dynamics.nodes.command_topics import CommandTopics
from robot_dynamics.nodes.conversions import read_command
from robot_dynamics.nodes.topics import STREAM, Inbox

SYSTEM = build_system(load_scenario("lift_box"))


@pytest.fixture
def speak(ros):
    """Return a function that makes a speaker, and one that returns what was heard."""
    node, heard = ros.create_node("speaker"), []
    inbox = Inbox(node)
    for arm in SYSTEM.arms:
        inbox.subscribe(
            Float64MultiArray,
            topics.commands(arm.name),
            lambda m, name=arm.name: heard.append((name, *read_command(m))),
            STREAM,
            awaited=True,
        )

    def make(commanded=lambda torque: torque, *, in_lockstep):
        speaker = CommandTopics(node, SYSTEM, commanded, in_lockstep=in_lockstep)
        ways = [publisher for _, _, publisher, _ in speaker._arms]
        wait_until(lambda: all(way.get_subscription_count() for way in ways))
        return speaker

    def hear(count):
        def read():
            inbox.wait(0.05)
            inbox.read()

        wait_until(lambda: len(heard) >= count, read, words=lambda: heard)
        return heard

    yield make, hear
    inbox.close()
    node.destroy_node()


def test_every_arm_gets_its_part(speak):
    """In the drives' meaning, with the number of the tick."""
    make, hear = speak
    speaker = make(lambda torque: torque - 1.0, in_lockstep=False)
    assert speaker.names == ["/left/commands", "/right/commands"]
    assert speaker.send(7, np.arange(14.0), ())
    (left, tick, torque), (right, _, other) = sorted(hear(2))
    assert (left, right, tick) == ("left", "right", 7)
    assert torque.tolist() == list(range(-1, 6))
    assert other.tolist() == list(range(6, 13))
    speaker.wait_for_delivery(1.0)
    speaker.destroy()


def test_a_released_arm(speak):
    """It gets nothing; in lockstep an empty word, so that the step does not wait for it."""
    make, hear = speak
    make(in_lockstep=False).send(1, np.zeros(14), ("left",))
    assert [name for name, *_ in hear(1)] == ["right"]
    make(in_lockstep=True).send(2, np.zeros(14), ("left",))
    assert sorted((name, torque.size) for name, _, torque in hear(3)[1:]) == [
        *(("left", 0), ("right", 7))
    ]


def test_what_is_no_number_is_not_sent(speak):
    """Not even the good part of it."""
    make, hear = speak
    torque = np.zeros(14)
    torque[3] = np.nan
    speaker = make(in_lockstep=False)
    assert not speaker.send(1, torque, ())
    assert speaker.send(2, np.zeros(14), ())
    assert {tick for _, tick, _ in hear(2)} == {2}
