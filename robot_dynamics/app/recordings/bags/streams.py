# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Mapping between columns of a recording and messages on topics, in both directions.

A column without such a message is stored as numbers on a separate topic (`Numbers`), so that every
column is kept, and new columns need no code here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from robot_dynamics.app.recordings import topic_names as topics
from robot_dynamics.app.recordings.bags.messages import (
    Messages,
    header,
    linear_first,
    parts_of_pose,
    quaternion_of,
    twist_of,
    vector_of,
    wrench_of,
)
from robot_dynamics.app.recordings.recording import RecordingError
from robot_dynamics.app.recordings.topic_names import WORLD
from robot_dynamics.arrays import Array
from robot_dynamics.control.hybrid.named_forces import wrench_components
from robot_dynamics.description.orientations import rotation_of_quaternion

_NOTHING = np.zeros(0)
_UNKNOWN = np.zeros(36)  # covariance


@dataclass(frozen=True)
class Place:
    """Place of some numbers in a recording.

    Attributes:
        column: Name of the column.
        first: Index of the first.
        size: Number of values.
        width: Width of the whole column.
    """

    column: str
    first: int
    size: int
    width: int

    @property
    def part(self) -> slice:
        """Their slice in a row of the column."""
        return slice(self.first, self.first + self.size)


def whole(column: str, width: int) -> Place:
    """Return the place of all numbers of a column."""
    return Place(column, 0, width, width)


@dataclass(frozen=True)
class Stream:
    """Messages of one type on one topic, one for each control period.

    Attributes:
        topic: The topic, relative to the namespace.
        places: The numbers that a message holds, in the order of `write` and `read`.
    """

    topic: str
    places: tuple[Place, ...]
    kind: ClassVar[str]

    def write(self, make: Messages, tick: int, stamp: int, values: Sequence[Array]) -> Any:
        """Return the message of a control period.

        Args:
            make: Makes messages.
            tick: The control period.
            stamp: Its time [ns].
            values: The numbers of each place.
        """
        raise NotImplementedError

    def read(self, message: Any) -> Sequence[Array]:
        """Return the numbers of each place; NaN if the message has none."""
        raise NotImplementedError

    def number(self, message: Any) -> int | None:
        """Return the tick modulo 2^32, of messages without a stamp."""
        return None


@dataclass(frozen=True)
class JointFields(Stream):
    """Some fields of joint states, matched by the names of the joints.

    Attributes:
        joints: Names of the joints, in groups: each has a place for every field.
        fields: The fields, as "position".
    """

    joints: tuple[tuple[str, ...], ...]
    fields: tuple[str, ...]
    kind: ClassVar[str] = "sensor_msgs/JointState"

    def write(self, make: Messages, tick: int, stamp: int, values: Sequence[Array]) -> Any:
        """Return the message of a control period."""
        count, names = len(self.fields), [name for own in self.joints for name in own]
        numbers = {key: np.concatenate(values[i::count]) for i, key in enumerate(self.fields)}
        every = [numbers.get(key, _NOTHING) for key in ("position", "velocity", "effort")]
        return make.make(self.kind, header(stamp), names, *every)

    def read(self, message: Any) -> Sequence[Array]:
        """Return the numbers of each place."""
        return [by_name(names, message, key) for names in self.joints for key in self.fields]


@dataclass(frozen=True)
class Numbers(Stream):
    """Numbers whose meaning follows from the topic; numbered by the tick they belong to."""

    label: str = ""
    kind: ClassVar[str] = "std_msgs/Float64MultiArray"

    def write(self, make: Messages, tick: int, stamp: int, values: Sequence[Array]) -> Any:
        """Return the message of a control period."""
        data, size = np.ascontiguousarray(values[0]), len(values[0])
        dimensions = [(self.label, size, size)] if self.label else []
        return make.make(self.kind, (dimensions, tick % (1 << 32)), data)

    def read(self, message: Any) -> Sequence[Array]:
        """Return the numbers of each place."""
        data, size = np.asarray(message.data, dtype=float), self.places[0].size
        # An empty command leaves the arm to its drive.
        return [np.full(size, np.nan) if not len(data) else _of_size(data, size, self.topic)]

    def number(self, message: Any) -> int | None:
        """Return the tick modulo 2^32."""
        return int(message.layout.data_offset)


@dataclass(frozen=True)
class Wrenches(Stream):
    """A wrench in the axes of a frame and at its origin.

    Attributes:
        frame: The frame.
        components: The components that are recorded, in their order; the others are zero.
    """

    frame: str
    components: tuple[int, ...] = tuple(range(6))
    kind: ClassVar[str] = "geometry_msgs/WrenchStamped"

    def write(self, make: Messages, tick: int, stamp: int, values: Sequence[Array]) -> Any:
        """Return the message of a control period."""
        wrench = np.zeros(6)
        wrench[list(self.components)] = values[0]
        return make.make(self.kind, header(stamp, self.frame), linear_first(wrench))

    def read(self, message: Any) -> Sequence[Array]:
        """Return the numbers of each place."""
        return [wrench_of(message.wrench)[list(self.components)]]


