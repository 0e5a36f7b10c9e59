# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Topics and services of a task: its phase, its grippers, and requests of an operator.

A gripper has two topics of its own, `std_msgs/Float64MultiArray` with one number, which carry in
`layout.data_offset` the control tick that they answer or state, as commands of torques do. A
command is 1 for closed and 0 for open, and is repeated in every control period: a lost message, or
one that is sent again, changes nothing. Without messages a gripper stays as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
from diagnostic_msgs.msg import DiagnosticStatus, KeyValue
from rclpy.node import Node
from std_msgs.msg import Float64MultiArray

from robot_dynamics.app.recordings import topic_names as topics
from robot_dynamics.arrays import Array
from robot_dynamics.control.abilities import RunsTask, TaskError
from robot_dynamics.control.control_loop import ControlLoop
from robot_dynamics.nodes.conversions import CommandWriter, answers, command_reader
from robot_dynamics.nodes.services import serve
from robot_dynamics.nodes.topics import LATCHED, STREAM, Inbox

_LAST_TICK = "last tick"
_CLOSED = np.array([[0.0], [1.0]])  # command, and state, of open and closed grippers


def flag_of(values: Array) -> bool | None:
    """Return the state that the numbers of a message mean; None if they mean none."""
    if values.shape != (1,) or not 0.0 <= values[0] <= 1.0:
        return None
    return bool(values[0] > 0.5)


class GripperCommands:
    """Commands to the grippers of the arms.

    Args:
        node: The node that commands.
        arms: Names of the arms with grippers.
    """

    def __init__(self, node: Node, arms: Sequence[str]) -> None:
        self._node, self._writer = node, CommandWriter()
        self._publishers = [
            node.create_publisher(Float64MultiArray, topics.gripper_commands(arm), STREAM)
            for arm in arms
        ]

    def send(self, tick: int, *, closed: bool) -> None:
        """Command all grippers to be closed, or open, in answer to a tick."""
        for publisher in self._publishers:
            publisher.publish(self._writer.serialized(tick, _CLOSED[int(closed)]))

    def destroy(self) -> None:
        """Destroy the publishers."""
        for publisher in self._publishers:
            self._node.destroy_publisher(publisher)


class GripperRelay:
    """Repeats the last commands to the grippers while a guard is in charge.

    Args:
        node: The node of the guard.
        inbox: Its subscriptions.
        arms: Names of the arms with grippers.
    """

    def __init__(self, node: Node, inbox: Inbox, arms: Sequence[str]) -> None:
        self._commands = GripperCommands(node, arms)
        self._closed: bool | None = None
        for arm in arms:
            inbox.subscribe(
                Float64MultiArray,
                topics.gripper_commands(arm),
                self._take,
                STREAM,
                awaited=False,
                reader=command_reader(),
            )

    def _take(self, command: tuple[int, Array]) -> None:
        closed = flag_of(command[1])
        self._closed = self._closed if closed is None else closed

    def send(self, tick: int) -> None:
        """Repeat the last command in answer to a tick, if any has come."""
        if self._closed is not None:
            self._commands.send(tick, closed=self._closed)


class SimulatedGrippers:
    """Grippers of a simulated plant.

    Args:
        node: The node that simulates.
        inbox: Its subscriptions.
        arms: Names of the arms with grippers.
        grip: Closes or opens a gripper; returns whether it holds the object. See
            `ScenePlant.grip`.
    """

    def __init__(
        self, node: Node, inbox: Inbox, arms: Sequence[str], grip: Callable[..., bool]
    ) -> None:
        self._grip, self._writer = grip, CommandWriter()
        self._publishers = {
            arm: node.create_publisher(Float64MultiArray, topics.gripper_state(arm), STREAM)
            for arm in arms
        }
        self.reset()
        for arm in arms:
            inbox.subscribe(
                Float64MultiArray,
                topics.gripper_commands(arm),
                partial(self._take, arm),
                STREAM,
                awaited=False,
                reader=command_reader(),
            )

    def reset(self) -> None:
        """Begin a new run, with open grippers."""
        self._wanted = dict.fromkeys(self._publishers, False)
        self._closed, self._holds = dict(self._wanted), dict(self._wanted)
        self._numbers = dict.fromkeys(self._publishers, -1)

    def _take(self, arm: str, command: tuple[int, Array]) -> None:
        number, values = command
        closed = flag_of(values)
        if closed is not None:
            self._numbers[arm], self._wanted[arm] = number, closed

    def are_commanded(self, tick: int) -> bool:
        """Return whether the commands of a tick have arrived."""
        return all(answers(number, tick) for number in self._numbers.values())

    def move(self) -> None:
        """Close or open the grippers as commanded, before a step of the plant."""
        for arm, closed in self._wanted.items():
            if closed != self._closed[arm]:
                self._closed[arm], self._holds[arm] = closed, self._grip(arm, closed=closed)

    def publish(self, tick: int) -> None:
        """Publish which grippers hold the object, at a tick."""
        for arm, publisher in self._publishers.items():
            publisher.publish(self._writer.serialized(tick, _CLOSED[int(self._holds[arm])]))


