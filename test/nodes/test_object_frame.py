# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The object's frame is in TF where there are messages for it, and nothing is missed elsewhere.

Package registries of Python have no `tf2_msgs`: a module with the fields of its message stands in.
"""

import sys
from types import ModuleType

import numpy as np
import pytest

pytest.importorskip("geometry_msgs", reason="ROS 2 is not installed")

from geometry_msgs.msg import TransformStamped
from rclpy.qos import DurabilityPolicy, ReliabilityPolicy
from rclpy.serialization import serialize_message

from robot_dynamics.nodes.object_topics import ObjectFrame

POSE = np.array([1.0, 2.0, 3.0, 0.0, 0.6, 0.0, 0.8])


class TFMessage:
    """What tf2_msgs/TFMessage consists of."""

    def __init__(self, transforms):
        assert all(isinstance(transform, TransformStamped) for transform in transforms)
        self.transforms = transforms


class Listener:
    """A node and its publisher in one: it keeps what was published."""

    def __init__(self):
        self.topics, self.heard = [], []

    def create_publisher(self, kind, topic, quality):
        """Note what is published where."""
        self.topics.append((kind, topic, quality))
        return self

    def publish(self, message):
        """Keep the bytes of the transforms: the message is used again."""
        self.heard.append([bytes(serialize_message(t)) for t in message.transforms])
        self.last = message.transforms


@pytest.fixture
def installed(monkeypatch):
    """Put the module where Python looks for it."""
    package, module = ModuleType("tf2_msgs"), ModuleType("tf2_msgs.msg")
    module.TFMessage = TFMessage
    monkeypatch.setitem(sys.modules, "tf2_msgs", package)
    monkeypatch.setitem(sys.modules, "tf2_msgs.msg", module)


def test_bodies_are_published_in_the_world(installed):
    """As every other transform is: on /tf, reliable and volatile."""
    node = Listener()
    ObjectFrame(node, ["rod", "other"]).publish(3_500_000_000, [POSE, 2.0 * POSE])
    ((kind, topic, quality),) = node.topics
    assert (kind, topic) == (TFMessage, "/tf")
    assert quality.reliability == ReliabilityPolicy.RELIABLE
    assert quality.durability == DurabilityPolicy.VOLATILE
    rod, other = node.last
    assert (rod.header.frame_id, rod.child_frame_id, other.child_frame_id) == (
        *("world", "rod"),
        "other",
    )
    assert (rod.header.stamp.sec, rod.header.stamp.nanosec) == (3, 500_000_000)
    assert rod.transform.translation.y == 2.0
    assert (rod.transform.rotation.y, rod.transform.rotation.w) == (0.6, 0.8)
    assert other.transform.translation.y == 4.0


def test_the_frame_of_internal_forces_is_fixed_in_the_object(installed):
    """A quarter turn about z, 0.2 m along x, whatever the object does."""
    node, at = Listener(), np.eye(4)
    at[:3, :3], at[0, 3] = [[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]], 0.2
    frame = ObjectFrame(node, ["box"], ("box_grasp_middle", at))
    for stamp in (0, 1_000_000_000):
        frame.publish(stamp, [POSE])
        box, middle = node.last
        assert (middle.header.frame_id, middle.child_frame_id) == ("box", "box_grasp_middle")
        assert middle.header.stamp == box.header.stamp
        assert middle.transform.translation.x == 0.2
        assert middle.transform.rotation.z == pytest.approx(np.sqrt(0.5))


def test_fifty_times_a_second_are_enough(installed):
    """Of 501 control periods within a second; time that goes back is followed at once."""
    node = Listener()
    frame = ObjectFrame(node, ["box"])
    for tick in range(501):
        frame.publish(2_000_000 * tick, [POSE])
    assert len(node.heard) == 51
    frame.publish(0, [POSE])
    assert len(node.heard) == 52


def test_nothing_is_published_without_the_messages(monkeypatch):
    """And nothing fails."""
    monkeypatch.setitem(sys.modules, "tf2_msgs", None)
    node = Listener()
    assert ObjectFrame(node, ["box"]).publisher is None
    assert node.topics == []
