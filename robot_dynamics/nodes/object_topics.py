# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Topics of the controller about the object: estimate, reference, forces, TF, markers."""

from __future__ import annotations

import importlib
import json
import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from geometry_msgs.msg import TransformStamped, WrenchStamped
from nav_msgs.msg import Odometry
from rclpy.node import Node
from rclpy.qos import QoSProfile
from std_msgs.msg import String
from trajectory_msgs.msg import MultiDOFJointTrajectory
from visualization_msgs.msg import MarkerArray

from robot_dynamics.app.recordings import topic_names as topics
from robot_dynamics.app.recordings.recording import FORMAT
from robot_dynamics.app.recordings.topic_names import WORLD
from robot_dynamics.app.runs.recorders import common_metadata, control_units, reference_metadata
from robot_dynamics.app.scenarios.cell import pose_matrix
from robot_dynamics.app.scenarios.scenario import Scenario
from robot_dynamics.arrays import Array
from robot_dynamics.control.abilities import HoldsObject, TouchesSurfaces
from robot_dynamics.control.clock import SECOND
from robot_dynamics.control.control_law import HeldStep, LawStep
from robot_dynamics.control.control_loop import ControlLoop
from robot_dynamics.control.reference import ACCELERATION, POSE, TWIST
from robot_dynamics.description.load import load_object
from robot_dynamics.description.orientations import vector_of_pose
from robot_dynamics.manipulation.grasp_map import middle_frame
from robot_dynamics.nodes.conversions import (
    OdometryWriter,
    ReferenceWriter,
    WrenchWriter,
    write_time,
    write_transform,
)
from robot_dynamics.nodes.display import Display
from robot_dynamics.nodes.topics import LATCHED, STREAM

MARKERS_S = 0.05  # wall-clock time between markers
SUBSCRIBERS_S = 0.1  # wall-clock time between counts of the subscribers
TF_S = 0.02  # message time between transforms
_TF_QOS = QoSProfile(depth=100)  # reliable and volatile, as for all publishers of TF
_PATH_SAMPLES = 500


