# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What the controller tells about the object: its estimate, its reference, its frame, markers."""

from __future__ import annotations

import importlib
import json
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
from geometry_msgs.msg import TransformStamped, WrenchStamped
from nav_msgs.msg import Odometry
from numpy.typing import NDArray
from rclpy.node import Node
from rclpy.qos import QoSProfile
from std_msgs.msg import String
from trajectory_msgs.msg import MultiDOFJointTrajectory
from visualization_msgs.msg import MarkerArray

from robot_dynamics.app import topic_names as topics
from robot_dynamics.app.recorders import common_metadata, reference_metadata
from robot_dynamics.app.recording import FORMAT
from robot_dynamics.app.scenario import Scenario
from robot_dynamics.app.topic_names import SECOND, WORLD
from robot_dynamics.control.control_law import LawStep
from robot_dynamics.control.reference import ACCELERATION, POSE, TWIST
from robot_dynamics.description.load import load_description
from robot_dynamics.description.orientations import quaternion_of_rotation
from robot_dynamics.manipulation.grasp_map import middle_frame
from robot_dynamics.nodes.control_loop import ControlLoop
from robot_dynamics.nodes.conversions import (
    OdometryWriter,
    ReferenceWriter,
    WrenchWriter,
    write_quaternion,
    write_time,
)
from robot_dynamics.nodes.display import Display
from robot_dynamics.nodes.topics import LATCHED, STREAM

Array = NDArray[np.float64]

MARKERS_S = 0.05  # wall-clock time between markers
LOOK_S = 0.1  # wall-clock time between looks at who listens
_PATH_SAMPLES = 500


class ObjectTopics:
    """Topics about the object; those that nobody listens to cost nothing.

    Args:
        node: The node that publishes.
        scenario: Its scenario.
        loop: The controller.
        joint_state_topics: Where joint states come from.
        in_real_time: Whether reading the object's shapes later would come in the way.
    """

    def __init__(
        self,
        node: Node,
        scenario: Scenario,
        loop: ControlLoop,
        *,
        in_real_time: bool,
        joint_state_topics: Sequence[str] = (topics.JOINT_STATES,),
    ) -> None:
        self._node, self._scenario, self._loop = node, scenario, loop
        stream = STREAM
        bodies = [loop.system.model.bodies[i].name for i in loop.system.object_bodies]
        body = bodies[0]
        self._odometry = node.create_publisher(Odometry, topics.OBJECT_ODOMETRY, stream)
        self._reference = node.create_publisher(
            MultiDOFJointTrajectory, topics.OBJECT_REFERENCE, stream
        )
        self._force = node.create_publisher(WrenchStamped, topics.INTERNAL_FORCE, stream)
        self._force_reference = node.create_publisher(
            WrenchStamped, topics.INTERNAL_FORCE_REFERENCE, stream
        )
        self._markers = node.create_publisher(MarkerArray, topics.MARKERS, stream)
        self._metadata = RunMetadata(node, scenario, loop, joint_state_topics)
        middle = None
        if loop.system.object_loop_joint is None and len(loop.system.arms) > 1:
            middle = (topics.middle_frame(body), middle_frame(loop.system.grasps))
        self._frame = ObjectFrame(node, bodies, middle)
        self._every = (
            self._odometry,
            self._reference,
            self._force,
            self._force_reference,
            self._markers,
            *filter(None, (self._frame.publisher,)),
        )
        self._odometry_writer = OdometryWriter(body)
        self._reference_writer = ReferenceWriter(body)
        self._force_writer = WrenchWriter(topics.middle_frame(body))
        law = loop.supervised.controller
        self._internal = law.internal_columns
        # Which components of a wrench the internal forces of two arms are; None of others.
        self._components = law.wrench_components
        self._wrench = np.zeros(6)
        # Else read when somebody wants to see it: it would delay the start.
        self._display: Display | None = self._make_display() if in_real_time else None
        self._listened: set[object] = set()
        self._looked_at = self._shown_at = 0.0

    def publish(self, stamp: int, step: LawStep) -> None:
        """Publish what a control step at a time [ns] has found out and followed."""
        listened = self._listened
        row = step.reference
        if self._odometry in listened:
            self._odometry.publish(self._odometry_writer.fill(stamp, step.pose, step.twist))
        if self._frame.publisher in listened:
            self._frame.publish(stamp, step.poses)
        if self._reference in listened:
            message = self._reference_writer.fill(stamp, row[POSE], row[TWIST], row[ACCELERATION])
            self._reference.publish(message)
        if self._components is not None:
            wrench = self._wrench
            if self._force in listened:
                wrench[self._components] = step.internal_force
                self._force.publish(self._force_writer.fill(stamp, wrench))
            if self._force_reference in listened:
                wrench[self._components] = row[self._internal]
                self._force_reference.publish(self._force_writer.fill(stamp, wrench))

    def on_idle(self, step: LawStep | None, loop: ControlLoop) -> None:
        """Look who listens, and show markers if somebody does; on the wall clock."""
        self._metadata.look()
        now = time.monotonic()
        if now - self._looked_at >= LOOK_S:
            self._looked_at = now
            self._listened = {topic for topic in self._every if topic.get_subscription_count()}
        if step is None or self._markers not in self._listened:
            return
        if now - self._shown_at >= MARKERS_S:
            self._shown_at = now
            if self._display is None:
                self._display = self._make_display()
            wrenches = [stream.values for stream in loop.wrenches.values()]
            message = self._display.fill(
                step.poses,
                step.reference[POSE],
                np.stack(wrenches) if wrenches else None,
                step.contact_force if step.contact_force.size else None,
            )
            self._markers.publish(message)

    def reset(self) -> None:
        """Begin the shown path anew."""
        if self._display is not None:
            self._display.forget_path()

    def destroy(self) -> None:
        """Take its topics off the node."""
        for topic in (*self._every, self._metadata.publisher):
            self._node.destroy_publisher(topic)

    def _make_display(self) -> Display:
        cell = self._scenario.cell
        second = () if cell.object.joint is None else (cell.object.joint.urdf,)
        bodies = [load_description(urdf).shapes for urdf in (cell.object.urdf, *second)]
        reference = self._loop.supervised.reference
        times = np.linspace(0.0, reference.duration, _PATH_SAMPLES)
        path = reference.rows(times)[:, POSE][:, :3]
        return Display(bodies, self._loop.system.grasps, path, cell.surfaces)


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


