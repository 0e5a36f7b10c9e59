# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Topics: qualities of service, subscriptions that the node's own loop reads, missing publishers."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import Any

from rclpy.callback_groups import MutuallyExclusiveCallbackGroup
from rclpy.impl.implementation_singleton import rclpy_implementation as _rclpy
from rclpy.node import Node
from rclpy.qos import QoSDurabilityPolicy, QoSProfile, QoSReliabilityPolicy
from rclpy.subscription import Subscription

# Reliable: what `ros2 topic echo` and RViz ask for by default, and lockstep needs.
STREAM = QoSProfile(depth=10, reliability=QoSReliabilityPolicy.RELIABLE)
LATCHED = QoSProfile(
    depth=1,
    reliability=QoSReliabilityPolicy.RELIABLE,
    durability=QoSDurabilityPolicy.TRANSIENT_LOCAL,
)


_Entry = tuple[Subscription, Callable[[Any], None], Callable[[bytes], Any] | None]


class _HiddenSubscriptions(MutuallyExclusiveCallbackGroup):
    """Keeps subscriptions, but not their events, away from executors."""

    def can_execute(self, entity: Any) -> bool:
        """Return whether an executor may wait for an entity."""
        return not isinstance(entity, Subscription) and bool(super().can_execute(entity))


class Inbox:
    """Reads subscriptions in the order in which they were added.

    Attributes:
        published: When the message that is being read was published, by the clock of its
            publisher's machine [ns].

    Args:
        node: The node that subscribes.
    """

    def __init__(self, node: Node) -> None:
        self._node, self.published = node, 0
        self._group = _HiddenSubscriptions()
        self._subscriptions: list[_Entry] = []
        self._awaited: list[Subscription] = []
        self._sets: dict[int, Any] = {}

    def subscribe(
        self,
        kind: Any,
        topic: str,
        callback: Callable[[Any], None],
        quality: QoSProfile,
        *,
        awaited: bool,
        reader: Callable[[bytes], Any] | None = None,
    ) -> None:
        """Subscribe to a topic.

        Args:
            kind: The type of its messages.
            topic: Its name.
            callback: Called with every message by `read`.
            quality: The quality of service.
            awaited: Whether `wait` returns when a message has come: for what comes last.
            reader: Makes of a serialized message what the callback is called with; without it
                that is the message.
        """
        subscription = self._node.create_subscription(
            kind, topic, callback, quality, callback_group=self._group
        )
        self._subscriptions.append((subscription, callback, reader))
        if awaited:
            self._awaited.append(subscription)

    def wait(self, seconds: float, *, for_any: bool = False) -> None:
        """Return when an awaited message has come, or after some time.

        Args:
            seconds: At most so long [s].
            for_any: Return for messages of all topics.
        """
        topics = [s for s, *_ in self._subscriptions] if for_any else self._awaited
        if not topics:
            time.sleep(max(0.0, seconds))
            return
        wait_set = self._sets.get(len(topics))
        if wait_set is None:
            context: Any = self._node.context.handle
            with context:
                wait_set = _rclpy.WaitSet(len(topics), 0, 0, 0, 0, 0, context)
            self._sets[len(topics)] = wait_set
        wait_set.clear_entities()
        for subscription in topics:
            wait_set.add_subscription(subscription.handle)
        wait_set.wait(max(0, int(seconds * 1e9)))

    def read(self) -> bool:
        """Call back for every message that is there; return whether there was any."""
        found = False
        for subscription, callback, reader in self._subscriptions:
            handle, kind, raw = subscription.handle, subscription.msg_type, reader is not None
            while True:
                taken = handle.take_message(kind, raw)
                if taken is None:
                    break
                found = True
                message, about = taken
                self.published = about["source_timestamp"]
                callback(message if reader is None else reader(message))
        return found

    def clear(self) -> None:
        """End all subscriptions."""
        self.close()
        for subscription, *_ in self._subscriptions:
            self._node.destroy_subscription(subscription)
        self._subscriptions.clear()
        self._awaited.clear()

    def close(self) -> None:
        """Let go of the wait sets, before the node is destroyed."""
        self._sets.clear()


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
