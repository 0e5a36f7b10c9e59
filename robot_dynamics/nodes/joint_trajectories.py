# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Trajectories of free arms from a topic and from actions, followed in a phase of a task.

The action is `control_msgs/action/FollowJointTrajectory`, where `control_msgs` is installed.
"""

from __future__ import annotations

import importlib
import struct
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from typing import Any

import numpy as np
from rclpy.node import Node
from trajectory_msgs.msg import JointTrajectory as TrajectoryMessage

from robot_dynamics.app.recordings import topic_names as topics
from robot_dynamics.arrays import Array
from robot_dynamics.control.abilities import RunsTask, TaskError
from robot_dynamics.control.clock import SECOND
from robot_dynamics.control.control_loop import ControlLoop
from robot_dynamics.control.task.joint_trajectory import (
    END_S,
    END_TOLERANCE,
    MOST_POINTS,
    Code,
    JointGoal,
    JointTrajectory,
    JointTrajectoryError,
)
from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.nodes.diagnostics import WARN, SentenceLog
from robot_dynamics.nodes.serialized import CdrReader
from robot_dynamics.nodes.services import NextCycle
from robot_dynamics.nodes.topics import STREAM, Inbox

LARGEST_BYTES = MOST_POINTS * 1000  # of points of 14 joints with all their fields: 480
_FEEDBACK_S = 0.05  # time between messages of feedback
_RATES = ("velocities", "accelerations")


def read_joint_trajectory(text: bytes) -> JointTrajectory:
    """Return the trajectory of a serialized message; efforts are not used.

    It is read field by field, as `conversions.read_trajectory`.

    Raises:
        JointTrajectoryError: If it is refused.
    """

    def doubles() -> tuple[float, ...]:
        count = cdr.count()
        return cdr.doubles(count) if count else ()

    try:
        cdr = CdrReader(text)
        cdr.integer(), cdr.count(), cdr.string()  # stamp and frame
        joints = [cdr.string() for _ in range(cdr.count())]
        points = []
        for _ in range(cdr.count()):
            fields = [doubles() for _ in range(4)]
            points.append((*fields[:3], cdr.integer() + cdr.count() / SECOND))
    except (struct.error, UnicodeDecodeError) as error:
        raise JointTrajectoryError(
            f"the message of {len(text)} bytes cannot be read ({error}); expected a complete "
            "JointTrajectory."
        ) from error
    return _trajectory(joints, points)


def trajectory_of(message: TrajectoryMessage) -> JointTrajectory:
    """Return the trajectory of a message.

    Raises:
        JointTrajectoryError: If it is refused.
    """
    if len(message.points) > MOST_POINTS:  # before reading them, which takes time
        raise JointTrajectoryError(f"{len(message.points)} points; expected 1 to {MOST_POINTS}.")
    points = [
        (
            tuple(point.positions),
            tuple(point.velocities),
            tuple(point.accelerations),
            point.time_from_start.sec + point.time_from_start.nanosec / SECOND,
        )
        for point in message.points
    ]
    return _trajectory(message.joint_names, points)


def _trajectory(joints: Sequence[str], points: Sequence[tuple[Any, ...]]) -> JointTrajectory:
    positions, *rates, times = zip(*points, strict=True) if points else ((), (), (), ())
    _require_sizes("positions", positions, (len(joints),))
    found: dict[str, Any] = {}
    for what, values in zip(_RATES, rates, strict=True):
        if any(values):
            _require_sizes(what, values, (len(joints),))
            found[what] = values
    return JointTrajectory(joints, times, positions, **found)


def _require_sizes(what: str, values: Sequence[Sequence[float]], expected: tuple[int]) -> None:
    for point, one in enumerate(values):
        if len(one) not in expected:
            raise JointTrajectoryError(
                f"point {point} has {len(one)} {what}; expected {expected[0]}, one for each joint"
                + (", or none in any point." if what in _RATES else ".")
            )


def parts_of_arms(
    trajectory: JointTrajectory, arms: Mapping[str, Sequence[str]]
) -> dict[str, JointTrajectory]:
    """Return the trajectory of each arm that a trajectory names, by the arm's name.

    Args:
        trajectory: A trajectory of all joints of one arm or more, in any order.
        arms: Joints by arm.

    Raises:
        JointTrajectoryError: If a joint is unknown, doubled or missing.
    """
    names = {name: i for i, name in enumerate(trajectory.joints)}
    if len(names) < len(trajectory.joints):
        wrong = next(name for i, name in enumerate(trajectory.joints) if names[name] != i)
        raise JointTrajectoryError(
            f"joint {wrong!r} occurs twice; expected it once.", Code.INVALID_JOINTS
        )
    known = {joint for joints in arms.values() for joint in joints}
    wrong = next((name for name in names if name not in known), "")
    if wrong or not names:
        raise JointTrajectoryError(
            f"joint {wrong!r} is named; expected joints of {', '.join(arms)} alone.",
            Code.INVALID_JOINTS,
        )
    found = {}
    for arm, joints in arms.items():
        missing = [joint for joint in joints if joint not in names]
        if len(missing) == len(joints):
            continue
        if missing:
            raise JointTrajectoryError(
                f"joint {missing[0]!r} is missing; expected all {len(joints)} joints of {arm}.",
                Code.INVALID_JOINTS,
            )
        found[arm] = trajectory.part(joints).prepare()
    return found


def _task_of(loop: ControlLoop) -> RunsTask:
    """Return the task that runs.

    Raises:
        TaskError: If none does.
    """
    if loop.task is None or not loop.safety.law_runs:
        raise TaskError("trajectory refused: no task runs; expected a start before it.")
    return loop.task


def _arms_of(loop: ControlLoop) -> dict[str, Sequence[str]]:
    return {arm.name: arm.joints for arm in loop.system.arms}


def subscribe_to_joint_trajectories(node: Node, inbox: Inbox, loop: ControlLoop) -> None:
    """Follow the trajectories of a topic; refusals are logged.

    Args:
        node: The node that subscribes.
        inbox: Its subscriptions.
        loop: The control loop.
    """
    log, arms = SentenceLog(node), _arms_of(loop)

    def read(text: bytes) -> dict[str, JointTrajectory] | JointTrajectoryError:
        try:
            return parts_of_arms(read_joint_trajectory(text), arms)
        except JointTrajectoryError as error:
            return error

    def take(parts: dict[str, JointTrajectory] | JointTrajectoryError) -> None:
        try:
            if isinstance(parts, JointTrajectoryError):
                raise parts
            _task_of(loop).follow_joints({arm: JointGoal(part) for arm, part in parts.items()})
        except RobotDynamicsError as error:
            log(WARN, str(error))

    inbox.subscribe(
        TrajectoryMessage,
        topics.JOINT_TRAJECTORY,
        take,
        STREAM,
        awaited=False,
        reader=read,
        largest=LARGEST_BYTES,
        in_thread=not loop.clock.lockstep,
    )


class FollowTrajectoryServer:
    """Serves goals of the action `FollowJointTrajectory` of an arm.

    A goal is accepted whatever it is, and a refused one is aborted with the code and the sentence
    of the refusal. A goal that is cancelled lets the arm come to rest.

    Args:
        arm: Name of the arm.
        loop: Returns the control loop.
        action: The action's type, which makes `Result` and `Feedback`.
        worker: Thread that prepares trajectories, which can take longer than a control period.
    """

    def __init__(
        self, arm: str, loop: Callable[[], ControlLoop], action: Any, worker: Executor
    ) -> None:
        self._arm, self._loop, self._action, self._worker = arm, loop, action, worker

    async def execute(self, handle: Any) -> Any:
        """Follow the goal of a handle; return its result."""
        result = self._action.Result()
        try:
            loop = self._loop()
            prepared = self._worker.submit(self._goal, handle.request, _arms_of(loop))
            while not prepared.done():
                await NextCycle()
            task, goal = _task_of(loop), prepared.result()
            if handle.is_cancel_requested:  # before anything moves
                goal.cancel("cancelled on request.")
            else:
                task.follow_joints({self._arm: goal})
        except RobotDynamicsError as error:
            code = error.code if isinstance(error, JointTrajectoryError) else Code.INVALID_GOAL
            result.error_code, result.error_string = int(code), str(error)
            handle.abort()
            return result
        due = 0.0
        while not goal.ended:
            await NextCycle()
            if handle.is_cancel_requested:
                goal.cancel("cancelled on request.")
            elif not goal.ended and not (loop.safety.law_runs and task.follows(goal)):
                goal.cancel("control or the phase of the task has ended.")
            elif time.monotonic() > due and goal.deviation.size:
                due = time.monotonic() + _FEEDBACK_S
                handle.publish_feedback(self._feedback(goal))
        result.error_string = goal.sentence
        if goal.code is Code.SUCCESSFUL:
            handle.succeed()
        elif goal.cancelled and handle.is_cancel_requested:
            handle.canceled()
        else:
            handle.abort()
        result.error_code = int(Code.INVALID_GOAL if goal.code is None else goal.code)
        return result

    def _goal(self, request: Any, arms: Mapping[str, Sequence[str]]) -> JointGoal:
        parts = parts_of_arms(trajectory_of(request.trajectory), {self._arm: arms[self._arm]})
        trajectory = parts[self._arm]
        end_s = request.goal_time_tolerance
        seconds = end_s.sec + end_s.nanosec / SECOND
        return JointGoal(
            trajectory,
            _tolerances(request.path_tolerance, trajectory.joints, np.inf),
            _tolerances(request.goal_tolerance, trajectory.joints, END_TOLERANCE),
            seconds if seconds > 0.0 else END_S,
        )

    def _feedback(self, goal: JointGoal) -> Any:
        feedback = self._action.Feedback()
        feedback.joint_names = list(goal.trajectory.joints)
        feedback.desired.positions = goal.desired[0].tolist()
        feedback.desired.velocities = goal.desired[1].tolist()
        feedback.actual.positions = (goal.desired[0] + goal.deviation).tolist()
        feedback.error.positions = (-goal.deviation).tolist()
        return feedback


def _tolerances(given: Sequence[Any], joints: Sequence[str], default: float) -> Array:
    """Return the tolerances (n,) of positions in an action's goal: 0 is the default, -1 none.

    Raises:
        JointTrajectoryError: If a joint is unknown, or a tolerance is not finite.
    """
    found = np.full(len(joints), default)
    for one in given:
        if one.name not in joints:
            raise JointTrajectoryError(
                f"tolerance of joint {one.name!r}; expected joints of the trajectory.",
                Code.INVALID_JOINTS,
            )
        if not np.isfinite(one.position):
            raise JointTrajectoryError(
                f"tolerance of joint {one.name!r} is {one.position}; expected a finite number."
            )
        if one.position:
            found[joints.index(one.name)] = one.position if one.position > 0.0 else np.inf
    return found


def serve_joint_trajectories(
    node: Node, arms: Sequence[str], loop: Callable[[], ControlLoop]
) -> list[Any]:
    """Return servers of the action for each arm; none where `control_msgs` is not installed.

    Args:
        node: The node.
        arms: Names of the arms.
        loop: Returns the control loop.
    """
    try:
        action = importlib.import_module("control_msgs.action").FollowJointTrajectory
    except ImportError:
        return []
    from rclpy.action import ActionServer, CancelResponse
    from rclpy.callback_groups import ReentrantCallbackGroup

    worker = ThreadPoolExecutor(1)
    return [
        ActionServer(
            node,
            action,
            topics.follow_joint_trajectory(arm),
            FollowTrajectoryServer(arm, loop, action, worker).execute,
            cancel_callback=lambda handle: CancelResponse.ACCEPT,
            callback_group=ReentrantCallbackGroup(),
        )
        for arm in arms
    ]
