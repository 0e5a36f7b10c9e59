# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Tests call services of nodes in other processes in one way."""

from __future__ import annotations

from typing import Any

from rclpy.node import Node
from waiting import PATIENCE_S, wait_until

from robot_dynamics.nodes.services import RepeatedCall

_AGAIN_S = 8.0  # less than a simulator in lockstep waits for whoever is called


class Caller:
    """Calls services, again when a response is lost; keeps clients, to discover each once.

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
        client = self._clients[name]
        assert client.wait_for_service(PATIENCE_S), f"there is no service {name}"
        call = RepeatedCall(client, request or kind.Request(), _AGAIN_S)
        wait_until(
            call.is_answered,
            lambda: self._ros.spin_once(self._node, timeout_sec=0.1),
            words=lambda: f"no answer from {name}",
        )
        return call.response()
