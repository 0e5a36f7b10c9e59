# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Services, parameters and events of a node, run when there is something to run.

An executor of rclpy takes a quarter of a millisecond, and several times that beside other
processes, to find out that nobody has called a service: a good part of a control period, many
times a second. Here a wait set that is kept is asked first.
"""

from __future__ import annotations

import inspect
import time
from collections.abc import Awaitable, Callable, Generator
from typing import Any

from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.executors import SingleThreadedExecutor
from rclpy.impl.implementation_singleton import rclpy_implementation as _rclpy
from rclpy.node import Node
from std_srvs.srv import Trigger

from robot_dynamics.errors import RobotDynamicsError, sentence_of

EVENTS_S = 1.0  # between looks at what is no service, as qualities of service that do not match
_KINDS = ("timer", "client", "service")


class NextCycle:
    """To be awaited by a service that has to wait, until the node's loop looks after it again.

    Attributes:
        awaited: How many are awaited in this process.
    """

    awaited = 0

    def __await__(self) -> Generator[None, None, None]:
        NextCycle.awaited += 1
        try:
            yield
        finally:
            NextCycle.awaited -= 1


class ServiceExecutor:
    """What an executor does for a node, at a fraction of the time when there is nothing to do.

    Args:
        node: The node. Its subscriptions are those of an `Inbox`, which are read there.
    """

    def __init__(self, node: Node) -> None:
        self._node = node
        self._executor = SingleThreadedExecutor()
        self._executor.add_node(node)
        self._sizes = (-1, -1, -1)
        self._wait_set: Any = None
        self._events_at = 0.0

    def run(self) -> None:
        """Run one callback, or a part of one that waits, if there is any to run."""
        now = time.monotonic()
        if now >= self._events_at or NextCycle.awaited or self._called():
            self._events_at = now + EVENTS_S
            self._executor.spin_once(timeout_sec=0)

    def close(self) -> None:
        """Let go of the node, before it is destroyed."""
        self._wait_set = None
        self._executor.remove_node(self._node)
        self._executor.shutdown(timeout_sec=0.5)

    def _called(self) -> bool:
        """Return whether a service is called, an answer has come, or a timer is over."""
        node = self._node
        timers, clients, services = list(node.timers), list(node.clients), list(node.services)
        sizes = len(timers), len(clients), len(services)
        if sizes != self._sizes:
            context: Any = node.context.handle
            with context:
                self._wait_set = _rclpy.WaitSet(0, 0, *sizes, 0, context)
            self._sizes = sizes
        wait_set = self._wait_set
        wait_set.clear_entities()
        for timer in timers:
            wait_set.add_timer(timer.handle)
        for client in clients:
            wait_set.add_client(client.handle)
        for service in services:
            wait_set.add_service(service.handle)
        wait_set.wait(0)
        return any(wait_set.get_ready_entities(kind) for kind in _KINDS)


async def once_it_passes(
    action: Callable[[], str], passing: tuple[type[RobotDynamicsError], ...], patience_s: float
) -> str:
    """Return what an action says, once what refuses it has passed.

    Args:
        action: What is done.
        passing: Errors that may be gone in a moment.
        patience_s: How long that is waited for [s].

    Raises:
        RobotDynamicsError: If it is refused for another reason, or still for this one.
    """
    until = time.monotonic() + patience_s
    while True:
        try:
            return action()
        except passing:
            if time.monotonic() > until:
                raise
        await NextCycle()


def serve(node: Node, name: str, action: Callable[[], str | Awaitable[str]]) -> None:
    """Offer a service that says what an action says, or why it was refused.

    Args:
        node: The node.
        name: The service's name.
        action: What it does; a coroutine function if it may have to wait.
    """

    async def answer(request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        try:
            said = action()
            response.message = await said if inspect.isawaitable(said) else said
            response.success = True
        except Exception as error:
            response.success, response.message = False, sentence_of(error)
            if not isinstance(error, RobotDynamicsError):
                node.get_logger().error(f"{name}: {response.message}")
        return response

    # One that waits must not keep the others waiting.
    node.create_service(Trigger, name, answer, callback_group=ReentrantCallbackGroup())
