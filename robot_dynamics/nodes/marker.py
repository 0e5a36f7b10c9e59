# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The node `marker`: RViz's interactive marker drives the object through streamed references.

It is a server of interactive markers (visualization_msgs): it sends the marker and its pose to
RViz, which returns the poses to which the mouse drags it. When the mouse button is released, the
node sends a path from the present reference to this pose to the controller, which checks it like
any other path.
"""

from __future__ import annotations

import itertools
import sys
import time
from collections.abc import Sequence

import numpy as np
import rclpy
from geometry_msgs.msg import Pose, Quaternion
from rclpy.executors import ExternalShutdownException
from rclpy.node import Node
from rclpy.qos import QoSProfile
from scipy.spatial.transform import Rotation
from trajectory_msgs.msg import MultiDOFJointTrajectory
from visualization_msgs.msg import (
    InteractiveMarker,
    InteractiveMarkerControl,
    InteractiveMarkerFeedback,
    InteractiveMarkerPose,
    InteractiveMarkerUpdate,
)
from visualization_msgs.srv import GetInteractiveMarkers

from robot_dynamics.app.recordings import topic_names as topics
from robot_dynamics.app.recordings.bags.messages import quaternion_of, vector_of
from robot_dynamics.app.recordings.topic_names import WORLD
from robot_dynamics.arrays import Array
from robot_dynamics.control.clock import SECOND
from robot_dynamics.control.reference import PEAK_RATE
from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.nodes.conversions import ReferenceWriter, write_pose, write_time
from robot_dynamics.nodes.parameters import Entry, declare, help_text
from robot_dynamics.nodes.topics import STREAM

ENTRIES = (
    Entry("speed", 0.1, "Largest speed of the object on its way [m/s].", minimum=1e-3),
    Entry("angular_speed", 0.3, "Largest angular speed [rad/s].", minimum=1e-3),
    Entry("scale", 0.4, "Size of the marker's handles [m].", minimum=0.01),
)
_UPDATES = QoSProfile(depth=100)  # reliable and volatile, as RViz requests
_PICTURE_S = 0.1  # time between updates of the marker's pose
_LATE_S = 1.0  # time after the end of a path from which the marker follows the reference
_MOVED = 1e-3  # least change of pose that updates the marker [m or a quaternion's element]
_SHORTEST_S = 1.0  # shortest duration of a path
_REST = np.zeros(6)
# RViz moves along, and turns about, the x axis of a control: x, y and z of the object.
_AXES = {"x": (1.0, 0.0, 0.0), "y": (0.0, 0.0, 1.0), "z": (0.0, 1.0, 0.0)}


class ObjectMarker:
    """An interactive marker at the object, and the paths to its poses.

    Args:
        node: The node that serves it.
        speed: Largest speed of the object on its way [m/s].
        angular_speed: Largest angular speed [rad/s].
        scale: Size of the handles [m].
    """

    def __init__(self, node: Node, speed: float, angular_speed: float, scale: float) -> None:
        self._node, self._speed, self._angular_speed, self._scale = (
            node,
            speed,
            angular_speed,
            scale,
        )
        self._numbers = itertools.count(1)
        self._number = 0
        self._reference: Array | None = None  # pose of the object (7,)
        self._writers: tuple[ReferenceWriter, ReferenceWriter] | None = None
        self._marker: InteractiveMarker | None = None
        self._dragged, self._busy_until = False, 0.0
        name = topics.OBJECT_MARKER
        self._updates = node.create_publisher(InteractiveMarkerUpdate, f"{name}/update", _UPDATES)
        self._paths = node.create_publisher(
            MultiDOFJointTrajectory, topics.REFERENCE_TRAJECTORY, STREAM
        )
        node.create_service(GetInteractiveMarkers, f"{name}/get_interactive_markers", self._give)
        node.create_subscription(
            InteractiveMarkerFeedback, f"{name}/feedback", self._on_feedback, _UPDATES
        )
        node.create_subscription(
            MultiDOFJointTrajectory, topics.OBJECT_REFERENCE, self._on_reference, STREAM
        )
        node.create_timer(_PICTURE_S, self._follow)

    def _on_reference(self, message: MultiDOFJointTrajectory) -> None:
        at = message.points[0].transforms[0]
        self._reference = np.array([*vector_of(at.translation), *quaternion_of(at.rotation)])
        if self._marker is None:
            body = message.joint_names[0]
            self._writers = ReferenceWriter(body), ReferenceWriter(body)
            self._marker = _marker(body, self._reference, self._scale)
            self._publish(markers=[self._marker])
            self._node.get_logger().info(f"drag {body!r} in RViz")

    def _give(
        self, request: GetInteractiveMarkers.Request, response: GetInteractiveMarkers.Response
    ) -> GetInteractiveMarkers.Response:
        response.sequence_number = self._number
        response.markers = [] if self._marker is None else [self._marker]
        return response

    def _publish(self, **what: object) -> None:
        self._number = next(self._numbers)
        self._updates.publish(
            InteractiveMarkerUpdate(
                server_id=self._node.get_fully_qualified_name(),
                seq_num=self._number,
                type=InteractiveMarkerUpdate.UPDATE,
                **what,
            )
        )

    def _follow(self) -> None:
        """Move the marker to the reference, unless it is dragged or the object is on its way."""
        marker, reference = self._marker, self._reference
        if marker is None or reference is None or self._dragged:
            return
        if time.monotonic() < self._busy_until:
            return
        if np.abs(_values(marker.pose) - reference).max() > _MOVED:
            write_pose(marker.pose, reference)
            pose = InteractiveMarkerPose(header=marker.header, pose=marker.pose, name=marker.name)
            self._publish(poses=[pose])

    def _on_feedback(self, message: InteractiveMarkerFeedback) -> None:
        marker, kind = self._marker, message.event_type
        if marker is None or message.marker_name != marker.name:
            return
        if kind in (InteractiveMarkerFeedback.MOUSE_DOWN, InteractiveMarkerFeedback.POSE_UPDATE):
            self._dragged = True
        elif kind == InteractiveMarkerFeedback.MOUSE_UP:
            self._dragged = False
            self._go(message.pose, message.header.frame_id)

    def _go(self, pose: Pose, frame: str) -> None:
        """Ask the controller for a path to a pose, from the present reference."""
        goal, start = _values(pose), self._reference
        length = float(np.linalg.norm(goal[3:]))
        sane = np.isfinite(goal).all() and 0.5 < length < 2.0 and frame in ("", WORLD)
        if not sane or start is None or self._marker is None or self._writers is None:
            self._node.get_logger().warning(
                f"a pose in the frame {frame!r} was refused; expected finite numbers in the frame "
                f"{WORLD!r}, after the first reference."
            )
            return
        goal[3:] /= length
        turned = Rotation.from_quat(goal[3:]) * Rotation.from_quat(start[3:]).inv()
        duration = PEAK_RATE * max(
            float(np.linalg.norm(goal[:3] - start[:3])) / self._speed,
            float(turned.magnitude()) / self._angular_speed,
        )
        duration = max(duration, _SHORTEST_S)
        path, last = (
            writer.fill(0, at, _REST, _REST)  # a stamp of zero means now
            for writer, at in zip(self._writers, (start, goal), strict=True)
        )
        end = last.points[0]
        write_time(end.time_from_start, round(duration * SECOND))
        path.points = [path.points[0], end]
        self._paths.publish(path)
        path.points = path.points[:1]
        write_pose(self._marker.pose, goal)
        self._busy_until = time.monotonic() + duration + _LATE_S


def _values(pose: Pose) -> Array:
    """Return x y z qx qy qz qw (7,)."""
    return np.array([*vector_of(pose.position), *quaternion_of(pose.orientation)])


def _marker(body: str, pose: Array, scale: float) -> InteractiveMarker:
    """Return the marker: rings to turn the object and arrows to move it along its own axes."""
    marker = InteractiveMarker(name=body, description=body, scale=scale)
    marker.header.frame_id = WORLD
    write_pose(marker.pose, pose)
    half = float(np.sqrt(0.5))
    for axis, (x, y, z) in _AXES.items():
        for what, mode in (
            ("move", InteractiveMarkerControl.MOVE_AXIS),
            ("turn", InteractiveMarkerControl.ROTATE_AXIS),
        ):
            marker.controls.append(
                InteractiveMarkerControl(
                    name=f"{what} {axis}",
                    orientation=Quaternion(x=half * x, y=half * y, z=half * z, w=half),
                    interaction_mode=mode,
                )
            )
    return marker


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the node until a signal ends it; status 2 if a parameter is refused."""
    if {"-h", "--help"} & set(sys.argv[1:] if arguments is None else arguments):
        print(help_text("marker", ENTRIES))
        return
    try:
        rclpy.init(args=None if arguments is None else list(arguments))
        node = rclpy.create_node("marker")
        values = declare(node, ENTRIES)
        ObjectMarker(node, values["speed"], values["angular_speed"], values["scale"])
        rclpy.spin(node)
    except (KeyboardInterrupt, ExternalShutdownException):
        pass
    except RobotDynamicsError as error:
        print(f"marker: {error}", file=sys.stderr)
        sys.exit(2)
    finally:
        rclpy.try_shutdown()


if __name__ == "__main__":
    main()
