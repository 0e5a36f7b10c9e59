# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""ROS 2 messages without ROS: the package rosbags knows their definitions and serializes them.

Inside the package spatial vectors are angular first; messages have the linear part first.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from robot_dynamics.app.recordings.recording import RecordingError
from robot_dynamics.arrays import Array
from robot_dynamics.control.clock import SECOND
from robot_dynamics.errors import optional_package


def require_rosbags() -> Any:
    """Return the package rosbags.

    Raises:
        RecordingError: If it is missing; says how to install it.
    """
    for part in ("highlevel", "interfaces", "rosbag2", "typesys"):
        rosbags = optional_package(f"rosbags.{part}", "bags", "bags", RecordingError)
    return rosbags


class Messages:
    """Makes messages and turns them into bytes.

    Attributes:
        store: The definitions of ROS 2 Jazzy; those used here are the same from Humble on.

    Raises:
        RecordingError: If the package rosbags is missing.
    """

    def __init__(self) -> None:
        rosbags = require_rosbags()
        self.store = rosbags.typesys.get_typestore(rosbags.typesys.Stores.ROS2_JAZZY)
        self._node = rosbags.interfaces.Nodetype

    def make(self, kind: str, *values: Any) -> Any:
        """Return a message of a type such as "std_msgs/String".

        Args:
            kind: The type.
            values: Values of all its fields, in order; those of a nested message as a tuple or an
                array.
        """
        return self._made(full_name(kind), values)

    def _made(self, name: str, values: Any) -> Any:
        _, fields = self.store.fielddefs[name]
        values = values.tolist() if isinstance(values, np.ndarray) else values
        parts = [self._part(of, value) for (_, of), value in zip(fields, values, strict=True)]
        return self.store.types[name](*parts)

    def _part(self, of: tuple[Any, Any], value: Any) -> Any:
        """Return the value of a field, given its definition."""
        node, what = of
        if node == self._node.NAME:
            return self._made(what, value)
        if node == self._node.SEQUENCE and what[0][0] == self._node.NAME:
            return [self._made(what[0][1], one) for one in value]
        return value

    def bytes_of(self, kind: str, message: Any) -> memoryview:
        """Return the message as it goes over the wire (CDR)."""
        return memoryview(self.store.serialize_cdr(message, full_name(kind)))


def header(stamp: int, frame: str = "") -> tuple[tuple[int, int], str]:
    """Return the values of the header of a time [ns] and a frame."""
    return divmod(stamp, SECOND), frame


def linear_first(vector: Array) -> tuple[Array, Array]:
    """Return the values of a wrench, a twist or an acceleration (6,) that is angular first."""
    return vector[3:], vector[:3]


def parts_of_pose(pose: Array) -> tuple[Array, Array]:
    """Return the values of a pose or a transform that is x y z qx qy qz qw (7,)."""
    return pose[:3], pose[3:]


def full_name(kind: str) -> str:
    """Return a type's name as ROS 2 writes it in files: "std_msgs/String" with "msg" in it."""
    package, name = kind.split("/")
    return f"{package}/msg/{name}"


def vector_of(message: Any) -> list[float]:
    """Return the numbers of a vector or a point."""
    return [message.x, message.y, message.z]


def quaternion_of(message: Any) -> list[float]:
    """Return the numbers x y z w of a quaternion."""
    return [message.x, message.y, message.z, message.w]


def wrench_of(message: Any) -> Array:
    """Return a wrench (6,), angular first."""
    return np.array([*vector_of(message.torque), *vector_of(message.force)])


def twist_of(message: Any) -> Array:
    """Return a twist (6,), angular first."""
    return np.array([*vector_of(message.angular), *vector_of(message.linear)])
