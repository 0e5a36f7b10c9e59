# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The controller node: joint states and wrenches in, torques out, the safety layer in between.

It is a managed node. `configure` reads the scenario, compiles and checks everything; `activate`
starts control from where the arms are; `deactivate` hands over to the fallback; `cleanup` leaves
the arms. Active means that the control law runs: a fault makes the node inactive, and the fallback
holds the arms.
"""

from __future__ import annotations

if __name__ == "__main__":  # by `python -m`: a signal during the imports below ends it as well
    from robot_dynamics.nodes.entry_points import controller

    controller()

import sys
from dataclasses import replace

import rclpy

from robot_dynamics.app.recorders import unbounded_drives
from robot_dynamics.app.scenario import load_scenario
from robot_dynamics.control.faults import StaleStreamError
from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.nodes.control_session import ControlSession
from robot_dynamics.nodes.diagnostics import ERROR, OK, Diagnostics
from robot_dynamics.nodes.lifecycle import ACTIVE, FINALIZED, StagedNode, TransitionError
from robot_dynamics.nodes.parameters import CONTROLLER, GainParameters, Parameters
from robot_dynamics.nodes.process import Reporter, run
from robot_dynamics.nodes.robot_descriptions import described_by_topics
from robot_dynamics.nodes.services import NextCycle, retry_while, serve
from robot_dynamics.nodes.start_preparation import PATIENCE_S
from robot_dynamics.nodes.topics import Inbox


class Controller:
    """Node `controller`.

    Attributes:
        node: The node.
        inbox: Its subscriptions.

    Args:
        reporter: Reports to a launcher.

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
            serve(node, f"~/{name}", action)
        if self._parameters.values["autoconfigure"]:
            node.change(node.trigger_configure)

    # -- transitions --------------------------------------------------------------------------

    def configure(self) -> None:
        """Read the scenario, compile and check everything, and listen."""
        values = self._parameters.values
        scenario = described_by_topics(
            self.node, load_scenario(values["scenario"]), values["robot_description_topics"]
        )
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
        for sentence in (*scenario.warnings(), *unbounded_drives(session.loop.system)):
            self.node.get_logger().warning(sentence)
        law = session.loop.law
        if law.tunable:
            gains.connect(law.retune)
        self._parameters.freeze(True)

    async def prepare(self) -> None:
        """Check the conditions of a start, while the fallback goes on.

        Raises:
            RobotDynamicsError: If the start is refused.
        """
        session = self._configured()
        preparation = session.prepare()
        try:
            while not preparation.poll():
                await NextCycle()
                if session is not self._session:
                    raise TransitionError(
                        "start refused: the controller was cleaned up meanwhile."
                    )
        except RobotDynamicsError as error:
            session.refuse(str(error))
            raise

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
        """Send last commands of the fallback, and release the session."""
        session, self._session = self._session, None
        self._parameters.freeze(False)
        if self._gains is not None:
            self._gains.destroy()
            self._gains = None
        if session is not None:
            try:
                session.close()
            finally:
                session.destroy()

    # -- services -----------------------------------------------------------------------------

    def _configured(self) -> ControlSession:
        if self._session is None:
            raise TransitionError(
                f"the controller is {self.node.condition}; expected it to be configured."
            )
        return self._session

    async def _start(self) -> str:
        await self.prepare()
        self.node.change(self.node.trigger_activate)
        return "started; control ramps in"

    def _stop(self) -> str:
        message = self._configured().stop()
        self._follow_law()
        return message

    async def _reset(self) -> str:
        self._follow_law()
        return await retry_while(
            lambda: self._configured().reset(), (StaleStreamError,), PATIENCE_S
        )

    def _follow_law(self) -> None:
        """Deactivate the node when the law does not run any more."""
        session = self._session
        if session is None or session.loop.safety.law_runs:
            return
        if self.node.condition == ACTIVE:
            self.node.change(self.node.trigger_deactivate)

    # -- the loop -----------------------------------------------------------------------------

    @property
    def due(self) -> float | None:
        """When `on_period` is to be called, by the steady clock [s]; None: never."""
        return None if self._session is None else self._session.due

    @property
    def incomplete(self) -> bool:
        """Whether some messages of a state have come and others are awaited."""
        return self._session is not None and self._session.incomplete

    def on_messages(self) -> None:
        """Compute or repeat an answer."""
        if self._session is not None:
            self._session.on_messages()

    def on_period(self) -> None:
        """Command the arms also while no joint states come (wall clock)."""
        if self._session is not None:
            self._session.on_period()

    def on_idle(self) -> None:
        """Follow the law's state; end the process after a transition to `finalized`."""
        if self._session is not None:
            self._follow_law()
            self._session.on_idle()
        elif self.node.condition == FINALIZED:
            rclpy.try_shutdown()

    def publish_diagnostics(self) -> None:
        """Publish diagnostics once a second and on change."""
        if self._session is not None:
            self._session.publish_diagnostics()
            return
        condition, refusal = self.node.condition, self.node.refusal
        level = ERROR if refusal else OK
        message = f"{condition}: {refusal}" if refusal else condition
        self._diagnostics.update(level, message, dict)

    def on_error(self, error: Exception) -> None:
        """Handle an unexpected error; it ends the node only before it is configured."""
        if self._session is None:
            raise error
        self._session.on_error(error)

    def close(self) -> None:
        """Send last commands of the fallback, and save the recording."""
        if self._session is not None:
            self._session.close()


def main() -> None:
    """Run the node `controller`."""
    sys.exit(run("controller", Controller))
