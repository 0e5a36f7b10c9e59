# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The object's frame in TF, where `tf2_msgs` is installed; joint states cannot carry it."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import Any

import numpy as np
from geometry_msgs.msg import TransformStamped
from numpy.typing import NDArray
from rclpy.node import Node
from rclpy.qos import QoSProfile

from robot_dynamics.app.topic_names import SECOND, WORLD
from robot_dynamics.description.orientations import quaternion_of_rotation
from robot_dynamics.nodes.conversions import write_quaternion, write_time

Array = NDArray[np.float64]

INTERVAL_S = 0.02  # of message time between transforms
_QUEUE = QoSProfile(depth=100)  # as everybody publishes TF: reliable, volatile


class ObjectFrame:
    """Publishes the poses of the object's bodies in the world, and where internal forces are told.

    Attributes:
        publisher: On /tf; None without `tf2_msgs`, which package registries of Python lack.

    Args:
        node: The node that publishes.
        bodies: Names of their frames.
        middle: Name of the frame of internal forces, and its pose (4, 4) in the first body.
    """

    def __init__(
        self, node: Node, bodies: Sequence[str], middle: tuple[str, Array] | None = None
    ) -> None:
        self.publisher: Any = None
        try:
            kind = importlib.import_module("tf2_msgs.msg").TFMessage
        except ImportError:
            return
        self.publisher = node.create_publisher(kind, "/tf", _QUEUE)
        transforms = [TransformStamped(child_frame_id=body) for body in bodies]
        for transform in transforms:
            transform.header.frame_id = WORLD
        self._moving = tuple(transforms)
        if middle is not None:
            name, at = middle
            fixed = TransformStamped(child_frame_id=name)
            fixed.header.frame_id = bodies[0]
            _write(fixed, [*at[:3, 3].tolist(), *quaternion_of_rotation(at[:3, :3])])
            transforms.append(fixed)
        self._message = kind(transforms=transforms)
        self._shown = -1

    def publish(self, stamp: int, poses: Sequence[Array]) -> None:
        """Publish where the bodies are, unless that was done a moment before.

        Args:
            stamp: The time [ns]; it may go back.
            poses: x y z qx qy qz qw of each body (7,).
        """
        if self._shown >= 0 and 0 <= stamp - self._shown < INTERVAL_S * SECOND:
            return
        self._shown = stamp
        for transform in self._message.transforms:
            write_time(transform.header.stamp, stamp)
        for transform, pose in zip(self._moving, poses, strict=True):
            _write(transform, pose.tolist())
        self.publisher.publish(self._message)


def _write(transform: TransformStamped, pose: Sequence[float]) -> None:
    """Write a pose x y z qx qy qz qw into a transform."""
    x, y, z, *quaternion = pose
    to = transform.transform.translation
    to.x, to.y, to.z = x, y, z
    write_quaternion(transform.transform.rotation, quaternion)
