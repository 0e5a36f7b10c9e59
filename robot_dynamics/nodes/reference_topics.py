# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""References over topics: trajectory of the object, forces, surfaces to be touched."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from geometry_msgs.msg import WrenchStamped
from numpy.typing import NDArray
from rclpy.node import Node
from std_msgs.msg import String
from trajectory_msgs.msg import MultiDOFJointTrajectory

from robot_dynamics.app import topic_names as topics
from robot_dynamics.app.bags.messages import quaternion_of, twist_of, vector_of, wrench_of
from robot_dynamics.app.topic_names import WORLD
from robot_dynamics.control.clock import SECOND
from robot_dynamics.control.control_loop import ControlLoop
from robot_dynamics.control.streamed.trajectory import TrajectoryError
from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.nodes.conversions import read_time
from robot_dynamics.nodes.topics import STREAM, Inbox

Array = NDArray[np.float64]


class ReferenceTopics:
    """Subscriptions of references, which the control loop follows from then on.

    A message that is refused is logged and changes nothing.

    Args:
        node: The node that subscribes.
        inbox: Its subscriptions.
        loop: The controller.
        message_time: Returns the present time of messages [ns].
    """

    def __init__(
        self, node: Node, inbox: Inbox, loop: ControlLoop, message_time: Callable[[], int]
    ) -> None:
        self._node, self._loop, self._message_time = node, loop, message_time
        self._body = loop.system.model.bodies[loop.system.object_body].name
        for kind, topic, take in (
            (MultiDOFJointTrajectory, topics.REFERENCE_TRAJECTORY, self._take_path),
            (WrenchStamped, topics.REFERENCE_INTERNAL_FORCE, self._take_internal_force),
            # Before the forces: a surface that is not to be touched bears none.
            (String, topics.REFERENCE_SURFACES, self._take_surfaces),
            (WrenchStamped, topics.REFERENCE_CONTACT_FORCE, self._take_contact_force),
        ):
            inbox.subscribe(kind, topic, self._logged(take), STREAM, awaited=False)

    def _logged(self, take: Callable[[Any], None]) -> Callable[[Any], None]:
        """Return a callback that logs why a message was refused."""

        def callback(message: Any) -> None:
            try:
                take(message)
            except RobotDynamicsError as error:
                if self._loop.intake is not None:  # for the diagnostics
                    self._loop.intake.refuse(str(error))
                self._node.get_logger().warning(str(error))

        return callback

    def _take_path(self, message: MultiDOFJointTrajectory) -> None:
        _require("frame", message.header.frame_id, ("", WORLD))
        for name in message.joint_names:
            _require("body", name, (self._body,))
        if any(len(point.transforms) != 1 for point in message.points):
            raise TrajectoryError("expected one transform, that of the object, in every point.")
        stamp = read_time(message.header.stamp)
        intake, _ = self._loop.following()
        intake.take_path(
            self._loop.clock.seconds(self._loop.clock.now()),
            [read_time(point.time_from_start) / SECOND for point in message.points],
            [_pose(point.transforms[0]) for point in message.points],
            _twists([point.velocities for point in message.points]),
            _twists([point.accelerations for point in message.points]),
            late=None if stamp == 0 else (self._message_time() - stamp) / SECOND,
        )

    def _take_internal_force(self, message: WrenchStamped) -> None:
        # The axes of the force in an object's joint are those of its components in the scenario.
        jointed = self._loop.system.object_loop_joint is not None
        frames = ("",) if jointed else ("", topics.middle_frame(self._body))
        _require("frame", message.header.frame_id, frames)
        intake, _ = self._loop.following()
        intake.take_internal_force(wrench_of(message.wrench))

    def _take_contact_force(self, message: WrenchStamped) -> None:
        intake, step = self._loop.following()
        intake.take_contact_force(message.header.frame_id, wrench_of(message.wrench), step)

    def _take_surfaces(self, message: String) -> None:
        names = (name.strip() for name in message.data.split(","))
        intake, step = self._loop.following()
        intake.take_surfaces([name for name in names if name], step)


def _require(what: str, given: str, expected: Sequence[str]) -> None:
    if given not in expected:
        raise TrajectoryError(f"its {what} is {given!r}; expected {expected[-1]!r}.")


def _pose(transform: Any) -> list[float]:
    return [*vector_of(transform.translation), *quaternion_of(transform.rotation)]


def _twists(parts: Sequence[Sequence[Any]]) -> Array | None:
    """Return twists or accelerations (n, 6), angular first; None if there are none.

    Raises:
        TrajectoryError: If only some of the points have one.
    """
    if not any(len(part) for part in parts):
        return None
    if any(len(part) != 1 for part in parts):
        raise TrajectoryError(
            "expected a velocity, or an acceleration, in every point or in none."
        )
    return np.array([twist_of(part[0]) for part in parts])
