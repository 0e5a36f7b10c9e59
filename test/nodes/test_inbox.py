# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The inbox reads what has come, in its own order, and leaves services to the executor."""

import time

import pytest

pytest.importorskip("rclpy", reason="ROS 2 is not installed")

from std_msgs.msg import Float64, String
from std_srvs.srv import Trigger
from waiting import PATIENCE_S, wait_until

from robot_dynamics.nodes.topics import STREAM, Inbox


@pytest.fixture
def node(ros):
    """Return a node that talks to itself."""
    node = ros.create_node("reader")
    yield node
    node.destroy_node()


@pytest.fixture
def box(node):
    """Return an inbox, the list of what was read, and the publishers of its two topics."""
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
    """And what is there of the other topics is read before it."""
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
