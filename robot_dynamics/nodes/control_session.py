# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A configured controller: control cycle from samples to commands, start, stop and reset."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from typing import Any

from rclpy.node import Node

from robot_dynamics.app.recordings import topic_names as topics
from robot_dynamics.app.scenarios.laws import control_loop
from robot_dynamics.app.scenarios.scenario import Scenario, anchored
from robot_dynamics.control.abilities import HoldsObject, TunesGains
from robot_dynamics.control.clock import Clock, LockstepClock, WallClock, stamp_of
from robot_dynamics.control.control_loop import ControlLoop, Outcome, Streams
from robot_dynamics.control.faults import Cause, State
from robot_dynamics.control.resume import Way
from robot_dynamics.control.settings import ControlSettings
from robot_dynamics.control.taring import Taring
from robot_dynamics.errors import RobotDynamicsError, sentence_of
from robot_dynamics.nodes.background_work import BackgroundWork
from robot_dynamics.nodes.command_output import CommandOutput
from robot_dynamics.nodes.command_topics import PROCESS, PROCESS_KEY
from robot_dynamics.nodes.control_report import ControlDiagnostics, ControlRecord, figures
from robot_dynamics.nodes.diagnostics import Diagnostics
from robot_dynamics.nodes.drives import DriveProperties
from robot_dynamics.nodes.inputs import Action, ReferenceTopics, SampleIntake
from robot_dynamics.nodes.joint_trajectories import (
    serve_joint_trajectories,
    subscribe_to_joint_trajectories,
)
from robot_dynamics.nodes.object_topics import ObjectTopics, resolved_topics
from robot_dynamics.nodes.parameters import ParameterError
from robot_dynamics.nodes.process import RefusedError, Reporter, RunError
from robot_dynamics.nodes.start_preparation import CheckThread, StartConditions, StartPreparation
from robot_dynamics.nodes.task_topics import TaskReport
from robot_dynamics.nodes.timeouts import SilenceMonitor
from robot_dynamics.nodes.topics import Inbox, MissingPublishers

_SILENT_STEPS = 1000  # steps of the law that lengthen the silence limit of the simulator
_CHECK_S = 10.0  # least time limit of a path check, for a busy machine
_CHECK_CLOSE_S = 1.0  # longest wait for a running check when the session ends
CLOSE_S = 0.2  # time in which last commands are sent, and timeout of their delivery


