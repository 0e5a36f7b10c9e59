# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Topics that a node waits for and nobody publishes: a wrong namespace is silent otherwise."""

from __future__ import annotations

import time
from collections.abc import Iterable

from rclpy.node import Node

FIRST_S = 5.0  # of waiting, before anything is said: nodes take a while to find each other
AGAIN_S = 10.0  # until it is said again
_LOOK_S = 1.0  # between looks


class AwaitedTopics:
    """Says which of them nobody publishes, and where there are some of the same name.

    Who asks tells `sentence` when it changes; here it is repeated in the log.

    Attributes:
        sentence: Which topics nobody publishes; empty if there are publishers, nothing is waited
            for, or it has not been waited for long.

    Args:
        node: The node that waits.
        names: The topics, as they are subscribed to.
    """

    def __init__(self, node: Node, names: Iterable[str]) -> None:
        self._node, self._names = node, [node.resolve_topic_name(name) for name in names]
        self._since: float | None = None
        self._told_at = self._look_at = 0.0
        self.sentence = ""

    def look(self, *, waiting: bool) -> None:
        """Look who publishes, if it is time to.

        Args:
            waiting: Whether something is waited for.
        """
        now = time.monotonic()
        if not waiting:
            self._since, self.sentence = None, ""
            return
        if self._since is None:
            self._since = now
        if now < max(self._since + FIRST_S, self._look_at):
            return
        self._look_at = now + _LOOK_S
        before, self.sentence = self.sentence, self._sentence()
        if self.sentence != before:
            self._told_at = now
        elif self.sentence and now >= self._told_at + AGAIN_S:
            self._told_at = now
            self._node.get_logger().warning(self.sentence)

    def _sentence(self) -> str:
        missing = [name for name in self._names if not self._node.count_publishers(name)]
        if not missing:
            return ""
        kinds = dict(self._node.get_topic_names_and_types())
        said = ", ".join(name + self._hint(name, kinds) for name in missing)
        return f"nobody publishes on {said}; expected the same namespaces and ROS domain."

    def _hint(self, name: str, kinds: dict[str, list[str]]) -> str:
        """Return the topics with publishers that end as this one does in its namespace."""
        own = self._node.get_namespace().rstrip("/") + "/"
        end = "/" + (name[len(own) :] if name.startswith(own) else name.rpartition("/")[2])
        found = " or ".join(
            other
            for other, types in sorted(kinds.items())
            if other.endswith(end)
            and types == kinds.get(name, types)
            and self._node.count_publishers(other)
        )
        return f" (did you mean {found}?)" if found else ""
