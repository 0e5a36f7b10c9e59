# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The guard node, which holds the arms up when the heartbeat of their controller stops."""

from __future__ import annotations

if __name__ == "__main__":  # by `python -m`: a signal during the imports below ends it as well
    from robot_dynamics.nodes.entry_points import guard

    guard()

import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

import numpy as np
from rclpy.node import Node
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, UInt64MultiArray

from robot_dynamics.app.recordings import topic_names as topics
from robot_dynamics.app.scenarios.scenario import load_scenario
from robot_dynamics.app.scenarios.task import gripper_arms
from robot_dynamics.arrays import Array
from robot_dynamics.control.clock import Clock, LockstepClock, WallClock, tick_of
from robot_dynamics.control.faults import StaleStreamError, State
from robot_dynamics.errors import RobotDynamicsError, sentence_of
from robot_dynamics.nodes.command_topics import command_topics
from robot_dynamics.nodes.conversions import (
    JointSample,
    NumberWriter,
    command_reader,
    joint_state_reader,
)
from robot_dynamics.nodes.diagnostics import (
    ERROR,
    OK,
    WARN,
    Diagnostics,
    SentenceLog,
    fault_figures,
)
from robot_dynamics.nodes.drives import (
    DriveGravityCompensation,
    DriveProperties,
    believed_positions,
)
from robot_dynamics.nodes.guard_loop import GuardLoop
from robot_dynamics.nodes.heartbeat import (
    Beat,
    GuardError,
    GuardReport,
    GuardState,
    HeartbeatMonitor,
    OtherGuard,
)
from robot_dynamics.nodes.joint_commands import (
    CommandError,
    joint_commands,
    subscribe_to_joint_commands,
)
from robot_dynamics.nodes.lifecycle import SessionNode
from robot_dynamics.nodes.parameters import GUARD
from robot_dynamics.nodes.process import Reporter, run
from robot_dynamics.nodes.robot_descriptions import described_by_topics
from robot_dynamics.nodes.services import retry_while, serve
from robot_dynamics.nodes.task_topics import GripperRelay
from robot_dynamics.nodes.topics import STREAM, Inbox, MissingPublishers, sample_quality
from robot_dynamics.wording import apart

RESET_TIMEOUT_S = 1.0  # longest wait of a reset for a heartbeat and joint states


