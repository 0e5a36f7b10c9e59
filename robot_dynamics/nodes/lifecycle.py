# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A lifecycle node that can refuse transitions, and that no request can end."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic, Protocol, TypeVar

import rclpy
from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState
from rclpy._rclpy_pybind11 import RCLError
from rclpy.lifecycle import LifecycleNode, LifecycleState, TransitionCallbackReturn
from rclpy.node import Node

from robot_dynamics.errors import RobotDynamicsError, sentence_of
from robot_dynamics.nodes.diagnostics import ERROR, OK, Diagnostics
from robot_dynamics.nodes.parameters import Entry, NodeParameters
from robot_dynamics.nodes.process import LoopWork, Reporter, numeric_problem
from robot_dynamics.nodes.topics import Inbox

UNCONFIGURED, INACTIVE, ACTIVE, FINALIZED = "unconfigured", "inactive", "active", "finalized"


class TransitionError(RobotDynamicsError):
    """A transition that the present state of a node does not allow."""


class Stages(Protocol):
    """The transitions of a managed node; an error that one raises refuses the transition."""

    def configure(self) -> None:
        """Create and check all that control needs."""

    async def prepare(self) -> None:
        """Do the lengthy work before `activate`, while the node's loop runs."""

    def activate(self) -> None:
        """Start to control."""

    def deactivate(self) -> None:
        """Stop controlling."""

    def cleanup(self) -> None:
        """Release all that `configure` created, even if it failed halfway."""


class StagedNode(LifecycleNode):
    """A lifecycle node whose transitions are the methods of a `Stages`.

    rclpy raises out of the executor when a requested transition does not start from the present
    state, and hides the errors of transitions. This node must continue to command its arms: it
    refuses the request and reports the error.

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
        """Make a transition, for instance `change(node.trigger_configure)`.

        Raises:
            RobotDynamicsError: If it is refused, or does not start from the present state.
        """
        self._error = None
        try:
            result = trigger()
        except RCLError as error:
            what = trigger.__name__.removeprefix("trigger_")
            raise TransitionError(
                f"{what} refused: the node is {self.condition}; expected a state with this "
                "transition."
            ) from error
        if result != TransitionCallbackReturn.SUCCESS:
            raise self._error or RobotDynamicsError(self.refusal)

    def on_configure(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Configure; clean up after a failure."""
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
        """Clean up; an error, as of the recording, is reported, but nothing is left to keep."""
        self._attempt(self._stages.cleanup)
        return TransitionCallbackReturn.SUCCESS

    on_shutdown = on_cleanup

    def _attempt(self, action: Callable[[], None]) -> TransitionCallbackReturn:
        """Return success, or failure if the action raises an error, which is logged.

        An unexpected error counts as a refusal too: an error of the state machine would end
        control of the arms.
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
                    f"{self.condition}; expected a state with this transition."
                )
                return response

        return answer


class Session(LoopWork, Protocol):
    """Work of a `SessionNode` while it is configured."""

    def activate(self) -> None:
        """Begin to act."""

    def deactivate(self) -> None:
        """Stop acting; raises an error to refuse."""


S = TypeVar("S", bound=LoopWork)


class SessionLoop(Generic[S]):
    """The loop's work of a managed node: that of its session while the node is configured."""

    node: StagedNode
    _session: S | None
    _diagnostics: Diagnostics

    @property
    def due(self) -> float | None:
        """Time of the next call of `on_period`, by the steady clock [s]; None for never."""
        return None if self._session is None else self._session.due

    @property
    def incomplete(self) -> bool:
        """Whether some messages of an instant have arrived and others are awaited."""
        return self._session is not None and self._session.incomplete

    def on_messages(self) -> None:
        """Act on the messages."""
        if self._session is not None:
            self._session.on_messages()

    def on_period(self) -> None:
        """Do periodic work."""
        if self._session is not None:
            self._session.on_period()

    def on_idle(self) -> None:
        """Do work that can wait; end the process after a transition to `finalized`."""
        if self._session is not None:
            self._session.on_idle()
        elif self.node.condition == FINALIZED:
            rclpy.try_shutdown()

    def publish_diagnostics(self) -> None:
        """Publish diagnostics once a second and on change."""
        if self._session is not None:
            self._session.publish_diagnostics()
            return
        condition, refusal = self.node.condition, self.node.refusal
        message = f"{condition}: {refusal}" if refusal else condition
        self._diagnostics.update(ERROR if refusal else OK, message, dict)

    def on_error(self, error: Exception) -> None:
        """Handle an unexpected error, which ends only a node that is not configured."""
        if self._session is None:
            raise error
        self._session.on_error(error)

    def close(self) -> None:
        """Close the session at the end of the process."""
        if self._session is not None:
            self._session.close()


class SessionNode(SessionLoop[Session]):
    """A managed node that is nothing but a session between `configure` and `cleanup`.

    Publishers, subscriptions and services that the session creates are destroyed after it.

    Attributes:
        node: The node.
        inbox: Its subscriptions.

    Args:
        name: Name of the node.
        entries: Its parameters.
        create: Creates the session from node, inbox, values of the parameters and reporter.
        reporter: Reports to a launcher.

    Raises:
        RobotDynamicsError: If a parameter is refused, or the scenario where the node configures
            itself.
    """

    def __init__(
        self,
        name: str,
        entries: Sequence[Entry],
        create: Callable[[Node, Inbox, Mapping[str, Any], Reporter], Session],
        reporter: Reporter,
    ) -> None:
        self.node = node = StagedNode(name, self)
        self.inbox = Inbox(node)
        self._create, self._reporter = create, reporter
        self._session = None
        self._parameters = NodeParameters(node, entries)
        reporter.enabled = self._parameters.values["progress"]
        self._diagnostics = Diagnostics(node, name)
        self._own = {*node.publishers, *node.services}
        if self._parameters.values["autoconfigure"]:
            node.change(node.trigger_configure)
            node.change(node.trigger_activate)

    # -- transitions --------------------------------------------------------------------------

    def configure(self) -> None:
        """Create the session."""
        self._session = self._create(
            self.node, self.inbox, self._parameters.values, self._reporter
        )
        self._parameters.freeze(True)

    async def prepare(self) -> None:
        """Do nothing: an activation takes no time."""

    def activate(self) -> None:
        """Activate the session."""
        if self._session is not None:
            self._session.activate()

    def deactivate(self) -> None:
        """Deactivate the session."""
        if self._session is not None:
            self._session.deactivate()

    def cleanup(self) -> None:
        """Close the session, also one that was not created completely."""
        session, self._session = self._session, None
        self._parameters.freeze(False)
        try:
            if session is not None:
                session.close()
        finally:
            self.inbox.clear()
            for publisher in {*self.node.publishers} - self._own:
                self.node.destroy_publisher(publisher)
            for service in {*self.node.services} - self._own:
                self.node.destroy_service(service)
