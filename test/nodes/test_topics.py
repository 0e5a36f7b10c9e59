# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Subscriptions read messages in their own order; topics without a publisher are named."""

from __future__ import annotations

import threading
import time
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import pytest

pytest.importorskip("rclpy", reason="ROS 2 is not installed")

from geometry_msgs.msg import WrenchStamped
from rclpy.parameter import Parameter
from rclpy.qos import QoSDurabilityPolicy, QoSReliabilityPolicy
from rclpy.serialization import deserialize_message
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64, Float64MultiArray, String
from std_srvs.srv import Trigger
from waiting import PATIENCE_S, wait_until

from robot_dynamics.app.recordings import topic_names as topics
from robot_dynamics.nodes import topics as node_topics
from robot_dynamics.nodes.controller import ControllerNode
from robot_dynamics.nodes.guard import GUARD, Guard
from robot_dynamics.nodes.lifecycle import SessionNode
from robot_dynamics.nodes.process import Reporter
from robot_dynamics.nodes.simulator import SIMULATOR, Simulator
from robot_dynamics.nodes.topics import (
    BEST_EFFORT,
    LARGEST_BYTES,
    LATCHED,
    STREAM,
    Inbox,
    MissingPublishers,
)

PAGE = Path(__file__).resolve().parents[2] / "docs" / "ros.md"


def test_names_are_relative_so_that_namespaces_work():
    """But for those that ROS has one of."""
    names = [value for key, value in vars(topics).items() if key.isupper() and "\0" not in key]
    names = [name for name in names if isinstance(name, str)]
    assert names
    assert [name for name in names if name.startswith("/")] == ["/clock"]
    assert topics.commands("left") == "left/commands"
    assert topics.wrench("left") == "left/wrench"


def test_streams_are_reliable_and_descriptions_latched():
    """The defaults of RViz and the command line."""
    assert STREAM.reliability == QoSReliabilityPolicy.RELIABLE
    assert STREAM.depth == 10
    assert LATCHED.durability == QoSDurabilityPolicy.TRANSIENT_LOCAL
    assert LATCHED.depth == 1


@pytest.mark.skipif(not PAGE.is_file(), reason="needs the checkout")
def test_the_documentation_names_every_topic():
    """All but those of recordings, and frames."""
    text = PAGE.read_text(encoding="utf-8")
    names = [v for k, v in vars(topics).items() if k.isupper() and isinstance(v, str)]
    names = [name for name in names if not name.startswith(("true/", "columns/", topics.WORLD))]
    assert len(names) > 10
    for name in [*names, topics.commands("<arm>"), topics.wrench("<arm>")]:
        assert f"`{name}`" in text, name


@pytest.fixture
def node(ros):
    """Return a node that talks to itself."""
    node = ros.create_node("reader")
    yield node
    node.destroy_node()


@pytest.fixture
def box(node):
    """Return an inbox, the list of messages read, and the publishers of its two topics."""
    heard = []
    inbox = Inbox(node)
    inbox.subscribe(Float64, "first", lambda m: heard.append(m.data), STREAM, awaited=False)
    inbox.subscribe(String, "last", lambda m: heard.append(m.data), STREAM, awaited=True)
    first = node.create_publisher(Float64, "first", STREAM)
    last = node.create_publisher(String, "last", STREAM)
    wait_until(lambda: first.get_subscription_count() and last.get_subscription_count())
    yield inbox, heard, first, last
    inbox.close()


def test_waiting_ends_with_the_awaited_message(box):
    """And messages of the other topics are read before it."""
    inbox, heard, first, last = box
    assert not inbox.read()
    first.publish(Float64(data=1.0))
    last.publish(String(data="go"))
    begin = time.monotonic()
    while "go" not in heard:
        inbox.wait(PATIENCE_S)
        inbox.read()
    assert heard == [1.0, "go"]
    assert time.monotonic() - begin < PATIENCE_S  # it was ended by a message
    # By the clock of the machine, to the nanosecond; it was within this test.
    assert 0 <= time.time_ns() - inbox.published < 1e9 * (time.monotonic() - begin + 1.0)


def test_other_messages_do_not_wake_it(box):
    """Unless it is asked to."""
    inbox, heard, first, _ = box
    first.publish(Float64(data=1.0))
    begin = time.monotonic()
    inbox.wait(0.1)
    assert time.monotonic() - begin >= 0.09
    first.publish(Float64(data=2.0))
    while 2.0 not in heard:
        inbox.wait(PATIENCE_S, for_any=True)
        inbox.read()
    assert heard == [1.0, 2.0]


def test_all_that_has_queued_up_is_read(box):
    """In the order in which it was sent."""
    inbox, heard, _, last = box
    for i in range(5):
        last.publish(String(data=str(i)))

    def read():
        inbox.wait(0.1)
        inbox.read()

    wait_until(lambda: len(heard) >= 5, read)
    assert heard == ["0", "1", "2", "3", "4"]


