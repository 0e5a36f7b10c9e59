# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Services, parameters and events of a node, handled between control periods."""

from __future__ import annotations

import inspect
import time
from collections.abc import Awaitable, Callable, Generator
from typing import Any

from rclpy.action import ActionServer
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.executors import SingleThreadedExecutor
from rclpy.impl.implementation_singleton import rclpy_implementation as _rclpy
from rclpy.node import Node
from std_srvs.srv import Trigger

from robot_dynamics.errors import RobotDynamicsError, sentence_of
from robot_dynamics.nodes.diagnostics import ERROR, SentenceLog

EVENTS_S = 1.0  # time between checks for events other than services, such as incompatible QoS
_ACTIONS_S = 0.02  # the same for a node with actions


class NextCycle:
    """Awaited by a service that must wait: it continues in a later cycle of the node's loop.

    Attributes:
        awaited: Number of waiting callbacks of this process.
    """

    awaited = 0

    def __await__(self) -> Generator[None, None, None]:
        NextCycle.awaited += 1
        try:
            yield
        finally:
            NextCycle.awaited -= 1


class ServiceExecutor:
    """An executor that costs little time while no service is called.

    `spin_once` of rclpy takes 0.25 ms without work, and several times as long on a busy machine:
    much of a control period, many times a second. Here a permanent wait set is asked first.

    Args:
        node: The node. Its subscriptions belong to an `Inbox`, which polls them.
    """

    def __init__(self, node: Node) -> None:
        self._node = node
        self._executor = SingleThreadedExecutor()
        self._executor.add_node(node)
        self._sizes = (-1, -1, -1)
        self._wait_set: Any = None
        self._events_at = 0.0
        self._log = SentenceLog(node)

    def run(self) -> None:
        """Run one callback, or a step of a waiting callback, if there is any.

        An error is logged: no request ends control, or a node, such as one to set a parameter of
        an unknown type, which rclpy cannot read.
        """
        now = time.monotonic()
        if now >= self._events_at or NextCycle.awaited or self._is_ready():
            acts = any(isinstance(one, ActionServer) for one in self._node.waitables)
            self._events_at = now + (_ACTIONS_S if acts else EVENTS_S)
            try:
                self._executor.spin_once(timeout_sec=0)
            except Exception as error:
                if not self._node.context.ok():
                    raise
                self._log(ERROR, f"a request failed: {sentence_of(error)}")

    def close(self) -> None:
        """Remove the node; must be called before it is destroyed."""
        self._wait_set = None
        self._executor.remove_node(self._node)
        self._executor.shutdown(timeout_sec=0.5)

    def _is_ready(self) -> bool:
        """Return whether a service is called, a response has arrived, or a timer has expired."""
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
        return any(wait_set.get_ready_entities(kind) for kind in ("timer", "client", "service"))


class RepeatedCall:
    """A service call that is sent again while no response arrives.

    On busy machines, a server drops its response to a client that it has not discovered yet.

    Args:
        client: The client.
        request: The request.
        interval_s: Time without a response after which the request is sent again [s].
    """

    def __init__(self, client: Any, request: Any, interval_s: float) -> None:
        self._client, self._request, self._interval = client, request, interval_s
        self._futures: list[Any] = []
        self._sent_at = 0.0

    def is_answered(self) -> bool:
        """Return whether a response has arrived; send the request if due."""
        now = time.monotonic()
        if not self._futures or now > self._sent_at + self._interval:
            self._futures.append(self._client.call_async(self._request))
            self._sent_at = now
        return any(future.done() for future in self._futures)

    @property
    def repeated(self) -> bool:
        """Whether the request was sent, and possibly served, more than once."""
        return len(self._futures) > 1

    def response(self) -> Any:
        """Return the first response, after `is_answered`."""
        return next(future.result() for future in self._futures if future.done())


async def retry_while(
    action: Callable[[], str], transient: tuple[type[RobotDynamicsError], ...], timeout_s: float
) -> str:
    """Return the result of an action, repeated every cycle while it raises transient errors.

    Args:
        action: The action.
        transient: Types of errors that can disappear in a moment.
        timeout_s: Time after which such an error is raised [s].

    Raises:
        RobotDynamicsError: Any other error of the action, or the last transient one.
    """
    until = time.monotonic() + timeout_s
    while True:
        try:
            return action()
        except transient:
            if time.monotonic() > until:
                raise
        await NextCycle()


def serve(
    node: Node,
    name: str,
    action: Callable[..., str | Awaitable[str]],
    kind: Any = Trigger,
) -> None:
    """Offer a service with the response `success` and `message`; an error of the action is one.

    Args:
        node: The node.
        name: Name of the service.
        action: Returns the message of the response; a coroutine function if it must wait, while
            the node's loop runs. Its argument is the request, unless this is a trigger.
        kind: Type of the service.
    """

    async def answer(request: Any, response: Any) -> Any:
        try:
            message = action() if kind is Trigger else action(request)
            response.message = await message if inspect.isawaitable(message) else message
            response.success = True
        except Exception as error:
            response.success, response.message = False, sentence_of(error)
            if not isinstance(error, RobotDynamicsError):
                node.get_logger().error(f"{name}: {response.message}")
        return response

    # Reentrant: a waiting callback does not block other services.
    node.create_service(kind, name, answer, callback_group=ReentrantCallbackGroup())
