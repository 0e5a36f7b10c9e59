# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Topics of simulated arms: clock, wrenches and joint states, with simulated faults."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from geometry_msgs.msg import WrenchStamped
from nav_msgs.msg import Odometry
from rclpy.node import Node
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState

from robot_dynamics.app.recordings import topic_names as topics
from robot_dynamics.arrays import Array
from robot_dynamics.control.clock import SECOND, stamp_of
from robot_dynamics.errors import ArgumentError
from robot_dynamics.manipulation.system import GraspSystem
from robot_dynamics.nodes.conversions import (
    JointStateWriter,
    OdometryWriter,
    WrenchWriter,
    write_time,
)
from robot_dynamics.nodes.topics import STREAM, create_sample_publisher
from robot_dynamics.simulation.faults import FaultKind, Faults
from robot_dynamics.simulation.sensors import Measurement
from robot_dynamics.simulation.settings import SensorSettings

_NONE = (np.zeros(0), np.zeros(0))
_LATE = 60 * SECOND  # delay of a clock that was set back
_JITTER = 150_000  # jitter of stamps about half a period late [ns]


class StateTopics:
    """Publishes the state of every control period.

    Args:
        node: The node that publishes.
        system: The arms.
        sensors: Measurement of velocities, and sampling periods of each arm's joints.
        faults: The simulated faults.
        joint_topics: Names of topics with joint states: one for all arms, or one for each.
        period: Control period [s].
        skip: Whether to skip messages without a new sample; else the last one is repeated.
        tracked: Whether the pose of the object is published, as by a camera or tracker.

    Raises:
        ArgumentError: If the number of topics is neither one nor the number of arms.
    """

    def __init__(
        self,
        node: Node,
        system: GraspSystem,
        sensors: SensorSettings,
        faults: Faults,
        joint_topics: Sequence[str],
        period: float,
        *,
        skip: bool,
        tracked: bool = False,
    ) -> None:
        ends = np.cumsum([0, *(len(arm.passive_joints) for arm in system.arms)]).tolist()
        arms = {
            arm.name: (own, list(arm.joints), slice(*ends[i : i + 2]), list(arm.passive_joints))
            for i, (arm, own) in enumerate(zip(system.arms, system.arm_slices, strict=True))
        }
        if len(joint_topics) not in (1, len(arms)):
            raise ArgumentError(
                f"parameter 'joint_state_topics' has {len(joint_topics)} names; expected 1 or "
                f"{len(arms)}: a topic for all arms, or one for each."
            )
        shares = [list(arms)] if len(joint_topics) == 1 else [[arm] for arm in arms]
        self._faults, self._period, self._skip = faults, period, skip
        self._clock = node.create_publisher(Clock, topics.CLOCK, STREAM)
        self._time = Clock()
        self._clock_is_read = False
        self._wrenches = [
            (
                arm.name,
                create_sample_publisher(node, WrenchStamped, topics.wrench(arm.name)),
                WrenchWriter(arm.tool),
            )
            for arm in system.arms
        ]
        self._joints = [
            _JointTopic(node, topic, {arm: arms[arm] for arm in share}, sensors, faults, period)
            for topic, share in zip(joint_topics, shares, strict=True)
        ]
        self._object = None
        if tracked:
            body = system.model.bodies[system.object_body].name
            self._object = (
                create_sample_publisher(node, Odometry, topics.MEASURED_ODOMETRY),
                OdometryWriter(body),
            )
        self._last_tick = -1  # last tick of the plant, whose time stands still while brakes hold

    def check_subscribers(self) -> None:
        """Count the subscribers of the clock, which is published only for them."""
        self._clock_is_read = self._clock.get_subscription_count() > 0

    def publish(
        self,
        tick: int,
        seen: Measurement,
        passive_joints: tuple[Array, Array] = _NONE,
        tracked: tuple[Array, Array] | None = None,
    ) -> None:
        """Publish a state, or repeat it.

        Args:
            tick: The control tick of the stamps.
            seen: The measurement, by the time of the plant.
            passive_joints: True positions and velocities of the passive joints, for displays:
                controllers do not use them.
            tracked: Pose (7,) and twist (6,) of the object in world axes, if published.
        """
        stamp = stamp_of(tick, self._period)
        if self._clock_is_read:
            write_time(self._time.clock, stamp)
            self._clock.publish(self._time)
        # Wrenches first: subscribers act on joint states, and must have the wrenches then.
        for (arm, topic, writer), wrench in zip(self._wrenches, seen.wrenches, strict=True):
            if not self._faults.is_on("wrench_silent", arm):
                topic.publish(writer.serialized(stamp, wrench))
        if self._object is not None and tracked is not None:
            publisher, odometry = self._object
            publisher.publish(odometry.fill(stamp, *tracked))
        moves = self._skip and seen.tick != self._last_tick
        self._last_tick = seen.tick
        for joints in self._joints:
            if not (moves and seen.tick % joints.sample_periods):
                joints.publish(stamp, seen.q, seen.qd, passive_joints)


