# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Messages are made and serialized as ROS does it."""

import sys

import numpy as np
import pytest

from robot_dynamics.app.recordings.bags.messages import Messages, full_name, require_rosbags
from robot_dynamics.app.recordings.bags.streams import JointFields, Numbers, Wrenches
from robot_dynamics.app.recordings.recording import RecordingError


def test_bytes_are_those_of_ros():
    """rclpy reads our bytes as the written message and writes the same bytes."""
    pytest.importorskip("rosbags", reason="rosbags is not installed")
    serialization = pytest.importorskip("rclpy.serialization", reason="ROS 2 is not installed")
    from geometry_msgs.msg import WrenchStamped
    from sensor_msgs.msg import JointState
    from std_msgs.msg import Float64MultiArray

    make = Messages()
    joints = JointFields("j", (), (("a", "bcd"),), ("position", "effort"))

    def written(stream, values, tick=0, stamp=0):
        return stream.write(make, tick, stamp, values)

    wrench = np.arange(1.0, 7.0)
    cases = [
        (WrenchStamped, written(Wrenches("w", (), "tool"), [wrench], stamp=1_500_000_000)),
        (JointState, written(joints, [wrench[:2], wrench[2:4]], stamp=2)),
        (Float64MultiArray, written(Numbers("n", (), "N"), [wrench], tick=7)),
        (Float64MultiArray, written(Numbers("n", ()), [wrench[:0]], tick=(1 << 32) + 3)),
    ]
    for kind, message in cases:
        name = f"{kind.__module__.split('.')[0]}/{kind.__name__}"
        ours = bytes(make.bytes_of(name, message))
        theirs = serialization.deserialize_message(ours, kind)
        # ROS leaves chance in the gaps between fields and behind the last, so that its bytes are
        # read before they are compared.
        again = serialization.serialize_message(theirs)[: len(ours)]
        read = make.store.deserialize_cdr(again, full_name(name))
        assert bytes(make.bytes_of(name, read)) == ours
    assert theirs.layout.data_offset == 3
    theirs = serialization.deserialize_message(
        bytes(make.bytes_of("geometry_msgs/WrenchStamped", cases[0][1])), WrenchStamped
    )
    assert (theirs.header.stamp.sec, theirs.header.stamp.nanosec) == (1, 500_000_000)
    assert (theirs.wrench.torque.x, theirs.wrench.force.z) == (1.0, 6.0)


def test_names_of_types():
    """Files have "msg" in them."""
    assert full_name("std_msgs/String") == "std_msgs/msg/String"


def test_without_rosbags(monkeypatch):
    """The message names the package to install."""
    monkeypatch.setitem(sys.modules, "rosbags.highlevel", None)
    with pytest.raises(RecordingError, match=r"robot_dynamics\[bags\]"):
        require_rosbags()
