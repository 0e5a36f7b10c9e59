# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Commands go to every arm, and other publishers of commands are noticed."""

from __future__ import annotations

import time
from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="ROS 2 is not installed")

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from std_msgs.msg import Float64MultiArray, UInt64MultiArray
from waiting import PATIENCE_S, wait_until

from robot_dynamics.app.recordings import topic_names as topics
from robot_dynamics.app.scenarios.cell import build_system
from robot_dynamics.app.scenarios.scenario import load_scenario
from robot_dynamics.control.clock import LockstepClock, WallClock
from robot_dynamics.nodes import command_topics
from robot_dynamics.nodes.command_topics import (
    PROCESS,
    PROCESS_KEY,
    CommandPublisherMonitor,
    CommandTopics,
    OtherPublisherError,
    rival_commanders,
)
from robot_dynamics.nodes.conversions import read_command
from robot_dynamics.nodes.topics import STREAM, Inbox

SCENARIO = load_scenario("lift_box")
SYSTEM = build_system(SCENARIO)
WALL_CLOCK, LOCKSTEP = (kind(SCENARIO.control.period) for kind in (WallClock, LockstepClock))


@pytest.fixture
def speak(ros):
    """Return a function that makes a speaker, and one that returns the received commands."""
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

    def make(commanded=lambda torque: torque, clock=WALL_CLOCK, **options):
        speaker = CommandTopics(node, SYSTEM, commanded, clock, **options)
        ways = speaker._publishers[:2]
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


def test_the_last_torque_of_the_drives_is_known(speak, ros):
    """Whoever sent it: this node or another one; an empty command changes nothing."""
    make, _ = speak
    speaker = make(clock=LOCKSTEP)
    assert np.isnan(speaker.last()).all()
    speaker.send(1, np.arange(14.0), (), {})
    speaker.send(2, np.arange(14.0) + 1.0, (), {})
    wait_until(lambda: np.array_equal(speaker.last(), np.arange(14.0) + 1.0))
    speaker.send(3, np.zeros(14), ("left", "right"), {})
    other = ros.create_node("other")
    try:
        theirs = CommandTopics(other, SYSTEM, lambda torque: torque, WALL_CLOCK)
        for publisher in theirs._publishers:
            wait_until(lambda p=publisher: p.get_subscription_count() >= 3)
        theirs.send(4, np.full(14, 5.0), ("right",), {})
        expected = np.array([5.0] * 7 + list(range(8, 15)))
        wait_until(lambda: np.array_equal(speaker.last(), expected), words=speaker.last)
        theirs.destroy()
    finally:
        other.destroy_node()
        speaker.destroy()


def test_every_arm_gets_its_part(speak):
    """In the drives' meaning, with the number of the tick."""
    make, hear = speak
    speaker = make(lambda torque: torque - 1.0)
    names = [publisher.topic_name for publisher in speaker._publishers]
    assert names == ["/left/commands", "/right/commands"]
    assert speaker.send(7, np.arange(14.0), (), {})
    (left, tick, torque), (right, _, other) = sorted(hear(2))
    assert (left, right, tick) == ("left", "right", 7)
    assert torque.tolist() == list(range(-1, 6))
    assert other.tolist() == list(range(6, 13))
    speaker.wait_for_delivery(1.0)
    speaker.destroy()


def test_joint_positions_beside_torques(speak, ros):
    """For drives that take them, on topics of their own; a released arm gets none."""
    make, _ = speak
    speaker, other, heard = make(positions=True), ros.create_node("drive"), []
    try:
        for arm in ("left", "right"):
            other.create_subscription(
                Float64MultiArray,
                f"{arm}/position_commands",
                lambda message, arm=arm: heard.append((arm, *message.data)),
                10,
            )
        for publisher in speaker._publishers[2:]:
            wait_until(lambda p=publisher: p.get_subscription_count() == 1)
        speaker.send(3, np.zeros(14), (), {"position": np.arange(14.0)})
        speaker.send(4, np.zeros(14), ("left",), {"position": np.arange(14.0) + 1.0})
        wait_until(lambda: ros.spin_once(other, timeout_sec=0.01) or len(heard) == 3)
        assert set(heard) == {
            ("left", *range(7)), ("right", *range(7, 14)), ("right", *range(8, 15)),
        }  # fmt: skip
    finally:
        other.destroy_node()
        speaker.destroy()
    silent = make()
    silent.send(1, np.zeros(14), (), {"position": np.arange(14.0)})  # nobody takes them here
    silent.destroy()