class _JointTopic:
    """A topic of joint states of one arm or of all: measured joints first, then passive ones."""

    def __init__(
        self,
        node: Node,
        topic: str,
        arms: dict[str, tuple[slice, list[str], slice, list[str]]],
        sensors: SensorSettings,
        faults: Faults,
        period: float,
    ) -> None:
        self.publisher = create_sample_publisher(node, JointState, topic)
        self._half_period = round(0.5 * period * SECOND)
        # A common topic has a new sample when one of its arms has.
        self.sample_periods = min(sensors.sample_periods.get(arm, 1) for arm in arms)
        self._arms, self._faults = arms, faults
        every = [*arms.values()]
        self._all = slice(every[0][0].start, every[-1][0].stop)
        self._all_passive = slice(every[0][2].start, every[-1][2].stop)
        self._passive_joints = [name for *_, names in every for name in names]
        joints = [name for _, names, *_ in every for name in names]
        self._writer = JointStateWriter(joints + self._passive_joints)
        self._velocities = sensors.velocities
        # The last message.
        self._sent: tuple[int, Array, Array, tuple[Array, Array]] = (0, *_NONE, _NONE)
        self._count = 0

    def publish(
        self, stamp: int, q: Array, qd: Array, passive_joints: tuple[Array, Array]
    ) -> None:
        """Publish the part of positions and velocities over all arms.

        A message out of order is an earlier message, published again.
        """
        if not self._velocities:
            qd = qd[:0]
        if not self._faults.active:
            at, rates = self._with_passive(q[self._all], qd[self._all], passive_joints)
            self.publisher.publish(self._writer.serialized(stamp, at, rates))
            self._sent = stamp, q, qd, passive_joints
            return
        self._count += 1
        if self._has("silent") or (self._has("dropped") and self._count % 2):
            return
        before = self._sent
        if self._has("frozen"):
            stamp, q, qd, passive_joints = before
        elif self._has("stale_stamp"):
            stamp = before[0]
        elif self._has("clock_back"):
            stamp -= _LATE
        elif self._has("half_period"):
            stamp += self._half_period + (_JITTER if self._count % 2 else -_JITTER)
        self.publisher.publish(self._message(stamp, q, qd, passive_joints))
        if self._has("duplicated"):
            self.publisher.publish(self._message(stamp, q, qd, passive_joints))
        if self._has("reordered"):
            self.publisher.publish(self._message(*before))
        self._sent = stamp, q, qd, passive_joints

    def _has(self, kind: FaultKind) -> bool:
        return any(self._faults.is_on(kind, arm) for arm in self._arms)

    def _with_passive(
        self, q: Array, qd: Array, passive_joints: tuple[Array, Array]
    ) -> tuple[Array, Array]:
        """Return positions and velocities of joints, passive joints last."""
        if not self._passive_joints:
            return q, qd
        at, rates = (values[self._all_passive] for values in passive_joints)
        return np.concatenate([q, at]), np.concatenate([qd, rates]) if len(qd) else qd

    def _message(
        self, stamp: int, q: Array, qd: Array, passive_joints: tuple[Array, Array]
    ) -> JointState:
        """Return a message with the faults of each arm."""
        names: list[str] = []
        at: list[int] = []
        for arm, (own, joints, *_) in self._arms.items():
            mine = list(zip(joints, range(own.start, own.stop), strict=True))
            if self._faults.is_on("wrong_order", arm):
                mine.reverse()
            if self._faults.is_on("missing_joint", arm):
                mine.pop()
            if self._faults.is_on("wrong_name", arm):
                mine[0] = (f"{mine[0][0]}_", mine[0][1])
            names += [name for name, _ in mine]
            at += [index for _, index in mine]
        if self._has("no_velocities"):
            qd = qd[:0]
        q, qd = self._with_passive(q[at], qd[at] if len(qd) else qd, passive_joints)
        return JointStateWriter(names + self._passive_joints).fill(stamp, q, qd)
