# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Quality of service of the topics, subscriptions that a node polls, and missing publishers.

The names of the topics are in `robot_dynamics.app.recordings.topic_names`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from copy import copy
from functools import partial
from typing import Any

from rclpy.callback_groups import MutuallyExclusiveCallbackGroup
from rclpy.impl.implementation_singleton import rclpy_implementation as _rclpy
from rclpy.node import Node
from rclpy.publisher import Publisher
from rclpy.qos import (
    QoSCompatibility,
    QoSDurabilityPolicy,
    QoSProfile,
    QoSReliabilityPolicy,
    qos_check_compatible,
)
from rclpy.qos_overriding_options import QoSOverridingOptions
from rclpy.serialization import deserialize_message
from rclpy.subscription import Subscription

_RELIABLE = QoSReliabilityPolicy.RELIABLE
# The default request of `ros2 topic echo` and RViz; lockstep needs it, too.
STREAM = QoSProfile(depth=10, reliability=_RELIABLE)
# Common for sensors; a subscription with it matches reliable publishers as well.
BEST_EFFORT = QoSProfile(depth=10, reliability=QoSReliabilityPolicy.BEST_EFFORT)
# For a subscription that only the last message matters to.
NEWEST = QoSProfile(depth=1, reliability=QoSReliabilityPolicy.BEST_EFFORT)
LATCHED = QoSProfile(
    depth=1, reliability=_RELIABLE, durability=QoSDurabilityPolicy.TRANSIENT_LOCAL
)

GRACE_S = 5.0  # wait before a missing publisher is reported: discovery takes time
REPEAT_S = 10.0  # time between repetitions of the warning
_CHECK_S = 1.0  # time between queries of the graph
# Largest serialized message that is read: about a thousand joints.
LARGEST_BYTES = 1 << 16


def sample_quality(*, lockstep: bool) -> QoSProfile:
    """Return the quality of service of subscriptions to samples.

    In lockstep simulated time waits for every message; otherwise sensors can be best effort.
    """
    return STREAM if lockstep else BEST_EFFORT


def create_sample_publisher(node: Node, kind: Any, topic: str) -> Publisher:
    """Return a reliable publisher of samples.

    Parameters `qos_overrides.<topic>.publisher...` can change its quality of service.
    """
    return node.create_publisher(
        kind,
        topic,
        copy(STREAM),  # rclpy writes overrides into it
        qos_overriding_options=QoSOverridingOptions.with_default_policies(),
    )


class _HiddenSubscriptions(MutuallyExclusiveCallbackGroup):
    """Keeps subscriptions, but not their events, away from executors."""

    def can_execute(self, entity: Any) -> bool:
        """Return whether an executor can wait for an entity."""
        return not isinstance(entity, Subscription) and bool(super().can_execute(entity))


class _Entry:
    """A subscription of an `Inbox`."""

    def __init__(
        self,
        subscription: Subscription,
        callback: Callable[[Any], None],
        reader: Callable[[bytes], Any],
        largest: int,
        in_thread: bool,
    ) -> None:
        self.subscription, self.callback, self.reader = subscription, callback, reader
        self.largest, self.in_thread = largest, in_thread
        # At most as many messages at a time as the middleware keeps: a flood would never end.
        self.most = max(1, subscription.qos_profile.depth)
        self.newest: bytes | None = None  # to be read by the thread
        self._being_read: Future[Any] | None = None

    def next(self, worker: ThreadPoolExecutor) -> Future[Any] | None:
        """Return what the thread has read since the last call; submit the newest message."""
        done = self._being_read
        if done is not None and not done.done():
            return None
        self._being_read = None
        if self.newest is not None:
            self._being_read = worker.submit(self.reader, self.newest)
            self.newest = None
        return done


