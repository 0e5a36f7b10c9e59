# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The topics of commands: publishers for the arms, and other publishers of torques."""

from __future__ import annotations

import os
import socket
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial

import numpy as np
from diagnostic_msgs.msg import DiagnosticArray
from rclpy.duration import Duration
from rclpy.node import Node
from std_msgs.msg import Float64MultiArray

from robot_dynamics.app.recordings import topic_names as topics
from robot_dynamics.arrays import Array
from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.manipulation.system import GraspSystem
from robot_dynamics.nodes.conversions import CommandWriter, read_command
from robot_dynamics.nodes.topics import NEWEST, STREAM, Inbox

# Key and value in a controller's diagnostics that identify its process.
PROCESS_KEY = "process"
PROCESS = f"{os.getpid()} on {socket.gethostname()}"
# rcl's names of a publisher whose node has not been discovered yet.
UNKNOWN = ("_NODE_NAME_UNKNOWN_", "_NODE_NAMESPACE_UNKNOWN_", "")
_NO_POINTS = np.zeros(0)
DUPLICATE_S = 2.5  # time in which a running node is discovered and publishes its diagnostics


class CommandTopics:
    """Publishers of torque commands, one for each arm, and the last commands of any node.

    A subscription of each topic keeps the last command, of this node or of another one, such as
    the guard. It is read only while this node withholds its commands.

    Attributes:
        names: Full names of the topics.

    Args:
        node: The node that commands.
        system: The arms.
        to_commands: Converts joint torques (na,) to commands (na,).
        in_lockstep: Whether a simulator waits for a message to every arm; released arms then get
            an empty one.
        positions: Whether there are topics of joint positions as well.
    """

    def __init__(
        self,
        node: Node,
        system: GraspSystem,
        to_commands: Callable[[Array], Array],
        *,
        in_lockstep: bool,
        positions: bool = False,
    ) -> None:
        self._node, self._to_commands, self._in_lockstep = node, to_commands, in_lockstep
        self._arms = [
            (
                arm.name,
                own,
                node.create_publisher(Float64MultiArray, topics.commands(arm.name), STREAM),
                CommandWriter(),
            )
            for arm, own in zip(system.arms, system.arm_slices, strict=True)
        ]
        self._positions = {
            arm.name: node.create_publisher(
                Float64MultiArray, topics.position_commands(arm.name), STREAM
            )
            for arm in system.arms
            if positions
        }
        self.names = [publisher.topic_name for _, _, publisher, _ in self._arms]
        self._last = np.full(len(system.joint_names), np.nan)
        self._inbox = Inbox(node)
        for name, own, _, _ in self._arms:
            take = partial(self._take, own)
            self._inbox.subscribe(
                Float64MultiArray, topics.commands(name), take, NEWEST, awaited=False
            )

    def _take(self, own: slice, message: Float64MultiArray) -> None:
        _, command = read_command(message)
        if command.shape == (own.stop - own.start,):  # an empty one leaves the last torque
            self._last[own] = command

    def last(self) -> Array:
        """Return the last commands of any node on the topics (na,); NaN before the first."""
        self._inbox.read()
        return self._last.copy()

    def send(
        self,
        tick: int,
        torque: Array,
        released: tuple[str, ...],
        set_points: Mapping[str, Array],
    ) -> bool:
        """Publish commands in answer to a tick, except to released arms.

        Args:
            tick: The tick.
            torque: Joint torques (na,).
            released: Names of the released arms.
            set_points: For drives that take them, "position" and "velocity" of the joints (na,);
                empty without. These drives hold the last positions when messages stop.

        Returns:
            Whether the commands were published: not if a number is not finite. The safety layer
            prevents that; this is the last check before the drives.
        """
        command, points = self._to_commands(torque), set_points.get("position", _NO_POINTS)
        if not (np.isfinite(command).all() and np.isfinite(points).all()):
            return False
        for name, own, publisher, writer in self._arms:
            if name not in released:
                publisher.publish(writer.serialized(tick, command[own]))
            elif self._in_lockstep:
                publisher.publish(writer.serialized(tick, command[:0]))
            if points.size and name in self._positions and name not in released:
                self._positions[name].publish(writer.serialized(tick, points[own]))
        return True

    def wait_for_delivery(self, seconds: float) -> None:
        """Return when all commands are acknowledged, or after a timeout for each topic [s]."""
        for _, _, publisher, _ in self._arms:
            publisher.wait_for_all_acked(Duration(seconds=seconds))

    def destroy(self) -> None:
        """Destroy publishers and subscriptions."""
        self._inbox.clear()
        for publisher in (*(arm[2] for arm in self._arms), *self._positions.values()):
            self._node.destroy_publisher(publisher)