class ControlSession:
    """The state of the controller node between `configure` and `cleanup`.

    Attributes:
        loop: The control loop, which is independent of ROS.
        due: Time of the next call of `on_period`, unless samples come before, by the steady clock
            [s]; None in lockstep.
        start_wanted: Whether control must start with the first complete state.

    Args:
        node: The node.
        inbox: Its subscriptions.
        diagnostics: The diagnostics of the node.
        scenario: The scenario.
        values: The node's parameters.
        given: Names of the parameters that were set.
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
        self._activate = activate
        lockstep = values["mode"] == "lockstep"
        period = scenario.control.period
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
        if values["resume_phase"]:
            self._take_up(values["resume_phase"])
        loop, joint_state_topics = self.loop, values["joint_state_topics"]
        self._duration = values["duration"] or None
        self._limited = bool(lockstep or values["output"] or self._duration)
        self._record = ControlRecord(
            scenario,
            loop,
            reporter,
            values["output"],
            self._ticks(),
            resolved_topics(node, loop, joint_state_topics),
        )
        self._outcome: Outcome | None = None
        self._ran = False  # whether the law ran in the last control cycle
        self._starting = False
        self._preparation: StartPreparation | None = None
        self._checks = CheckThread()
        self._report = ControlDiagnostics(node, diagnostics, loop)
        self._background = BackgroundWork(self._report.complain)
        self._intake = SampleIntake(inbox, loop, joint_state_topics, self._background)
        # Controller and simulator are both slow without a code generator.
        slowness = _SILENT_STEPS * loop.step_time
        silence = values["silence_limit"] + slowness
        self._check_limit = _CHECK_S + 10.0 * slowness
        self._silence = SilenceMonitor(
            loop, silence, values["patience"] if self._has_launcher else None
        )
        drives = DriveProperties(scenario.cell.arms, values, given)
        self._output = CommandOutput(node, inbox, loop, drives, values)
        self._objects = ObjectTopics(
            node,
            scenario,
            loop,
            in_real_time=not lockstep,
            joint_state_topics=joint_state_topics,
        )
        self._task: TaskReport | None = None
        self._actions: Sequence[Any] = ()
        if loop.task is not None:
            self._task = TaskReport(node, loop, scenario.name)
            subscribe_to_joint_trajectories(node, inbox, loop)
            arms = [arm.name for arm in loop.system.arms]
            self._actions = serve_joint_trajectories(node, arms, lambda: loop)
            # A launcher that waits for the end of the run is no operator.
            loop.task.has_operator = not values["progress"]
        self._conditions = StartConditions(
            node,
            loop,
            self._output.link,
            self._output.publisher_monitor,
            drives,
            joint_state_topics,
            lambda: self._intake.received_at,
        )
        self._intake.subscribe_to_sensors()
        if values["references"] == "topics":
            ReferenceTopics(node, inbox, loop, self._message_time)
        self._intake.subscribe_to_joint_states()
        self._missing_publishers = MissingPublishers(
            node, [*joint_state_topics, *map(topics.wrench, loop.wrenches)]
        )
        diagnostics.set_hardware(scenario.name)
        node.get_logger().info(
            f"configured: {scenario.name}, {scenario.control.law} law at "
            f"{scenario.control.rate_hz:g} Hz, {values['mode'].replace('_', ' ')}; "
            f"guard: {drives.guard(values['guard'])}; "
            f"without commands: {_words(drives.without_commands)}"
            + ("" if self.start_wanted else "; waits for the service controller/start")
        )

    def _take_up(self, number: float) -> None:
        """Set the phase of the task with which `controller/resume` begins.

        Raises:
            ParameterError: If the scenario has no task, or the number is not whole.
            TaskError: If the task cannot go on in this phase.
        """
        task, name = self.loop.task, "resume_phase"
        if task is None:
            raise ParameterError(name, number, "0, because the scenario has no `task`")
        if number != int(number):
            raise ParameterError(name, number, "a whole number")
        task.take_up(int(number))
        self.start_wanted = False

    def close(self) -> None:
        """Send last commands of the fallback and save the recording."""
        commanding = self.loop.safety.in_charge and not (
            self._clock.lockstep and self._record.done
        )
        self._record.end()
        with ExitStack() as last:  # in reverse order, whatever fails before
            last.callback(self._checks.close, _CHECK_CLOSE_S)
            last.callback(self._record.close)
            if commanding:
                last.callback(self._output.close, CLOSE_S)
                self._send_last_commands()

    def _send_last_commands(self) -> None:
        loop = self.loop
        outcome = loop.fall_back(
            self._clock.now(), Cause.STOP_REQUESTED, "controller", "the controller ends."
        )
        self._output.send(self._clock.tick, outcome)
        # The torque changes to that of the fallback at a limited rate, over several commands.
        until = time.monotonic() + (0.0 if self._clock.lockstep else CLOSE_S)
        while time.monotonic() < until:
            time.sleep(self._clock.period)
            self._background.do("last messages", self._inbox.read)
            self._output.send(self._clock.tick, loop.cycle_without_samples(self._clock.now()))

    def destroy(self) -> None:
        """Destroy publishers and subscriptions."""
        self._report.close()
        self._inbox.clear()
        self._objects.destroy()
        if self._task is not None:
            self._task.destroy()
        for action in self._actions:
            action.destroy()
        self._output.destroy()

    # -- samples and commands -----------------------------------------------------------------

    def _message_time(self) -> int:
        """Return the present time of messages [ns]: simulated in lockstep, else ROS time."""
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
        # A start has answered its tick; further messages of this tick can come later.
        answered = action is Action.REPEAT or (self._ran and self.loop.safety.law_runs)
        if answered and self._outcome is not None and tick == self._clock.tick:
            self._output.send(tick, self._outcome)
            return
        if self._clock.lockstep and tick == 0 < self._clock.tick and not self.loop.safety.law_runs:
            # The simulator was reset after a stop or fault: its time waits for the next start.
            self.loop.let_go()
            self._intake.reset()  # refused because time has jumped; the state will be repeated
        self._cycle(tick)

    def _cycle(self, tick: int) -> None:
        """Compute and send the answer to a tick."""
        begin = time.perf_counter()
        clock, loop = self._clock, self.loop
        if clock.lockstep:
            if self.start_wanted and loop.complete and self._guard_allows_start():
                clock.tick, self._starting = tick, True  # simulated time waits for the start
                self._start_automatically()
                self._starting = False
            clock.tick = tick
            if self._is_past_end(tick):
                return
        now = clock.now()
        self._output.timeout.check(now)
        outcome = loop.cycle(now, tick)
        clock.tick, self._ran = tick, loop.safety.law_runs
        self._expect_samples(1.5)
        if outcome.torque is None:
            self._outcome = None
            return
        self._outcome = outcome
        self._output.send(tick, outcome)
        self._intake.latency.sent()
        step = outcome.step
        self._background.do("recording", lambda: self._record.write(tick, outcome))
        self._report_phase(tick)
        if step is not None:
            stamp = stamp_of(tick, clock.period)
            self._background.do("topics of the object", lambda: self._objects.publish(stamp, step))
        self._report.durations.add(time.perf_counter() - begin)

    def _report_phase(self, tick: int) -> None:
        """Publish the phase of a task if it has changed."""
        report, last = self._task, self._record.last_tick
        if report is not None:
            self._background.do("phase", lambda: report.update(tick, last))

    def _is_past_end(self, tick: int) -> bool:
        """Return whether the task of a run in lockstep has ended before a tick.

        The simulator learns that by a message; no period must pass before it does.
        """
        last = self._record.last_tick
        return self._task is not None and last is not None and tick > last

    def on_period(self) -> None:
        """Command the arms while no joint states come (wall clock)."""
        now, safety = self._clock.now(), self.loop.safety
        self._expect_samples(1.0)
        self._output.timeout.check(now)
        if safety.in_charge and not (safety.law_runs and self.loop.joint_states.known(now)):
            self._outcome = self.loop.cycle_without_samples(now)
            self._output.send(self._clock.tick, self._outcome)
            self._report_phase(self._clock.tick)

    def _expect_samples(self, periods: float) -> None:
        """Set `due` to a number of control periods from now."""
        if not self._clock.lockstep:
            self.due = time.monotonic() + periods * self._clock.period

    def on_error(self, error: Exception) -> None:
        """Report an unexpected error once; the fallback takes over if the law runs."""
        self._background.add_error("controller", error)
        safety = self.loop.safety
        if safety.law_runs:
            self.loop.fall_back(
                self._clock.now(), Cause.CONTROLLER_FAILED, "controller", sentence_of(error)
            )

    def retune(self, settings: ControlSettings) -> None:
        """Change the gains of the law; after an unexpected error the fallback takes over."""
        try:
            if isinstance(self.loop.law, TunesGains):
                self.loop.law.retune(settings)
        except Exception as error:  # nobody knows what the law has taken
            self.on_error(error)

    # -- start, stop, reset -------------------------------------------------------------------

    def _start_automatically(self) -> None:
        """Start control when the preparation is complete; a refused start is not repeated."""
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
            self._report.refusal = str(error)
            self._report.complain(self._report.refusal)

    @property
    def prepares_start(self) -> bool:
        """Whether a start is being prepared; another one must wait for its end."""
        return self._preparation is not None and not self._preparation.over

    def prepare(self, way: Way = "start") -> StartPreparation:
        """Begin the preparation of a start, which is complete when its `poll` returns true.

        No other one must be in progress; see `prepares_start`.

        Args:
            way: How control begins; see `FollowsPlan.choose_start`.
        """
        known = partial(self._conditions.require_known, time.monotonic())
        # In lockstep simulated time waits for the check.
        meanwhile = self._output.beat_when_idle if self._clock.lockstep else None
        self._preparation = StartPreparation(
            self.loop, known, self._checks, self._check_limit, meanwhile, way
        )
        return self._preparation

    def start(self) -> None:
        """Start control from the present positions, after a preparation if none is complete.

        Raises:
            RobotDynamicsError: If the start is refused.
        """
        loop = self.loop
        self.start_wanted = False
        preparation, self._preparation = self._preparation, None
        if preparation is None or not preparation.done:
            self._catch_up()
            conditions, limit = self._conditions.require, self._check_limit
            preparation = StartPreparation(loop, conditions, self._checks, limit)
            preparation.finish(self._output.beat_when_idle)
        tick = max(self._clock.tick if self._clock.lockstep else self._intake.tick, 0)
        if self._output.link is not None and self._output.link.hands_back:
            self._output.depart_from_acting()
        loop.start(self._clock.now(), tick)
        self._output.timeout.reset()
        self._silence.reset()  # no message was read while the path was checked
        self._report.refusal = ""
        self._background.do("recording", lambda: self._record.begin(self._ticks()))
        unseen = ""
        if loop.wrenches and isinstance(loop.law, HoldsObject) and not loop.wrist_sensors.tared:
            unseen = (
                "; the wrist sensors were not tared: while the object is held a bias along the "
                "squeeze cannot be detected"
            )
        self._node.get_logger().info(f"control starts: {loop.beginning}{unseen}")
        if not self._clock.lockstep:
            self._catch_up()  # the samples of the start may be too old by now
        if self._outcome is None and not self._starting:
            self._cycle(tick)  # simulated time waits for its commands

    def _ticks(self) -> int:
        """Return the number of control periods of the next run."""
        if not self._limited:
            return sys.maxsize
        return self._scenario.ticks(self.loop.law.reference, self._duration)

    def refuse(self, sentence: str) -> None:
        """Store why a start was refused, for the diagnostics."""
        self._report.refusal, self._preparation = sentence, None

    def pause(self) -> None:
        """Hand over to the fallback until the next start."""
        self.loop.pause(self._clock.now())

    def stop(self) -> str:
        """Hand over to the fallback until a reset; return the message of the service."""
        if self.start_wanted:
            self.start_wanted, self._preparation = False, None  # nobody goes on with it
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
        self._intake.reset()  # a repeated state can have been refused
        self._objects.reset()
        self._background.reset()
        self._report.refusal = ""
        link = self._output.link
        if link is not None:  # a guard can be reset right after this
            link.beat(commanding=link.may_command(self._clock.now()))
        return "faults are cleared; the fallback stays in charge until the next start"

    def taring(self) -> Taring:
        """Begin to tare the wrist sensors.

        Raises:
            SafetyError: If taring is refused.
        """
        return Taring(self.loop, self._scenario.control.start.velocity_tolerance)

    def _catch_up(self) -> None:
        """Read messages that arrived before a service call, such as a simulator's reset."""
        if not self._starting and self._inbox.read():
            self.on_messages()

    def _guard_allows_start(self) -> bool:
        """Return whether the guard allows a start; store why it does not."""
        self._report.refusal = self._conditions.guard_refusal()
        return not self._report.refusal

    # -- idle work -------------------------------------------------------------------------

    def on_idle(self) -> None:
        """Send heartbeats, start automatically, check the simulator, publish and save."""
        self._output.beat_when_idle()
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
        if self.prepares_start:
            self._silence.reset()  # simulated time can wait for the start
        outcome = self._silence.check(self._intake.received_at)
        if outcome is not None:
            self._output.send(self._clock.tick, outcome)
            if self._has_launcher:
                raise RunError(f"tick {self._clock.tick}: {self._silence.sentence}")

    def _publish_diagnostics(self) -> None:
        link = self._output.link
        warning = self._missing_publishers.warning or ("" if link is None else link.warning)
        warning = warning or self._inbox.refusal or self._record.warning
        self._report.publish(
            warning or self._background.warning, self._output.publisher_monitor, self._figures
        )

    def _figures(self) -> dict[str, object]:
        found = figures(self.loop, self._record.step) | self._intake.latency.figures()
        found |= {"tick": self._clock.tick, **self._report.durations.figures("control cycle")}
        return found | {PROCESS_KEY: PROCESS}


def _words(without_commands: Mapping[str, str]) -> str:
    """Return the reactions of drives when commands stop, once if all arms have the same."""
    if len(set(without_commands.values())) == 1:
        return next(iter(without_commands.values()))
    return ", ".join(f"{arm} {does}" for arm, does in without_commands.items())
