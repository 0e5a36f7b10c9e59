# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A client of the action as MoveIt's simple controller manager is, and then a lift with both arms.

It needs `control_msgs`, which distributions of ROS have and PyPI does not.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="ROS 2 is not installed")
pytest.importorskip("control_msgs", reason="control_msgs is not installed")

import control_msgs
from action_msgs.msg import GoalStatus
from builtin_interfaces.msg import Duration
from calling import Caller
from control_msgs.action import FollowJointTrajectory
from diagnostic_msgs.msg import DiagnosticStatus
from rclpy.action import ActionClient
from sensor_msgs.msg import JointState
from std_srvs.srv import Trigger
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint
from waiting import PATIENCE_S, wait_until

from robot_dynamics.app.scenarios.cell import build_system
from robot_dynamics.app.scenarios.scenario import load_scenario
from robot_dynamics.nodes.topics import LATCHED, STREAM

TASK = """task=[
  {move: {until: operator, velocity_fraction: 1.0}},
  {approach: {distance_m: 0.04}},
  {grasp: {squeeze_n: 80.0}},
  {lift: {height_m: 0.02}},
  {put_down: {on: table}},
  {release: {distance_m: 0.04}}]"""
SCENARIO = load_scenario("pick_and_place", [TASK])
ARMS = {arm.name: list(arm.joints) for arm in build_system(SCENARIO).arms}
WAY = np.array([0.0, 0.1, 0.0, -0.1, 0.0, 0.0, 0.2])
PATHS = {"PYTHONPATH": f"{Path(__file__).parents[2]}:{Path(control_msgs.__path__[0]).parent}"}


class ControllerHandle:
    """The state that `moveit_simple_controller_manager` keeps of a controller of this type."""

    def __init__(self, node, arm):
        self._client = ActionClient(node, FollowJointTrajectory, f"{arm}/follow_joint_trajectory")
        assert self._client.wait_for_server(PATIENCE_S)

    def send(self, trajectory, spin):
        """Send a trajectory; whoever executes it must accept it."""
        sent = self._client.send_goal_async(FollowJointTrajectory.Goal(trajectory=trajectory))
        wait_until(sent.done, spin)
        self._goal = sent.result()
        assert self._goal.accepted
        self._result = self._goal.get_result_async()

    def cancel(self, spin):
        """Cancel the trajectory that is executed."""
        wait_until(self._goal.cancel_goal_async().done, spin)

    def wait(self, spin):
        """Return status, code and sentence when the trajectory has ended."""
        wait_until(self._result.done, spin)
        found = self._result.result()
        return found.status, found.result.error_code, found.result.error_string


class MoveGroup:
    """A client that sends trajectories as MoveIt's time parameterisation makes them."""

    def __init__(self, ros):
        self.ros, self.node = ros, ros.create_node("move_group")
        self.positions, self.speeds, self.phases = {}, {}, []
        self.node.create_subscription(JointState, "joint_states", self._see, STREAM)
        self.node.create_subscription(DiagnosticStatus, "task/phase", self._hear, LATCHED)
        self.call = Caller(ros, self.node)
        self.handles = {arm: ControllerHandle(self.node, arm) for arm in ARMS}
        wait_until(lambda: self.phases and self.positions, self.spin)

    def spin(self):
        """Take the messages received."""
        self.ros.spin_once(self.node, timeout_sec=0.02)

    def _see(self, message):
        self.positions = dict(zip(message.name, message.position, strict=True))
        self.speeds = dict(zip(message.name, message.velocity, strict=True))

    def _hear(self, message):
        self.phases.append({pair.key: pair.value for pair in message.values})

    def of(self, arm):
        """Return the present positions of an arm."""
        return np.array([self.positions[joint] for joint in ARMS[arm]])

    def plan(self, arm, way, seconds=1.0):
        """Return a trajectory from here, every 0.1 s with velocities and accelerations."""
        start, points = self.of(arm), []
        for time in np.linspace(0.0, seconds, 11):
            u = time / seconds
            share = np.polynomial.Polynomial([0.0, 0.0, 0.0, 10.0, -15.0, 6.0])
            q, qd, qdd = (share.deriv(k)(u) * way / seconds**k for k in range(3))
            sec, nanosec = divmod(round(1e9 * time), 10**9)
            points.append(
                JointTrajectoryPoint(
                    positions=(start + q).tolist(),
                    velocities=qd.tolist(),
                    accelerations=qdd.tolist(),
                    time_from_start=Duration(sec=sec, nanosec=nanosec),
                )
            )
        found = JointTrajectory(joint_names=ARMS[arm], points=points)
        found.header.frame_id = "world"
        return found


@pytest.mark.slow
def test_one_arm_by_a_trajectory_then_a_lift_with_both(ros, start_node, tmp_path):
    """Succeeded, cancelled and refused goals; the task goes on when the operator says so."""
    file = tmp_path / "cell.yaml"
    file.write_text(SCENARIO.text(), encoding="utf-8")
    for name in ("simulator", "controller"):
        start_node(name, scenario=str(file), progress=False, environment=PATHS)
    group = MoveGroup(ros)
    left, right, spin = group.handles["left"], group.handles["right"], group.spin
    home = {arm: group.of(arm) for arm in ARMS}

    left.send(group.plan("left", WAY), spin)
    assert left.wait(spin) == (GoalStatus.STATUS_SUCCEEDED, 0, "")
    np.testing.assert_allclose(group.of("left") - home["left"], WAY, atol=5e-3)
    np.testing.assert_allclose(group.of("right"), home["right"], atol=2e-3)

    right.send(group.plan("right", WAY, seconds=60.0), spin)
    wait_until(lambda: np.abs(group.of("right") - home["right"]).max() > 0.005, spin)
    right.cancel(spin)
    assert right.wait(spin)[0] == GoalStatus.STATUS_CANCELED
    wait_until(lambda: max(abs(group.speeds[j]) for j in ARMS["right"]) < 1e-4, spin)
    assert np.abs(group.of("right") - home["right"]).max() < 0.1

    wrong = group.plan("left", WAY)
    wrong.joint_names = [*ARMS["left"][:6], "finger"]
    left.send(wrong, spin)
    status, code, words = left.wait(spin)
    assert (status, code) == (
        GoalStatus.STATUS_ABORTED,
        FollowJointTrajectory.Result.INVALID_JOINTS,
    )
    assert "joint 'finger' is named" in words

    for arm, handle in group.handles.items():
        handle.send(group.plan(arm, home[arm] - group.of(arm)), spin)
    for handle in group.handles.values():
        assert handle.wait(spin)[1] == FollowJointTrajectory.Result.SUCCESSFUL
    assert group.call(Trigger, "controller/task/next").success
    wait_until(lambda: group.phases[-1]["task"] in ("done", "failed"), spin)
    assert group.phases[-1]["task"] == "done", group.phases[-1]
    assert "lift" in [phase["phase"] for phase in group.phases]
    group.node.destroy_node()
