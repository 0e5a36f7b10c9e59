# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Arms on ROS topics that stand still in lockstep, and lie when they are told to."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
from geometry_msgs.msg import WrenchStamped
from rclpy.node import Node
from scipy.spatial.transform import Rotation
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from waiting import PATIENCE_S, wait_until

from robot_dynamics.app.recordings import topic_names as topics
from robot_dynamics.app.scenarios.cell import build_system
from robot_dynamics.app.scenarios.scenario import Scenario
from robot_dynamics.control.clock import stamp_of
from robot_dynamics.manipulation.assembly import closed_configuration
from robot_dynamics.manipulation.system import GraspSystem
from robot_dynamics.nodes.conversions import JointStateWriter, WrenchWriter
from robot_dynamics.nodes.topics import STREAM, Inbox


class FakeArms:
    """The arms of a scenario at its start.

    Attributes:
        tick: The next control tick.
        torque: The last torques by arm.
        wrench_frames: Frames that wrenches name.

    Args:
        node: Speaks for them.
        scenario: Whose arms they are.
    """

    def __init__(self, node: Node, scenario: Scenario) -> None:
        self.system = build_system(scenario)
        self.period = scenario.control.period
        start = closed_configuration(self.system, scenario.object_pose)
        self.q = start[self.system.q_index]
        self.qd = np.zeros(len(self.q))
        self.tick = 0
        self.torque: dict[str, np.ndarray] = {}
        self._answers: dict[str, int] = {}
        self._inbox = Inbox(node)
        self._joints = node.create_publisher(JointState, topics.JOINT_STATES, STREAM)
        self._wrenches = []
        self.wrench_frames = [arm.tool for arm in self.system.arms]
        self._loads = loads(self.system, scenario)
        for arm in self.system.arms:
            topic = node.create_publisher(WrenchStamped, topics.wrench(arm.name), STREAM)
            self._wrenches.append(topic)
            self._inbox.subscribe(
                Float64MultiArray,
                topics.commands(arm.name),
                lambda message, arm=arm.name: self._take(arm, message),
                STREAM,
                awaited=True,
            )

    def wait_for_listener(self) -> None:
        """Wait until somebody listens to all topics."""
        every = [self._joints, *self._wrenches]
        wait_until(
            lambda: all(topic.get_subscription_count() for topic in every),
            words=lambda: "nobody listens",
        )

    def publish(
        self,
        spoil: Callable[[JointState], JointState | None] | None = None,
        wrench: np.ndarray | None = None,
    ) -> None:
        """Publish the present tick; joint states as `spoil` returns them, none if it does not."""
        stamp = stamp_of(self.tick, self.period)
        for topic, frame, load in zip(
            self._wrenches, self.wrench_frames, self._loads, strict=True
        ):
            values = load if wrench is None else wrench
            topic.publish(WrenchWriter(frame).fill(stamp, values))
        writer = JointStateWriter(self.system.joint_names)
        message = writer.fill(stamp, self.q, self.qd)
        if spoil is not None:
            message = spoil(message)
        if message is not None:
            self._joints.publish(message)

    def step(self, spoil=None, wrench=None) -> np.ndarray:
        """Publish the present tick, wait for its answer, and return the torques (na,)."""
        self._inbox.read()
        self._answers.clear()  # to what was published before
        self.publish(spoil, wrench)
        shown = time.monotonic()
        until = shown + PATIENCE_S
        names = [arm.name for arm in self.system.arms]
        while [self._answers.get(name) for name in names] != [self.tick] * len(names):
            assert time.monotonic() < until, f"no answer to tick {self.tick}"
            self._inbox.wait(0.05)
            self._inbox.read()
            if time.monotonic() - shown > 0.2:  # as the simulator does
                shown = time.monotonic()
                self.publish(spoil, wrench)
        self.tick += 1
        return np.concatenate([self.torque[name] for name in names])

    def _take(self, arm: str, message: Float64MultiArray) -> None:
        self._answers[arm] = message.layout.data_offset
        self.torque[arm] = np.array(message.data)


def loads(system: GraspSystem, scenario: Scenario) -> list[np.ndarray]:
    """Return each arm's load of the object at rest at its start, in its grasp frame (6,)."""
    inertia = system.model.bodies[system.object_body].inertia
    to_body = Rotation.from_quat(scenario.object_pose[3:]).inv()
    force = to_body.apply(-float(inertia.mass) * np.array(system.model.gravity))
    moment = np.cross(np.array([*inertia.h]) / float(inertia.mass), force)
    found = []
    for arm, grasp in zip(system.arms, system.grasps, strict=True):
        R, at = grasp[:3, :3], grasp[:3, 3]
        share = arm.load_share
        found.append(share * np.concatenate([R.T @ (moment - np.cross(at, force)), R.T @ force]))
    return found
