# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Bytes that are written and read by layout are those of rclpy."""

from __future__ import annotations

from array import array
from functools import partial

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="ROS 2 is not installed")

from rclpy.serialization import deserialize_message, serialize_message
from sensor_msgs.msg import JointState
from waiting import wait_until

from robot_dynamics.control.clock import SECOND
from robot_dynamics.nodes import serialized
from robot_dynamics.nodes.conversions import (
    CommandWriter,
    JointStateWriter,
    WrenchWriter,
    command_reader,
    joint_state_reader,
    wrench_reader,
    write_time,
)
from robot_dynamics.nodes.serialized import LayoutError, MessageLayout

STAMP = 1_800_000_000 * SECOND + 7
NUMBERS = np.array([1.5, np.nan, -np.inf, 0.0, -0.0, 5e-324, 1e308])


def joint_state(names, q, qd, effort=(), stamp=STAMP, frame=""):
    """Return a message of joint states."""
    message = JointState(name=list(names))
    message.header.frame_id = frame
    write_time(message.header.stamp, stamp)
    message.position, message.velocity = array("d", q), array("d", qd)
    message.effort = array("d", effort)
    return message


def same(text, message):
    """Return whether a serialized message is a message; padding is whatever it is."""
    return str(deserialize_message(text, type(message))) == str(message)


def test_writers_write_what_rclpy_does():
    """Joint states, with and without velocities, wrenches, commands."""
    q, qd = NUMBERS, NUMBERS[::-1]
    joints, wrench, command = JointStateWriter("abcdefg"), WrenchWriter("tool"), CommandWriter()
    for stamp in (0, STAMP, STAMP + SECOND):
        expected = joint_state("abcdefg", q, qd, stamp=stamp)
        assert same(joints.serialized(stamp, q, qd), expected)
        expected = joint_state("abcdefg", q, (), stamp=stamp)
        assert same(joints.serialized(stamp, q, qd[:0]), expected)
        expected = WrenchWriter("tool").fill(stamp, NUMBERS[:6])
        assert same(wrench.serialized(stamp, NUMBERS[:6]), expected)
    for tick in (0, 3, (1 << 32) + 5, -1):
        for torque in (NUMBERS, NUMBERS[:3], NUMBERS[:0]):
            expected = CommandWriter().fill(tick, torque)
            assert same(command.serialized(tick, torque), expected)


def test_messages_on_the_wire_have_their_size(ros):
    """As those that rclpy serializes, which are read by layout: tools for bags look at it."""
    node = ros.create_node("wire")
    heard = []
    node.create_subscription(JointState, "wire", heard.append, 10, raw=True)
    topic = node.create_publisher(JointState, "wire", 10)
    writer, q = JointStateWriter("abc"), np.arange(3.0)

    def speak(message):
        topic.publish(message)
        ros.spin_once(node, timeout_sec=0.1)

    for message in (writer.serialized(STAMP, q, q[:0]), writer.fill(STAMP, q, q[:0])):
        wait_until(partial(lambda count: len(heard) > count, len(heard)), partial(speak, message))
    assert len({len(text) for text in heard}) == 1
    reader = joint_state_reader()
    reader(heard[0])
    assert reader._known[0][0].read(heard[-1]) is not None
    node.destroy_node()


def counting(monkeypatch):
    """Return a list that grows with every message that is left to rclpy."""
    found = []

    def count(text, kind):
        found.append(kind)
        return deserialize_message(text, kind)

    monkeypatch.setattr(serialized, "deserialize_message", count)
    return found


