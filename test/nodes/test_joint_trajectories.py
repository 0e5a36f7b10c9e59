# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Trajectories of joints as messages, and the goals of the action by stand-ins of its types.

`control_msgs` cannot be installed beside the wheels: no client of the action runs here.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="ROS 2 is not installed")

from builtin_interfaces.msg import Duration
from rclpy.serialization import serialize_message
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint
from waiting import wait_until

from robot_dynamics.control.abilities import TaskError
from robot_dynamics.control.task.joint_trajectory import Code, JointTrajectoryError
from robot_dynamics.nodes.joint_trajectories import (
    FollowTrajectoryServer,
    parts_of_arms,
    read_joint_trajectory,
    trajectory_of,
)

UNITS = ("rad", "m")
ARMS = {"left": ("l1", "l2"), "right": ("r1", "r2")}


def message(joints=("l2", "l1"), points=((1.0, (0.1, 0.2)), (2.5, (0.3, 0.4))), **fields):
    """Return a message; `fields` are rates at every point, or a list of them."""
    made = []
    for i, (time, positions) in enumerate(points):
        sec, nanosec = divmod(round(time * 1e9), 10**9)
        rates = {name: list(values[i]) for name, values in fields.items()}
        start = Duration(sec=sec, nanosec=nanosec)
        made.append(
            JointTrajectoryPoint(positions=list(positions), time_from_start=start, **rates)
        )
    found = JointTrajectory(joint_names=list(joints), points=made)
    found.header.frame_id = "base"
    return found


def test_messages_are_read_field_by_field_as_by_rclpy():
    """With all fields of the points, or some of them."""
    rates = {"velocities": [(1.0, 2.0), (0.0, 0.0)], "accelerations": [(3.0, 4.0), (5.0, 6.0)]}
    for fields in ({}, rates, rates | {"effort": [(7.0, 8.0), ()]}):
        sent = message(**fields)
        for found in (read_joint_trajectory(bytes(serialize_message(sent))), trajectory_of(sent)):
            assert found.joints == ("l2", "l1")
            assert found.times.tolist() == [1.0, 2.5]
            assert found._positions.tolist() == [[0.1, 0.2], [0.3, 0.4]]
            assert found._accelerations.any() == bool(fields)
            assert (found._velocities is None) == (not fields)


@pytest.mark.parametrize(
    ("sent", "words"),
    [
        (message(points=()), "0 points"),
        (message(points=((1.0, (0.1,)),)), "point 0 has 1 positions; expected 2"),
        (message(velocities=[(0.0, 0.0), ()]), "point 1 has 0 velocities; expected 2, one for"),
        (message(points=((1.0, (np.nan, 0.0)),)), "position of joint 'l2' at point 0 is nan"),
    ],
)
def test_wrong_messages_are_refused(sent, words):
    """In one way by both readers."""
    for read, given in (
        (trajectory_of, sent),
        (read_joint_trajectory, bytes(serialize_message(sent))),
    ):
        with pytest.raises(JointTrajectoryError) as caught:
            read(given)
        assert words in str(caught.value)


def test_too_many_points_are_refused_unread():
    """Of a goal, whose size no limit of bytes bounds."""
    sent = SimpleNamespace(joint_names=["l1"], points=[None] * 2001)
    with pytest.raises(JointTrajectoryError, match="2001 points; expected 1 to 2000"):
        trajectory_of(sent)


def test_messages_that_are_cut_are_refused():
    """At any byte, with one sentence; and so are other encodings, as with other alignments."""
    text = bytes(serialize_message(message()))
    for header in (b"", b"\x00\x07"):
        with pytest.raises(JointTrajectoryError, match="not 00 01 of little-endian CDR"):
            read_joint_trajectory(header + text[2:] if header else b"")
    for end in range(4, 100, 5):
        with pytest.raises(JointTrajectoryError, match="cannot be read"):
            read_joint_trajectory(text[:end])


