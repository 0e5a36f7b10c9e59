# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A configured controller: its cycle from samples to commands, and its start, stop and reset."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Collection, Mapping
from functools import partial
from typing import Any

from rclpy.node import Node

from robot_dynamics.app import topic_names as topics
from robot_dynamics.app.controllers import anchored
from robot_dynamics.app.laws import control_loop
from robot_dynamics.app.scenario import Scenario
from robot_dynamics.control.clock import Clock, LockstepClock, WallClock, stamp_of
from robot_dynamics.control.control_loop import ControlLoop, Outcome, Streams
from robot_dynamics.control.faults import Cause, State
from robot_dynamics.control.taring import Taring
from robot_dynamics.errors import RobotDynamicsError, sentence_of
from robot_dynamics.nodes.background_work import BackgroundWork
from robot_dynamics.nodes.command_topics import (
    PROCESS,
    PROCESS_KEY,
    CommandPublisherMonitor,
    CommandTopics,
)
from robot_dynamics.nodes.control_report import ControlRecord, condition, figures
from robot_dynamics.nodes.diagnostics import ERROR, OK, Diagnostics, Durations, SentenceLog
from robot_dynamics.nodes.drives import DriveGravityCompensation, DriveProperties
from robot_dynamics.nodes.heartbeat import GuardLink
from robot_dynamics.nodes.inputs import Action, ReferenceTopics, SampleIntake
from robot_dynamics.nodes.object_topics import ObjectTopics, resolved_topics
from robot_dynamics.nodes.process import RefusedError, Reporter, RunError
from robot_dynamics.nodes.start_preparation import CheckThread, StartConditions, StartPreparation
from robot_dynamics.nodes.timeouts import CommandTimeout, SilenceMonitor
from robot_dynamics.nodes.topics import Inbox, MissingPublishers

_SILENT_STEPS = 1000  # steps of the law for which the simulator may send nothing
_CHECK_S = 10.0  # that the check of a path may take at least, also on a busy machine
_CHECK_CLOSE_S = 1.0  # wait for a running check when the session ends
CLOSE_S = 0.2  # for which last commands are sent, and timeout of their delivery