def test_a_released_arm(speak):
    """It gets nothing; in lockstep an empty word, so that the step does not wait for it."""
    make, hear = speak
    make().send(1, np.zeros(14), ("left",), {})
    assert [name for name, *_ in hear(1)] == ["right"]
    make(clock=LOCKSTEP).send(2, np.zeros(14), ("left",), {})
    assert sorted((name, torque.size) for name, _, torque in hear(3)[1:]) == [
        *(("left", 0), ("right", 7))
    ]


def test_the_end_of_commands_leaves_released_arms_alone(speak):
    """Their drives hold them, and may be elsewhere by now."""
    make, _ = speak
    ended, published = make(), []
    ended._fields = ("velocity",)
    ended._messages = [SimpleNamespace(publish=lambda tick, arms, values: published.append(arms))]
    ended.end(3, ("left",))
    assert published == [["right"]]


def test_torques_that_are_not_finite_are_not_sent(speak):
    """Not even the good part of it."""
    make, hear = speak
    torque = np.zeros(14)
    torque[3] = np.nan
    speaker = make()
    assert not speaker.send(1, torque, (), {})
    assert speaker.send(2, np.zeros(14), (), {})
    assert {tick for _, tick, _ in hear(2)} == {2}


TOPIC = "/left/commands"


class Bench:
    """A controller that commands, and others."""

    def __init__(self, ros):
        self.ros, self.nodes = ros, []
        self.node = self.add("controller", TOPIC)
        self.monitor = CommandPublisherMonitor(self.node, ["left", "right"])

    def add(self, name, *topics_of_commands):
        """Add a node that commands."""
        node = self.ros.create_node(name)
        for topic in topics_of_commands:
            node.create_publisher(Float64MultiArray, topic, STREAM)
        self.nodes.append(node)
        return node

    def wait_for(self, count):
        """Wait until so many publishers are known by name."""

        def known():
            found = self.node.get_publishers_info_by_topic(TOPIC)
            return len(found) == count and all("UNKNOWN" not in i.node_name for i in found)

        wait_until(known)

    def destroy(self):
        """End all nodes."""
        self.monitor.destroy()
        for node in self.nodes:
            node.destroy_node()


@pytest.fixture
def bench(ros):
    """Return a bench, and end it after the test."""
    bench = Bench(ros)
    bench.wait_for(1)
    yield bench
    bench.destroy()


def test_no_other_publisher(bench):
    """Other topics do not matter, and a guard belongs to it, whatever its name."""
    bench.add("other", "/elsewhere/left/commands")
    guard = bench.add("watchman", TOPIC)
    guard.create_publisher(UInt64MultiArray, topics.GUARD, STREAM)
    bench.wait_for(2)
    wait_until(lambda: bench.node.get_publishers_info_by_topic(f"/{topics.GUARD}"))
    assert bench.monitor.require_none()
    assert bench.monitor.warning == ""


def test_another_publisher(bench):
    """A start is refused with node and topic; it is a warning while control runs."""
    bench.add("joystick", TOPIC)
    bench.wait_for(2)
    words = (
        "the node '/joystick' publishes on '/left/commands'; expected only this controller and "
        "its guard: end other publishers."
    )
    with pytest.raises(OtherPublisherError) as caught:
        bench.monitor.require_none()
    assert str(caught.value) == f"start refused: {words}"
    assert bench.monitor.warning == words
    bench.nodes.pop().destroy_node()
    bench.wait_for(1)
    assert bench.monitor.require_none()
    assert bench.monitor.warning == ""


@pytest.mark.parametrize("topic", ["/joint_commands", "/right/position_commands"])
def test_another_publisher_in_another_form(bench, topic):
    """Drives would follow both in turn, so it is refused like one on the same topic."""
    bench.add("ros2_control", topic)
    wait_until(lambda: bench.node.count_publishers(topic))
    words = f"the node '/ros2_control' publishes on '{topic}'; expected only this controller"
    monitor = bench.monitor
    wait_until(lambda: monitor.warning.startswith(words), words=lambda: monitor.warning)
    with pytest.raises(OtherPublisherError, match="start refused: the node '/ros2_control'"):
        bench.monitor.require_none()