@dataclass(frozen=True)
class BodyMotion(Stream):
    """Pose in the world and twist of a body; odometry messages have the twist in body axes."""

    body: str
    kind: ClassVar[str] = "nav_msgs/Odometry"

    def write(self, make: Messages, tick: int, stamp: int, values: Sequence[Array]) -> Any:
        """Return the message of a control period."""
        pose, twist = values
        turned = _turned(rotation_of_quaternion(pose[3:].tolist()).T, twist)
        at, moving = (parts_of_pose(pose), _UNKNOWN), (linear_first(turned), _UNKNOWN)
        return make.make(self.kind, header(stamp, WORLD), self.body, at, moving)

    def read(self, message: Any) -> Sequence[Array]:
        """Return the numbers of each place."""
        at = message.pose.pose
        pose = np.array([*vector_of(at.position), *quaternion_of(at.orientation)])
        R = rotation_of_quaternion(pose[3:].tolist())
        return [pose, _turned(R, twist_of(message.twist.twist))]


@dataclass(frozen=True)
class References(Stream):
    """Reference of a body: a trajectory of one point, in the world."""

    body: str
    kind: ClassVar[str] = "trajectory_msgs/MultiDOFJointTrajectory"

    def write(self, make: Messages, tick: int, stamp: int, values: Sequence[Array]) -> Any:
        """Return the message of a control period."""
        pose, twist = values
        no_acceleration: list[Array] = []
        point = [parts_of_pose(pose)], [linear_first(twist)], no_acceleration, header(0)[0]
        return make.make(self.kind, header(stamp, WORLD), [self.body], [point])

    def read(self, message: Any) -> Sequence[Array]:
        """Return the numbers of each place."""
        at, velocity = message.points[0].transforms[0], message.points[0].velocities[0]
        pose = np.array([*vector_of(at.translation), *quaternion_of(at.rotation)])
        return [pose, twist_of(velocity)]


_INTERNAL_FORCES = (
    (topics.INTERNAL_FORCE, "estimated_internal_force"),
    (topics.INTERNAL_FORCE_REFERENCE, "reference_internal_force"),
    (topics.TRUE_INTERNAL_FORCE, "internal_force"),
)


def standard_streams(metadata: Mapping[str, Any]) -> list[Stream]:
    """Return the streams of a run that have a message of their own.

    Args:
        metadata: Of a recording: "arms", "arm_joints", "tools", "joints", "object", the names of
            "internal_forces" if they have any, and "passive_joints" if there are any.

    Raises:
        RecordingError: If something of it is missing.
    """
    try:
        arms, tools, body = metadata["arms"], metadata["tools"], metadata["object"]
        joints, counts = tuple(metadata["joints"]), metadata["arm_joints"]
    except KeyError as error:
        raise RecordingError(f"recording: the metadata have no {error}.") from None
    n, k, passive_joints = len(joints), len(arms), tuple(metadata.get("passive_joints", ()))
    middle, measured = topics.middle_frame(body), ("position", "velocity")
    groups = {"joint": joints, "passive": passive_joints} if passive_joints else {"joint": joints}
    states = [whole(f"{key}_{what}", len(own)) for key, own in groups.items() for what in measured]
    torques = (whole("applied_torque", n),)
    found: list[Stream] = [
        JointFields(topics.JOINT_STATES, tuple(states), tuple(groups.values()), measured),
        JointFields(topics.APPLIED_TORQUES, torques, (joints,), ("effort",)),
        BodyMotion(topics.OBJECT_ODOMETRY, _motion("estimated"), body),
        BodyMotion(topics.TRUE_ODOMETRY, _motion("object"), body),
        BodyMotion(topics.MEASURED_ODOMETRY, _motion("measured"), body),
        References(topics.OBJECT_REFERENCE, _motion("reference"), body),
    ]
    components = wrench_components(metadata.get("internal_forces", ()))
    if components is not None:
        for topic, column in _INTERNAL_FORCES:
            place = whole(column, len(components))
            found.append(Wrenches(topic, (place,), middle, tuple(components)))
    first = 0
    for i, (arm, tool, count) in enumerate(zip(arms, tools, counts, strict=True)):
        wrench = Place("grasp_wrench", 6 * i, 6, 6 * k)
        found.append(Wrenches(topics.wrench(arm), (wrench,), tool))
        command = Place("commanded_torque", first, count, n)
        found.append(Numbers(topics.commands(arm), (command,)))
        points = Place("position_command", first, count, n)
        found.append(Numbers(topics.position_commands(arm), (points,)))
        first += count
    return found


def _motion(whose: str) -> tuple[Place, Place]:
    """Return the places of a pose and a twist."""
    return whole(f"{whose}_pose", 7), whole(f"{whose}_twist", 6)


def by_name(names: Sequence[str], message: Any, field: str) -> Array:
    """Return a field of a joint state in the order of names; NaN for missing ones."""
    values = getattr(message, field)
    known = dict(zip(message.name, values, strict=False))
    return np.array([known.get(name, np.nan) for name in names])


def _of_size(values: Array, size: int, topic: str) -> Array:
    if len(values) != size:
        raise RecordingError(f"topic {topic}: {len(values)} numbers; expected {size}.")
    return values


def _turned(R: Array, twist: Array) -> Array:
    return np.concatenate([R @ twist[:3], R @ twist[3:]])