class OtherPublisherError(RobotDynamicsError):
    """A start while another node publishes commands for the arms."""


class CommandPublisherMonitor:
    """Finds publishers of commands that are neither this node nor its guard.

    A killed process stays in the graph for about 20 s. If it had this node's name, diagnostics
    distinguish it from a running duplicate, which publishes them once a second.

    Args:
        node: The node that commands.
        command_topics: Full names of the topics.
    """

    def __init__(self, node: Node, command_topics: Sequence[str]) -> None:
        self._node, self._topics = node, tuple(command_topics)
        self._status = f"{node.get_fully_qualified_name().lstrip('/')}: state"
        self._dead_duplicates = 0  # publishers of nodes of this name without diagnostics
        self._diagnostics: Inbox | None = None
        self._subscribed_at = 0.0
        self._duplicate_runs = False

    def require_none(self) -> bool:
        """Refuse a start with another publisher; return whether the search is complete.

        Raises:
            OtherPublisherError: If another node publishes; with node and topic.
        """
        found = list(self._others())
        for topic, node, _ in found:
            if node not in (*UNKNOWN, self._full_name):
                raise OtherPublisherError(f"start refused: {self._sentence(topic, node)}")
        duplicates = [(topic, count) for topic, node, count in found if node == self._full_name]
        count = sum(count for _, count in duplicates)
        if count <= self._dead_duplicates:
            self._dead_duplicates = count
            return not any(node in UNKNOWN for _, node, _ in found)
        self._read_diagnostics()
        if self._duplicate_runs:
            self.destroy()
            sentence = self._sentence(duplicates[0][0], self._full_name)
            raise OtherPublisherError(f"start refused: {sentence}")
        if time.monotonic() - self._subscribed_at > DUPLICATE_S:
            self._dead_duplicates = count
            self.destroy()
        return False

    def destroy(self) -> None:
        """Destroy the subscription of diagnostics."""
        if self._diagnostics is not None:
            self._diagnostics.clear()
            self._diagnostics = None

    def _read_diagnostics(self) -> None:
        """Look for diagnostics of a node of this name in another process."""
        if self._diagnostics is None:
            self._diagnostics, self._duplicate_runs = Inbox(self._node), False
            self._subscribed_at = time.monotonic()
            self._diagnostics.subscribe(
                DiagnosticArray, "/diagnostics", self._on_diagnostics, STREAM, awaited=False
            )
        self._diagnostics.read()

    @property
    def warning(self) -> str:
        """Warning of another publisher of commands; empty if there is none."""
        found = list(self._others())
        duplicates = sum(count for _, node, count in found if node == self._full_name)
        self._dead_duplicates = min(self._dead_duplicates, duplicates)
        for topic, node, _ in found:
            runs = node != self._full_name or duplicates > self._dead_duplicates
            if node not in UNKNOWN and runs:
                return self._sentence(topic, node)
        return ""

    @property
    def _full_name(self) -> str:
        return str(self._node.get_fully_qualified_name())

    def _others(self) -> Iterator[tuple[str, str, int]]:
        """Yield topic, node and number of its publishers for every other publisher."""
        guards = self._publishers(self._node.resolve_topic_name(topics.GUARD))
        for topic in self._topics:
            counts = Counter(self._publishers(topic))
            counts[self._full_name] -= 1
            for node, count in counts.items():
                if count > 0 and node not in guards:
                    yield topic, node, count

    def _publishers(self, topic: str) -> list[str]:
        """Return the full names of the nodes that publish, `UNKNOWN[0]` for undiscovered ones."""
        return [
            UNKNOWN[0]
            if info.node_name in UNKNOWN or info.node_namespace in UNKNOWN
            else f"{info.node_namespace.rstrip('/')}/{info.node_name}"
            for info in self._node.get_publishers_info_by_topic(topic)
        ]

    def _sentence(self, topic: str, node: str) -> str:
        what = "another node of this name" if node == self._full_name else f"the node {node!r}"
        return (
            f"{what} publishes on {topic!r}; expected only this controller and its guard: end "
            "other publishers."
        )

    def _on_diagnostics(self, message: DiagnosticArray) -> None:
        for status in message.status:
            process = [v.value for v in status.values if v.key == PROCESS_KEY]
            if status.name == self._status and process and process[0] != PROCESS:
                self._duplicate_runs = True
