# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Messages of simulated arms: on one topic or on two, at their own rates, and wrong on purpose."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="ROS 2 is not installed")

from copy import deepcopy
from dataclasses import replace

from rclpy.serialization import deserialize_message

from robot_dynamics.errors import ArgumentError
from robot_dynamics.nodes.conversions import read_time
from robot_dynamics.nodes.state_topics import StateTopics
from robot_dynamics.simulation.faults import Faults, fault_of
from robot_dynamics.simulation.sensors import Measurement
from robot_dynamics.simulation.settings import SensorSettings
from test.two_arms import two_arms

SYSTEM = two_arms()
ARMS = dict(zip((arm.name for arm in SYSTEM.arms), SYSTEM.arm_slices, strict=True))
NA = len(SYSTEM.joint_names)
PERIOD = 0.002


class Topic:
    """A publisher that keeps its messages."""

    def __init__(self, kind):
        self.kind, self.messages = kind, []
        self.listeners = 0

    def publish(self, message):
        """Keep a copy: messages are filled again, or serialized."""
        if isinstance(message, bytes):
            message = deserialize_message(message, self.kind)
        self.messages.append(deepcopy(message))

    def get_subscription_count(self):
        """Return the number of subscribers."""
        return self.listeners


class Arms:
    """State topics on a node that is none; positions are the tick, plus a tenth of the index."""

    def __init__(self, joint_topics=("joint_states",), skip=False, system=SYSTEM, **sensors):
        self.topics = {}
        self.faults = Faults(ARMS, (), PERIOD)
        self.states = StateTopics(
            self,
            system,
            SensorSettings(**sensors),
            self.faults,
            joint_topics,
            PERIOD,
            skip=skip,
        )

    def create_publisher(self, kind, topic, quality, **options):
        """Replace the node."""
        return self.topics.setdefault(topic, Topic(kind))

    def publish(self, *ticks):
        """Publish the states of some ticks."""
        for tick in ticks:
            self.faults.move(tick)
            q = tick + np.arange(NA) / 10
            self.states.publish(tick, Measurement(tick, 0.0, q, -q, np.full((2, 6), tick)))

    def ticks(self, topic="joint_states"):
        """Return ticks by the stamps of a topic's messages, and by their first positions."""
        messages = self.topics[topic].messages
        stamps = [round(read_time(m.header.stamp) / PERIOD / 1e9) for m in messages]
        return stamps, [int(m.position[0]) for m in messages]


def test_one_topic_holds_all_joints_in_order():
    """Names, positions and velocities belong together; wrenches come before, of the same time."""
    arms = Arms()
    arms.publish(3)
    (message,) = arms.topics["joint_states"].messages
    assert message.name == list(SYSTEM.joint_names)
    assert np.array_equal(message.position, 3 + np.arange(NA) / 10)
    assert np.array_equal(message.velocity, -3 - np.arange(NA) / 10)
    (wrench,) = arms.topics["left/wrench"].messages
    assert wrench.header.stamp == message.header.stamp
    assert wrench.wrench.force.x == 3.0
    assert not arms.topics["/clock"].messages  # nobody listens
    arms.topics["/clock"].listeners = 1
    arms.states.check_subscribers()
    arms.publish(4)
    assert read_time(arms.topics["/clock"].messages[0].clock) == 8_000_000


LINKED = replace(
    SYSTEM, arms=tuple(replace(arm, passive_joints=(f"{arm.name}_rod",)) for arm in SYSTEM.arms)
)
IDLE = (np.array([5.0, 6.0]), np.array([7.0, 8.0]))


def test_joints_without_drives_are_behind_the_others():
    """Those of all arms, or of the arm that a topic is of; displays need them."""
    seen = Measurement(0, 0.0, np.zeros(NA), np.zeros(NA), np.zeros((2, 6)))
    arms = Arms(system=LINKED)
    arms.states.publish(0, seen, IDLE)
    (message,) = arms.topics["joint_states"].messages
    assert message.name == [*SYSTEM.joint_names, "left_rod", "right_rod"]
    assert list(message.position) == [0.0] * NA + [5.0, 6.0]
    assert list(message.velocity) == [0.0] * NA + [7.0, 8.0]
    arms = Arms(("left/joint_states", "right/joint_states"), system=LINKED, velocities=False)
    arms.states.publish(0, seen, IDLE)
    (message,) = arms.topics["right/joint_states"].messages
    assert message.name == [*SYSTEM.arms[1].joints, "right_rod"]
    assert message.position[-1] == 6.0
    assert len(message.velocity) == 0


def test_faults_are_those_of_what_is_measured():
    """A joint that is missing is one with a drive; those without go on to be shown."""
    arms = Arms(system=LINKED)
    arms.faults.switch([fault_of("missing_joint left")])
    arms.faults.move(1)
    seen = Measurement(0, 0.0, np.zeros(NA), np.zeros(NA), np.zeros((2, 6)))
    arms.states.publish(0, seen, IDLE)
    (message,) = arms.topics["joint_states"].messages
    missing = {*SYSTEM.joint_names, "left_rod", "right_rod"} - set(message.name)
    assert missing == {SYSTEM.arms[0].joints[-1]}
    assert list(message.position[-2:]) == [5.0, 6.0]
    assert list(message.velocity[-2:]) == [7.0, 8.0]


