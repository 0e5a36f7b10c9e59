# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Tests call services of nodes in other processes in one way."""

from __future__ import annotations

from typing import Any

from lifecycle_msgs.srv import ChangeState, GetState
from rclpy.node import Node
from waiting import PATIENCE_S, wait_until

from robot_dynamics.nodes.services import RepeatedCall

_GOALS = {
    "configure": "inactive",
    "activate": "active",
    "deactivate": "inactive",
    "cleanup": "unconfigured",
}
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

    def expect_transitions(self, node: str) -> None:
        """Make the clients of a managed node, so that they are discovered early."""
        self.expect(ChangeState, f"{node}/change_state")
        self.expect(GetState, f"{node}/get_state")

    def state(self, node: str) -> str:
        """Return the state of a managed node."""
        return str(self(GetState, f"{node}/get_state").current_state.label)

    def change(self, node: str, transition: str) -> bool:
        """Have a managed node go through a transition; return whether it succeeded.

        If the response was lost, the repeated request is refused where the first one brought it.
        """
        request = ChangeState.Request()
        request.transition.label = transition
        call = self._call(ChangeState, f"{node}/change_state", request)
        if call.response().success or not call.repeated:
            return bool(call.response().success)
        return self.state(node) == _GOALS.get(transition)

    def __call__(self, kind: Any, name: str, request: Any = None) -> Any:
        """Return the answer to a request; to an empty one if none is given."""
        return self._call(kind, name, request).response()

    def _call(self, kind: Any, name: str, request: Any) -> RepeatedCall:
        """Return a call that was answered."""
        self.expect(kind, name)
        client = self._clients[name]
        assert client.wait_for_service(PATIENCE_S), f"there is no service {name}"
        call = RepeatedCall(client, request or kind.Request(), _AGAIN_S)
        wait_until(
            call.is_answered,
            lambda: self._ros.spin_once(self._node, timeout_sec=0.1),
            words=lambda: f"no answer from {name}",
        )
        return call
