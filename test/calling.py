# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Tests call services of nodes in other processes in one way."""

from __future__ import annotations

from typing import Any

from rclpy.node import Node
from waiting import PATIENCE_S, wait_until

_AGAIN_S = 8.0  # less than a simulator in lockstep waits for whoever is called


class Caller:
    """Calls services, and calls again when an answer is lost.

    A server drops the answer to a client that it has not discovered yet, and a call may reach a
    node that has just been killed. Clients are kept, so that they are discovered once.

    Args:
        ros: The module rclpy, as the fixture starts it.
        node: The node that calls.
    """

    def __init__(self, ros: Any, node: Node) -> None:
        self._ros, self._node = ros, node
        self._clients: dict[str, Any] = {}

    def expect(self, kind: Any, *names: str) -> None:
        """Make the clients of services of a kind, so that they are discovered early."""
        for name in names:
            if name not in self._clients:
                self._clients[name] = self._node.create_client(kind, name)

    def __call__(self, kind: Any, name: str, request: Any = None) -> Any:
        """Return the answer to a request; to an empty one if none is given."""
        self.expect(kind, name)
        client, wish = self._clients[name], request or kind.Request()
        assert client.wait_for_service(PATIENCE_S), f"there is no service {name}"
        calls: list[Any] = []

        def answered() -> bool:
            return any(call.done() for call in calls)

        def call_and_listen() -> None:
            calls.append(client.call_async(wish))
            self._ros.spin_until_future_complete(self._node, calls[-1], timeout_sec=_AGAIN_S)

        wait_until(answered, call_and_listen, words=lambda: f"no answer from {name}")
        return next(call for call in calls if call.done()).result()
