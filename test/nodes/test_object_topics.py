# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Published topics about the object: estimate, reference, forces, frame, markers."""

from __future__ import annotations

import sys
from types import ModuleType

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="ROS 2 is not installed")

from geometry_msgs.msg import TransformStamped, WrenchStamped
from nav_msgs.msg import Odometry
from rclpy.qos import DurabilityPolicy, ReliabilityPolicy
from rclpy.serialization import serialize_message
from support.control_loops import sampled_loop
from trajectory_msgs.msg import MultiDOFJointTrajectory
from visualization_msgs.msg import Marker, MarkerArray
from waiting import wait_until

from robot_dynamics.app.pictures.shapes import FORCE_SCALE
from robot_dynamics.app.recordings.bags.messages import wrench_of
from robot_dynamics.app.scenarios.cell import true_system
from robot_dynamics.app.scenarios.plant import make_plant
from robot_dynamics.app.scenarios.scenario import load_scenario
from robot_dynamics.nodes.conversions import (
    OdometryWriter,
    ReferenceWriter,
    WrenchWriter,
    read_time,
)
from robot_dynamics.nodes.display import Display
from robot_dynamics.nodes.object_topics import ObjectFrame, ObjectTopics

KINDS = {
    "object/odometry": Odometry,
    "object/reference": MultiDOFJointTrajectory,
    "object/internal_force": WrenchStamped,
    "object/internal_force_reference": WrenchStamped,
    "markers": MarkerArray,
}


def moved(name, ticks):
    """Return a scenario, its loop, and the step after some control periods."""
    scenario = load_scenario(name)
    loop = sampled_loop(scenario)
    plant = make_plant(scenario, true_system(scenario))
    measured = plant.reset()
    names = list(loop.system.joint_names)
    for tick in range(ticks):
        for arm, wrench in zip(loop.wrenches, measured.wrenches, strict=True):
            loop.take_wrench(arm, tick, wrench, tick)
        loop.joint_states.take("joint_states", tick, names, measured.q, measured.qd, tick)
        if tick == 0:
            loop.prepare(0)()
            loop.start(0, 0)
        outcome = loop.cycle(tick, tick)
        measured = plant.step(outcome.torque)
    return scenario, loop, outcome.step


def all_heard(ros, node, object_topics, kinds, step, loop):
    """Return the first message of each topic that comes when somebody listens."""
    heard = {}
    for name, kind in kinds.items():
        node.create_subscription(kind, name, lambda m, n=name: heard.setdefault(n, m), 10)

    def publish():
        object_topics.on_idle(step, loop)
        object_topics.publish(7_000_000_003, step)
        ros.spin_once(node, timeout_sec=0.02)

    wait_until(lambda: set(heard) == set(kinds), publish, words=lambda: set(heard))
    return heard


@pytest.fixture(scope="module")
def seen():
    """Return a loop and the step of a moving object."""
    return moved("lift_box", 300)


@pytest.mark.parametrize("in_real_time", [False, True])
def test_everything_arrives(ros, seen, in_real_time):
    """Estimate, reference, internal force and markers, with their frames."""
    scenario, loop, step = seen
    node = ros.create_node("speaker")
    object_topics = ObjectTopics(node, scenario, loop, in_real_time=in_real_time)
    object_topics.publish(0, step)  # nobody listens yet
    heard = all_heard(ros, node, object_topics, KINDS, step, loop)

    odometry = heard["object/odometry"]
    assert read_time(odometry.header.stamp) == 7_000_000_003
    assert (odometry.header.frame_id, odometry.child_frame_id) == ("world", "box")
    assert odometry.pose.pose.position.z == step.pose[2]
    assert odometry.twist.twist.linear.z > 0.0  # on its way up

    (point,) = heard["object/reference"].points
    assert point.transforms[0].translation.z == step.reference[2]
    assert point.velocities[0].linear.z == step.reference[12]
    force = heard["object/internal_force"]
    assert force.header.frame_id == "box_grasp_middle"
    # The law's internal forces are in its own order; a wrench has moment before force.
    order = loop.law.grasp.wrench_components
    assert wrench_of(force.wrench)[order].tolist() == step.internal_force.tolist()
    wanted = heard["object/internal_force_reference"]
    wanted_force = step.reference[loop.law.internal_columns]
    assert wrench_of(wanted.wrench)[order].tolist() == wanted_force.tolist()
    names = {marker.ns for marker in heard["markers"].markers}
    assert {"object", "object_reference", "grasp_force", "path", "reference_path"} <= names
    object_topics.reset()
    node.destroy_node()


