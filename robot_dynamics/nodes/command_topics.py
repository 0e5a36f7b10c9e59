# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The topics on which controller and guard command the arms."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from rclpy.duration import Duration
from rclpy.node import Node
from std_msgs.msg import Float64MultiArray

from robot_dynamics.manipulation.system import GraspSystem
from robot_dynamics.nodes import topics
from robot_dynamics.nodes.conversions import CommandWriter

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
                node.create_publisher(Float64MultiArray, topics.commands(arm.name), topics.STREAM),
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