def test_arms_are_found_by_the_names_of_their_joints():
    """In any order, one arm or both."""
    (left,) = parts_of_arms(trajectory_of(message()), ARMS).items()
    assert left[0] == "left"
    assert left[1].joints == ("l1", "l2")
    assert left[1]._positions.tolist() == [[0.2, 0.1], [0.4, 0.3]]
    both = message(("r1", "l1", "l2", "r2"), ((1.0, (1.0, 2.0, 3.0, 4.0)),))
    found = parts_of_arms(trajectory_of(both), ARMS)
    assert {arm: part._positions.tolist() for arm, part in found.items()} == {
        "left": [[2.0, 3.0]],
        "right": [[1.0, 4.0]],
    }


@pytest.mark.parametrize(
    ("joints", "words"),
    [
        (("l1", "l1"), "'l1' occurs twice"),
        (("l1", "finger"), "'finger' is named; expected joints of left, right alone"),
        (("l1", "r1"), "'l2' is missing; expected all 2 joints of left"),
    ],
)
def test_wrong_joints_are_refused(joints, words):
    """With the code of the action."""
    with pytest.raises(JointTrajectoryError, match=words) as caught:
        parts_of_arms(trajectory_of(message(joints)), ARMS)
    assert caught.value.code is Code.INVALID_JOINTS


# -- goals of the action, with stand-ins ------------------------------------------------------


class Action:
    """Stand-in of `control_msgs/action/FollowJointTrajectory`."""

    Result = SimpleNamespace

    @staticmethod
    def Feedback():
        parts = {name: SimpleNamespace() for name in ("desired", "actual", "error")}
        return SimpleNamespace(joint_names=[], **parts)


class Handle:
    """Stand-in of a goal's handle."""

    def __init__(self, trajectory, path=(), goal=(), seconds=0):
        self.request = SimpleNamespace(
            trajectory=trajectory,
            path_tolerance=[SimpleNamespace(name=name, position=x) for name, x in path],
            goal_tolerance=[SimpleNamespace(name=name, position=x) for name, x in goal],
            goal_time_tolerance=Duration(sec=seconds),
        )
        self.is_cancel_requested, self.status, self.heard = False, "executing", []
        self.publish_feedback = self.heard.append

    def _end(self, status):
        assert self.status == "executing"
        self.status = status

    def succeed(self):
        self._end("succeeded")

    def abort(self):
        self._end("aborted")

    def canceled(self):
        self._end("canceled")


class Task:
    """Stand-in of a task in a phase that follows trajectories."""

    def __init__(self):
        self.goals, self.refusal = {}, None

    def follow_joints(self, goals):
        if self.refusal is not None:
            raise self.refusal
        self.goals |= goals

    def follows(self, goal):
        return goal in self.goals.values()


class Bench:
    """A server of the left arm's action, and a goal that it executes."""

    def __init__(self, handle, *, runs=True, task=None):
        self.handle, self.task = handle, task or Task()
        arms = [SimpleNamespace(name=name, joints=joints) for name, joints in ARMS.items()]
        self.safety = SimpleNamespace(law_runs=runs)
        system = SimpleNamespace(arms=arms)
        loop = SimpleNamespace(task=self.task, safety=self.safety, system=system)
        self.worker = ThreadPoolExecutor(1)
        server = FollowTrajectoryServer("left", lambda: loop, Action, self.worker)
        self.course, self.result = server.execute(handle), None
        wait_until(lambda: self.task.goals or self.result, self.cycle)

    def cycle(self):
        """Run a cycle of the node's loop."""
        self.worker.submit(int).result()  # no goal is being prepared
        try:
            self.course.send(None)
        except StopIteration as end:
            self.result = end.value

    @property
    def goal(self):
        return self.task.goals["left"]


