# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Frames of robots and object for bags, so that viewers draw them without further programs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robot_dynamics.app.bags.messages import Messages
from robot_dynamics.app.robot_description import placed_robots
from robot_dynamics.app.scenario import scenario_of_text
from robot_dynamics.app.topic_names import WORLD
from robot_dynamics.description.description import Description
from robot_dynamics.description.orientations import quaternion_of_rotation
from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.model.elements import JointElement

Array = NDArray[np.float64]

_TURNING, _SLIDING = ("revolute", "continuous"), ("prismatic",)


def robots_of(metadata: Mapping[str, Any]) -> Description | None:
    """Return the robots of a run, or None if their files are no longer where they were."""
    try:
        return placed_robots(scenario_of_text(metadata["scenario_text"]).cell)
    except (KeyError, RobotDynamicsError):
        return None


class Frames:
    """Transforms of links, and of the object.

    Args:
        robots: The robots in their world.
        joints: Names of the joints whose positions are known.
        body: Frame of the object.
    """

    def __init__(self, robots: Description, joints: Sequence[str], body: str) -> None:
        self._body = body
        order = {name: i for i, name in enumerate(joints)}
        elements = robots.mechanism.joints
        self._moving = [(e, order[e.name]) for e in elements if e.name in order]
        # A joint of which nothing is known, as of a gripper, stays at zero.
        self._resting = [e for e in elements if e.name not in order]

    def resting(self, make: Messages) -> Any:
        """Return what never moves."""
        return _message(make, [_transform(make, 0, e, e.placement) for e in self._resting])

    def moving(self, make: Messages, stamp: int, q: Array, pose: Array) -> Any:
        """Return what moves, at a time [ns].

        Args:
            make: Makes messages.
            stamp: The time [ns].
            q: Joint positions [rad, m].
            pose: Pose of the object in the world (7,).
        """
        links = [
            _transform(make, stamp, e, e.placement @ _motion(e, float(q[i])))
            for e, i in self._moving
        ]
        body = make.make(
            "geometry_msgs/TransformStamped",
            header=make.header(stamp, WORLD),
            child_frame_id=self._body,
            transform=make.transform(pose),
        )
        return _message(make, [*links, body])


def _message(make: Messages, transforms: list[Any]) -> Any:
    return make.make("tf2_msgs/TFMessage", transforms=transforms)


def _transform(make: Messages, stamp: int, joint: JointElement, matrix: Array) -> Any:
    pose = np.concatenate([matrix[:3, 3], quaternion_of_rotation(matrix[:3, :3])])
    return make.make(
        "geometry_msgs/TransformStamped",
        header=make.header(stamp, joint.parent),
        child_frame_id=joint.child,
        transform=make.transform(pose),
    )


def _motion(joint: JointElement, q: float) -> Array:
    """Return the pose (4, 4) of a joint's child relative to where it is at zero."""
    matrix, axis = np.eye(4), np.asarray(joint.axis)
    if joint.type in _SLIDING:
        matrix[:3, 3] = q * axis
    elif joint.type in _TURNING:
        x, y, z = axis.tolist()
        K = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
        matrix[:3, :3] += np.sin(q) * K + (1.0 - np.cos(q)) * (K @ K)  # Rodrigues
    return matrix
