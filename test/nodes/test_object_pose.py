# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A tracker or camera measures the pose of the object, and the control law uses it."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="ROS 2 is not installed")

from fake_arms import FakeArms
from nav_msgs.msg import Odometry
from numpy.testing import assert_allclose
from waiting import wait_until

from robot_dynamics.app.recordings import topic_names as topics
from robot_dynamics.app.recordings.recording import Recording
from robot_dynamics.app.runs.run import simulate
from robot_dynamics.app.scenarios.scenario import load_scenario
from robot_dynamics.control.clock import LockstepClock
from robot_dynamics.control.faults import Cause, StaleStreamError, State
from robot_dynamics.nodes.background_work import BackgroundWork
from robot_dynamics.nodes.conversions import OdometryWriter
from robot_dynamics.nodes.inputs import SampleIntake
from robot_dynamics.nodes.topics import STREAM, Inbox
from test.support.control_loops import sampled_loop

DURATION = 0.2
SCENARIO = load_scenario("tray", ["control.object_pose=sensor"])
PERIOD = SCENARIO.control.period
STILL = np.zeros(6)


class Bench:
    """A control loop with its intake, arms at their start, and a tracker of the object."""

    def __init__(self, node):
        self.inbox = Inbox(node)
        self.loop = sampled_loop(SCENARIO, LockstepClock(PERIOD), stale_after_s=1000 * PERIOD)
        self.intake = SampleIntake(
            self.inbox, self.loop, ["joint_states"], BackgroundWork(pytest.fail)
        )
        self.intake.subscribe_to_sensors()
        self.intake.subscribe_to_joint_states()
        self.arms = FakeArms(node, SCENARIO)
        system = self.loop.system
        self.writer = OdometryWriter(system.model.bodies[system.object_body].name)
        self.tracker = node.create_publisher(Odometry, topics.MEASURED_ODOMETRY, STREAM)
        self.arms.wait_for_listener()
        wait_until(self.tracker.get_subscription_count)

    def read_until(self, condition):
        """Read messages until something is so."""

        def read():
            self.inbox.wait(0.05, for_any=True)
            self.inbox.read()

        wait_until(condition, read)

    def measure(self, tick, pose, twist=STILL):
        """Publish the state of a tick, the pose of the object first."""
        self.tracker.publish(self.writer.fill(round(tick * PERIOD * 1e9), pose, twist))
        self.arms.tick = tick
        self.arms.publish()
        self.read_until(lambda: self.loop.object_pose.watch.stamp == tick)
        self.read_until(lambda: self.loop.complete and not self.intake.incomplete)


@pytest.fixture
def bench(ros):
    """Return a bench, and end it after the test."""
    node = ros.create_node("tracked")
    bench = Bench(node)
    yield bench
    bench.inbox.close()
    node.destroy_node()


def test_a_start_needs_a_measured_pose(bench):
    """Joint states and wrenches alone are not enough."""
    bench.arms.publish()
    bench.read_until(lambda: bench.loop.joint_states.all_heard)
    with pytest.raises(StaleStreamError, match="object pose: no sample has come yet"):
        bench.loop.require_samples(0)


def test_the_law_uses_the_measured_pose(bench):
    """A tracker that sees the object 0.1 mm from where the grasps have it is believed."""
    loop, pose = bench.loop, SCENARIO.object_pose.copy()
    pose[0] += 1e-4
    bench.measure(0, pose)
    loop.prepare(0)()
    assert_allclose(loop.start(0, 0).pose, pose, rtol=0.0, atol=1e-12)
    pose[1] -= 1e-4
    twist = np.array([0.0, 0.0, 0.0, 1e-3, 0.0, 0.0])
    bench.measure(1, pose, twist)
    step = loop.cycle(1, 1).step
    assert_allclose(step.pose, pose, rtol=0.0, atol=1e-12)
    assert_allclose(step.twist, twist, rtol=0.0, atol=1e-12)


@pytest.mark.parametrize("frame", ["header", "child"])
def test_a_pose_in_another_frame_is_refused(bench, frame):
    """By name of the frame; while control runs it is a fault."""
    loop, pose = bench.loop, SCENARIO.object_pose
    bench.measure(0, pose)
    loop.prepare(0)()
    loop.start(0, 0)
    message = bench.writer.message
    if frame == "header":
        message.header.frame_id = "map"
    else:
        message.child_frame_id = "map"
    bench.tracker.publish(bench.writer.fill(round(PERIOD * 1e9), pose, STILL))
    bench.read_until(lambda: loop.safety.faults)
    _, found = loop.safety.faults[0]
    assert found.cause is Cause.OBJECT_POSE_LOST
    assert "object pose: its frame is 'map'; expected" in str(found)


@pytest.mark.parametrize("entry", [0, slice(3, 7)])
def test_a_pose_that_is_none_ends_in_the_fallback(bench, entry):
    """A coordinate that is not finite, and a quaternion of zeros."""
    loop, pose = bench.loop, SCENARIO.object_pose.copy()
    bench.measure(0, pose)
    loop.prepare(0)()
    loop.start(0, 0)
    pose[entry] = np.nan if entry == 0 else 0.0
    loop.take_object_pose(1, pose, STILL, 1)
    assert loop.safety.faults[0][1].cause is Cause.OBJECT_POSE_LOST


def test_the_loss_of_the_tracker_ends_in_the_fallback(bench):
    """As that of any other stream that the law needs."""
    loop, pose = bench.loop, SCENARIO.object_pose
    bench.measure(0, pose)
    loop.prepare(0)()
    loop.start(0, 0)
    bench.arms.tick = 1500
    loop.object_pose.watch.arrival = 0
    for watch in (*loop.joint_states.watches, *(w.watch for w in loop.wrenches.values())):
        watch.arrival = 1499
    loop.cycle_without_samples(1500)
    assert loop.safety.state is State.FALLBACK
    assert loop.safety.faults[0][1].cause is Cause.OBJECT_POSE_LOST


def test_over_topics_as_without(start_node, tmp_path):
    """The simulator is the tracker: the object moves as in a run without ROS, to 1 um."""
    file = tmp_path / "tracked.yaml"
    file.write_text(SCENARIO.text(), encoding="utf-8")
    options = {"scenario": str(file), "duration": DURATION}
    output = tmp_path / "simulator.npz"
    nodes = [start_node("simulator", output=str(output), **options)]
    nodes.append(start_node("controller", **options))
    nodes[0].wait_for("done")
    there = Recording.load(output)["object_pose"]
    here = simulate(SCENARIO, duration=DURATION).recording["object_pose"]
    assert_allclose(there, here, rtol=0.0, atol=1e-6)
