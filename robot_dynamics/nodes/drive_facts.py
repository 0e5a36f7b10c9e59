# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What somebody must say about the drives of real arms before control may start."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from rclpy.node import Node

from robot_dynamics.control.faults import SafetyError

DRIVE_FACTS = ("on_command_timeout", "drives_compensate_gravity")
SIMULATOR = "simulator"  # the node whose drives are known


def require_known_drives(node: Node, topics: Sequence[str], given: Collection[str]) -> None:
    """Refuse joint states of real arms of whose drives nobody has said what they do.

    Args:
        node: The node that listens.
        topics: Where joint states come from.
        given: Names of the parameters that somebody has given.

    Raises:
        SafetyError: If joint states come from anything but a simulator, and a fact is missing.
    """
    missing = [name for name in DRIVE_FACTS if name not in given]
    if not missing:
        return
    for topic in map(node.resolve_topic_name, topics):
        for source in node.get_publishers_info_by_topic(topic):
            if source.node_name != SIMULATOR:
                raise SafetyError(
                    f"start refused: joint states on {topic} come from {source.node_name!r}; "
                    f"expected the parameters {', '.join(missing)} to say what the drives of real "
                    "arms do."
                )