class ControlSession:
    """The state of the controller node between `configure` and `cleanup`.

    Attributes:
        loop: The control loop, which knows nothing of ROS.
        due: In wall-clock mode when `on_period` is called unless samples come, by the steady
            clock [s]; None in lockstep.
        start_wanted: Whether control is to start with the first complete state.

    Args:
        node: The node.
        inbox: Its subscriptions.
        diagnostics: The diagnostics of the node.
        scenario: The scenario.
        values: The node's parameters.
        given: Names of those that were set.
        reporter: Reports to a launcher.
        activate: Makes the transition of the node that calls `start`.

    Raises:
        RobotDynamicsError: If the scenario is refused.
    """

    def __init__(
        self,
        node: Node,
        inbox: Inbox,
        diagnostics: Diagnostics,
        scenario: Scenario,
        values: Mapping[str, Any],
        given: Collection[str],
        reporter: Reporter,
        activate: Callable[[], None],
    ) -> None:
        self._node, self._inbox, self._scenario = node, inbox, scenario
        self._diagnostics, self._activate = diagnostics, activate
        self._period = period = scenario.control.period
        lockstep = values["mode"] == "lockstep"
        self._clock: Clock = LockstepClock(period) if lockstep else WallClock(period)
        self._has_launcher = bool(values["progress"] or values["output"])
        self.start_wanted = values["autostart"] == "always" or (
            lockstep and values["autostart"] == "in_lockstep"
        )
        self.due = None if lockstep else time.monotonic()
        self.loop: ControlLoop = control_loop(
            scenario,
            clock=self._clock,
            wrist_sensors=values["use_wrenches"],
            streams=Streams(
                tuple(filter(None, values["ignored_joints"])),
                0.0 if lockstep else values["stale_after"],
                1.0 if lockstep else values["sample_rate_tolerance"],
            ),
            allow_code=anchored(values["allow_code"], scenario.source),
        )
        loop = self.loop
        limited = lockstep or values["output"] or values["duration"] > 0.0
        ticks = scenario.ticks(loop.law.reference, values["duration"] or None)
        self._record = ControlRecord(
            scenario,
            loop,
            reporter,
            values["output"],
            ticks if limited else sys.maxsize,
            resolved_topics(node, loop, values["joint_state_topics"]),
        )
        facts = DriveProperties(scenario.cell.arms, values, given)
        gravity = DriveGravityCompensation(
            loop.system, facts.compensate_gravity, lambda: loop.joint_states.state()[0]
        )
        # In lockstep no time passes without commands.
        loop.safety.fallback.note_drives(gravity.added, () if lockstep else facts.braking)
        self._gravity = gravity
        self._outcome: Outcome | None = None
        self._ran = False  # whether the law ran in the last control cycle
        self._durations = Durations(period)
        self._starting = False
        self._preparation: StartPreparation | None = None
        self._checks = CheckThread()
        self._log = SentenceLog(node)
        self._logged = self._refusal = self._other_publisher = ""
        self._background = BackgroundWork(self._complain)
        self._intake = SampleIntake(inbox, loop, values["joint_state_topics"], self._background)
        # Both sides are slow without a code generator.
        slowness = _SILENT_STEPS * loop.step_time
        silence = values["silence_limit"] + slowness
        self._check_limit = _CHECK_S + 10.0 * slowness
        self._silence = SilenceMonitor(
            loop, silence, values["patience"] if self._has_launcher else None
        )
        self._commands = CommandTopics(
            node,
            loop.system,
            gravity.to_commands,
            in_lockstep=lockstep,
            positions=loop.law.set_points is not None,
        )
        timeout = math.inf if lockstep else max(values["command_timeout"], 2.0 * period)
        self._pace = CommandTimeout(loop, facts.without_commands, timeout)
        self._publisher_monitor = CommandPublisherMonitor(node, self._commands.names)
        self._objects = ObjectTopics(
            node,
            scenario,
            loop,
            in_real_time=not lockstep,
            joint_state_topics=values["joint_state_topics"],
        )
        guard = facts.guard(values["guard"])
        timeout = values["silence_limit" if lockstep else "heartbeat_timeout"]
        self._link = (
            None
            if guard == "none"  # else its reports are read first of all
            else GuardLink(node, inbox, loop, timeout, required=guard == "required")
        )
        self._conditions = StartConditions(
            node,
            loop,
            self._link,
            self._publisher_monitor,
            facts,
            values["joint_state_topics"],
            lambda: self._intake.received_at,
        )
        self._intake.subscribe_to_sensors()
        if values["references"] == "topics":
            ReferenceTopics(node, inbox, loop, self._message_time)
        self._intake.subscribe_to_joint_states()
        self._missing_publishers = MissingPublishers(
            node, [*values["joint_state_topics"], *map(topics.wrench, loop.wrenches)]
        )
        diagnostics.set_hardware(scenario.name)
        node.get_logger().info(
            f"configured: {scenario.name}, {scenario.control.law} law at "
            f"{scenario.control.rate_hz:g} Hz, {values['mode'].replace('_', ' ')}; "
            f"guard: {guard}; without commands: {_words(facts.without_commands)}"
            + ("" if self.start_wanted else "; waits for the service controller/start")
        )

    def close(self) -> None:
        """Send last commands of the fallback, and save the recording."""
        loop = self.loop
        commanding = loop.safety.in_charge and not (self._clock.lockstep and self._record.done)
        self._record.end()
        if commanding:
            outcome = loop.fall_back(
                self._clock.now(), Cause.STOP_REQUESTED, "controller", "the controller ends."
            )
            self._send(self._clock.tick, outcome)
            # The torque changes to that of the fallback at a limited rate, over several commands.
            until = time.monotonic() + (0.0 if self._clock.lockstep else CLOSE_S)
            while time.monotonic() < until:
                time.sleep(self._period)
                self._inbox.read()
                self._send(self._clock.tick, loop.cycle_without_samples(self._clock.now()))
            if self._link is not None:
                self._link.say_goodbye()
            self._commands.wait_for_delivery(CLOSE_S)
            if self._link is not None:
                self._link.wait_for_delivery(CLOSE_S)
        self._record.close()
        self._checks.close(_CHECK_CLOSE_S)

    def destroy(self) -> None:
        """Destroy publishers and subscriptions."""
        self._diagnostics.set_hardware("controller")
        self._inbox.clear()
        self._publisher_monitor.destroy()
        self._objects.destroy()
        if self._link is not None:
            self._link.destroy()
        self._commands.destroy()

    # -- samples and commands -----------------------------------------------------------------

    def _message_time(self) -> int:
        """Return the present time of messages: simulated in lockstep, else that of ROS [ns]."""
        return self._clock.message_time(int(self._node.get_clock().now().nanoseconds))

    @property
    def incomplete(self) -> bool:
        """Whether some messages of a state have come and others are awaited."""
        return self._intake.incomplete

    def on_messages(self) -> None:
        """Compute or repeat an answer."""
        action = self._intake.decide()
        if action is Action.WAIT:
            return
        tick = self._intake.tick
        # A start has answered its tick, of which some messages may come after it.
        answered = action is Action.REPEAT or (self._ran and self.loop.safety.law_runs)
        if answered and self._outcome is not None and tick == self._clock.tick:
            self._send(tick, self._outcome)
            return
        if self._clock.lockstep and tick == 0 < self._clock.tick and not self.loop.safety.law_runs:
            # The simulator was reset after a stop or fault: its time waits for the next start.
            self.loop.let_go()
            self._intake.reset()  # refused, because time has jumped; it will come again
        self._cycle(tick)

    def _cycle(self, tick: int) -> None:
        """Compute and send what belongs to a tick."""
        begin = time.perf_counter()
        clock, loop = self._clock, self.loop
        if clock.lockstep:
            if self.start_wanted and loop.complete and self._guard_allows_start():
                clock.tick, self._starting = tick, True  # simulated time waits for the start
                self._start_automatically()
                self._starting = False
            clock.tick = tick
        now = clock.now()
        self._pace.check(now)
        outcome = loop.cycle(now, tick)
        clock.tick, self._ran = tick, loop.safety.law_runs
        self._expect_samples(1.5)
        if outcome.torque is None:
            self._outcome = None
            return
        self._outcome = outcome
        self._send(tick, outcome)
        self._intake.latency.sent()
        step = outcome.step
        self._background.do("recording", lambda: self._record.write(tick, outcome))
        if step is not None:
            stamp = stamp_of(tick, self._period)
            self._background.do("topics of the object", lambda: self._objects.publish(stamp, step))
        self._durations.add(time.perf_counter() - begin)

    def _send(self, tick: int, outcome: Outcome) -> None:
        if outcome.torque is None:
            return
        link = self._link
        may = link is None or link.may_command(self._clock.now())
        if not (may and self._commands.send(tick, outcome.torque, outcome.released)):
            self._depart_from_acting()
            return
        points = self.loop.law.set_points
        if self.loop.safety.law_runs and points is not None:
            self._commands.send_positions(tick, points, outcome.released)
        self._pace.command_sent()
        if link is not None:
            link.beat_with_command()

    def _depart_from_acting(self) -> None:
        """Let the torque rate count from what the drives got last, from this node or another."""
        self.loop.safety.depart_from(self._gravity.to_torques(self._commands.last()))

    def on_period(self) -> None:
        """Command the arms also while no joint states come (wall clock)."""
        now, safety = self._clock.now(), self.loop.safety
        self._expect_samples(1.0)
        self._pace.check(now)
        if safety.in_charge and not (safety.law_runs and self.loop.joint_states.known(now)):
            self._outcome = self.loop.cycle_without_samples(now)
            self._send(self._clock.tick, self._outcome)

    def _expect_samples(self, periods: float) -> None:
        """Set `due` to some control periods from now."""
        if not self._clock.lockstep:
            self.due = time.monotonic() + periods * self._period

    def on_error(self, error: Exception) -> None:
        """Report an unexpected error once; the fallback takes over if the law runs."""
        self._background.add_error("controller", error)
        safety = self.loop.safety
        if safety.law_runs:
            self.loop.fall_back(
                self._clock.now(), Cause.CONTROLLER_FAILED, "controller", sentence_of(error)
            )

    # -- start, stop, reset -------------------------------------------------------------------

    def _start_automatically(self) -> None:
        """Start control when the preparation is done; a refused start is not repeated."""
        try:
            if not self._clock.lockstep:
                if self._preparation is None:
                    self.prepare()
                if self._preparation is None or not self._preparation.poll():
                    return
            self.start_wanted = False
            self._activate()
        except RobotDynamicsError as error:
            self.start_wanted = False
            if self._has_launcher:
                raise RefusedError(str(error)) from error
            self._refusal = str(error)
            self._complain(self._refusal)

    def prepare(self) -> StartPreparation:
        """Begin the preparation of a start, which is done when its `poll` returns true."""
        known = partial(self._conditions.require_known, time.monotonic())
        waits = self._beat if self._clock.lockstep else None  # simulated time does
        limit = self._check_limit
        self._preparation = StartPreparation(self.loop, known, self._checks, limit, waits)
        return self._preparation

    def start(self) -> None:
        """Start control from where the arms are; prepare that now if it was not done before.

        Raises:
            RobotDynamicsError: If that is refused; one sentence says why.
        """
        loop = self.loop
        self.start_wanted = False
        preparation, self._preparation = self._preparation, None
        if preparation is None or not preparation.done:
            self._catch_up()
            now = self._conditions.require
            StartPreparation(loop, now, self._checks, self._check_limit).finish(self._beat)
        tick = max(self._clock.tick if self._clock.lockstep else self._intake.tick, 0)
        if self._link is not None and self._link.hands_back:
            self._depart_from_acting()
        loop.start(self._clock.now(), tick)
        self._pace.reset()
        self._silence.reset()  # no message was read while the path was checked
        self._refusal = ""
        self._background.do("recording", self._record.begin)
        unseen = ""
        if loop.wrenches and loop.law.holds_object and not loop.wrist_sensors.tared:
            unseen = (
                "; the wrist sensors were not tared here: a bias along the squeeze cannot be seen "
                "while the object is held"
            )
        self._node.get_logger().info(f"control starts{unseen}")
        if self._outcome is None and not self._starting:
            self._cycle(tick)  # simulated time waits for it

    def refuse(self, sentence: str) -> None:
        """Store why a start was refused, for the diagnostics."""
        self._refusal, self._preparation = sentence, None

    def pause(self) -> None:
        """Hand over to the fallback until the next start."""
        self.loop.pause(self._clock.now())

    def stop(self) -> str:
        """Hand over to the fallback until a reset; return the message of the service."""
        self.start_wanted = False
        self.loop.stop(self._clock.now())
        self._node.get_logger().info("stopped on request")
        return f"stopped; {self._scenario.safety.fallback.replace('_', ' ')} until a reset"

    def reset(self) -> str:
        """Clear faults; return the message of the service.

        Raises:
            RobotDynamicsError: If control runs, or a stream is still stale.
        """
        self._catch_up()
        self.loop.reset(self._clock.now())
        self._intake.reset()  # a state that comes again may have been refused
        self._objects.reset()
        self._background.reset()
        self._refusal = ""
        if self._link is not None:  # a guard may be reset right after this
            self._link.beat(commanding=self._link.may_command(self._clock.now()))
        return "faults are forgotten; the fallback goes on until the next start"

    def taring(self) -> Taring:
        """Begin to tare the wrist sensors.

        Raises:
            SafetyError: If that is refused; one sentence says why.
        """
        return Taring(self.loop, self._scenario.control.start.velocity_tolerance)

    def _catch_up(self) -> None:
        """Read messages that arrived before a service call: the simulator may have been reset."""
        if not self._starting and self._inbox.read():
            self.on_messages()

    def _guard_allows_start(self) -> bool:
        """Return whether the guard allows a start; store why it does not."""
        self._refusal = self._conditions.guard_refusal()
        return not self._refusal

    def _beat(self) -> None:
        if self._link is not None:
            self._link.beat_when_idle(self._clock.now())

    # -- idle work -------------------------------------------------------------------------

    def on_idle(self) -> None:
        """Send heartbeats, start automatically, check the simulator, publish and save."""
        self._beat()
        if self.start_wanted and not self._clock.lockstep:
            preparing = self._preparation is not None
            if preparing or (self.loop.complete and self._guard_allows_start()):
                self._start_automatically()
        do, loop = self._background.do, self.loop
        waiting = loop.safety.state is State.INACTIVE and not loop.complete
        do("awaited topics", lambda: self._missing_publishers.check(waiting=waiting))
        do("recording", self._record.poll)
        do("topics of the object", lambda: self._objects.on_idle(self._record.step, loop))
        if not self._record.done:
            self._watch_simulator()

    def publish_diagnostics(self) -> None:
        """Publish diagnostics once a second and on change."""
        self._background.do("diagnostics", self._publish_diagnostics)

    def _watch_simulator(self) -> None:
        if self._preparation is not None:
            self._silence.reset()  # simulated time may wait for the start
        outcome = self._silence.check(self._intake.received_at)
        if outcome is not None:
            self._send(self._clock.tick, outcome)
            if self._has_launcher:
                raise RunError(f"tick {self._clock.tick}: {self._silence.sentence}")

    def _publish_diagnostics(self) -> None:
        if self._diagnostics.due:
            self._other_publisher = self._publisher_monitor.warning
        guard = "" if self._link is None else self._link.warning
        warning = self._missing_publishers.warning or guard or self._inbox.refusal
        warning = warning or self._record.warning or self._background.warning
        level, message = condition(self.loop, self._refusal, warning, self._other_publisher)
        if self._diagnostics.update(level, message, self._figures) and level != OK:
            self._complain(message, level)

    def _figures(self) -> dict[str, object]:
        found = figures(self.loop, self._record.step) | self._intake.latency.figures()
        found |= {"tick": self._clock.tick, **self._durations.figures("control cycle")}
        return found | {PROCESS_KEY: PROCESS}

    def _complain(self, sentence: str, level: bytes = ERROR) -> None:
        if sentence != self._logged:
            self._log(level, sentence)
        self._logged = sentence


def _words(without_commands: Mapping[str, str]) -> str:
    """Return what the drives do when commands stop, once if it is the same for all arms."""
    if len(set(without_commands.values())) == 1:
        return next(iter(without_commands.values()))
    return ", ".join(f"{arm} {does}" for arm, does in without_commands.items())