class ObjectTopics:
    """Topics about the object; topics without a subscriber cost no time.

    Args:
        node: The node that publishes.
        scenario: Its scenario.
        loop: The control loop.
        joint_state_topics: The topics of joint states, for the metadata of the run.
        in_real_time: Whether to read the shapes of the object now, since reading them later would
            disturb control; else they are read for the first subscriber.
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
        system, law = loop.system, loop.law
        bodies = [system.model.bodies[i].name for i in system.object_bodies]
        middle = topics.middle_frame(bodies[0])
        create = node.create_publisher
        self._odometry = create(Odometry, topics.OBJECT_ODOMETRY, STREAM)
        self._reference = create(MultiDOFJointTrajectory, topics.OBJECT_REFERENCE, STREAM)
        self._force = create(WrenchStamped, topics.INTERNAL_FORCE, STREAM)
        self._force_reference = create(WrenchStamped, topics.INTERNAL_FORCE_REFERENCE, STREAM)
        self._markers = create(MarkerArray, topics.MARKERS, STREAM)
        self._metadata = RunMetadata(node, scenario, loop, joint_state_topics)
        has_middle = system.object_loop_joint is None and len(system.arms) > 1
        self._frame = ObjectFrame(
            node,
            bodies,
            (middle, middle_frame(system.grasps)) if has_middle else None,
            {surface.name: pose_matrix(surface) for surface in scenario.cell.surfaces},
        )
        self._publishers = (
            *(self._odometry, self._reference, self._force, self._force_reference, self._markers),
            *filter(None, (self._frame.publisher,)),
        )
        self._odometry_writer = OdometryWriter(bodies[0])
        self._reference_writer = ReferenceWriter(bodies[0])
        self._force_writer = WrenchWriter(middle)
        self._internal = law.internal_columns
        # Components of a wrench that are the internal forces of two arms; None for other forces.
        self._components = law.grasp.wrench_components if isinstance(law, HoldsObject) else None
        self._wrench = np.zeros(6)
        self._display: Display | None = self._make_display() if in_real_time else None
        self._subscribed: set[object] = set()
        self._counted_at = self._markers_at = 0.0

    def publish(self, stamp: int, step: LawStep) -> None:
        """Publish estimates and references of a control step at a time [ns]."""
        subscribed, row = self._subscribed, step.reference
        if self._odometry in subscribed:
            self._odometry.publish(self._odometry_writer.fill(stamp, step.pose, step.twist))
        if self._frame.publisher in subscribed:
            self._frame.publish(stamp, step.poses)
        if self._reference in subscribed:
            message = self._reference_writer.fill(stamp, row[POSE], row[TWIST], row[ACCELERATION])
            self._reference.publish(message)
        if self._components is not None and isinstance(step, HeldStep):
            for publisher, force in (
                (self._force, step.internal_force),
                (self._force_reference, row[self._internal]),
            ):
                if publisher in subscribed:
                    self._wrench[self._components] = force
                    publisher.publish(self._force_writer.fill(stamp, self._wrench))

    def on_idle(self, step: LawStep | None, loop: ControlLoop) -> None:
        """Count the subscribers, and publish markers if there is one; on the wall clock."""
        self._metadata.poll()
        now = time.monotonic()
        if now - self._counted_at >= SUBSCRIBERS_S:
            self._counted_at = now
            self._subscribed = {p for p in self._publishers if p.get_subscription_count()}
        if step is None or self._markers not in self._subscribed:
            return
        if now - self._markers_at >= MARKERS_S:
            self._markers_at = now
            if self._display is None:
                self._display = self._make_display()
            law, wrenches = loop.law, [stream.values for stream in loop.wrenches.values()]
            message = self._display.fill(
                step.poses,
                step.reference[POSE],
                np.stack(wrenches) if wrenches else None,
                law.contact_force if isinstance(law, TouchesSurfaces) and law.surfaces else None,
            )
            self._markers.publish(message)

    def reset(self) -> None:
        """Start the displayed path anew."""
        if self._display is not None:
            self._display.reset_path()

    def destroy(self) -> None:
        """Destroy the publishers."""
        for publisher in (*self._publishers, self._metadata.publisher):
            self._node.destroy_publisher(publisher)

    def _make_display(self) -> Display:
        cell = self._scenario.cell
        second = () if cell.object.joint is None else (cell.object.joint.urdf,)
        bodies = [load_object(urdf).shapes for urdf in (cell.object.urdf, *second)]
        reference = self._loop.law.reference
        times = np.linspace(0.0, reference.duration, _PATH_SAMPLES)
        path = reference.rows(times)[:, POSE][:, :3]
        return Display(bodies, self._loop.system.grasps, path, cell.surfaces)


class ObjectFrame:
    """Publishes the frames of the object's bodies, of internal forces and of surfaces on /tf.

    Joint states cannot carry them. Without `tf2_msgs`, which is not on PyPI, there are no
    transforms.

    Attributes:
        publisher: The publisher; None without `tf2_msgs`.

    Args:
        node: The node that publishes.
        bodies: Names of the frames of the bodies.
        middle: Name of the frame of internal forces, and its pose (4, 4) in the first body.
        surfaces: Poses (4, 4) of surfaces in the world, by their names.
    """

    def __init__(
        self,
        node: Node,
        bodies: Sequence[str],
        middle: tuple[str, Array] | None = None,
        surfaces: Mapping[str, Array] | None = None,
    ) -> None:
        self.publisher: Any = None
        try:
            kind = importlib.import_module("tf2_msgs.msg").TFMessage
        except ImportError:
            return
        self.publisher = node.create_publisher(kind, "/tf", _TF_QOS)
        transforms = [TransformStamped(child_frame_id=body) for body in bodies]
        for transform in transforms:
            transform.header.frame_id = WORLD
        self._moving = tuple(transforms)
        fixed_frames = [(WORLD, name, at) for name, at in (surfaces or {}).items()]
        if middle is not None:
            fixed_frames.append((bodies[0], *middle))
        for parent, name, at in fixed_frames:
            fixed = TransformStamped(child_frame_id=name)
            fixed.header.frame_id = parent
            write_transform(fixed.transform, vector_of_pose(at))
            transforms.append(fixed)
        self._message = kind(transforms=transforms)
        self._stamp = -1

    def publish(self, stamp: int, poses: Sequence[Array]) -> None:
        """Publish the frames, at most once in `TF_S`.

        Args:
            stamp: The time [ns]; it can go back.
            poses: x y z qx qy qz qw of each body (7,).
        """
        if self._stamp >= 0 and 0 <= stamp - self._stamp < TF_S * SECOND:
            return
        self._stamp = stamp
        for transform in self._message.transforms:
            write_time(transform.header.stamp, stamp)
        for transform, pose in zip(self._moving, poses, strict=True):
            write_transform(transform.transform, pose)
        self.publisher.publish(self._message)


def resolved_topics(
    node: Node, loop: ControlLoop, joint_state_topics: Sequence[str]
) -> dict[str, list[str]]:
    """Return names of topics with namespace and remapping, by their names in `topic_names`.

    Args:
        node: The node of the topics.
        loop: The control loop.
        joint_state_topics: The topics of joint states.
    """
    arms = [arm.name for arm in loop.system.arms]
    names = [
        *(topics.OBJECT_ODOMETRY, topics.MEASURED_ODOMETRY, topics.OBJECT_REFERENCE),
        *(topics.INTERNAL_FORCE, topics.INTERNAL_FORCE_REFERENCE),
        *(topics.commands(arm) for arm in arms),
        *(topics.position_commands(arm) for arm in arms),
        *(topics.wrench(arm) for arm in arms),
    ]
    resolved = {name: [node.resolve_topic_name(name)] for name in names}
    resolved[topics.JOINT_STATES] = [*map(node.resolve_topic_name, joint_state_topics)]
    return resolved


class RunMetadata:
    """Publishes the metadata of a run when it starts, as JSON on a latched topic.

    They are sufficient to read a bag of all topics.

    Args:
        node: The node that publishes.
        scenario: Its scenario.
        loop: The control loop.
        joint_state_topics: The topics of joint states.
    """

    def __init__(
        self, node: Node, scenario: Scenario, loop: ControlLoop, joint_state_topics: Sequence[str]
    ) -> None:
        self.publisher = node.create_publisher(String, topics.RUN_METADATA, LATCHED)
        self._scenario, self._loop = scenario, loop
        self._began: int | None = None
        # Here, because it takes longer than a control period.
        self._common = {
            "format": FORMAT,
            "topics": resolved_topics(node, loop, joint_state_topics),
            **common_metadata(scenario, loop.system, control_units(loop.law)),
        }

    def poll(self) -> None:
        """Publish if a run has started since the last call."""
        began = self._loop.began
        if began is None or began == self._began:
            return
        self._began = began
        law = self._loop.law
        end = law.reference.duration + self._scenario.acceptance.settle_s
        own = reference_metadata(self._scenario, law, self._scenario.start_tick + began, end)
        self.publisher.publish(String(data=json.dumps({**self._common, **own})))
