# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A managed node whose transitions can be refused, and that survives whatever is asked of it.

rclpy lets an error out of the executor when a transition is asked for that the present state does
not have, and hides those of the transitions themselves. Here arms hang on the node: the first is
answered with "no", and the second with one sentence.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState
from numpy.linalg import LinAlgError
from rclpy._rclpy_pybind11 import RCLError
from rclpy.lifecycle import LifecycleNode, LifecycleState, TransitionCallbackReturn

from robot_dynamics.errors import RobotDynamicsError, sentence_of

UNCONFIGURED, INACTIVE, ACTIVE, FINALIZED = "unconfigured", "inactive", "active", "finalized"


class TransitionError(RobotDynamicsError):
    """A transition that the present state of a node does not have."""


class Stages(Protocol):
    """What a managed node does in its transitions; an error refuses the transition."""

    def configure(self) -> None:
        """Make everything that is needed, and check it."""

    async def prepare(self) -> None:
        """Do what takes time before `activate`; the node goes on meanwhile."""

    def activate(self) -> None:
        """Begin to control."""

    def deactivate(self) -> None:
        """Cease to control."""

    def cleanup(self) -> None:
        """Let go of everything that `configure` made; also of a part of it."""


class StagedNode(LifecycleNode):
    """A lifecycle node that asks its stages.

    Attributes:
        refusal: Why the last transition was refused; empty if it was not.

    Args:
        name: The node's name.
        stages: What it does in its transitions.
    """

    def __init__(self, name: str, stages: Stages) -> None:
        self.refusal = ""
        self._stages = stages
        self._error: RobotDynamicsError | None = None
        super().__init__(name)
        service = self._service_change_state
        service.callback = _surviving(service.callback, self)

    @property
    def condition(self) -> str:
        """The label of the present state: unconfigured, inactive, active or finalized."""
        return str(self._state_machine.current_state[1])

    def change(self, trigger: Callable[[], TransitionCallbackReturn]) -> None:
        """Go through a transition, as `change(node.trigger_configure)`.

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
        """Make and check everything; a refusal leaves nothing behind."""
        result = self._try(self._stages.configure)
        if result != TransitionCallbackReturn.SUCCESS:
            self._try(self._stages.cleanup, told=False)
        return result

    def on_activate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Begin to control, or say why not."""
        return self._try(self._stages.activate)

    def on_deactivate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Cease to control."""
        return self._try(self._stages.deactivate)

    def on_cleanup(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Let go of everything."""
        return self._try(self._stages.cleanup)

    def on_shutdown(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Let go of everything for good."""
        return self._try(self._stages.cleanup)

    def _try(self, action: Callable[[], None], *, told: bool = True) -> TransitionCallbackReturn:
        """Return what an action came to; its error is remembered if it is to be told."""
        result, found = TransitionCallbackReturn.SUCCESS, None
        try:
            action()
        except RobotDynamicsError as error:
            result, found = TransitionCallbackReturn.FAILURE, error
        except (LinAlgError, OverflowError, MemoryError) as error:
            result = TransitionCallbackReturn.FAILURE
            found = RobotDynamicsError(
                f"numbers are too large or too far apart ({error}); expected masses, lengths, "
                "gains and durations of a usual size."
            )
        except Exception as error:
            # No error of the state machine: that would let go of arms that hang on the node.
            result = TransitionCallbackReturn.FAILURE
            found = RobotDynamicsError(sentence_of(error))
        if told or found is not None:
            self._note(found if told or self._error is None else self._error)
        return result

    def _note(self, error: RobotDynamicsError | None) -> None:
        self._error, self.refusal = error, "" if error is None else str(error)
        if error is not None:
            self.get_logger().error(self.refusal)

    async def prepared(self, request: ChangeState.Request) -> bool:
        """Return whether a transition may be gone through now, after what comes before it."""
        wanted = request.transition
        activates = wanted.label == "activate" or wanted.id == Transition.TRANSITION_ACTIVATE
        if not activates or self.condition != INACTIVE:
            return True
        try:
            await self._stages.prepare()
        except Exception as error:
            self._note(
                error
                if isinstance(error, RobotDynamicsError)
                else RobotDynamicsError(sentence_of(error))
            )
            return False
        return True


def _surviving(callback: Callable[..., Any], node: StagedNode) -> Callable[..., Any]:
    """Return the service's callback with the state machine's errors answered, not raised."""

    async def answer(
        request: ChangeState.Request, response: ChangeState.Response
    ) -> ChangeState.Response:
        try:
            if await node.prepared(request):
                return callback(request, response)
        except RCLError:
            node.get_logger().warning(
                f"transition {request.transition.label or request.transition.id!r} refused: the "
                f"node is {node.condition}."
            )
        response.success = False
        return response

    return answer
