# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What the drives of the arms do, of each arm, and what somebody must say before a start."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from rclpy.node import Node

from robot_dynamics.control.faults import SafetyError
from robot_dynamics.manipulation.settings import ArmSettings
from robot_dynamics.nodes.publisher_monitor import UNKNOWN

SIMULATOR = "simulator"  # the node whose drives are known


class DriveFacts:
    """What drives do: the scenario says it of an arm, else the node's parameters do of all.

    Attributes:
        compensate_gravity: Names of the arms whose drives hold them up on their own.
        without_commands: What each arm's drive does when commands stop, by the arm's name.

    Args:
        arms: The arms of the scenario.
        values: The node's parameters.
        given: Names of those that somebody has given.
    """

    def __init__(
        self, arms: Sequence[ArmSettings], values: Mapping[str, Any], given: Collection[str]
    ) -> None:
        gravity, stop = "drives_compensate_gravity", "on_command_timeout"
        self.compensate_gravity = tuple(
            arm.name
            for arm in arms
            if (
                values[gravity]
                if arm.drive.compensates_gravity is None
                else arm.drive.compensates_gravity
            )
        )
        self.without_commands = {
            arm.name: arm.drive.without_commands or values.get(stop, "brake") for arm in arms
        }
        self._unsaid = {
            parameter: [arm.name for arm in arms if getattr(arm.drive, key) is None]
            for parameter, key in ((stop, "without_commands"), (gravity, "compensates_gravity"))
            if parameter not in given
        }

    @property
    def any_holds(self) -> bool:
        """Whether a drive holds its last torque for ever."""
        return "hold" in self.without_commands.values()

    def guard(self, wish: str) -> str:
        """Return whether control needs a guard: none, wanted or required.

        Args:
            wish: The same, or automatic: as drives ask for it.
        """
        if wish == "automatic":
            return "required" if self.any_holds else "none"
        return wish

    def require_known(self, node: Node, topics: Sequence[str]) -> bool:
        """Refuse joint states of real arms of whose drives nobody has said what they do.

        Args:
            node: The node that listens.
            topics: Where joint states come from.

        Returns:
            Whether it is known who publishes them.

        Raises:
            SafetyError: If they come from anything but a simulator, and a fact is missing.
        """
        unsaid = {name: arms for name, arms in self._unsaid.items() if arms}
        if not unsaid:
            return True
        known = True
        for topic in map(node.resolve_topic_name, topics):
            for source in node.get_publishers_info_by_topic(topic):
                if source.node_name in UNKNOWN:
                    known = False
                elif source.node_name != SIMULATOR:
                    arms = sorted({arm for names in unsaid.values() for arm in names})
                    raise SafetyError(
                        f"start refused: joint states on {topic} come from {source.node_name!r}; "
                        f"expected the parameters {', '.join(unsaid)}, or drive of the arms "
                        f"{', '.join(arms)} in the scenario, to say what the drives of real arms "
                        "do."
                    )
        return known