class TaskReport:
    """Publishes the phase of a task whenever it changes, on a latched topic.

    Args:
        node: The node that publishes.
        loop: The control loop, whose law runs a task.
        scenario: Name of the scenario.
    """

    def __init__(self, node: Node, loop: ControlLoop, scenario: str) -> None:
        self._node, self._loop, self._scenario = node, loop, scenario
        self._publisher = node.create_publisher(DiagnosticStatus, topics.TASK_PHASE, LATCHED)
        self._last: tuple[object, ...] = ()

    def update(self, tick: int, last_tick: int | None) -> None:
        """Publish if anything has changed.

        Args:
            tick: The control tick.
            last_tick: Last tick of the run; None if it is not over.
        """
        loop = self._loop
        task = loop.task
        if task is None or loop.began is None:
            return
        now = task.phase, task.state, loop.safety.law_runs, task.failure, last_tick
        if now == self._last:
            return
        self._last = now
        found = task_figures(loop) | {"tick": tick}
        if last_tick is not None:
            found[_LAST_TICK] = last_tick
        state, reason = found["task"], str(found.get("task failure", ""))
        level = DiagnosticStatus.OK if state in ("running", "done") else DiagnosticStatus.WARN
        if reason:
            level = DiagnosticStatus.ERROR
        message = f"{found['phase']}: {state}"
        self._publisher.publish(
            DiagnosticStatus(
                level=level,
                name="task",
                message=f"{message}, {reason}" if reason else message,
                hardware_id=self._scenario,
                values=[KeyValue(key=key, value=str(value)) for key, value in found.items()],
            )
        )

    def destroy(self) -> None:
        """Destroy the publisher."""
        self._node.destroy_publisher(self._publisher)


def task_figures(loop: ControlLoop) -> dict[str, object]:
    """Return phase and state of a task, for diagnostics; empty before its first start."""
    task = loop.task
    if task is None or loop.began is None:
        return {}
    state, failure = str(task.state), task.failure
    if loop.safety.faults or not loop.safety.law_runs:
        state, failure = "stopped", failure or str(loop.safety.cause or "")
    found: dict[str, object] = {
        "task": state,
        "phase": task.phases[task.phase],
        "phase index": task.phase,
    }
    return found | ({"task failure": failure} if failure else {})


def subscribe_to_end(inbox: Inbox, take: Callable[[int | None], None]) -> None:
    """Subscribe to the end of a run of a task.

    Args:
        inbox: Subscriptions of the node.
        take: Called with the last tick of the run; with None if it is not over.
    """

    def read(message: DiagnosticStatus) -> None:
        found = {pair.key: pair.value for pair in message.values}.get(_LAST_TICK, "")
        take(int(found) if found.isdecimal() else None)

    inbox.subscribe(DiagnosticStatus, topics.TASK_PHASE, read, LATCHED, awaited=False)


def serve_task(node: Node, loop: Callable[[], ControlLoop]) -> None:
    """Offer the services of a task: pause, resume, abort, next.

    Args:
        node: The node.
        loop: Returns the control loop.
    """

    def ask(name: str, request: Callable[[RunsTask], Callable[[], str]]) -> str:
        configured = loop()
        if configured.task is None:
            raise TaskError(f"{name} refused: the scenario has no task; expected one with `task`.")
        if not configured.safety.law_runs:
            raise TaskError(f"{name} refused: control does not run; expected a start before it.")
        return request(configured.task)()

    for name, request in (
        ("pause", lambda task: task.pause),
        ("resume", lambda task: task.go_on),
        ("abort", lambda task: task.abort),
        ("next", lambda task: task.next),
    ):
        serve(node, f"~/task/{name}", partial(ask, name, request))
