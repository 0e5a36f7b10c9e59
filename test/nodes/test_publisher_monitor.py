# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Somebody else who commands the arms is noticed, and a guard or a dead twin is not mistaken."""

from __future__ import annotations

import time

import pytest

pytest.importorskip("rclpy", reason="ROS 2 is not installed")

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from std_msgs.msg import Float64MultiArray, UInt64MultiArray
from waiting import PATIENCE_S, wait_until

from robot_dynamics.app import topic_names as topics
from robot_dynamics.nodes import publisher_monitor
from robot_dynamics.nodes.command_topics import (
    PROCESS,
    PROCESS_KEY,
    CommandPublisherMonitor,
    OtherPublisherError,
)
from robot_dynamics.nodes.topics import STREAM

TOPIC = "/left/commands"


class Bench:
    """A controller that commands, and others."""

    def __init__(self, ros):
        self.ros, self.nodes = ros, []
        self.node = self.add("controller", TOPIC)
        self.publisher_monitor = CommandPublisherMonitor(self.node, [TOPIC])

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
        self.publisher_monitor.destroy()
        for node in self.nodes:
            node.destroy_node()


@pytest.fixture
def bench(ros):
    """Return a bench, and end it after the test."""
    bench = Bench(ros)
    bench.wait_for(1)
    yield bench
    bench.destroy()


def test_nobody_else(bench):
    """Other topics do not matter, and a guard belongs to it, whatever its name."""
    bench.add("other", "/elsewhere/left/commands")
    guard = bench.add("watchman", TOPIC)
    guard.create_publisher(UInt64MultiArray, topics.GUARD, STREAM)
    bench.wait_for(2)
    wait_until(lambda: bench.node.get_publishers_info_by_topic(f"/{topics.GUARD}"))
    assert bench.publisher_monitor.require_none()
    assert bench.publisher_monitor.warning == ""


def test_somebody_else(bench):
    """A start is refused with node and topic; it is a warning while control runs."""
    bench.add("joystick", TOPIC)
    bench.wait_for(2)
    words = (
        "the node '/joystick' publishes on '/left/commands' as well; expected this controller and "
        "its guard alone."
    )
    with pytest.raises(OtherPublisherError) as caught:
        bench.publisher_monitor.require_none()
    assert str(caught.value) == f"start refused: {words}"
    assert bench.publisher_monitor.warning == words
    bench.nodes.pop().destroy_node()
    bench.wait_for(1)
    assert bench.publisher_monitor.require_none()
    assert bench.publisher_monitor.warning == ""


def say(node, process):
    """Publish what a controller of a process says of itself."""
    status = DiagnosticStatus(name="controller: state")
    status.values = [KeyValue(key=PROCESS_KEY, value=process)]
    publisher = node.create_publisher(DiagnosticArray, "/diagnostics", 10)
    return lambda: publisher.publish(DiagnosticArray(status=[status]))


def test_a_twin_that_lives(bench, monkeypatch):
    """Two nodes of one name are told apart by their processes."""
    monkeypatch.setattr(publisher_monitor, "TWIN_S", PATIENCE_S)
    twin = bench.add("controller", TOPIC)
    bench.wait_for(2)
    speak = say(twin, "1 on elsewhere")

    def listen():
        assert not bench.publisher_monitor.require_none()
        speak()
        time.sleep(0.01)

    with pytest.raises(OtherPublisherError, match="another node of this name publishes on"):
        wait_until(lambda: False, listen)


def test_a_twin_that_was_killed(bench, monkeypatch):
    """It stays in the graph for a while, and says nothing: what one says oneself is no twin."""
    monkeypatch.setattr(publisher_monitor, "TWIN_S", 0.3)
    bench.add("controller", TOPIC)
    bench.wait_for(2)
    speak = say(bench.node, PROCESS)

    def meanwhile():
        speak()
        time.sleep(0.01)

    wait_until(bench.publisher_monitor.require_none, meanwhile)
    assert bench.publisher_monitor.warning == ""
    bench.add("controller", TOPIC)
    bench.wait_for(3)
    assert bench.publisher_monitor.warning.startswith("another node of this name publishes on")


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
    assert not bench.publisher_monitor.require_none()
    assert bench.publisher_monitor.warning == ""
