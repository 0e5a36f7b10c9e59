# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Services without arguments whose answer may take a while, and never ends the node.

A service that waits gives the loop of its node free between two looks: the node goes on.
"""

from __future__ import annotations

import inspect
import time
from collections.abc import Awaitable, Callable

from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.node import Node
from std_srvs.srv import Trigger

from robot_dynamics.errors import RobotDynamicsError, sentence_of
from robot_dynamics.nodes.service_executor import NextCycle


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
