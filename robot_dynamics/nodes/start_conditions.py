# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What must be so around a controller before it may start."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from rclpy.node import Node

from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.nodes.check_thread import NotYetError
from robot_dynamics.nodes.command_topics import CommandPublisherMonitor
from robot_dynamics.nodes.control_loop import ControlLoop
from robot_dynamics.nodes.drives import DriveProperties
from robot_dynamics.nodes.heartbeat import GuardLink

_FRESH_S = 0.25  # within which a state comes that is newer than the wish to start


class StartConditions:
    """Guard, other commanders, drives, and the rates of samples.

    Args:
        node: The controller's node.
        loop: The controller.
        link: Its line to a guard, if there is to be one.
        publisher_monitor: Who else commands.
        facts: What the arms' drives do.
        joint_state_topics: Where joint states come from.
        heard_at: Returns when joint states came last, by the steady clock [s].
        in_lockstep: Whether simulated time waits for commands.
    """

    def __init__(
        self,
        node: Node,
        loop: ControlLoop,
        link: GuardLink | None,
        publisher_monitor: CommandPublisherMonitor,
        facts: DriveProperties,
        joint_state_topics: Sequence[str],
        heard_at: Callable[[], float],
        *,
        in_lockstep: bool,
    ) -> None:
        self._node, self._loop, self._link = node, loop, link
        self._publisher_monitor, self._facts = publisher_monitor, facts
        self._topics, self._heard_at = tuple(joint_state_topics), heard_at
        self._in_lockstep = in_lockstep

    def about_guard(self) -> str:
        """Return what stands against a start about the guard; empty if nothing does."""
        try:
            if self._link is not None:
                self._link.require_guard()
        except RobotDynamicsError as error:
            return str(error)
        return ""

    def require(self) -> bool:
        """Refuse a start where it is known that something is wrong.

        Returns:
            Whether everything is known.

        Raises:
            GuardError: If the guard has the arms, or is needed and missing.
            OtherPublisherError: If somebody else commands them.
            SafetyError: If nobody has said what their drives do.
            NotYetError: If samples come too slowly.
        """
        if self._link is not None:
            self._link.require_guard()
        known = self._publisher_monitor.require_none()
        if self._in_lockstep:
            return True  # a simulator's time waits for everything
        known &= self._facts.require_known(self._node, self._topics)
        slow = self._loop.arms.rate_warning
        if slow:
            raise NotYetError(f"start refused: {slow}")
        return known and self._loop.arms.rates_known

    def require_known(self, asked_at: float) -> None:
        """Refuse a start until everything is known, from states that came after a time [s].

        Raises:
            RobotDynamicsError: As `require` does.
            NotYetError: If something is not known yet.
        """
        if not self.require():
            raise NotYetError(
                "start refused: it is not known yet which nodes there are, or how often arms are "
                "sampled."
            )
        if self._heard_at() < asked_at and time.monotonic() < asked_at + _FRESH_S:
            raise NotYetError("start refused: no joint states have come since it was asked for.")
