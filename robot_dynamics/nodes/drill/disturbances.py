# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Disturbances of the controller by other nodes: messages, floods, publishers, parameters."""

from __future__ import annotations

import math
import time

from geometry_msgs.msg import WrenchStamped
from rclpy.serialization import serialize_message
from sensor_msgs.msg import JointState

from robot_dynamics.app.recordings import topic_names as topics
from robot_dynamics.control.clock import SECOND
from robot_dynamics.control.resume import Way
from robot_dynamics.nodes.conversions import write_time
from robot_dynamics.nodes.drill.session import CONTROLLER, GRIPPER_JOINT, DrillError, NodeMonitor

_MANY_JOINTS = 3000  # joints of a message that is too large to be read
_OTHER_CLOCK_S = 1000.0  # lead of a foreign clock
_GRIPPER_HZ = 200.0
_FLOOD_HZ = 10_000.0
_BURST = 50  # messages of a flood that are published at once
_EXTREME = (math.inf, 1e300, math.nan, -1.0)
GAIN = "control.object.bandwidth"


def large_messages(monitor: NodeMonitor, seconds: float) -> None:
    """Publish joint states of thousands of joints, ten times, on the topic of the arms."""
    joints = [f"gripper_joint{i:04d}" for i in range(_MANY_JOINTS)]
    text = serialize_message(JointState(name=joints, position=[0.0] * _MANY_JOINTS))
    with monitor.publisher(JointState, "joint_states") as publisher:
        for _ in range(10):
            publisher.publish(text)
            monitor.spin_for(0.1 * seconds)


def foreign_clock(monitor: NodeMonitor, seconds: float) -> None:
    """Publish joint states of a gripper, whose clock is far ahead, on the topic of the arms."""
    message = JointState(name=[GRIPPER_JOINT], position=[0.0], velocity=[0.0])
    with monitor.publisher(JointState, "joint_states") as publisher:
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            write_time(message.header.stamp, time.time_ns() + round(_OTHER_CLOCK_S * SECOND))
            publisher.publish(message)
            monitor.spin_for(1.0 / _GRIPPER_HZ, 1.0 / _GRIPPER_HZ)


def flood(monitor: NodeMonitor, seconds: float) -> None:
    """Publish 10 000 references a second, which are refused because their frame is unknown."""
    message = WrenchStamped()
    message.header.frame_id = "nowhere"
    text = serialize_message(message)
    with monitor.publisher(WrenchStamped, topics.REFERENCE_INTERNAL_FORCE) as publisher:
        begin, sent = time.monotonic(), 0
        while time.monotonic() < begin + seconds:
            if sent <= _FLOOD_HZ * (time.monotonic() - begin):
                for _ in range(_BURST):
                    publisher.publish(text)
                sent += _BURST
            monitor.spin_for(0.0005, 0.0005)


def other_publisher(monitor: NodeMonitor, seconds: float) -> None:
    """Advertise commands of an arm, without publishing any."""
    with monitor.publisher(*monitor.command_topic):
        monitor.wait_for(
            lambda: "publishes on" in monitor.status(CONTROLLER).message,
            "a warning of another publisher",
        )
        monitor.spin_for(seconds)


def stop_and_resume(monitor: NodeMonitor, seconds: float) -> None:
    """Stop control while the object is in the air, and resume the reference."""
    _stop_and("resume", monitor, seconds)


def stop_and_put_down(monitor: NodeMonitor, seconds: float) -> None:
    """Stop control while the object is in the air, and put it down."""
    _stop_and("put_down", monitor, seconds)


def _stop_and(way: Way, monitor: NodeMonitor, seconds: float) -> None:
    """Stop control, and start it again where the arms hold the object.

    Raises:
        DrillError: If the start is refused.
    """
    monitor.call_until_success("controller/stop")
    monitor.spin_for(seconds)
    monitor.call_until_success("controller/reset")
    monitor.call_start(f"controller/{way}")
    status = monitor.status(CONTROLLER)
    monitor.wait_for(lambda: status.message.startswith("active"), "control after the stop")


def extreme_parameters(monitor: NodeMonitor, seconds: float) -> None:
    """Set a gain to invalid numbers.

    Raises:
        DrillError: If one is accepted.
    """
    for value in _EXTREME:
        refusal = monitor.set_parameter(CONTROLLER, GAIN, value)
        if not refusal:
            raise DrillError(f"the controller accepted {GAIN} = {value:g}; expected a refusal.")
    monitor.spin_for(seconds)