def test_a_message_that_is_too_large_is_refused(box):
    """Before anything is made of it; a sentence says so, and others are read."""
    inbox, heard, _, last = box

    def read():
        inbox.wait(0.1)
        inbox.read()

    last.publish(String(data="x" * LARGEST_BYTES))
    wait_until(lambda: inbox.refusal, read)
    assert f"of {LARGEST_BYTES + 9} bytes" in inbox.refusal
    assert f"at most {LARGEST_BYTES}" in inbox.refusal
    assert "/last" in inbox.refusal
    last.publish(String(data="small"))
    wait_until(lambda: heard, read)
    assert heard == ["small"]


@pytest.mark.parametrize("in_thread", [False, True])
def test_a_message_that_cannot_be_read_is_refused(node, in_thread):
    """It ends nothing, a sentence says so, and those after it are read."""
    inbox, heard = Inbox(node), []
    inbox.subscribe(String, "odd", heard.append, STREAM, awaited=True, in_thread=in_thread)
    topic = node.create_publisher(String, "odd", STREAM)
    wait_until(topic.get_subscription_count)

    def read():
        inbox.wait(0.05)
        inbox.read()

    topic.publish(b"\x00\x01\x00\x00" + 40 * b"\xff")
    wait_until(lambda: inbox.refusal, read)
    assert inbox.refusal == (
        "/odd: a message was refused: it cannot be read (RMWError); expected String."
    )
    topic.publish(String(data="good"))
    wait_until(lambda: heard, read)
    assert [message.data for message in heard] == ["good"]
    inbox.close()


def test_a_flood_does_not_keep_the_reader(node):
    """Not more messages are read at once than the middleware keeps, however many come."""
    inbox, heard = Inbox(node), []
    topic = node.create_publisher(Float64, "flood", STREAM)

    def take(message):
        heard.append(message.data)
        topic.publish(Float64(data=message.data + 1.0))  # the next one is there already
        topic.publish(Float64(data=message.data + 1.0))

    inbox.subscribe(Float64, "flood", take, STREAM, awaited=True)
    wait_until(topic.get_subscription_count)
    topic.publish(Float64(data=0.0))
    wait_until(inbox.read, lambda: inbox.wait(0.1))
    before = len(heard)
    assert before <= STREAM.depth
    wait_until(lambda: len(heard) > before, lambda: (inbox.wait(0.1), inbox.read()))
    assert len(heard) <= 2 * STREAM.depth + before
    inbox.close()


def test_long_messages_are_read_in_a_thread(node):
    """Meanwhile other messages are read; of its own messages the newest comes next."""
    inbox, heard, others, go = Inbox(node), [], [], threading.Event()

    def slowly(text):
        go.wait(PATIENCE_S)
        return deserialize_message(text, String).data

    inbox.subscribe(
        String, "long", heard.append, STREAM, awaited=True, reader=slowly, in_thread=True
    )
    inbox.subscribe(Float64, "short", lambda m: others.append(m.data), STREAM, awaited=True)
    long = node.create_publisher(String, "long", STREAM)
    short = node.create_publisher(Float64, "short", STREAM)
    wait_until(lambda: long.get_subscription_count() and short.get_subscription_count())

    def read():
        inbox.wait(0.02)
        inbox.read()

    for i, text in enumerate(("first", "second", "third")):
        long.publish(String(data=text))
        short.publish(Float64(data=float(i)))
        wait_until(partial(lambda count: len(others) == count, i + 1), read)
    assert heard == []
    go.set()
    wait_until(lambda: len(heard) >= 2, read)
    assert heard[0] == "first"
    wait_until(lambda: heard[-1] == "third", read)
    inbox.close()


def test_a_closed_inbox_reads_on_without_its_thread(node):
    """A node that ends still reads messages; those for the thread are left."""
    inbox, heard, others, go = Inbox(node), [], [], threading.Event()

    def slowly(text):
        go.wait(PATIENCE_S)
        return text

    inbox.subscribe(
        String, "long", heard.append, STREAM, awaited=True, reader=slowly, in_thread=True
    )
    inbox.subscribe(Float64, "short", lambda m: others.append(m.data), STREAM, awaited=True)
    long = node.create_publisher(String, "long", STREAM)
    short = node.create_publisher(Float64, "short", STREAM)
    wait_until(lambda: long.get_subscription_count() and short.get_subscription_count())
    long.publish(String(data="being read"))
    wait_until(lambda: inbox._subscriptions[0]._being_read, inbox.read)
    inbox.close()
    go.set()
    for i in range(2):
        long.publish(String(data="late"))
        short.publish(Float64(data=float(i)))
        wait_until(partial(lambda count: len(others) == count, i + 1), inbox.read)
    assert heard == []


def test_without_awaited_topics_it_sleeps(node):
    """As a simulator in real time does."""
    inbox = Inbox(node)
    begin = time.monotonic()
    inbox.wait(0.05)
    assert time.monotonic() - begin >= 0.045