def test_arms_on_topics_of_their_own():
    """Each has its own joints."""
    arms = Arms(("left/joint_states", "right/joint_states"))
    arms.publish(0)
    for arm, own in zip(SYSTEM.arms, SYSTEM.arm_slices, strict=True):
        (message,) = arms.topics[f"{arm.name}/joint_states"].messages
        assert message.name == list(arm.joints)
        assert np.allclose(message.position, np.arange(NA)[own] / 10)
    with pytest.raises(ArgumentError, match="has 3 names; expected 1 or 2"):
        Arms(("a", "b", "c"))


@pytest.mark.parametrize(("skip", "seen"), [(True, [0, 3, 6, 6]), (False, [*range(8), 7])])
def test_arms_at_their_own_rates(skip, seen):
    """On the wall clock there is a message when there is a sample; in lockstep for every tick."""
    topics = ("left/joint_states", "right/joint_states")
    arms = Arms(topics, skip=skip, sample_periods={"right": 3})
    arms.publish(*range(8))
    arms.states.publish(
        6 if skip else 7, Measurement(7, 0.0, *np.zeros((2, NA)), np.zeros((2, 6)))
    )
    assert arms.ticks("right/joint_states")[0] == seen
    assert len(arms.ticks("left/joint_states")[0]) == 9


def test_missing_velocities_are_an_empty_field():
    """As messages of drives without velocity sensors have it."""
    arms = Arms(velocities=False)
    arms.publish(1)
    (message,) = arms.topics["joint_states"].messages
    assert len(message.velocity) == 0
    assert len(message.position) == NA


@pytest.mark.parametrize(
    ("kind", "stamps", "positions"),
    [
        ("silent", [0, 1, 5], [0, 1, 5]),
        ("frozen", [0, 1, 1, 1, 1, 5], [0, 1, 1, 1, 1, 5]),
        ("stale_stamp", [0, 1, 1, 1, 1, 5], [0, 1, 2, 3, 4, 5]),
        ("clock_back", [0, 1, 2 - 30000, 3 - 30000, 4 - 30000, 5], [0, 1, 2, 3, 4, 5]),
        ("half_period", [0, 1, 3, 3, 5, 5], [0, 1, 2, 3, 4, 5]),
        ("dropped", [0, 1, 3, 5], [0, 1, 3, 5]),
        ("duplicated", [0, 1, 2, 2, 3, 3, 4, 4, 5], [0, 1, 2, 2, 3, 3, 4, 4, 5]),
        ("reordered", [0, 1, 2, 1, 3, 2, 4, 3, 5], [0, 1, 2, 1, 3, 2, 4, 3, 5]),
    ],
)
def test_messages_that_come_wrong(kind, stamps, positions):
    """From tick 2 on for three ticks; before and after everything is as it should be."""
    arms = Arms()
    arms.publish(0, 1)
    arms.faults.switch([fault_of(f"{kind} left 0.006")])
    arms.publish(2, 3, 4, 5)
    assert arms.ticks() == (stamps, positions)
    assert len(arms.topics["left/wrench"].messages) == 6


def test_wrist_sensors_may_be_silent():
    """Those of one arm; joint states and the other arm's wrenches come."""
    arms = Arms()
    arms.faults.switch([fault_of("wrench_silent right")])
    arms.publish(1)
    counts = {name: len(topic.messages) for name, topic in arms.topics.items()}
    assert counts == {"/clock": 0, "left/wrench": 1, "right/wrench": 0, "joint_states": 1}


def test_joints_that_are_named_wrong():
    """The order changes nothing about which number belongs to which name."""
    arms = Arms()
    own = list(SYSTEM.arms[1].joints)
    right = dict(zip(own, np.arange(NA)[SYSTEM.arm_slices[1]], strict=True))
    found = {}
    for tick, kind in enumerate(("wrong_order", "missing_joint", "wrong_name", "no_velocities")):
        arms.faults.switch([fault_of(f"{kind} right 0.002")])
        arms.publish(tick + 1)
        message = arms.topics["joint_states"].messages[-1]
        found[kind] = {
            name: round(10 * (x - tick - 1))
            for name, x in zip(message.name, message.position, strict=True)
        }
        assert len(message.velocity) in (len(message.name), 0)
        if kind == "wrong_order":
            assert message.name[-len(own) :] == own[::-1]
            assert np.array_equal(message.velocity, -np.array(message.position))
    assert found["wrong_order"] == found["no_velocities"]
    assert right.items() <= found["wrong_order"].items()
    assert set(found["wrong_order"]) - set(found["missing_joint"]) == {own[-1]}
    assert set(found["wrong_name"]) - set(found["wrong_order"]) == {f"{own[0]}_"}
    assert len(message.velocity) == 0
