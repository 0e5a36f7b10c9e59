# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The controller node: joint states and wrenches in, torques out, the safety layer in between.

It is a managed node. `configure` reads the scenario, compiles and checks everything. `activate`
starts control from the present positions. `deactivate` hands over to the fallback. `cleanup`
releases the arms. The node is active while the control law runs: a fault makes it inactive, and
the fallback holds the arms.
"""

from __future__ import annotations

if __name__ == "__main__":  # by `python -m`: a signal during the imports below ends it, too
    from robot_dynamics.nodes.entry_points import controller

    controller()

import sys
import time
from dataclasses import replace

import numpy as np

from robot_dynamics.app.runs.recorders import unbounded_drives
from robot_dynamics.app.scenarios.scenario import load_scenario
from robot_dynamics.control.abilities import TunesGains
from robot_dynamics.control.faults import StaleStreamError
from robot_dynamics.control.resume import Way
from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.nodes.control_session import ControlSession
from robot_dynamics.nodes.diagnostics import Diagnostics
from robot_dynamics.nodes.gain_parameters import GainParameters
from robot_dynamics.nodes.lifecycle import (
    ACTIVE,
    SessionLoop,
    StagedNode,
    TransitionError,
)
from robot_dynamics.nodes.parameters import CONTROLLER, NodeParameters
from robot_dynamics.nodes.process import Reporter, run
from robot_dynamics.nodes.robot_descriptions import described_by_topics
from robot_dynamics.nodes.services import NextCycle, retry_while, serve
from robot_dynamics.nodes.start_preparation import PATIENCE_S
from robot_dynamics.nodes.task_topics import serve_task
from robot_dynamics.nodes.topics import Inbox

TARE_S = 0.5  # time over which samples of wrist sensors are averaged


class ControllerNode(SessionLoop[ControlSession]):
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
        self._session = None
        self._gains: GainParameters | None = None
        self._parameters = NodeParameters(node, CONTROLLER)
        reporter.enabled = self._parameters.values["progress"]
        self._diagnostics = Diagnostics(node, "controller")
        for name, action in (
            ("start", lambda: self._start("start")),
            ("resume", lambda: self._start("resume")),
            ("put_down", lambda: self._start("put_down")),
            ("stop", self._stop),
            ("reset", self._reset),
            ("tare", self._tare),
        ):
            serve(node, f"~/{name}", action)
        serve_task(node, lambda: self._configured().loop)
        if self._parameters.values["autoconfigure"]:
            node.change(node.trigger_configure)

    # -- transitions --------------------------------------------------------------------------

    def configure(self) -> None:
        """Read the scenario, compile and check everything, and subscribe."""
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
        if isinstance(law, TunesGains) and session.loop.controller is None:
            gains.connect(session.retune, law.check_gains)
        self._parameters.freeze(True)

    async def prepare(self, way: Way = "start") -> None:
        """Check the conditions of a start, while the fallback is in charge.

        Args:
            way: How control begins; see `FollowsPlan.choose_start`.

        Raises:
            RobotDynamicsError: If the start is refused.
        """
        session = self._configured()

        async def next_cycle() -> None:
            await NextCycle()
            if session is not self._session:
                raise TransitionError(
                    "start refused: the controller was cleaned up meanwhile; expected it "
                    "configured: configure it and start again."
                )

        try:
            while session.prepares_start:  # requested before, by another client
                await next_cycle()
            preparation = session.prepare(way)
            while not preparation.poll():
                await next_cycle()
        except RobotDynamicsError as error:
            session.refuse(_refusal(error, way))
            raise

    def activate(self) -> None:
        """Start control from the present positions, without a jump of the torque."""
        session = self._configured()
        try:
            session.start()
        except RobotDynamicsError as error:
            session.refuse(str(error))
            raise

    def deactivate(self) -> None:
        """Hand over to the fallback, unless it is in charge already."""
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
                f"the controller is {self.node.condition}; expected inactive or active: configure "
                "it."
            )
        return self._session

    async def _start(self, way: Way) -> str:
        try:
            await self.prepare(way)
            self.node.change(self.node.trigger_activate)
        except RobotDynamicsError as error:
            raise RobotDynamicsError(_refusal(error, way)) from error
        return f"started; {self._configured().loop.beginning}"

    def _stop(self) -> str:
        message = self._configured().stop()
        self._follow_law()
        return message

    async def _reset(self) -> str:
        self._follow_law()
        return await retry_while(
            lambda: self._configured().reset(), (StaleStreamError,), PATIENCE_S
        )

    async def _tare(self) -> str:
        session = self._configured()
        taring = session.taring()
        until = time.monotonic() + TARE_S
        while time.monotonic() < until:
            await NextCycle()
            if session is not self._session:
                raise TransitionError(
                    "taring refused: the controller was cleaned up meanwhile; expected it "
                    "configured: configure it and tare again."
                )
            taring.collect(session.loop.clock.now())
        largest = np.abs(taring.finish()).max(axis=0)
        return (
            f"tared by {taring.count} samples of each sensor: up to {largest[3:].max():.3g} N and "
            f"{largest[:3].max():.3g} N m are subtracted"
        )

    def _follow_law(self) -> None:
        """Deactivate the node when the law has stopped."""
        session = self._session
        if session is None or session.loop.safety.law_runs:
            return
        if self.node.condition == ACTIVE:
            self.node.change(self.node.trigger_deactivate)

    # -- the loop -----------------------------------------------------------------------------

    def on_idle(self) -> None:
        """Follow the law's state; end the process after a transition to `finalized`."""
        self._follow_law()
        super().on_idle()


def _refusal(error: RobotDynamicsError, way: Way) -> str:
    """Return the sentence of a refused start, under the name of the service that was called."""
    return str(error).replace("start refused", f"{way} refused", 1)


def main() -> None:
    """Run the node `controller`."""
    sys.exit(run("controller", ControllerNode, entries=CONTROLLER))