def test_an_executor_serves_the_rest(ros, node, box):
    """Its subscriptions stay untouched by it, and services work."""
    from rclpy.executors import SingleThreadedExecutor

    inbox, heard, _, last = box
    node.create_service(Trigger, "serve", lambda _, response: response)
    client = node.create_client(Trigger, "serve")
    executor = SingleThreadedExecutor()
    executor.add_node(node)
    assert client.wait_for_service(PATIENCE_S)
    last.publish(String(data="mine"))
    future = client.call_async(Trigger.Request())
    wait_until(future.done, lambda: executor.spin_once(timeout_sec=0.05))
    assert heard == []
    inbox.wait(PATIENCE_S)
    inbox.read()
    assert heard == ["mine"]
    executor.shutdown()


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
    monkeypatch.setattr(node_topics, "time", SimpleNamespace(monotonic=lambda: clock[0]))
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
    missing = MissingPublishers(node, ["joint_states", "left/wrench", "right/wrench", "/clock"])
    missing.check(waiting=True)
    assert missing.warning == ""  # they may be found in a moment
    clock[0] += node_topics.GRACE_S
    missing.check(waiting=True)
    assert missing.warning == (
        "no publisher on /cell/joint_states (did you mean /arms/joint_states?), "
        "/cell/left/wrench (did you mean /arms/left/wrench?), /clock; expected the same "
        "namespace and ROS domain."
    )
    assert told == []  # who asks tells it the first time
    for _ in range(100):
        clock[0] += 0.25
        missing.check(waiting=True)
    assert told == [missing.warning] * 2
    missing.check(waiting=False)
    assert missing.warning == ""


def test_a_publisher_that_offers_too_little_is_named(add, clock):
    """A best-effort publisher is heard by a best-effort subscription alone."""
    node, other = add("waits", "/"), add("camera", "/")
    other.create_publisher(JointState, "joint_states", BEST_EFFORT)
    wait_until(partial(node.count_publishers, "/joint_states"))
    for quality, words in ((BEST_EFFORT, ""), (STREAM, "Best effort publisher and reliable")):
        inbox = Inbox(node)
        inbox.subscribe(JointState, "joint_states", print, quality, awaited=True)
        missing = MissingPublishers(node, ["joint_states"])
        missing.check(waiting=True)
        clock[0] += node_topics.GRACE_S
        missing.check(waiting=True)
        assert words in missing.warning
        assert bool(missing.warning) == bool(words)
        assert ("'camera' on /joint_states" in missing.warning) == bool(words)
        inbox.clear()


@pytest.mark.parametrize(
    ("given", "expected"), [("reliable", "RELIABLE"), ("best_effort", "BEST_EFFORT")]
)
def test_quality_of_service_can_be_overridden(ros, given, expected):
    """By the parameters that ROS 2 has for it."""
    name = "qos_overrides./joint_states.subscription.reliability"
    node = ros.create_node("reader", parameter_overrides=[Parameter(name, value=given)])
    inbox = Inbox(node)
    for _ in range(2):  # a node may be configured again
        inbox.subscribe(JointState, "joint_states", print, STREAM, awaited=True, overridable=True)
        (subscription,) = (s for s in node.subscriptions if "joint" in s.topic_name)
        assert subscription.qos_profile.reliability.name == expected
        inbox.clear()
    assert STREAM.reliability == QoSReliabilityPolicy.RELIABLE  # of all other topics
    node.destroy_node()


def test_names_that_were_remapped_or_are_absolute(add, clock):
    """The last part is common to all."""
    node = add("waits", "/cell")
    add("arms", "/", ("/left_controller/commands", Float64MultiArray))
    missing = MissingPublishers(node, ["/right_controller/commands"])
    missing.check(waiting=True)
    clock[0] += node_topics.GRACE_S
    missing.check(waiting=True)
    assert "did you mean /left_controller/commands?" in missing.warning


@pytest.mark.parametrize(
    ("make", "elsewhere", "said"),
    [
        (ControllerNode, ("joint_states", JointState), "inactive: no publisher on"),
        (
            partial(SessionNode, "guard", GUARD, Guard),
            ("joint_states", JointState),
            "watching: no joint states of some arm",
        ),
        (
            partial(SessionNode, "simulator", SIMULATOR, Simulator),
            ("left/commands", Float64MultiArray),
            "waiting for commands, brakes on: no pub",
        ),
    ],
)
def test_nodes_say_it_in_their_diagnostics(add, clock, make, elsewhere, said):
    """And in the log, because it is no good state."""
    add("away", "/away", elsewhere)
    managed = make(Reporter())
    node = managed.node
    log = []
    node.get_logger = lambda: SimpleNamespace(warning=log.append, error=log.append)
    wait_until(lambda: node.count_publishers(f"/away/{elsewhere[0]}"))
    managed.on_idle()
    clock[0] += node_topics.GRACE_S
    managed.on_idle()
    managed.publish_diagnostics()
    assert log[-1].startswith(said)
    assert f"/{elsewhere[0]} (did you mean /away/{elsewhere[0]}?)" in log[-1]
    managed.inbox.close()
    node.destroy_node()