class RunMetadata:
    """Publishes the metadata of a run whenever one begins; latched.

    Args:
        node: The node that publishes.
        scenario: Its scenario.
        loop: The controller.
        joint_state_topics: Where joint states come from.
    """

    def __init__(
        self, node: Node, scenario: Scenario, loop: ControlLoop, joint_state_topics: Sequence[str]
    ) -> None:
        self.publisher = node.create_publisher(String, topics.RUN_METADATA, LATCHED)
        self._scenario, self._loop = scenario, loop
        self._began: int | None = None
        arms = [arm.name for arm in loop.system.arms]
        names = [
            *(topics.OBJECT_ODOMETRY, topics.OBJECT_REFERENCE),
            *(topics.INTERNAL_FORCE, topics.INTERNAL_FORCE_REFERENCE),
            *(topics.commands(arm) for arm in arms),
            *(topics.wrench(arm) for arm in arms),
        ]
        # Under their names after namespaces and remapping.
        resolved = {name: [node.resolve_topic_name(name)] for name in names}
        resolved[topics.JOINT_STATES] = [*map(node.resolve_topic_name, joint_state_topics)]
        # Writing the scenario down takes longer than a control period.
        self._common = {
            "format": FORMAT,
            "topics": resolved,
            **common_metadata(scenario, loop.system),
        }

    def look(self) -> None:
        """Publish if a run has begun since the last call."""
        began = self._loop.began
        if began is None or began == self._began:
            return
        self._began = began
        law = self._loop.supervised.controller
        end = law.reference.duration + self._scenario.acceptance.settle_s
        own = reference_metadata(self._scenario, law, self._scenario.start_tick + began, end)
        self.publisher.publish(String(data=json.dumps({**self._common, **own})))