def test_the_receiver_names_several_commanders_of_an_arm(bench):
    """Guards do not count, and two nodes on `joint_commands` can command an arm each."""
    guard = bench.add("watchman", TOPIC, "/joint_commands")
    guard.create_publisher(UInt64MultiArray, topics.GUARD, STREAM)
    bench.add("ros2_control", "/joint_commands")
    bench.wait_for(2)
    wait_until(lambda: bench.node.count_publishers(f"/{topics.GUARD}"))
    wait_until(lambda: bench.node.count_publishers("/joint_commands") == 2)
    assert rival_commanders(bench.node, ["left", "right"]) == ""
    bench.add("joystick", TOPIC)
    words = "the nodes '/controller' and '/joystick' publish on '/left/commands'; expected one"
    wait_until(lambda: rival_commanders(bench.node, ["left", "right"]).startswith(words))
    assert rival_commanders(bench.node, ["right"]) == ""


def test_several_senders_of_trajectories(bench):
    """They are named; one of them is no trouble, however often it publishes."""
    topic = "/joint_trajectory"
    bench.add("moveit", topic, topic)
    wait_until(lambda: bench.node.count_publishers(topic) == 2)
    assert bench.monitor.rival_trajectories == ""
    bench.add("joystick", topic)
    words = f"the nodes '/joystick' and '/moveit' publish on '{topic}'; expected one"
    wait_until(lambda: bench.monitor.rival_trajectories.startswith(words))
    assert bench.monitor.warning == ""  # they do not command the drives


def say(node, process):
    """Publish a controller's own description, as of a process."""
    status = DiagnosticStatus(name="controller: state")
    status.values = [KeyValue(key=PROCESS_KEY, value=process)]
    publisher = node.create_publisher(DiagnosticArray, "/diagnostics", 10)
    return lambda: publisher.publish(DiagnosticArray(status=[status]))


@pytest.mark.parametrize("topic", [TOPIC, "/joint_commands"])
def test_a_running_duplicate_node(bench, monkeypatch, topic):
    """Two nodes of one name are told apart by their processes, whatever they command by."""
    monkeypatch.setattr(command_topics, "DUPLICATE_S", PATIENCE_S)
    twin = bench.add("controller", topic)
    wait_until(lambda: len([*bench.monitor._others()]) == 1)
    speak = say(twin, "1 on elsewhere")

    def listen():
        assert not bench.monitor.require_none()
        speak()
        time.sleep(0.01)

    with pytest.raises(OtherPublisherError, match="another node of this name publishes on"):
        wait_until(lambda: False, listen)


def test_a_duplicate_node_that_was_killed(bench, monkeypatch):
    """It stays in the graph for a while, silent: one's own messages are no twin."""
    monkeypatch.setattr(command_topics, "DUPLICATE_S", 0.3)
    bench.add("controller", TOPIC)
    bench.wait_for(2)
    speak = say(bench.node, PROCESS)

    def meanwhile():
        speak()
        time.sleep(0.01)

    wait_until(bench.monitor.require_none, meanwhile)
    assert bench.monitor.warning == ""
    bench.add("controller", TOPIC)
    bench.wait_for(3)
    assert bench.monitor.warning.startswith("another node of this name publishes on")


def test_a_name_that_is_not_known_yet(bench, monkeypatch):
    """It is no other command publisher, but not nobody either."""
    bench.add("late", TOPIC)
    bench.wait_for(2)
    found = bench.node.get_publishers_info_by_topic(TOPIC)
    for info in found:
        if info.node_name == "late":
            info.node_name = info.node_namespace = "_NODE_NAME_UNKNOWN_"
    answers = {TOPIC: found}
    monkeypatch.setattr(
        bench.node, "get_publishers_info_by_topic", lambda topic: answers.get(topic, [])
    )
    assert not bench.monitor.require_none()
    assert bench.monitor.warning == ""
