# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""References as messages: those that reach the law, and refusals."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="ROS 2 is not installed")

from geometry_msgs.msg import Transform, Twist, WrenchStamped
from std_msgs.msg import String
from trajectory_msgs.msg import MultiDOFJointTrajectory, MultiDOFJointTrajectoryPoint
from waiting import wait_until

from robot_dynamics.app.recordings import topic_names as topics
from robot_dynamics.control.reference import POSE, TWIST
from robot_dynamics.nodes.conversions import write_time
from robot_dynamics.nodes.inputs import ReferenceTopics
from robot_dynamics.nodes.topics import STREAM, Inbox


class Pilot:
    """Takes down its reference."""

    def __init__(self):
        self.paths, self.internal, self.contact, self.surfaces = [], [], [], []
        self.refused = []
        self.intake = SimpleNamespace(refuse=self.refused.append)
        self.clock = SimpleNamespace(now=lambda: 7, seconds=float, lockstep=False)

    def following(self):
        """Take references itself."""
        return self, None

    def take_path(self, now, path, *, late):
        """Take a path."""
        self.paths.append((now, path, late))

    def take_internal_force(self, values):
        """Take an internal force."""
        self.internal.append(values)

    def take_contact_force(self, surface, force, step):
        """Take a force on a surface."""
        self.contact.append((surface, force.tolist()))

    def take_surfaces(self, names, step):
        """Take surfaces to be touched."""
        self.surfaces.append(names)


class Bench:
    """Topics with a pilot, and publishers for them."""

    def __init__(self, ros):
        self.node, self.pilot = ros.create_node("listener"), Pilot()
        bodies = [SimpleNamespace(name="box")]
        system = SimpleNamespace(
            model=SimpleNamespace(bodies=bodies), object_body=0, object_loop_joint=None
        )
        self.pilot.system = system
        self.inbox = Inbox(self.node)
        ReferenceTopics(self.node, self.inbox, self.pilot, lambda: 5_000_000_000)
        self.path = self.node.create_publisher(
            MultiDOFJointTrajectory, topics.REFERENCE_TRAJECTORY, STREAM
        )
        self.forces = {
            name: self.node.create_publisher(WrenchStamped, name, STREAM)
            for name in (topics.REFERENCE_INTERNAL_FORCE, topics.REFERENCE_CONTACT_FORCE)
        }
        self.surfaces = self.node.create_publisher(String, topics.REFERENCE_SURFACES, STREAM)
        every = (self.path, *self.forces.values(), self.surfaces)
        wait_until(lambda: all(p.get_subscription_count() for p in every))

    def send(self, publisher, message):
        """Publish a message and let it be read."""
        publisher.publish(message)
        wait_until(self.inbox.read)


@pytest.fixture
def bench(ros):
    """Return a bench, and end it after the test."""
    bench = Bench(ros)
    yield bench
    bench.inbox.close()
    bench.node.destroy_node()


def trajectory(velocities=1, transforms=1):
    """Return a message of two points."""
    message = MultiDOFJointTrajectory(joint_names=["box"])
    message.header.frame_id = "world"
    for i in range(2):
        point = MultiDOFJointTrajectoryPoint()
        for _ in range(transforms):
            transform = Transform()
            transform.translation.z = 0.8 + 0.1 * i
            transform.rotation.w = 1.0
            point.transforms.append(transform)
        if velocities > i:
            twist = Twist()
            twist.linear.x, twist.angular.z = 0.1, 0.2
            point.velocities.append(twist)
        point.time_from_start.sec = i
        message.points.append(point)
    return message


def test_a_trajectory_arrives_angular_first(bench):
    """With the time of the safety layer, and its own age."""
    message = trajectory(velocities=2)
    write_time(message.header.stamp, 4_500_000_000)
    bench.send(bench.path, message)
    now, path, late = bench.pilot.paths[0]
    assert now == 7
    rows = path.rows([0.0, 1.0])
    assert rows[1, POSE] == pytest.approx([0.0, 0.0, 0.9, 0.0, 0.0, 0.0, 1.0])
    assert rows[:, TWIST] == pytest.approx(np.array([[0.0, 0.0, 0.2, 0.1, 0.0, 0.0]] * 2))
    assert path.moving_end
    assert late == 0.5


def test_without_a_stamp_it_begins_when_it_is_followed(bench):
    """As `ros2 topic pub` sends it."""
    bench.send(bench.path, trajectory(velocities=0))
    _, path, late = bench.pilot.paths[0]
    assert not path.moving_end
    assert late is None


def test_forces_arrive(bench):
    """The internal one as a wrench, the one on a surface by the surface's name."""
    message = WrenchStamped()
    message.wrench.force.x, message.wrench.force.z, message.wrench.torque.y = 30.0, 5.0, 1.0
    bench.send(bench.forces[topics.REFERENCE_INTERNAL_FORCE], message)
    assert bench.pilot.internal[0].tolist() == [0.0, 1.0, 0.0, 30.0, 0.0, 5.0]
    message.header.frame_id = "wall"
    bench.send(bench.forces[topics.REFERENCE_CONTACT_FORCE], message)
    assert bench.pilot.contact == [("wall", [0.0, 1.0, 0.0, 30.0, 0.0, 5.0])]


def test_surfaces_arrive_by_name(bench):
    """Separated by commas; an empty text is none."""
    for text in ("hole, bottom", "", " wall "):
        bench.send(bench.surfaces, String(data=text))
    assert bench.pilot.surfaces == [["hole", "bottom"], [], ["wall"]]


def test_references_of_other_bodies_or_frames_are_refused(bench):
    """Another body, another frame, several transforms, velocities of some points alone."""
    other = trajectory()
    other.joint_names = ["tray"]
    elsewhere = trajectory()
    elsewhere.header.frame_id = "base"
    for message in (other, elsewhere, trajectory(transforms=2), trajectory(velocities=1)):
        bench.send(bench.path, message)
    assert bench.pilot.paths == []
    wrench = WrenchStamped()
    wrench.header.frame_id = "left_tool"
    bench.send(bench.forces[topics.REFERENCE_INTERNAL_FORCE], wrench)
    assert bench.pilot.internal == []
    # Diagnostics tell of each of them, in its turn.
    assert len(bench.pilot.refused) == 5
    assert "its frame is 'left_tool'" in bench.pilot.refused[-1]
