# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""ROS 2 messages without ROS: the package rosbags knows their definitions and serializes them.

Inside the package spatial vectors are angular first; messages have the linear part first.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robot_dynamics.app.recording import RecordingError
from robot_dynamics.control.clock import SECOND

Array = NDArray[np.float64]

_NOTHING = np.zeros(0)


def require_rosbags() -> Any:
    """Return the package rosbags.

    Raises:
        RecordingError: If it is missing; says how to install it.
    """
    try:
        import rosbags.highlevel
        import rosbags.rosbag2
        import rosbags.typesys
    except ImportError as error:
        raise RecordingError(
            "bags need rosbags, which is not installed; "
            "expected `pip install 'robot_dynamics[bags]'`, or a recording as .npz."
        ) from error
    return rosbags


class Messages:
    """Makes messages and turns them into bytes.

    Attributes:
        store: The definitions of ROS 2 Jazzy; those used here are the same from Humble on.

    Raises:
        RecordingError: If the package rosbags is missing.
    """

    def __init__(self) -> None:
        typesys = require_rosbags().typesys
        self.store = typesys.get_typestore(typesys.Stores.ROS2_JAZZY)

    def make(self, kind: str, **fields: Any) -> Any:
        """Return a message of a type, as "std_msgs/String"; every field must be given."""
        return self.store.types[full_name(kind)](**fields)

    def bytes_of(self, kind: str, message: Any) -> memoryview:
        """Return the message as it goes over the wire (CDR)."""
        return memoryview(self.store.serialize_cdr(message, full_name(kind)))

    def header(self, stamp: int, frame: str = "") -> Any:
        """Return the header of a time [ns] and a frame."""
        return self.make("std_msgs/Header", stamp=self.time(stamp), frame_id=frame)

    def time(self, stamp: int) -> Any:
        """Return a time [ns]."""
        seconds, nanoseconds = divmod(stamp, SECOND)
        return self.make("builtin_interfaces/Time", sec=seconds, nanosec=nanoseconds)

    def duration(self, seconds: float = 0.0) -> Any:
        """Return a duration [s]."""
        whole, rest = divmod(round(seconds * SECOND), SECOND)
        return self.make("builtin_interfaces/Duration", sec=whole, nanosec=rest)

    def text(self, text: str) -> Any:
        """Return a text."""
        return self.make("std_msgs/String", data=text)

    def joint_state(
        self,
        stamp: int,
        names: Sequence[str],
        position: Array = _NOTHING,
        velocity: Array = _NOTHING,
        effort: Array = _NOTHING,
    ) -> Any:
        """Return a state of joints; what is not given is empty."""
        values = {"position": position, "velocity": velocity, "effort": effort}
        contiguous = {key: np.ascontiguousarray(value) for key, value in values.items()}
        return self.make(
            "sensor_msgs/JointState", header=self.header(stamp), name=[*names], **contiguous
        )

    def numbers(self, values: Array, number: int = 0, label: str = "") -> Any:
        """Return numbers (n,) with a sequence number, and what they are."""
        size = len(values)
        dimension = self.make("std_msgs/MultiArrayDimension", label=label, size=size, stride=size)
        layout = self.make(
            "std_msgs/MultiArrayLayout",
            dim=[dimension] if label else [],
            data_offset=number % (1 << 32),
        )
        data = np.ascontiguousarray(values)
        return self.make("std_msgs/Float64MultiArray", layout=layout, data=data)

    def wrench(self, stamp: int, frame: str, wrench: Array) -> Any:
        """Return a wrench (6,), angular first, in the axes of a frame and at its origin."""
        value = self.make(
            "geometry_msgs/Wrench", force=self.vector(wrench[3:]), torque=self.vector(wrench[:3])
        )
        return self.make(
            "geometry_msgs/WrenchStamped", header=self.header(stamp, frame), wrench=value
        )

    def vector(self, values: Array) -> Any:
        """Return a vector (3,)."""
        x, y, z = values.tolist()
        return self.make("geometry_msgs/Vector3", x=x, y=y, z=z)

    def point(self, values: Array) -> Any:
        """Return a point (3,)."""
        x, y, z = values.tolist()
        return self.make("geometry_msgs/Point", x=x, y=y, z=z)

    def quaternion(self, values: Array) -> Any:
        """Return a quaternion x y z w (4,)."""
        x, y, z, w = values.tolist()
        return self.make("geometry_msgs/Quaternion", x=x, y=y, z=z, w=w)

    def pose(self, pose: Array) -> Any:
        """Return a pose x y z qx qy qz qw (7,)."""
        return self.make(
            "geometry_msgs/Pose",
            position=self.point(pose[:3]),
            orientation=self.quaternion(pose[3:]),
        )

    def transform(self, pose: Array) -> Any:
        """Return the transform of a pose x y z qx qy qz qw (7,)."""
        return self.make(
            "geometry_msgs/Transform",
            translation=self.vector(pose[:3]),
            rotation=self.quaternion(pose[3:]),
        )

    def twist(self, twist: Array) -> Any:
        """Return a twist or an acceleration (6,), angular first."""
        return self.make(
            "geometry_msgs/Twist", linear=self.vector(twist[3:]), angular=self.vector(twist[:3])
        )


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