def test_a_goal_that_is_reached():
    """With feedback on the way, and tolerances: 0 is the default, below 0 there is none."""
    bench = Bench(Handle(message(), path=[("l1", 0.1)], goal=[("l1", 0.0), ("l2", -1.0)]))
    assert bench.goal.path.tolist() == [0.1, np.inf]
    assert bench.goal.end.tolist() == [0.05, np.inf]
    assert bench.goal.end_s == 5.0
    bench.cycle()
    assert not bench.handle.heard  # nothing is known yet
    bench.goal.judge(
        -1.0, (np.array([1.0, 2.0]), np.zeros(2), np.zeros(2)), np.array([1.0, 2.5]), UNITS
    )
    bench.cycle()
    (feedback,) = bench.handle.heard
    assert feedback.joint_names == ["l1", "l2"]
    assert feedback.actual.positions == [1.0, 2.5]
    assert feedback.error.positions == [0.0, -0.5]
    bench.goal.code = Code.SUCCESSFUL
    bench.cycle()
    assert (bench.handle.status, bench.result.error_code) == ("succeeded", 0)


def test_a_goal_that_violates_a_tolerance():
    """Is aborted, with its code and joint."""
    bench = Bench(Handle(message(), goal=[("l2", 0.2)], seconds=2))
    assert bench.goal.end_s == 2.0
    bench.goal.judge(2.1, (np.zeros(2), np.zeros(2), np.zeros(2)), np.array([0.0, 0.21]), UNITS)
    bench.cycle()
    assert (bench.handle.status, bench.result.error_code) == ("aborted", -5)
    assert bench.result.error_string.startswith(
        "joint 'l2' deviates by 0.21 m at the end, expected at most 0.2 m"
    )


def test_a_goal_that_is_cancelled_or_replaced():
    """By the client, by another trajectory, or by the end of the phase."""
    bench = Bench(Handle(message()))
    bench.handle.is_cancel_requested = True
    bench.cycle()
    assert bench.goal.cancelled
    assert bench.handle.status == "canceled"
    early = Handle(message())
    early.is_cancel_requested = True  # while the trajectory is prepared
    bench = Bench(early)
    assert early.status == "canceled"
    assert not bench.task.goals
    bench = Bench(Handle(message()))
    bench.goal.cancel("another trajectory replaces it.")
    bench.cycle()
    assert bench.handle.status == "aborted"
    assert bench.result.error_string == "another trajectory replaces it."
    bench = Bench(Handle(message()))
    bench.task.goals.clear()
    bench.cycle()
    assert bench.handle.status == "aborted"
    assert "phase of the task has ended" in bench.result.error_string
    bench = Bench(Handle(message()))
    bench.safety.law_runs = False
    bench.cycle()
    assert bench.handle.status == "aborted"


@pytest.mark.parametrize(
    ("handle", "code", "words"),
    [
        (Handle(message(("r1", "r2"))), -2, "joint 'r1' is named; expected joints of left alone"),
        (Handle(message(points=())), -1, "0 points"),
        (Handle(message(), path=[("r1", 0.1)]), -2, "tolerance of joint 'r1'"),
        (Handle(message(), goal=[("l1", np.nan)]), -1, "tolerance of joint 'l1' is nan"),
    ],
)
def test_goals_that_are_refused(handle, code, words):
    """At once, with code and sentence; no goal reaches the arms."""
    bench = Bench(handle)
    assert (handle.status, bench.result.error_code) == ("aborted", code)
    assert words in bench.result.error_string
    assert not bench.task.goals


def test_goals_outside_of_the_phase_are_refused():
    """And while control does not run."""
    bench = Bench(Handle(message()), runs=False)
    assert bench.result.error_string.startswith("trajectory refused: no task runs")
    task = Task()
    task.refusal = TaskError("trajectory refused: phase 2, grasp follows none; expected another.")
    bench = Bench(Handle(message()), task=task)
    assert (bench.handle.status, bench.result.error_code) == ("aborted", -1)
    assert "phase 2, grasp" in bench.result.error_string
