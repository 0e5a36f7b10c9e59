# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The controller's line to its guard: heartbeats out, reports in."""

from __future__ import annotations

import time

from rclpy.node import Node
from std_msgs.msg import UInt64MultiArray

from robot_dynamics.control.faults import Cause, State
from robot_dynamics.nodes import topics
from robot_dynamics.nodes.control_loop import ControlLoop
from robot_dynamics.nodes.conversions import NumberWriter
from robot_dynamics.nodes.heartbeat import Beat, Custody, GuardError, GuardReport
from robot_dynamics.nodes.inbox import Inbox

_BEAT_S = 0.01  # since the last beat, after which idle work sends one
_OFTEN = 0.1  # part of the timeout after which a command is accompanied by a beat


class GuardLink:
    """Heartbeats of a controller, and what follows from the reports of its guard.

    Args:
        node: The controller's node.
        inbox: Its subscriptions; the reports are to be the first of them.
        loop: The controller.
        timeout: Time without a beat after which the guard takes over [s].
        required: Whether control must not start without a guard.
    """

    def __init__(
        self, node: Node, inbox: Inbox, loop: ControlLoop, timeout: float, *, required: bool
    ) -> None:
        self._node, self._loop, self._required = node, loop, required
        self._custody = Custody(timeout)
        self._timeout = timeout
        self._lost_to = ""
        self._beat_at = 0.0
        self._every = min(_BEAT_S, _OFTEN * timeout)
        self._said: tuple[bool, bool, bool] | None = None
        self._topic = node.create_publisher(UInt64MultiArray, topics.HEARTBEAT, topics.STREAM)
        self._writer = NumberWriter(Beat._fields)
        inbox.subscribe(
            UInt64MultiArray, topics.GUARD, self._on_report, topics.STREAM, awaited=False
        )

    def destroy(self) -> None:
        """Take its topic off the node."""
        self._node.destroy_publisher(self._topic)

    def may_command(self, now: int) -> bool:
        """Return whether torques may be sent; latch a fault if the guard has taken over.

        Args:
            now: The present time of the safety layer.
        """
        custody, present = self._custody, time.monotonic()
        taken = custody.is_taken(present)
        lost_to = custody.lost_to(present)
        if lost_to and not self._lost_to:
            why = f"; it did not run for {custody.slept:.3g} s" if custody.slept else ""
            self._loop.fall_back(
                now,
                Cause.TAKEN_OVER,
                "controller",
                f"{lost_to} has taken over{why}; expected a heartbeat within {self._timeout:g} s.",
            )
        self._lost_to = lost_to
        return not taken

    def beat(self, *, commanding: bool) -> None:
        """Send a heartbeat."""
        self._said = self._state(commanding)
        self._beat_at = time.monotonic()
        self._topic.publish(self._writer.fill(self._custody.next_beat(self._beat_at, *self._said)))

    def accompany(self) -> None:
        """Send a heartbeat with a command, if it says something new or none was sent of late.

        To publish costs a good part of a control period.
        """
        new = self._said != self._state(True)
        if new or time.monotonic() - self._beat_at >= self._every:
            self.beat(commanding=True)

    def _state(self, commanding: bool) -> tuple[bool, bool, bool]:
        """Return whether arms rely on commands, no fault is latched, and the object is held."""
        safety = self._loop.safety
        ready = safety.state not in (State.FALLBACK, State.STOPPED)
        return commanding and safety.in_charge, ready, safety.object_held

    def keep_beating(self, now: int) -> None:
        """Send a heartbeat if none was sent with a command of late."""
        commanding = self.may_command(now)
        if time.monotonic() - self._beat_at > _BEAT_S:
            self.beat(commanding=commanding)

    def require_guard(self) -> None:
        """Refuse a start while the guard has the arms, or without one where it is needed.

        Raises:
            GuardError: If that is so.
        """
        if self._lost_to:
            wanted = "a reset of it" if self._lost_to == "the guard" else "one controller alone"
            raise GuardError(f"start refused: {self._lost_to} is in charge; expected {wanted}.")
        if self._required and not self._custody.guard_is_there(time.monotonic()):
            raise GuardError(f"start refused: {self._missing()}")

    @property
    def warning(self) -> str:
        """A sentence about a guard that is in charge or missing; empty if all is well."""
        if self._lost_to:
            return f"{self._lost_to} is in charge"
        if not self._custody.guard_is_there(time.monotonic()):
            return self._missing()
        return ""

    def _missing(self) -> str:
        report = self._custody.report
        if report is not None and not report.able:
            return "the guard has not heard of every arm, and could not take over."
        return "there is no guard; expected its reports, because nothing else holds the arms up."

    def _on_report(self, message: UInt64MultiArray) -> None:
        report = GuardReport.of(message.data)
        if report is not None:
            self._custody.hear(report, time.monotonic())