class Inbox:
    """Subscriptions that the node's own loop polls, in the order of `subscribe`.

    For every message, an executor of rclpy builds a new wait set over all entities of the node and
    runs one callback, which takes several times as long as the work of a control period. The loop
    of `process.run` instead waits for the last message of a period, and then reads all messages
    that have arrived. Services, parameters and events stay with an executor.

    Attributes:
        published: Time of publication of the message being read, by the clock of its publisher's
            machine [ns].
        received: Time at which the middleware received it, by the system's clock [ns].

    Args:
        node: The node that subscribes.
    """

    def __init__(self, node: Node) -> None:
        self._node, self.published, self.received = node, 0, 0
        self._group = _HiddenSubscriptions()
        self._worker: ThreadPoolExecutor | None = None
        self._refusal, self._refused_at = "", 0.0
        self._subscriptions: list[_Entry] = []
        self._awaited: list[Subscription] = []
        self._wait_sets: dict[int, Any] = {}

    def subscribe(
        self,
        kind: Any,
        topic: str,
        callback: Callable[[Any], None],
        quality: QoSProfile,
        *,
        awaited: bool,
        reader: Callable[[bytes], Any] | None = None,
        largest: int = LARGEST_BYTES,
        in_thread: bool = False,
        overridable: bool = False,
    ) -> None:
        """Subscribe to a topic.

        Args:
            kind: Message type.
            topic: Name of the topic.
            callback: Called by `read` with every message.
            quality: Quality of service.
            awaited: Whether a message wakes `wait`; true for the last message of a period.
            reader: Converts the serialized message to the argument of the callback; without it
                the callback gets the message.
            largest: Largest number of bytes; larger messages are refused unread.
            in_thread: Whether the reader runs in a thread, because it can take longer than a
                control period. Of messages that come meanwhile the newest is read next. `read`
                calls the callback in any case.
            overridable: Whether parameters `qos_overrides.<topic>.subscription...` can change
                the quality of service.
        """
        options = QoSOverridingOptions.with_default_policies() if overridable else None
        subscription = self._node.create_subscription(
            kind,
            topic,
            callback,
            copy(quality),  # rclpy writes what is overridden into it
            callback_group=self._group,
            qos_overriding_options=options,
        )
        if reader is None:
            reader = partial(deserialize_message, message_type=kind)
        if in_thread and self._worker is None:
            self._worker = ThreadPoolExecutor(1)
            self._worker.submit(int)  # The thread starts now.
        self._subscriptions.append(_Entry(subscription, callback, reader, largest, in_thread))
        if awaited:
            self._awaited.append(subscription)

    def wait(self, seconds: float, *, for_any: bool = False) -> None:
        """Return when an awaited message has arrived, or after a timeout.

        Args:
            seconds: The timeout [s].
            for_any: Whether to await messages of all topics.
        """
        every = (entry.subscription for entry in self._subscriptions)
        subscriptions = list(every) if for_any else self._awaited
        if not subscriptions:
            time.sleep(max(0.0, seconds))
            return
        wait_set = self._wait_sets.get(len(subscriptions))
        if wait_set is None:
            context: Any = self._node.context.handle
            with context:
                wait_set = _rclpy.WaitSet(len(subscriptions), 0, 0, 0, 0, 0, context)
            self._wait_sets[len(subscriptions)] = wait_set
        wait_set.clear_entities()
        for subscription in subscriptions:
            wait_set.add_subscription(subscription.handle)
        wait_set.wait(max(0, int(seconds * 1e9)))

    @property
    def refusal(self) -> str:
        """The message refused as too large, or unreadable, in the last `REPEAT_S`; else empty."""
        recent = self._refusal and time.monotonic() < self._refused_at + REPEAT_S
        return self._refusal if recent else ""

    def read(self) -> bool:
        """Call the callbacks of messages that have arrived; return whether there were any.

        Of each topic, at most as many messages are read at once as its quality of service keeps.
        """
        found = False
        for entry in self._subscriptions:
            handle, kind = entry.subscription.handle, entry.subscription.msg_type
            for _ in range(entry.most):
                taken = handle.take_message(kind, True)
                if taken is None:
                    break
                text, info = taken
                if len(text) > entry.largest:
                    size = f"of {len(text)} bytes was refused"
                    self._refuse(entry, f"{size}; expected at most {entry.largest}.")
                    continue
                self.published = info["source_timestamp"]
                self.received = info["received_timestamp"]
                if entry.in_thread:
                    entry.newest = text
                else:
                    found |= self._take(entry, partial(entry.reader, text))
            done = entry.next(self._worker) if entry.in_thread and self._worker else None
            if done is not None:
                found |= self._take(entry, done.result)
        return found

    def _take(self, entry: _Entry, content: Callable[[], Any]) -> bool:
        """Call the callback with the content of a message; return false if it cannot be read."""
        try:
            found = content()
        except Exception as error:
            kind: Any = entry.subscription.msg_type
            why = f"it cannot be read ({type(error).__name__}); expected {kind.__name__}"
            self._refuse(entry, f"was refused: {why}.")
            return False
        entry.callback(found)
        return True

    def _refuse(self, entry: _Entry, why: str) -> None:
        self._refused_at = time.monotonic()
        self._refusal = f"{entry.subscription.topic_name}: a message {why}"

    def clear(self) -> None:
        """Destroy all subscriptions."""
        self.close()
        for entry in self._subscriptions:
            self._node.destroy_subscription(entry.subscription)
        self._subscriptions.clear()
        self._awaited.clear()

    def close(self) -> None:
        """Release wait sets and thread; must be called before the node is destroyed.

        A node that ends can go on to `read` messages, except those that need the thread.
        """
        self._wait_sets.clear()
        if self._worker is not None:
            self._worker.shutdown(wait=False, cancel_futures=True)
            self._worker = None