class Guard:
    """A configured guard, which takes over arms only while the node is active.

    Attributes:
        due: Time of the next heartbeat check, by the steady clock [s].
        incomplete: Always false: messages do not wait for one another.

    Args:
        node: The node `guard`.
        inbox: Its subscriptions.
        values: Its parameters.
        reporter: Reports to a launcher.

    Raises:
        RobotDynamicsError: If the scenario is refused.
    """

    incomplete = False

    def __init__(
        self, node: Node, inbox: Inbox, values: Mapping[str, Any], reporter: Reporter
    ) -> None:
        self._node, self._inbox, self._reporter = node, inbox, reporter
        self._active = False
        self._lockstep = values["mode"] == "lockstep"
        scenario = described_by_topics(
            node, load_scenario(values["scenario"]), values["robot_description_topics"]
        )
        self._scenario, self._period = scenario, scenario.control.period
        self.due = time.monotonic()
        self._clock: Clock = (LockstepClock if self._lockstep else WallClock)(self._period)
        self._loop = GuardLoop(
            scenario,
            self._clock,
            ignored_joints=filter(None, values["ignored_joints"]),
            stale_after_s=0.0 if self._lockstep else values["stale_after"],
        )
        self._monitor = HeartbeatMonitor(
            *((values["silence_limit"],) if self._lockstep else _timeouts(values))
        )
        self._answered = -1
        self._torque: Array | None = None
        safety, drives = self._loop.safety, DriveProperties(scenario.cell.arms, values, ())
        self._gravity = DriveGravityCompensation(
            self._loop.system,
            drives.compensate_gravity,
            partial(believed_positions, safety, self._loop.joint_states),
        )
        # In lockstep no time passes without commands.
        safety.fallback.note_drives(self._gravity.added, () if self._lockstep else drives.braking)
        self._cycle_at = 0.0
        self._takeovers = 0
        self._error = ""
        self._other_guard = OtherGuard()
        self._create_topics(values["joint_state_topics"], values["command_interfaces"])
        self._diagnostics, self._log = Diagnostics(node, scenario.name), SentenceLog(node)
        if not self._lockstep and (sentence := _raised(values)):
            node.get_logger().warning(sentence)
        node.get_logger().info(
            f"configured: {scenario.name}, {values['mode'].replace('_', ' ')}; takes over after "
            f"{self._monitor.timeout:g} s without a heartbeat"
        )

    def activate(self) -> None:
        """Watch the heartbeat, and take over when it stops."""
        self._active = True
        self._report()

    def deactivate(self) -> None:
        """Stop watching.

        Raises:
            GuardError: If the guard is in charge of the arms.
        """
        if self._monitor.state is not GuardState.WATCHING:
            raise GuardError(
                "deactivate refused: the guard is in charge; expected a watching guard: call its "
                "reset first."
            )
        self._active = False
        self._report()

    def close(self) -> None:
        """Leave the arms with the last torques, or at rest."""
        if self._monitor.state is not GuardState.WATCHING:
            self._commands.end(self._clock.tick, self._loop.safety.released)

    def _create_topics(
        self, joint_state_topics: Sequence[str], command_interfaces: Sequence[str]
    ) -> None:
        node, system = self._node, self._loop.system
        self._commands = command_topics(
            node, system, self._gravity.to_commands, command_interfaces, self._clock
        )
        self._grippers = GripperRelay(node, self._inbox, gripper_arms(self._scenario))
        self._report_topic = node.create_publisher(UInt64MultiArray, topics.GUARD, STREAM)
        self._report_writer = NumberWriter(GuardReport._fields)
        # Heartbeats are read first: all decisions depend on them.
        self._inbox.subscribe(
            UInt64MultiArray, topics.HEARTBEAT, self._on_beat, STREAM, awaited=False
        )
        if any(command_interfaces):
            subscribe_to_joint_commands(self._inbox, self._on_joint_commands, awaited=False)
        for arm in () if any(command_interfaces) else system.arms:
            self._inbox.subscribe(
                Float64MultiArray,
                topics.commands(arm.name),
                partial(self._on_command, arm.name),
                STREAM,
                awaited=False,
                reader=command_reader(),
            )
        for topic in joint_state_topics:
            self._inbox.subscribe(
                JointState,
                topic,
                partial(self._on_joints, topic),
                sample_quality(lockstep=self._lockstep),
                awaited=True,
                reader=joint_state_reader(),
                overridable=True,
            )
        # Its own reports included.
        self._inbox.subscribe(
            UInt64MultiArray, topics.GUARD, self._on_report, STREAM, awaited=False, reader=len
        )
        self._missing_publishers = MissingPublishers(node, [*joint_state_topics, topics.HEARTBEAT])
        serve(node, "~/reset", self._reset)

    # -- messages -----------------------------------------------------------------------------

    def _on_beat(self, message: UInt64MultiArray) -> None:
        beat = Beat.of(message.data)
        if beat is None:
            return
        now = time.monotonic()
        silence = self._monitor.age(now)
        handed_back = self._monitor.receive(beat, now)
        if handed_back:
            self._loop.release()
            self._commands.forget()
            self._node.get_logger().info("handed back to the controller")
            self._reporter.report("handed back")
        # A suspended controller waits for this report.
        if handed_back or silence > 0.5 * self._monitor.timeout:
            self._report()

    def _on_report(self, size: int) -> None:
        self._other_guard.received()

    def _on_command(self, arm: str, answer: tuple[int, Array]) -> None:
        _, torque = answer
        self._monitor.commanded(time.monotonic())
        self._loop.take_command(arm, self._gravity.to_arm_torques(arm, torque))

    def _on_joint_commands(self, sample: JointSample) -> None:
        arms = {arm.name: arm.joints for arm in self._loop.system.arms}
        with suppress(CommandError):
            for command in joint_commands(sample, arms):
                self._on_command(command.arm, (0, command.effort))

    def _on_joints(self, topic: str, sample: JointSample) -> None:
        message_stamp, names, position, velocity, _ = sample
        stamp, now = self._clock.times_of(message_stamp)
        newer = self._loop.joint_states.take(topic, stamp, names, position, velocity, now)
        tick, clock = tick_of(message_stamp, self._period), self._clock
        # After a fault, commands of guard and controller keep the number of the run that the fault
        # ended: a simulator that was reset keeps its brakes on until both are reset as well. Other
        # devices can publish on the topic, with clocks of their own.
        later = tick > clock.tick or self._loop.safety.state is State.INACTIVE
        if clock.lockstep or (newer and later):
            clock.tick = tick

    def on_messages(self) -> None:
        """Answer new joint states while in charge; in lockstep repeat an answer if asked to."""
        if self._monitor.state is GuardState.WATCHING:
            return
        if self._loop.joint_states.ready:
            self._cycle()
        elif self._lockstep and self._clock.tick == self._answered:
            self._send()

    # -- commands -----------------------------------------------------------------------------

    def on_period(self) -> None:
        """Check the heartbeat; on the wall clock command the arms also without joint states."""
        now = time.monotonic()
        self.due = now + self._period
        if self._active and self._loop.joint_states.all_heard and self._monitor.check(now):
            self._take_over()
            return
        late = not self._lockstep and now - self._cycle_at > 1.5 * self._period
        if late and self._monitor.state is not GuardState.WATCHING:
            self._cycle()

    def _take_over(self) -> None:
        beat, monitor = self._monitor.beat, self._monitor
        # Before the first command, in case the controller is still running.
        self._report()
        ends, commands = monitor.missing == "controller", monitor.missing == "command"
        limit = monitor.command_timeout if commands else monitor.timeout
        silence, expected = apart(monitor.silence, limit)
        missing = "heartbeats, but no command" if commands else "no heartbeat"
        sentence = f"{missing} for {silence} s; expected one within {expected} s."
        if ends:
            sentence = "it has ended; expected another one to hold the arms."
        self._loop.take_over(self._clock.now(), sentence, held=beat is None or beat.held)
        self._takeovers += 1
        self._cycle()
        self._reporter.report("took over", silence_s=monitor.silence)

    def _cycle(self) -> None:
        self._torque = self._loop.cycle(self._clock.now())
        self._answered, self._cycle_at = self._clock.tick, time.monotonic()
        self._send()

    def _send(self) -> None:
        if self._torque is not None:
            self._grippers.send(self._clock.tick)
            released = self._loop.safety.released
            self._commands.send(self._clock.tick, self._torque, released, {})

    async def _reset(self) -> str:
        if self._monitor.state is not GuardState.IN_CHARGE:
            self._monitor.reset(time.monotonic())  # raises its error
        return await retry_while(self._hand_back, (GuardError, StaleStreamError), RESET_TIMEOUT_S)

    def _hand_back(self) -> str:
        """Hand back the arms when the controller commands; return the service's message.

        Raises:
            RobotDynamicsError: If no controller runs, it has a fault, or joint states are stale.
        """
        state = self._monitor.state
        self._monitor.reset(time.monotonic())
        try:
            self._loop.reset(self._clock.now())
        except RobotDynamicsError:
            self._monitor.state = state
            raise
        self._report()
        return "the guard stays in charge until the controller commands"

    def on_error(self, error: Exception) -> None:
        """Log an unexpected error and continue: no other process holds the arms."""
        sentence = sentence_of(error)
        if sentence != self._error:
            self._log(ERROR, sentence)
        self._error = sentence

    # -- reports and diagnostics --------------------------------------------------------------

    def on_idle(self) -> None:
        """Report to the controller, and check for missing publishers."""
        self._report()
        waiting = not self._loop.joint_states.all_heard or self._monitor.beat is None
        self._missing_publishers.check(waiting=waiting)

    def publish_diagnostics(self) -> None:
        """Publish diagnostics once a second and on change."""
        level, message = self._condition(time.monotonic())
        if self._diagnostics.update(level, message, self._figures) and level != OK:
            self._log(WARN, message)

    def _report(self) -> None:
        monitor = self._monitor
        heard = 0 if monitor.beat is None else monitor.beat.number
        able = self._active and self._loop.joint_states.all_heard
        report = GuardReport(heard, monitor.sender, monitor.state, able)
        self._report_topic.publish(self._report_writer.fill(report))
        self._other_guard.sent()

    def _condition(self, now: float) -> tuple[bytes, str]:
        """Return the level and the sentence of the diagnostics."""
        monitor, arms = self._monitor, self._loop.joint_states
        if monitor.state is GuardState.IN_CHARGE:
            return ERROR, f"in charge: {self._loop.safety.cause}"
        if monitor.state is GuardState.HANDING_BACK:
            return WARN, "handing back: in charge until the controller commands"
        if not self._active:
            return OK, "inactive"
        missing = self._missing_publishers.warning
        why = f": {missing}" if missing else ""
        trouble = arms.complaint or self._inbox.refusal or self._error
        if not trouble and self._other_guard.is_there(now):
            trouble = "another guard reports; expected only one"
        if not trouble and not arms.all_heard:
            trouble = f"no joint states of some arm, so that a takeover is impossible{why}"
        elif not trouble and monitor.beat is None:
            trouble = f"no heartbeat has come{why}"
        elif not trouble and monitor.has_conflict(now):
            trouble = "another controller commands; expected only one"
        elif not trouble and monitor.age(now) > monitor.timeout:
            trouble = (
                "the heartbeat of the controller that commands the arms is late"
                if monitor.watches
                else "the heartbeat of a controller that did not command has stopped"
            )
        return (WARN, f"watching: {trouble}") if trouble else (OK, "watching")

    def _figures(self) -> dict[str, object]:
        monitor, safety = self._monitor, self._loop.safety
        found = fault_figures(safety)
        found["takeovers"] = self._takeovers
        found["heartbeat timeout [s]"] = monitor.timeout
        if self._takeovers:
            found["silence before the last takeover [s]"] = monitor.silence
        if monitor.conflicts:
            found["heartbeats of a second commanding controller"] = monitor.conflicts
        if safety.released:
            found["left to their drives"] = ", ".join(safety.released)
        if safety.saturated:
            found["saturated"] = ", ".join(safety.saturated)
        return found


def _timeouts(values: Mapping[str, Any]) -> tuple[float, float]:
    """Return the times without heartbeat and without command after which the guard takes over [s].

    The second is at least the first: missing commands are no sign before missing heartbeats.
    """
    beats, commands = values["heartbeat_timeout"], values["command_timeout"]
    return beats, max(commands, beats) if commands > 0.0 else np.inf


def _raised(values: Mapping[str, Any]) -> str:
    """Return the warning of a raised `command_timeout`; empty if it is not raised."""
    given, taken = values["command_timeout"], _timeouts(values)[1]
    if not 0.0 < given < taken:
        return ""
    return (
        f"command_timeout is {given:g} s; expected at least heartbeat_timeout, {taken:g} s, which "
        "is used instead."
    )


def main() -> None:
    """Run the node `guard`."""
    create = partial(SessionNode, "guard", GUARD, Guard)
    sys.exit(run("guard", create, entries=GUARD))
