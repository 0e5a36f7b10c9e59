# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Conversions between arrays and ROS messages: the only place where orders and frames change.

Inside the package spatial vectors are angular first and twists are in world axes; messages have
the linear part first, and the twist of an odometry is in its child frame (REP 103, nav_msgs).
Times are integers of nanoseconds. Writers reuse one message: creating a new one every control
period would take longer than the control law. Messages of every control period are also
serialized by `serialized.py`.
"""

from __future__ import annotations

import struct
from array import array
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from builtin_interfaces.msg import Time
from geometry_msgs.msg import Point, Pose, Transform, Twist, WrenchStamped
from nav_msgs.msg import Odometry
from rclpy.serialization import deserialize_message
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, MultiArrayDimension, UInt64MultiArray
from trajectory_msgs.msg import MultiDOFJointTrajectory, MultiDOFJointTrajectoryPoint

from robot_dynamics.app.recordings.bags.messages import (
    quaternion_of,
    twist_of,
    vector_of,
    wrench_of,
)
from robot_dynamics.app.recordings.topic_names import WORLD
from robot_dynamics.arrays import Array
from robot_dynamics.control.clock import SECOND
from robot_dynamics.control.streamed.trajectory import TrajectoryError
from robot_dynamics.description.orientations import rotation_of_quaternion
from robot_dynamics.nodes.serialized import CdrReader, MessageLayout, MessageWriter, Reader

_SEQUENCE_NUMBERS = 1 << 32  # data_offset has 32 bits
_NO_NUMBERS = np.zeros(0)


def write_time(time: Time, stamp: int) -> None:
    """Write nanoseconds into a time message."""
    time.sec, time.nanosec = divmod(stamp, SECOND)


def read_time(time: Time) -> int:
    """Return the nanoseconds of a time message."""
    return int(time.sec) * SECOND + int(time.nanosec)


def doubles(values: Array) -> array[float]:
    """Return an array in the type that messages accept without a check of every element."""
    return array("d", np.ascontiguousarray(values, dtype=np.float64).tobytes())


class JointStateWriter:
    """Joint states, or commands, of some joints.

    Args:
        joints: Their names, in the order of the arrays.
        fields: Fields of the message that `serialized` writes, in the order of its arrays.
    """

    def __init__(
        self, joints: Sequence[str], fields: Sequence[str] = ("position", "velocity")
    ) -> None:
        self.message = JointState(name=list(joints))
        self._fields = tuple(fields)
        self._writer = MessageWriter(self._fill_fields)

    def fill(self, stamp: int, q: Array, qd: Array, effort: Array | None = None) -> JointState:
        """Return the message of an instant; the same object every time."""
        message = self.message
        write_time(message.header.stamp, stamp)
        message.position = doubles(q)
        message.velocity = doubles(qd)
        message.effort = doubles(effort) if effort is not None else array("d")
        return message

    def serialized(self, stamp: int, *values: Array) -> bytes:
        """Return the serialized message of an instant, with an array (n,) for each field.

        The last one may be empty.
        """
        return self._writer(stamp, np.concatenate([*values, _NO_NUMBERS]))

    def _fill_fields(self, stamp: int, numbers: Array) -> JointState:
        message, n = self.message, len(self.message.name)
        write_time(message.header.stamp, stamp)
        for i, field in enumerate(self._fields):
            setattr(message, field, doubles(numbers[i * n : (i + 1) * n]))
        return message


class JointSample(NamedTuple):
    """The content of a message of joint states, or of commands by joint name.

    Attributes:
        stamp: Its time [ns].
        names: Names of the joints.
        position: Positions, of any number.
        velocity: Velocities, of any number.
        effort: Efforts, of any number.
    """

    stamp: int
    names: list[str]
    position: Array
    velocity: Array
    effort: Array


def joint_state_reader() -> Reader[JointSample]:
    """Return a reader of serialized joint states."""

    def read(message: JointState) -> JointSample:
        stamp, names = read_time(message.header.stamp), list(message.name)
        values = (np.asarray(getattr(message, field)) for field in JointSample._fields[2:])
        return JointSample(stamp, names, *values)

    def layout(message: JointState) -> MessageLayout:
        n, end = len(message.position), len(message.position) + len(message.velocity)

        def fill(stamp: int, numbers: Array) -> JointState:
            write_time(message.header.stamp, stamp)
            message.position, message.velocity = doubles(numbers[:n]), doubles(numbers[n:end])
            message.effort = doubles(numbers[end:])
            return message

        return MessageLayout(fill, end + len(message.effort))

    def make(like: JointSample, stamp: int, numbers: Array) -> JointSample:
        n, end = len(like.position), len(like.position) + len(like.velocity)
        return JointSample(stamp, like.names, numbers[:n], numbers[n:end], numbers[end:])

    return Reader(JointState, read, layout, make)


class CommandWriter:
    """Torques of the joints of an arm, numbered by the tick that they answer."""

    def __init__(self) -> None:
        self.message = Float64MultiArray()
        self._writer = MessageWriter(self.fill, counted=True)

    def fill(self, tick: int, torque: Array) -> Float64MultiArray:
        """Return the message with the torques (n,) of an arm; the same object every time."""
        self.message.layout.data_offset = tick % _SEQUENCE_NUMBERS
        self.message.data = doubles(torque)
        return self.message

    def serialized(self, tick: int, torque: Array) -> bytes:
        """Return the serialized message with the torques (n,) of an arm."""
        return self._writer(tick % _SEQUENCE_NUMBERS, torque)


def read_command(message: Float64MultiArray) -> tuple[int, Array]:
    """Return tick, modulo 2^32, and torques (n,) of a command."""
    return int(message.layout.data_offset), np.asarray(message.data)


def command_reader() -> Reader[tuple[int, Array]]:
    """Return a reader of serialized commands: tick, modulo 2^32, and torques (n,)."""

    def layout(message: Float64MultiArray) -> MessageLayout:
        writer = CommandWriter()
        writer.message = message
        return MessageLayout(writer.fill, len(message.data), counted=True)

    def make(like: tuple[int, Array], number: int, torque: Array) -> tuple[int, Array]:
        return number, torque

    return Reader(Float64MultiArray, read_command, layout, make)


def answers(number: int, tick: int) -> bool:
    """Return whether a command with a number answers a tick."""
    return number == tick % _SEQUENCE_NUMBERS


def is_ahead(number: int, tick: int) -> bool:
    """Return whether a command with a number answers a later tick."""
    return 0 < (number - tick) % _SEQUENCE_NUMBERS < _SEQUENCE_NUMBERS // 2


class NumberWriter:
    """Non-negative integers, with their names in the layout of the message.

    Args:
        names: The names.
    """

    def __init__(self, names: Sequence[str]) -> None:
        size = len(names)
        dimension = MultiArrayDimension(label=" ".join(names), size=size, stride=size)
        self.message = UInt64MultiArray()
        self.message.layout.dim = [dimension]

    def fill(self, values: Sequence[int]) -> UInt64MultiArray:
        """Return the message with the numbers; the same object every time."""
        self.message.data = array("Q", [int(value) for value in values])
        return self.message


class WrenchWriter:
    """Wrenches at the origin of a frame, in its axes.

    Args:
        frame: The frame's name.
    """

    def __init__(self, frame: str) -> None:
        self.message = WrenchStamped()
        self.message.header.frame_id = frame
        self._writer = MessageWriter(self.fill)

    def fill(self, stamp: int, wrench: Array) -> WrenchStamped:
        """Return the message of a wrench (6,), angular first; the same object every time."""
        write_time(self.message.header.stamp, stamp)
        force, torque = self.message.wrench.force, self.message.wrench.torque
        torque.x, torque.y, torque.z, force.x, force.y, force.z = wrench.tolist()
        return self.message

    def serialized(self, stamp: int, wrench: Array) -> bytes:
        """Return the serialized message of a wrench (6,), angular first."""
        return self._writer(stamp, wrench)


class WrenchSample(NamedTuple):
    """The content of a wrench.

    Attributes:
        stamp: Its time [ns].
        wrench: Wrench at the origin of the frame, in its axes (6,), angular first.
        frame: Name of the frame.
    """

    stamp: int
    wrench: Array
    frame: str


def wrench_reader() -> Reader[WrenchSample]:
    """Return a reader of serialized wrenches."""

    def read(message: WrenchStamped) -> WrenchSample:
        header = message.header
        return WrenchSample(read_time(header.stamp), wrench_of(message.wrench), header.frame_id)

    def layout(message: WrenchStamped) -> MessageLayout:
        return MessageLayout(WrenchWriter(message.header.frame_id).fill, 6)

    def make(like: WrenchSample, stamp: int, wrench: Array) -> WrenchSample:
        return WrenchSample(stamp, wrench, like.frame)

    return Reader(WrenchStamped, read, layout, make)


class OdometryWriter:
    """Pose and twist of a body.

    Args:
        body: Name of its frame.
    """

    def __init__(self, body: str) -> None:
        self.message = Odometry()
        self.message.header.frame_id = WORLD
        self.message.child_frame_id = body

    def fill(self, stamp: int, pose: Array, twist: Array) -> Odometry:
        """Return the message; the same object every time.

        Args:
            stamp: Time [ns].
            pose: x y z qx qy qz qw in the world (7,).
            twist: Angular velocity and velocity of the frame's origin, in world axes (6,).
        """
        write_time(self.message.header.stamp, stamp)
        write_pose(self.message.pose.pose, pose)
        # In the axes of the child frame.
        write_twist(self.message.twist.twist, in_body_axes(pose, twist))
        return self.message


class OdometrySample(NamedTuple):
    """The content of an odometry.

    Attributes:
        stamp: Its time [ns].
        frame: Name of the frame of the pose.
        body: Name of the child frame.
        pose: x y z qx qy qz qw of the child frame (7,).
        twist: Angular velocity and velocity of its origin in the axes of `frame` (6,); nan if the
            quaternion is zero.
    """

    stamp: int
    frame: str
    body: str
    pose: Array
    twist: Array


def read_odometry(text: bytes) -> OdometrySample:
    """Return the content of a serialized odometry, whose twist is in the child frame."""
    message = deserialize_message(text, Odometry)
    at = message.pose.pose
    pose = np.array([*vector_of(at.position), *quaternion_of(at.orientation)])
    R = rotation_of_quaternion(pose[3:].tolist() if pose[3:].any() else [np.nan] * 4)
    twist = (twist_of(message.twist.twist).reshape(2, 3) @ R.T).ravel()
    stamp, frame = read_time(message.header.stamp), message.header.frame_id
    return OdometrySample(stamp, frame, message.child_frame_id, pose, twist)


class TrajectorySample(NamedTuple):
    """The content of a trajectory of one body; six-vectors are angular first.

    Attributes:
        stamp: Its time [ns].
        frame: Name of the frame of the poses.
        bodies: Names of its joints, which are frames of bodies.
        times: Times from the start (n,) [s].
        poses: x y z qx qy qz qw (n, 7).
        twists: Twists (n, 6); None if no point has one.
        accelerations: Accelerations (n, 6); None if no point has one.
    """

    stamp: int
    frame: str
    bodies: list[str]
    times: list[float]
    poses: list[tuple[float, ...]]
    twists: Array | None
    accelerations: Array | None


def read_trajectory(text: bytes) -> TrajectorySample:
    """Return the content of a serialized MultiDOFJointTrajectory.

    It is read field by field: rclpy would convert it in one call, during which no other thread
    runs.

    Raises:
        TrajectoryError: If a point has not one pose, or not one velocity or acceleration while
            others do, or the message is cut short or is not plain CDR.
    """
    poses: list[tuple[float, ...]] = []
    rates: dict[str, list[list[tuple[float, ...]]]] = {"velocity": [], "acceleration": []}
    try:
        cdr = CdrReader(text)
        stamp, frame = cdr.integer() * SECOND + cdr.count(), cdr.string()
        bodies = [cdr.string() for _ in range(cdr.count())]
        times: list[float] = []
        for _ in range(cdr.count()):
            transforms = cdr.count()
            if transforms != 1:
                raise TrajectoryError(
                    f"point {len(times)} has {transforms} transforms; expected one, of the object."
                )
            poses.append(cdr.doubles(7))
            for found in rates.values():
                size = cdr.count()
                found.append([cdr.doubles(6) for _ in range(size)])
            times.append(cdr.integer() + cdr.count() / SECOND)
    except (struct.error, UnicodeDecodeError) as error:
        raise TrajectoryError(
            f"the message of {len(text)} bytes cannot be read ({error}); expected a complete "
            "MultiDOFJointTrajectory."
        ) from None
    twists, accelerations = (_one_each(what, found) for what, found in rates.items())
    return TrajectorySample(stamp, frame, bodies, times, poses, twists, accelerations)


def _one_each(what: str, found: Sequence[Sequence[Sequence[float]]]) -> Array | None:
    """Return six-vectors (n, 6), angular first, from messages, linear first; None if empty."""
    if not any(found):
        return None
    for point, part in enumerate(found):
        if len(part) != 1:
            raise TrajectoryError(
                f"point {point} has {len(part)} values of {what}; expected one in every point, or "
                "none in any."
            )
    return np.array([part[0] for part in found])[:, [3, 4, 5, 0, 1, 2]]


class ReferenceWriter:
    """Desired motion of a body at an instant: a trajectory of one point, in world axes.

    Args:
        body: Name of its frame.
    """

    def __init__(self, body: str) -> None:
        self._transform, self._velocity, self._acceleration = Transform(), Twist(), Twist()
        point = MultiDOFJointTrajectoryPoint(
            transforms=[self._transform],
            velocities=[self._velocity],
            accelerations=[self._acceleration],
        )
        self.message = MultiDOFJointTrajectory(joint_names=[body], points=[point])
        self.message.header.frame_id = WORLD

    def fill(
        self, stamp: int, pose: Array, twist: Array, acceleration: Array
    ) -> MultiDOFJointTrajectory:
        """Return the message; the same object every time.

        Args:
            stamp: Time [ns].
            pose: x y z qx qy qz qw in the world (7,).
            twist: Angular velocity and velocity of the origin, world axes (6,).
            acceleration: Angular acceleration and acceleration of the origin, world axes (6,).
        """
        write_time(self.message.header.stamp, stamp)
        write_transform(self._transform, pose)
        write_twist(self._velocity, twist)
        write_twist(self._acceleration, acceleration)
        return self.message


def write_pose(message: Pose, pose: Array) -> None:
    """Write a pose x y z qx qy qz qw (7,)."""
    at, q = message.position, message.orientation
    at.x, at.y, at.z, q.x, q.y, q.z, q.w = pose.tolist()


def write_transform(message: Transform, pose: Array) -> None:
    """Write a pose x y z qx qy qz qw (7,) as a transform."""
    at, q = message.translation, message.rotation
    at.x, at.y, at.z, q.x, q.y, q.z, q.w = pose.tolist()


def write_twist(message: Twist, twist: Array) -> None:
    """Write a twist or an acceleration (6,), angular first."""
    angular, linear = message.angular, message.linear
    angular.x, angular.y, angular.z, linear.x, linear.y, linear.z = twist.tolist()


def point_of(values: Array) -> Point:
    """Return a point (3,)."""
    x, y, z = values.tolist()
    return Point(x=x, y=y, z=z)


def in_body_axes(pose: Array, twist: Array) -> Array:
    """Return a twist (6,) in body axes from world axes, for a body at a pose (7,)."""
    R = rotation_of_quaternion(pose[3:].tolist())
    return np.concatenate([twist[:3] @ R, twist[3:] @ R])
