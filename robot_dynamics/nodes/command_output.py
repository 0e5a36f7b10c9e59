# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The output of a controller: torque commands, and heartbeats that claim the arms."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import partial
from typing import Any

from rclpy.node import Node

from robot_dynamics.arrays import Array
from robot_dynamics.control.abilities import CommandsPositions
from robot_dynamics.control.control_loop import ControlLoop, Outcome
from robot_dynamics.nodes.command_topics import CommandPublisherMonitor, command_topics
from robot_dynamics.nodes.drives import (
    DriveGravityCompensation,
    DriveProperties,
    believed_positions,
)
from robot_dynamics.nodes.heartbeat import GuardLink
from robot_dynamics.nodes.task_topics import GripperCommands
from robot_dynamics.nodes.timeouts import CommandTimeout
from robot_dynamics.nodes.topics import Inbox


class CommandOutput:
    """Sends commands while no other process commands the arms.

    Attributes:
        topics: Publishers of the commands.
        publisher_monitor: Finds other publishers of commands.
        timeout: Ends control when commands are late.
        link: Heartbeats to the guard; None without one.

    Args:
        node: The controller's node.
        inbox: Its subscriptions, still empty: reports of the guard are read before all others.
        loop: The control loop.
        drives: Properties of the drives.
        values: The node's parameters.
    """

    def __init__(
        self,
        node: Node,
        inbox: Inbox,
        loop: ControlLoop,
        drives: DriveProperties,
        values: Mapping[str, Any],
    ) -> None:
        self._loop = loop
        lockstep = loop.clock.lockstep
        self._gravity = DriveGravityCompensation(
            loop.system,
            drives.compensate_gravity,
            partial(believed_positions, loop.safety, loop.joint_states),
        )
        # In lockstep no time passes without commands.
        loop.safety.fallback.note_drives(self._gravity.added, () if lockstep else drives.braking)
        self.topics = command_topics(
            node,
            loop.system,
            self._gravity.to_commands,
            values["command_interfaces"],
            loop.clock,
            positions=bool(self._set_points),
        )
        if isinstance(loop.law, CommandsPositions):
            loop.law.torques_used = self.topics.uses_torques
        limit = math.inf if lockstep else max(values["command_timeout"], 2.0 * loop.clock.period)
        self.timeout = CommandTimeout(loop, drives.without_commands, limit)
        self.publisher_monitor = CommandPublisherMonitor(
            node, [arm.name for arm in loop.system.arms]
        )
        task = loop.task
        self._grippers = None if task is None else task.grippers
        self._gripper_commands = GripperCommands(
            node, () if self._grippers is None else self._grippers.arms
        )
        guard = drives.guard(values["guard"])
        limit = values["silence_limit" if lockstep else "heartbeat_timeout"]
        self.link = (
            None
            if guard == "none"
            else GuardLink(node, inbox, loop, limit, required=guard == "required")
        )

    def send(self, tick: int, outcome: Outcome) -> None:
        """Send the torques of a control cycle, unless another process commands the arms."""
        if outcome.torque is None:
            return
        link, loop = self.link, self._loop
        may = link is None or link.may_command(loop.clock.now())
        if may and self._grippers is not None:
            self._gripper_commands.send(tick, closed=self._grippers.closed)
        points = self._set_points if loop.safety.law_runs else {}
        if not (may and self.topics.send(tick, outcome.torque, outcome.released, points)):
            self.depart_from_acting()
            return
        self.timeout.command_sent()
        if link is not None:
            link.beat_with_command()

    @property
    def _set_points(self) -> dict[str, Array]:
        """Positions and velocities (na,) for drives that take them; empty without."""
        law = self._loop.law
        if not isinstance(law, CommandsPositions):
            return {}
        points = {"position": law.set_points, "velocity": law.set_point_rates}
        return {field: numbers for field, numbers in points.items() if numbers is not None}

    def depart_from_acting(self) -> None:
        """Limit the torque rate from the last command of any node, which the drives hold."""
        self._loop.safety.depart_from(self._gravity.to_torques(self.topics.last()))

    def beat_when_idle(self) -> None:
        """Send a heartbeat if none was sent with a command lately."""
        if self.link is not None:
            self.link.beat_when_idle(self._loop.clock.now())

    def close(self, seconds: float) -> None:
        """End commands and heartbeats; wait for delivery, up to a timeout for each topic [s]."""
        if self.link is None or self.link.may_command(self._loop.clock.now()):
            self.topics.end(self._loop.clock.tick, self._loop.safety.released)
        if self.link is not None:
            self.link.say_goodbye()
        self.topics.wait_for_delivery(seconds)
        if self.link is not None:
            self.link.wait_for_delivery(seconds)

    def destroy(self) -> None:
        """Destroy publishers and subscriptions."""
        self.publisher_monitor.destroy()
        if self.link is not None:
            self.link.destroy()
        self._gripper_commands.destroy()
        self.topics.destroy()
