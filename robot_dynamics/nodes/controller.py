# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The controller node: joint states and wrenches in, torques out, the safety layer in between.

It is a managed node. `configure` reads the scenario, compiles and checks everything; `activate`
starts control from where the arms are; `deactivate` hands over to the fallback; `cleanup` leaves
the arms. Active means that the control law runs: a fault that ends it makes the node inactive,
while the fallback goes on to hold the arms.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace

import rclpy
from std_srvs.srv import Trigger

from robot_dynamics.app.scenario import load_scenario
from robot_dynamics.control.protocol import TunableLaw
from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.nodes.control_session import ControlSession
from robot_dynamics.nodes.diagnostics import ERROR, OK, Diagnostics
from robot_dynamics.nodes.gain_parameters import GainParameters
from robot_dynamics.nodes.inbox import Inbox
from robot_dynamics.nodes.lifecycle import ACTIVE, FINALIZED, StagedNode, TransitionError
from robot_dynamics.nodes.parameters import CONTROLLER, Parameters
from robot_dynamics.nodes.process import Reporter, run


class Controller:
    """Node `controller`.

    Attributes:
        node: The node.
        inbox: Its subscriptions.

    Args:
        reporter: Tells a launcher what happens.

    Raises:
        RobotDynamicsError: If a parameter is refused, or the scenario where the node configures
            itself.
    """

    def __init__(self, reporter: Reporter) -> None:
        self.node = node = StagedNode("controller", self)
        self.inbox = Inbox(node)
        self._reporter = reporter
        self._session: ControlSession | None = None
        self._gains: GainParameters | None = None
        self._parameters = Parameters(node, CONTROLLER)
        reporter.enabled = self._parameters.values["progress"]
        self._diagnostics = Diagnostics(node, "controller")
        for name, action in (("start", self._start), ("stop", self._stop), ("reset", self._reset)):
            node.create_service(Trigger, f"~/{name}", _answering(action))
        if self._parameters.values["autoconfigure"]:
            node.change(node.trigger_configure)

    # -- transitions --------------------------------------------------------------------------

    def configure(self) -> None:
        """Read the scenario, compile and check everything, and listen."""
        values = self._parameters.values
        scenario = load_scenario(values["scenario"])
        self._gains = gains = GainParameters(self.node, scenario.control)
        scenario = replace(scenario, control=gains.settings)
        self._session = session = ControlSession(
            self.node,
            self.inbox,
            self._diagnostics,
            scenario,
            values,
            self._parameters.given,
            self._reporter,
            lambda: self.node.change(self.node.trigger_activate),
        )
        law = session.loop.supervised.controller
        if isinstance(law, TunableLaw):
            gains.connect(law.retune)
        self._parameters.freeze(True)

    def activate(self) -> None:
        """Start control from where the arms are, without a jump of the torque."""
        session = self._configured()
        try:
            session.start()
        except RobotDynamicsError as error:
            session.refuse(str(error))
            raise

    def deactivate(self) -> None:
        """Hand over to the fallback, unless it has the arms already."""
        self._configured().pause()

    def cleanup(self) -> None:
        """Leave the arms with the last commands of the fallback, and forget everything."""
        session, self._session = self._session, None
        self._parameters.freeze(False)
        if self._gains is not None:
            self._gains.destroy()
            self._gains = None
        if session is not None:
            try:
                session.leave()
            finally:
                session.destroy()

    # -- services -----------------------------------------------------------------------------

    def _configured(self) -> ControlSession:
        if self._session is None:
            raise TransitionError(
                f"the controller is {self.node.condition}; expected it to be configured."
            )
        return self._session

    def _start(self) -> str:
        self._configured().require_startable()
        self.node.change(self.node.trigger_activate)
        return "started; control ramps in"

    def _stop(self) -> str:
        said = self._configured().stop()
        self._follow_law()
        return said

    def _reset(self) -> str:
        self._follow_law()
        return self._configured().reset()

    def _follow_law(self) -> None:
        """Be inactive when the law does not run any more."""
        session = self._session
        if session is None or session.loop.safety.law_runs:
            return
        if self.node.condition == ACTIVE:
            self.node.change(self.node.trigger_deactivate)

    # -- the loop -----------------------------------------------------------------------------

    @property
    def period(self) -> float | None:
        """Of the watch over the streams in wall-clock mode [s]."""
        return None if self._session is None else self._session.period

    @property
    def incomplete(self) -> bool:
        """Whether some messages of a state have come and others are awaited."""
        return self._session is not None and self._session.incomplete

    def on_messages(self) -> None:
        """Compute or repeat an answer."""
        if self._session is not None:
            self._session.on_messages()

    def on_period(self) -> None:
        """Keep the arms supplied when states stop coming (wall clock)."""
        if self._session is not None:
            self._session.on_period()

    def keep_house(self) -> None:
        """Tell how things are; end the process after a transition to `finalized`."""
        if self._session is not None:
            self._follow_law()
            self._session.keep_house()
            return
        condition, refusal = self.node.condition, self.node.refusal
        level = ERROR if refusal else OK
        message = f"{condition}: {refusal}" if refusal else condition
        if self._diagnostics.changed(level, message) or self._diagnostics.due():
            self._diagnostics.publish(level, message, {})
        if condition == FINALIZED:
            rclpy.try_shutdown()

    def close(self) -> None:
        """Leave the arms with what holds them up, and save what was recorded."""
        if self._session is not None:
            self._session.leave()


def _answering(
    action: Callable[[], str],
) -> Callable[[Trigger.Request, Trigger.Response], Trigger.Response]:
    """Return a service that says what an action says, or why it was refused."""

    def answer(request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        try:
            response.message = action()
            response.success = True
        except RobotDynamicsError as error:
            response.success, response.message = False, str(error)
        return response

    return answer


def main() -> None:
    """Run the node `controller`."""
    sys.exit(run("controller", Controller))


if __name__ == "__main__":
    main()
