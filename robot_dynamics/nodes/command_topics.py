# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The topics on which controller and guard command the arms."""

from __future__ import annotations

import os
import socket
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence

import numpy as np
from diagnostic_msgs.msg import DiagnosticArray
from numpy.typing import NDArray
from rclpy.duration import Duration
from rclpy.node import Node
from std_msgs.msg import Float64MultiArray

from robot_dynamics.app import topic_names as topics
from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.manipulation.system import GraspSystem
from robot_dynamics.nodes.conversions import CommandWriter
from robot_dynamics.nodes.topics import STREAM, Inbox

Array = NDArray[np.float64]


class CommandTopics:
    """A publisher for every arm.

    Attributes:
        names: Full names of the topics.

    Args:
        node: The node that commands.
        system: The arms.
        commanded: Returns the commands (na,) that make joint torques (na,).
        in_lockstep: Whether a simulator waits for a word to every arm, an empty one to those that
            are left to their drives.
    """

    def __init__(
        self,
        node: Node,
        system: GraspSystem,
        commanded: Callable[[Array], Array],
        *,
        in_lockstep: bool,
    ) -> None:
        self._node, self._commanded, self._in_lockstep = node, commanded, in_lockstep
        self._arms = [
            (
                arm.name,
                own,
                node.create_publisher(Float64MultiArray, topics.commands(arm.name), STREAM),
                CommandWriter(),
            )
            for arm, own in zip(system.arms, system.arm_slices, strict=True)
        ]
        self.names = [publisher.topic_name for _, _, publisher, _ in self._arms]

    def send(self, tick: int, torque: Array, released: tuple[str, ...]) -> bool:
        """Send joint torques (na,) in answer to a tick, except to arms that were released.

        Returns:
            Whether anything was sent. Nothing is if a number is not finite: the last look at what
            leaves the house; the safety layer never lets this happen.
        """
        command = self._commanded(torque)
        if not np.isfinite(command).all():
            return False
        for name, own, publisher, writer in self._arms:
            if name not in released:
                publisher.publish(writer.serialized(tick, command[own]))
            elif self._in_lockstep:
                publisher.publish(writer.serialized(tick, command[:0]))
        return True

    def wait_for_delivery(self, seconds: float) -> None:
        """Return when what was sent has arrived, or after some time for each topic [s]."""
        for _, _, publisher, _ in self._arms:
            publisher.wait_for_all_acked(Duration(seconds=seconds))

    def destroy(self) -> None:
        """Take the topics off the node."""
        for _, _, publisher, _ in self._arms:
            self._node.destroy_publisher(publisher)


# What a controller's status tells of its process, so that a twin can be told from itself.
PROCESS_KEY = "process"
PROCESS = f"{os.getpid()} on {socket.gethostname()}"
#: A publisher whose node has not been discovered yet; rcl's names.
UNKNOWN = ("_NODE_NAME_UNKNOWN_", "_NODE_NAMESPACE_UNKNOWN_", "")
TWIN_S = 2.5  # within which a living node is found and publishes its diagnostics


class OtherPublisherError(RobotDynamicsError):
    """A start beside somebody else who commands the arms."""


class CommandPublisherMonitor:
    """The publishers on the topics of commands that are neither this node nor its guard.

    A process that was killed stays in the graph for about 20 s. If it had this node's name, it is
    told from a living twin by its diagnostics, which come once a second.

    Args:
        node: The node that commands.
        command_topics: Full names of the topics.
    """

    def __init__(self, node: Node, command_topics: Sequence[str]) -> None:
        self._node, self._topics = node, tuple(command_topics)
        self._status = f"{node.get_fully_qualified_name().lstrip('/')}: state"
        self._dead_twins = 0  # publishers of nodes with this name that say nothing
        self._ear: Inbox | None = None
        self._listening_since = 0.0
        self._twin_lives = False

    def require_none(self) -> bool:
        """Refuse a start beside others; return whether enough is known to say that there is none.

        Raises:
            OtherPublisherError: With node and topic.
        """
        found = list(self._look())
        for topic, node, _ in found:
            if node not in (*UNKNOWN, self._full_name):
                raise OtherPublisherError(f"start refused: {self._sentence(topic, node)}")
        twins = [(topic, count) for topic, node, count in found if node == self._full_name]
        count = sum(count for _, count in twins)
        if count <= self._dead_twins:
            self._dead_twins = count
            return not any(node in UNKNOWN for _, node, _ in found)
        self._listen()
        if self._twin_lives:
            self.destroy()
            raise OtherPublisherError(
                f"start refused: {self._sentence(twins[0][0], self._full_name)}"
            )
        if time.monotonic() - self._listening_since > TWIN_S:
            self._dead_twins = count
            self.destroy()
        return False

    def destroy(self) -> None:
        """Cease to listen to twins."""
        if self._ear is not None:
            self._ear.clear()
            self._ear = None

    def _listen(self) -> None:
        """Hear whether a node of this name tells of another process."""
        if self._ear is None:
            self._ear, self._twin_lives = Inbox(self._node), False
            self._listening_since = time.monotonic()
            self._ear.subscribe(
                DiagnosticArray, "/diagnostics", self._on_diagnostics, STREAM, awaited=False
            )
        self._ear.read()

    @property
    def warning(self) -> str:
        """A sentence about who else publishes commands; empty without anybody."""
        found = list(self._look())
        twins = sum(count for _, node, count in found if node == self._full_name)
        self._dead_twins = min(self._dead_twins, twins)
        for topic, node, _ in found:
            if node not in UNKNOWN and (node != self._full_name or twins > self._dead_twins):
                return self._sentence(topic, node)
        return ""

    @property
    def _full_name(self) -> str:
        return str(self._node.get_fully_qualified_name())

    def _look(self) -> Iterator[tuple[str, str, int]]:
        """Yield topic, node and number of its publishers for everybody else."""
        guards = {
            _full(info.node_name, info.node_namespace)
            for info in self._node.get_publishers_info_by_topic(
                self._node.resolve_topic_name(topics.GUARD)
            )
        }
        for topic in self._topics:
            counts = Counter(
                _full(info.node_name, info.node_namespace)
                for info in self._node.get_publishers_info_by_topic(topic)
            )
            counts[self._full_name] -= 1
            for node, count in counts.items():
                if count > 0 and node not in guards:
                    yield topic, node, count

    def _sentence(self, topic: str, node: str) -> str:
        what = "another node of this name" if node == self._full_name else f"the node {node!r}"
        return (
            f"{what} publishes on {topic!r} as well; expected this controller and its guard alone."
        )

    def _on_diagnostics(self, message: DiagnosticArray) -> None:
        for status in message.status:
            own = [v.value for v in status.values if v.key == PROCESS_KEY]
            if status.name == self._status and own and own[0] != PROCESS:
                self._twin_lives = True


def _full(name: str, namespace: str) -> str:
    """Return the full name of a node; one of `UNKNOWN` if it is not known yet."""
    if name in UNKNOWN or namespace in UNKNOWN:
        return UNKNOWN[0]
    return f"{namespace.rstrip('/')}/{name}"