class MissingPublishers:
    """Warns of subscribed topics without a publisher, the only sign of a wrong namespace.

    Attributes:
        warning: The topics without a publisher, with topics of the same name in other namespaces,
            or the publisher that does not match the subscription. Empty if every topic has a
            publisher, the node waits for no message, or the grace period `GRACE_S` has not passed.
            The caller reports its changes; repetitions are logged here.

    Args:
        node: The node that subscribes.
        names: Names of the topics, as given to the subscriptions.
    """

    def __init__(self, node: Node, names: Iterable[str]) -> None:
        self._node, self._names = node, [node.resolve_topic_name(name) for name in names]
        self._waiting_since: float | None = None
        self._logged_at = self._check_at = 0.0
        self.warning = ""

    def check(self, *, waiting: bool) -> None:
        """Query the graph if due.

        Args:
            waiting: Whether the node is waiting for messages of these topics.
        """
        now = time.monotonic()
        if not waiting:
            self._waiting_since, self.warning = None, ""
            return
        if self._waiting_since is None:
            self._waiting_since = now
        if now < max(self._waiting_since + GRACE_S, self._check_at):
            return
        self._check_at = now + _CHECK_S
        before, self.warning = self.warning, self._sentence()
        if self.warning != before:
            self._logged_at = now
        elif self.warning and now >= self._logged_at + REPEAT_S:
            self._logged_at = now
            self._node.get_logger().warning(self.warning)

    def _sentence(self) -> str:
        missing = [name for name in self._names if not self._node.count_publishers(name)]
        if not missing:
            return self._mismatch()
        kinds = dict(self._node.get_topic_names_and_types())
        listed = ", ".join(name + self._hint(name, kinds) for name in missing)
        return f"no publisher on {listed}; expected the same namespace and ROS domain."

    def _mismatch(self) -> str:
        """Return the publisher that offers less than the subscription requires, and why."""
        for subscription in self._node.subscriptions:
            if subscription.topic_name not in self._names:
                continue
            for found in self._node.get_publishers_info_by_topic(subscription.topic_name):
                fits, why = qos_check_compatible(found.qos_profile, subscription.qos_profile)
                if fits == QoSCompatibility.ERROR:
                    return (
                        f"messages of {found.node_name!r} on {subscription.topic_name} do not "
                        f"arrive: {why.removeprefix('ERROR: ').rstrip(';')}; expected a matching "
                        "quality of service."
                    )
        return ""

    def _hint(self, name: str, kinds: dict[str, list[str]]) -> str:
        """Return published topics of the same name and type in other namespaces."""
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
