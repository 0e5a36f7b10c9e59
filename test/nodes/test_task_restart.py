# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A controller that is killed in mid-carry; a new one goes on with the task, in lockstep."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="ROS 2 is not installed")

from calling import Caller
from diagnostic_msgs.msg import DiagnosticStatus
from sensor_msgs.msg import JointState
from std_srvs.srv import Trigger
from waiting import wait_until

from robot_dynamics.app.recordings import topic_names as topics
from robot_dynamics.app.recordings.recording import Recording
from robot_dynamics.app.scenarios.scenario import load_scenario
from robot_dynamics.control.clock import tick_of
from robot_dynamics.nodes.conversions import read_time
from robot_dynamics.nodes.topics import LATCHED, STREAM

TASK = """task=[
  {approach: {distance_m: 0.04, speed: 0.2, velocity_fraction: 0.6}},
  {grasp: {squeeze_n: 80.0, touch_within_m: 0.005, squeeze_s: 0.1}},
  {lift: {height_m: 0.02, unload_s: 0.1}},
  {carry: {segments: [{duration_s: 2.0, move: [0.03, 0.01, 0.0]}]}},
  {put_down: {on: table, touch_within_m: 0.003, load_s: 0.1}},
  {release: {distance_m: 0.04, speed: 0.2, open_s: 0.1}},
  {move: {to: home, velocity_fraction: 0.6}}]"""
SCENARIO = load_scenario("pick_and_place", [TASK])
PLACE = np.array([0.65, 0.01, 0.75])
SILENCE_S = 3.0  # of the controller, until the guard takes over


class Operator:
    """Hears the phase of the task and the arms, and calls services."""

    def __init__(self, ros):
        self.ros, self.node = ros, ros.create_node("operator")
        self.phase, self.tick, self.speed = "", 0, np.inf
        node = self.node
        node.create_subscription(DiagnosticStatus, topics.TASK_PHASE, self._hear, LATCHED)
        node.create_subscription(JointState, topics.JOINT_STATES, self._see, STREAM)
        self._ask = Caller(ros, node)
        self._ask.expect(Trigger, "controller/resume", "guard/reset")

    def _hear(self, status):
        self.phase = status.message

    def _see(self, message):
        self.tick = tick_of(read_time(message.header.stamp), SCENARIO.control.period)
        self.speed = float(np.abs(message.velocity).max())

    def spin_until(self, happened):
        """Listen until something has happened."""
        wait_until(
            happened,
            lambda: self.ros.spin_once(self.node, timeout_sec=0.02),
            words=lambda: (self.phase, self.tick),
        )

    def ask(self, service):
        """Return whether a service succeeded, and what it said."""
        answer = self._ask(Trigger, service)
        return answer.success, answer.message


@pytest.mark.slow
def test_a_new_controller_ends_the_task_of_a_killed_one(ros, start_node, tmp_path):
    """The guard holds the object meanwhile; it stands at its place in the end."""
    file, kept = tmp_path / "task.yaml", tmp_path / "run.npz"
    file.write_text(SCENARIO.text(), encoding="utf-8")
    operator = Operator(ros)
    simulator = start_node("simulator", scenario=str(file), output=str(kept), duration=60.0)
    guard = start_node("guard", scenario=str(file), silence_limit=SILENCE_S)
    of_controller = {"scenario": str(file), "guard": "required"}
    first = start_node("controller", **of_controller)
    operator.spin_until(lambda: operator.phase.startswith("carry"))
    begun = operator.tick
    operator.spin_until(lambda: operator.tick > begun + 200)
    first.process.kill()
    guard.wait_for("took over")
    operator.spin_until(lambda: operator.speed < 1e-3)
    assert operator.phase.startswith("carry")

    second = start_node("controller", resume_phase=4, **of_controller)
    second.wait_for("ready")
    assert operator.ask("guard/reset")[0]
    success, said = operator.ask("controller/resume")
    assert success, said
    assert said.startswith("started; the task goes on in phase 4, carry: the object moves by")
    simulator.wait_for("done")
    pose = Recording.load(kept)["object_pose"]
    np.testing.assert_allclose(pose[-1, :3], PLACE, atol=1e-3)
    assert pose[:, 2].min() > PLACE[2] - 1e-3
    operator.node.destroy_node()
