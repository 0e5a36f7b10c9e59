# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A lifecycle node whose transitions can be refused, and that no request ends."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState
from rclpy._rclpy_pybind11 import RCLError
from rclpy.lifecycle import LifecycleNode, LifecycleState, TransitionCallbackReturn

from robot_dynamics.errors import RobotDynamicsError, sentence_of
from robot_dynamics.nodes.process import numeric_problem

UNCONFIGURED, INACTIVE, ACTIVE, FINALIZED = "unconfigured", "inactive", "active", "finalized"


class TransitionError(RobotDynamicsError):
    """A transition that the present state of a node does not have."""


class Stages(Protocol):
    """The transitions of a managed node; an error that one raises refuses the transition."""

    def configure(self) -> None:
        """Create and check everything that is needed."""

    async def prepare(self) -> None:
        """Do what takes time before `activate`; the node's loop goes on meanwhile."""

    def activate(self) -> None:
        """Start to control."""

    def deactivate(self) -> None:
        """Stop controlling."""

    def cleanup(self) -> None:
        """Release what `configure` created, also where it failed halfway."""


class StagedNode(LifecycleNode):
    """A lifecycle node whose transitions are the methods of a `Stages`.

    rclpy raises out of the executor when a requested transition does not start from the present
    state, and hides the errors of transitions. This node must go on commanding its arms: it
    refuses the request, and reports the error.

    Attributes:
        refusal: Why the last transition was refused; empty if it was not.

    Args:
        name: Name of the node.
        stages: Its transitions.
    """

    def __init__(self, name: str, stages: Stages) -> None:
        self.refusal = ""
        self._stages = stages
        self._error: RobotDynamicsError | None = None
        super().__init__(name)
        service = self._service_change_state
        service.callback = self._checked(service.callback)

    @property
    def condition(self) -> str:
        """The label of the present state: unconfigured, inactive, active or finalized."""
        return str(self._state_machine.current_state[1])

    def change(self, trigger: Callable[[], TransitionCallbackReturn]) -> None:
        """Make a transition, as `change(node.trigger_configure)`.

        Raises:
            RobotDynamicsError: If it is refused, or does not start from the present state.
        """
        self._error = None
        try:
            result = trigger()
        except RCLError as error:
            what = trigger.__name__.removeprefix("trigger_")
            raise TransitionError(f"{what} refused: the node is {self.condition}.") from error
        if result != TransitionCallbackReturn.SUCCESS:
            raise self._error or RobotDynamicsError(self.refusal)

    def on_configure(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Configure; clean up if that fails."""
        result = self._attempt(self._stages.configure)
        if result != TransitionCallbackReturn.SUCCESS:
            refused = self._error
            self._attempt(self._stages.cleanup)
            self._set_error(refused)
        return result

    def on_activate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Activate."""
        return self._attempt(self._stages.activate)

    def on_deactivate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Deactivate."""
        return self._attempt(self._stages.deactivate)

    def on_cleanup(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Clean up."""
        return self._attempt(self._stages.cleanup)

    on_shutdown = on_cleanup

    def _attempt(self, action: Callable[[], None]) -> TransitionCallbackReturn:
        """Return success, or failure if the action raises an error, which is logged.

        An unexpected error counts as a refusal too, not as an error of the state machine, which
        would end control of the arms.
        """
        try:
            action()
        except Exception as error:
            self._refuse(error)
            return TransitionCallbackReturn.FAILURE
        self._set_error(None)
        return TransitionCallbackReturn.SUCCESS

    def _refuse(self, error: Exception) -> None:
        if not isinstance(error, RobotDynamicsError):
            error = RobotDynamicsError(numeric_problem(error) or sentence_of(error))
        self._set_error(error)
        self.get_logger().error(self.refusal)

    def _set_error(self, error: RobotDynamicsError | None) -> None:
        self._error, self.refusal = error, "" if error is None else str(error)

    def _checked(self, callback: Callable[..., Any]) -> Callable[..., Any]:
        """Return the callback of the service `change_state`, preceded by `prepare`."""

        async def answer(
            request: ChangeState.Request, response: ChangeState.Response
        ) -> ChangeState.Response:
            wanted = request.transition
            activates = wanted.label == "activate" or wanted.id == Transition.TRANSITION_ACTIVATE
            response.success = False
            if activates and self.condition == INACTIVE:
                try:
                    await self._stages.prepare()
                except Exception as error:
                    self._refuse(error)
                    return response
            try:
                return callback(request, response)
            except RCLError:
                self.get_logger().warning(
                    f"transition {wanted.label or wanted.id!r} refused: the node is "
                    f"{self.condition}."
                )
                return response

        return answer