def test_joint_states_are_read(monkeypatch):
    """Without rclpy the same joints and lengths as before; others as they come."""
    found, reader = counting(monkeypatch), joint_state_reader()
    for k in range(4):
        if k == 2:
            found.clear()
        for names, q, qd, effort in (
            ("abc", [0.0, k, np.nan], [k, 2.0, 3.0], [k, k, k]),
            ("ab", [k, 0.0], [], []),
            ("bac", [0.0, k, 1.0], [k, 2.0, 3.0], []),
            (["a", "bcd"], [k, 1.0], [], [3.0, 4.0]),
        ):
            message = joint_state(names, q, qd, effort, STAMP + k, frame="base")
            sample = reader(serialize_message(message))
            assert (sample.stamp, sample.names) == (STAMP + k, list(names))
            np.testing.assert_array_equal(sample.position, q)
            np.testing.assert_array_equal(sample.velocity, qd)
    assert found == []


def test_wrenches_and_commands_are_read(monkeypatch):
    """With angular parts first; numbers modulo 2^32."""
    found, wrenches, commands = counting(monkeypatch), wrench_reader(), command_reader()
    for k in range(6):
        if k == 4:
            found.clear()
        expected = np.array([k, np.nan, 3.0, 4.0, 5.0, 6.0])
        text = serialize_message(WrenchWriter("tool").fill(STAMP + k, expected))
        stamp, wrench, frame = wrenches(text)
        assert (stamp, frame) == (STAMP + k, "tool")
        np.testing.assert_array_equal(wrench, expected)
        text = serialize_message(CommandWriter().fill((1 << 32) - 1 + k, expected[: k % 2]))
        number, torque = commands(text)
        assert number == ((1 << 32) - 1 + k) % (1 << 32)
        np.testing.assert_array_equal(torque, expected[: k % 2])
    assert found == []


def test_changing_layouts_are_read_by_rclpy():
    """As many layouts are remembered as are of use, and every message is read right."""
    reader = joint_state_reader()
    for k in range(20):
        sample = reader(serialize_message(joint_state([f"joint{k}"], [k], [0.5])))
        assert (sample.names, sample.position.tolist()) == ([f"joint{k}"], [k])
    assert len(reader._known) < 20


def test_padding_is_ignored(monkeypatch):
    """Nobody writes it; a name that differs in one letter is another layout."""
    reader = joint_state_reader()
    text = serialize_message(joint_state(["a", "b"], [1.0, 2.0], [3.0, 4.0]))
    reader(text)
    found = counting(monkeypatch)
    changed = bytearray(text)
    at = text.index(b"a\x00")
    changed[at + 2 : at + 4] = b"\x17\x18"
    assert reader(bytes(changed)).names == ["a", "b"]
    assert found == []
    changed[at] = ord("c")
    assert reader(bytes(changed)).names == ["c", "b"]
    assert JointState in found


@pytest.mark.parametrize("change", [lambda text: text[:7], lambda text: b"\xff" * 4 + text[4:]])
def test_bytes_that_are_no_message_are_not_read(change):
    """Whatever rclpy says of them; the next message is read."""
    reader = wrench_reader()
    text = serialize_message(WrenchWriter("tool").fill(STAMP, np.arange(6.0)))
    assert reader(text)[0] == STAMP
    with pytest.raises(Exception, match=r"."):
        reader(change(text))
    assert reader(text)[1].tolist() == np.arange(6.0).tolist()


def test_other_layouts_are_written_by_rclpy(monkeypatch):
    """Messages whose numbers are not at the expected places are written as well."""

    def no_layout(fill, size, *, counted):
        raise LayoutError("not here")

    monkeypatch.setattr(serialized, "MessageLayout", no_layout)
    expected = WrenchWriter("tool").fill(STAMP, np.arange(6.0))
    assert same(WrenchWriter("tool").serialized(STAMP, np.arange(6.0)), expected)


def test_numbers_have_to_stand_as_they_are():
    """A message that holds something made of them has no layout."""
    writer = WrenchWriter("tool")
    with pytest.raises(LayoutError, match="3 of 6 numbers occur"):
        MessageLayout(lambda stamp, x: writer.fill(stamp, 2.0 * x), 6)
    with pytest.raises(LayoutError, match="a stamp occurs 0 times"):
        MessageLayout(lambda stamp, x: writer.fill(0, x), 6)