@pytest.mark.slow  # compiles two laws; the parts of it are tested by themselves
@pytest.mark.parametrize("name", ["wipe", "fold"])
def test_topics_of_other_laws(ros, name):
    """Surfaces and parts are shown, and every topic has as many numbers as it is to have."""
    scenario, loop, step = moved(name, 800 if name == "wipe" else 5)
    node = ros.create_node("teller")
    object_topics = ObjectTopics(node, scenario, loop, in_real_time=True)
    kinds = dict(KINDS)
    if name == "fold":  # the force in a joint is no wrench
        del kinds["object/internal_force"], kinds["object/internal_force_reference"]
    heard = all_heard(ros, node, object_topics, kinds, step, loop)
    markers = {(m.ns, m.id): m for m in heard["markers"].markers}
    if name == "fold":
        shown = [m.pose.position for (ns, _), m in markers.items() if ns == "object"]
        ghosts = [m for (ns, _), m in markers.items() if ns == "object_reference"]
        assert len({round(p.y, 3) for p in shown}) >= 2
        assert len(ghosts) < len(shown)  # only the first part has one
    else:
        assert ("surface", 0) in markers
        force = markers["surface_force", 0]
        assert force.action == Marker.ADD  # in contact: 20 N are 6 cm
        along = force.points[1].x - force.points[0].x
        assert along == pytest.approx(FORCE_SCALE * step.outputs.contact_force[0], abs=1e-9)
        wanted = wrench_of(heard["object/internal_force_reference"].wrench)
        law = loop.law
        squeeze, *_ = step.reference[law.layout.reference["internal"]].tolist()
        assert wanted.tolist() == [0.0, 0.0, 0.0, squeeze, 0.0, 0.0]
        assert squeeze == 30.0
    node.destroy_node()


def test_topics_without_subscribers_are_not_published(ros, seen, monkeypatch):
    """Messages without a listener are not even built."""
    scenario, loop, step = seen
    node = ros.create_node("lonely")
    object_topics = ObjectTopics(node, scenario, loop, in_real_time=True)

    def built(*_):
        raise AssertionError("a message was built")

    for writer in (OdometryWriter, ReferenceWriter, WrenchWriter, Display):
        monkeypatch.setattr(writer, "fill", built)
    object_topics.on_idle(step, loop)
    object_topics.publish(0, step)
    node.destroy_node()


POSE = np.array([1.0, 2.0, 3.0, 0.0, 0.6, 0.0, 0.8])


class TFMessage:
    """The fields of tf2_msgs/TFMessage."""

    def __init__(self, transforms):
        assert all(isinstance(transform, TransformStamped) for transform in transforms)
        self.transforms = transforms


class Listener:
    """A node and its publisher in one: it keeps the published messages."""

    def __init__(self):
        self.topics, self.heard = [], []

    def create_publisher(self, kind, topic, quality):
        """Note a message and its topic."""
        self.topics.append((kind, topic, quality))
        return self

    def publish(self, message):
        """Keep the bytes of the transforms: the message is used again."""
        self.heard.append([bytes(serialize_message(t)) for t in message.transforms])
        self.last = message.transforms


@pytest.fixture
def installed(monkeypatch):
    """Put the module where Python looks for it."""
    package, module = ModuleType("tf2_msgs"), ModuleType("tf2_msgs.msg")
    module.TFMessage = TFMessage
    monkeypatch.setitem(sys.modules, "tf2_msgs", package)
    monkeypatch.setitem(sys.modules, "tf2_msgs.msg", module)


def test_bodies_are_published_in_the_world(installed):
    """As every other transform is: on /tf, reliable and volatile."""
    node = Listener()
    ObjectFrame(node, ["rod", "other"]).publish(3_500_000_000, [POSE, 2.0 * POSE])
    ((kind, topic, quality),) = node.topics
    assert (kind, topic) == (TFMessage, "/tf")
    assert quality.reliability == ReliabilityPolicy.RELIABLE
    assert quality.durability == DurabilityPolicy.VOLATILE
    rod, other = node.last
    assert (rod.header.frame_id, rod.child_frame_id, other.child_frame_id) == (
        *("world", "rod"),
        "other",
    )
    assert (rod.header.stamp.sec, rod.header.stamp.nanosec) == (3, 500_000_000)
    assert rod.transform.translation.y == 2.0
    assert (rod.transform.rotation.y, rod.transform.rotation.w) == (0.6, 0.8)
    assert other.transform.translation.y == 4.0


def test_the_frame_of_internal_forces_is_fixed_in_the_object(installed):
    """A quarter turn about z, 0.2 m along x, whatever the object does."""
    node, at = Listener(), np.eye(4)
    at[:3, :3], at[0, 3] = [[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]], 0.2
    frame = ObjectFrame(node, ["box"], ("box_grasp_middle", at))
    for stamp in (0, 1_000_000_000):
        frame.publish(stamp, [POSE])
        box, middle = node.last
        assert (middle.header.frame_id, middle.child_frame_id) == ("box", "box_grasp_middle")
        assert middle.header.stamp == box.header.stamp
        assert middle.transform.translation.x == 0.2
        assert middle.transform.rotation.z == pytest.approx(np.sqrt(0.5))


def test_fifty_times_a_second_are_enough(installed):
    """Of 501 control periods within a second; time that goes back is followed at once."""
    node = Listener()
    frame = ObjectFrame(node, ["box"])
    for tick in range(501):
        frame.publish(2_000_000 * tick, [POSE])
    assert len(node.heard) == 51
    frame.publish(0, [POSE])
    assert len(node.heard) == 52


def test_nothing_is_published_without_the_messages(monkeypatch):
    """And nothing fails."""
    monkeypatch.setitem(sys.modules, "tf2_msgs", None)
    node = Listener()
    assert ObjectFrame(node, ["box"]).publisher is None
    assert node.topics == []
