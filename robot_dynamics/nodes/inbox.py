# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Subscriptions that are read by the node's own loop, and not by an executor.

An executor of rclpy builds a new wait set over everything in the node for every message, and runs
one callback at a time: several times the work of a control period. Here the loop waits for the
message that comes last in a period, and then reads whatever else is there. Services, parameters
and events are left to the executor.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from rclpy.callback_groups import MutuallyExclusiveCallbackGroup
from rclpy.impl.implementation_singleton import rclpy_implementation as _rclpy
from rclpy.node import Node
from rclpy.qos import QoSProfile
from rclpy.subscription import Subscription

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
