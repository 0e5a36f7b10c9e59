# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A node that waits for topics nobody publishes says so, and where there are such topics."""

from __future__ import annotations

from functools import partial
from types import SimpleNamespace

import pytest

pytest.importorskip("rclpy", reason="ROS 2 is not installed")

from geometry_msgs.msg import WrenchStamped
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from waiting import wait_until

from robot_dynamics.nodes import awaited_topics
from robot_dynamics.nodes.controller import Controller
from robot_dynamics.nodes.guard import Guard
from robot_dynamics.nodes.process import Reporter
from robot_dynamics.nodes.simulator import Simulator
from robot_dynamics.nodes.topics import AwaitedTopics


@pytest.fixture
def add(ros):
    """Return a function that makes nodes; they are destroyed after the test."""
    nodes = []

    def add(name, namespace, *topics):
        nodes.append(ros.create_node(name, namespace=namespace))
        for topic, kind in topics:
            full = nodes[-1].create_publisher(kind, topic, 10).topic_name
            wait_until(partial(nodes[0].count_publishers, full))
        return nodes[-1]

    yield add
    for node in nodes:
        node.destroy_node()


@pytest.fixture
def clock(monkeypatch):
    """Return the time that awaited topics see [s]."""
    clock = [100.0]
    monkeypatch.setattr(awaited_topics, "time", SimpleNamespace(monotonic=lambda: clock[0]))
    return clock


def test_it_names_topics_of_the_same_end_elsewhere(add, clock, monkeypatch):
    """Of the same type, and with publishers; those in their place are not mentioned."""
    node = add("waits", "/cell")
    node.create_subscription(JointState, "joint_states", lambda m: None, 10)
    add(
        *("arms", "/arms", ("joint_states", JointState)),
        *(("left/wrench", WrenchStamped), ("/cell/right/wrench", WrenchStamped)),
    )
    add("other", "/other", ("joint_states", WrenchStamped))
    add("another", "/").create_subscription(JointState, "joint_states", lambda m: None, 10)
    told = []
    monkeypatch.setattr(node, "get_logger", lambda: SimpleNamespace(warning=told.append))
    awaited = AwaitedTopics(node, ["joint_states", "left/wrench", "right/wrench", "/clock"])
    awaited.look(waiting=True)
    assert awaited.sentence == ""  # they may be found in a moment
    clock[0] += awaited_topics.FIRST_S
    awaited.look(waiting=True)
    assert awaited.sentence == (
        "nobody publishes on /cell/joint_states (did you mean /arms/joint_states?), "
        "/cell/left/wrench (did you mean /arms/left/wrench?), /clock; expected the same "
        "namespaces and ROS domain."
    )
    assert told == []  # who asks tells it the first time
    for _ in range(100):
        clock[0] += 0.25
        awaited.look(waiting=True)
    assert told == [awaited.sentence] * 2
    awaited.look(waiting=False)
    assert awaited.sentence == ""


def test_names_that_were_remapped_or_are_absolute(add, clock):
    """The last part is what they have in common with others."""
    node = add("waits", "/cell")
    add("arms", "/", ("/left_controller/commands", Float64MultiArray))
    awaited = AwaitedTopics(node, ["/right_controller/commands"])
    awaited.look(waiting=True)
    clock[0] += awaited_topics.FIRST_S
    awaited.look(waiting=True)
    assert "did you mean /left_controller/commands?" in awaited.sentence


@pytest.mark.parametrize(
    ("make", "elsewhere", "said"),
    [
        (Controller, ("joint_states", JointState), "inactive: nobody publishes on"),
        (Guard, ("joint_states", JointState), "watching: cannot take over before every arm"),
        (Simulator, ("left/commands", Float64MultiArray), "waiting for commands, brakes on: nob"),
    ],
)
def test_nodes_say_it_in_their_diagnostics(add, clock, make, elsewhere, said):
    """And in the log, because it is no good state."""
    add("away", "/away", elsewhere)
    managed = make(Reporter())
    node = managed.node
    log = []
    node.get_logger = lambda: SimpleNamespace(warning=log.append, error=log.append)
    managed.on_idle()
    clock[0] += awaited_topics.FIRST_S
    managed.on_idle()
    managed.tell()
    assert log[-1].startswith(said)
    assert f"/{elsewhere[0]} (did you mean /away/{elsewhere[0]}?)" in log[-1]
    managed.inbox.close()
    node.destroy_node()
