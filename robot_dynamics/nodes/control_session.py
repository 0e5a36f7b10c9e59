# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A configured controller: its streams, its commands, and what it tells of itself."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Collection, Mapping
from functools import partial
from typing import Any

import numpy as np
from geometry_msgs.msg import WrenchStamped
from rclpy.duration import Duration
from rclpy.node import Node
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from robot_dynamics.app.scenario import Scenario
from robot_dynamics.app.topic_names import SECOND, stamp_of, tick_of
from robot_dynamics.control.faults import Cause, State
from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.nodes import topics
from robot_dynamics.nodes.control_loop import ControlLoop, Outcome
from robot_dynamics.nodes.control_record import ControlRecord
from robot_dynamics.nodes.control_status import condition, figures
from robot_dynamics.nodes.conversions import CommandWriter, read_time, read_wrench
from robot_dynamics.nodes.diagnostics import OK, Diagnostics, Durations, Latency
from robot_dynamics.nodes.drive_facts import require_known_drives
from robot_dynamics.nodes.drive_gravity import DriveGravity
from robot_dynamics.nodes.guard_link import GuardLink
from robot_dynamics.nodes.inbox import Inbox
from robot_dynamics.nodes.lockstep import Action, StateGate
from robot_dynamics.nodes.object_topics import ObjectTopics
from robot_dynamics.nodes.process import RefusedError, Reporter, RunError
from robot_dynamics.nodes.reference_topics import ReferenceTopics

_SILENT_STEPS = 1000  # steps of the law that the other side may take to answer
_FRESH_S = 0.2  # for samples that are newer than the check of a start
GOODBYE_S = 0.2  # for the last commands to be sent, and for them to arrive


class ControlSession:
    """What the controller node is between `configure` and `cleanup`.

    Attributes:
        loop: The controller without ROS.
        period: Of the watch over the streams in wall-clock mode [s]; None in lockstep.
        start_wanted: Whether control is to start with the first complete state.

    Args:
        node: The node that it speaks through.
        inbox: Its subscriptions.
        diagnostics: Where it tells how it is.
        scenario: The scenario.
        values: The node's parameters.
        given: Names of those that somebody has given.
        reporter: Tells a launcher what happens.
        begin: Goes through the node's transition that ends in `start`.

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
        begin: Callable[[], None],
    ) -> None:
        self._node, self._inbox, self._scenario = node, inbox, scenario
        self._diagnostics, self._begin, self._given = diagnostics, begin, given
        self._lockstep = values["mode"] == "lockstep"
        self._patience, self._sources = values["patience"], values["joint_state_topics"]
        self._attended = bool(values["progress"] or values["output"])
        self.start_wanted = values["autostart"] == "always" or (
            self._lockstep and values["autostart"] == "in_lockstep"
        )
        self._period = period = scenario.control.period
        self.period = None if self._lockstep else period
        self.loop = loop = ControlLoop(
            scenario,
            period if self._lockstep else 1.0 / SECOND,
            use_wrenches=values["use_wrenches"],
            ignored_joints=filter(None, values["ignored_joints"]),
            stale_after_s=0.0 if self._lockstep else values["stale_after"],
        )
        # Both sides are slow without a code generator.
        self._silence_limit = values["silence_limit"] + _SILENT_STEPS * loop.supervised.step_time
        limited = self._lockstep or values["output"] or values["duration"] > 0.0
        ticks = scenario.ticks(loop.supervised.reference, values["duration"] or None)
        self._record = ControlRecord(
            scenario, loop, reporter, values["output"], ticks if limited else sys.maxsize
        )
        self._gravity = DriveGravity(
            loop.system, values["drives_compensate_gravity"], lambda: loop.arms.state()[0]
        )
        loop.safety.note_drives(self._gravity.added)
        self._outcome: Outcome | None = None
        self._tick = self._latest_tick = -1
        self._durations, self._latency = Durations(period), Latency()
        self._cycle_at, self._heard_at = 0, time.monotonic()
        self._gone = self._starting = False
        self._said = self._refusal = ""
        self._gate = StateGate([*values["joint_state_topics"], *loop.wrenches])
        self._link: GuardLink | None = None
        self._create_topics(values)
        diagnostics.concern(scenario.name)

    def _create_topics(self, values: Mapping[str, Any]) -> None:
        node, stream = self._node, topics.STREAM
        arms = self.loop.system.arms
        self._command_topics = [
            node.create_publisher(Float64MultiArray, topics.commands(arm.name), stream)
            for arm in arms
        ]
        self._command_writers = [CommandWriter() for _ in arms]
        self._objects = ObjectTopics(
            node,
            self._scenario,
            self.loop,
            in_real_time=not self._lockstep,
            joint_state_topics=values["joint_state_topics"],
        )
        drives_hold = values["on_command_timeout"] == "hold"
        guard = values["guard"]
        if guard == "automatic":
            guard = "required" if drives_hold else "none"
        if guard != "none":
            timeout = values["silence_limit" if self._lockstep else "heartbeat_timeout"]
            # Its reports are read before anything is computed.
            self._link = GuardLink(
                node, self._inbox, self.loop, timeout, required=guard == "required"
            )
        # Wrenches first: they are read in this order, and joint states come last.
        for arm in self.loop.wrenches:
            self._inbox.subscribe(
                WrenchStamped,
                topics.wrench(arm),
                partial(self._on_wrench, arm),
                stream,
                awaited=False,
            )
        if values["references"] == "topics":
            ReferenceTopics(node, self._inbox, self.loop, self._now, self._message_time)
        for topic in values["joint_state_topics"]:
            self._inbox.subscribe(
                JointState, topic, partial(self._on_joints, topic), stream, awaited=True
            )

    def leave(self) -> None:
        """Leave the arms with what holds them up, and save what was recorded."""
        loop = self.loop
        if loop.safety.in_charge and not (self._lockstep and self._record.done):
            outcome = loop.fall_back(
                self._now(), Cause.STOP_REQUESTED, "controller", "the controller ends."
            )
            self._send(self._tick, outcome)
            # The torque goes to that of the fallback at a limited rate, over several commands.
            until = time.monotonic() + (0.0 if self._lockstep else GOODBYE_S)
            while time.monotonic() < until:
                time.sleep(self._period)
                self._inbox.read()
                self._send(self._tick, loop.cycle_without_samples(self._now()))
            for topic in self._command_topics:
                topic.wait_for_all_acked(Duration(seconds=GOODBYE_S))
        self._record.close()

    def destroy(self) -> None:
        """Take its topics off the node."""
        self._diagnostics.concern("controller")
        self._inbox.clear()
        self._objects.destroy()
        if self._link is not None:
            self._link.destroy()
        for topic in self._command_topics:
            self._node.destroy_publisher(topic)

    # -- samples ------------------------------------------------------------------------------

    def _now(self) -> int:
        """Return the time of the safety layer: the tick in lockstep, else a steady clock [ns]."""
        return self._tick if self._lockstep else time.monotonic_ns()

    def _message_time(self) -> int:
        """Return the present time of messages: simulated in lockstep, else that of ROS [ns]."""
        if self._lockstep:
            return stamp_of(self._tick, self._period)
        return int(self._node.get_clock().now().nanoseconds)

    def _on_wrench(self, arm: str, message: WrenchStamped) -> None:
        stamp = read_time(message.header.stamp)
        if not self._lockstep:
            self.loop.take_wrench(arm, stamp, read_wrench(message), time.monotonic_ns())
            return
        tick = tick_of(stamp, self._period)
        if self._gate.offer(arm, tick):
            self.loop.take_wrench(arm, tick, read_wrench(message), tick)

    def _on_joints(self, topic: str, message: JointState) -> None:
        self._heard_at = time.monotonic()
        self._latency.sampled(topic, self._inbox.published)
        stamp = read_time(message.header.stamp)
        now = time.monotonic_ns()
        self._latest_tick = tick_of(stamp, self._period)
        if self._lockstep:
            stamp = now = self._latest_tick
            if not self._gate.offer(topic, stamp):
                return
        position, velocity = np.asarray(message.position), np.asarray(message.velocity)
        self.loop.arms.take(topic, stamp, message.name, position, velocity, now)

    @property
    def incomplete(self) -> bool:
        """Whether some messages of a state have come and others are awaited."""
        return self._lockstep and self._gate.incomplete

    def on_messages(self) -> None:
        """Compute or repeat an answer."""
        tick = self._latest_tick
        if not self._lockstep:
            # Once every arm has something new, and not twice in a control period; before the
            # start, time may go back.
            later = tick > self._tick or self.loop.safety.state is State.INACTIVE
            if later and self.loop.arms.all_newer:
                self._cycle(time.monotonic_ns(), tick)
            return
        action = self._gate.decide()
        tick = self._gate.tick
        if action is Action.WAIT:
            return
        if action is Action.REPEAT and self._outcome is not None and tick == self._tick:
            self._send(tick, self._outcome)
        else:
            self._cycle(tick, tick)

    def _cycle(self, now: int, tick: int) -> None:
        """Compute and send what belongs to a tick."""
        begin = time.perf_counter()
        loop = self.loop
        if self.start_wanted and loop.complete and self._guarded():
            self._tick, self._starting = tick, True
            self._start_by_itself()
            self._starting = False
            if not self._lockstep:
                return  # that took time: go on with fresh samples
        outcome = loop.cycle(now, tick)
        self._tick, self._cycle_at = tick, now
        if outcome.torque is None:
            self._outcome = None
            return
        self._outcome = outcome
        self._send(tick, outcome)
        self._latency.sent()
        self._record.note(tick, outcome)
        if outcome.step is not None:
            self._objects.publish(stamp_of(tick, self._period), outcome.step)
        self._durations.add(time.perf_counter() - begin)

    def _send(self, tick: int, outcome: Outcome) -> None:
        if outcome.torque is None:
            return
        torque = self._gravity.commanded(outcome.torque)
        # The last look at what leaves the house; the safety layer never lets this happen.
        if not np.isfinite(torque).all():
            return
        if self._link is not None and not self._link.may_command(self._now()):
            return
        arms, slices = self.loop.system.arms, self.loop.system.arm_slices
        for i, (arm, own) in enumerate(zip(arms, slices, strict=True)):
            if arm.name not in outcome.released:
                self._command_topics[i].publish(self._command_writers[i].fill(tick, torque[own]))
            elif self._lockstep:  # the step must not wait for it
                self._command_topics[i].publish(self._command_writers[i].fill(tick, torque[:0]))
        if self._link is not None:
            self._link.accompany()

    # -- start, stop, reset -------------------------------------------------------------------

    def _start_by_itself(self) -> None:
        """Start control with the samples that have come; when it is refused, do not try again."""
        self.start_wanted = False
        try:
            self._begin()
        except RobotDynamicsError as error:
            if self._attended:
                raise RefusedError(str(error)) from error
            self._refusal = str(error)
            self._complain(self._refusal)

    def start(self) -> None:
        """Start control from where the arms are.

        Raises:
            RobotDynamicsError: If that is refused; one sentence says why.
        """
        loop = self.loop
        self.start_wanted = False
        self._catch_up()
        self.require_startable()
        loop.forget_pause(self._now())
        self._prepare(self._now())
        self._heard_at = time.monotonic()  # nobody was listened to meanwhile
        tick = max(self._tick if self._lockstep else self._latest_tick, 0)
        loop.start(self._now(), tick)
        self._refusal = ""
        self._record.begin()
        if self._outcome is None and not self._starting:
            self._cycle(self._now(), tick)  # simulated time waits for it

    def require_startable(self) -> None:
        """Refuse a start that needs no look at the arms to be refused.

        Raises:
            RobotDynamicsError: If the guard has the arms, or is needed and missing; if control
                runs, or a fault is latched.
        """
        if self._link is not None:
            self._link.require_guard()
        self.loop.require_startable()
        if not self._lockstep:
            require_known_drives(self._node, self._sources, self._given)

    def pause(self) -> None:
        """Hand over to the fallback until the next start."""
        self.loop.pause(self._now())

    def stop(self) -> str:
        """Hand over to the fallback until a reset; return what is told about it."""
        self.start_wanted = False
        self.loop.stop(self._now())
        return f"stopped; {self._scenario.safety.fallback.replace('_', ' ')} until a reset"

    def reset(self) -> str:
        """Forget faults; return what is told about it.

        Raises:
            RobotDynamicsError: If control runs, or a stream is still stale.
        """
        self._catch_up()
        self.loop.reset(self._now())
        self._gate.forget()  # a state that comes again may have been refused
        self._objects.reset()
        return "faults are forgotten; the fallback goes on until the next start"

    def _catch_up(self) -> None:
        """Read what came before a service was asked for: a reset simulator is elsewhere."""
        if not self._starting and self._inbox.read():
            self.on_messages()

    def _guarded(self) -> bool:
        """Return whether nothing about the guard stands against a start; say what does."""
        try:
            if self._link is not None:
                self._link.require_guard()
            self._refusal = ""
        except RobotDynamicsError as error:
            self._refusal = str(error)
        return not self._refusal

    def _prepare(self, now: int) -> None:
        """Check state and reference, and let the guard know that this takes a while."""
        if self._link is not None:
            self._link.beat(commanding=self._link.may_command(now), checking=True)
        try:
            if self.loop.prepare(now) and not self._lockstep:
                self._freshen()
        finally:
            if self._link is not None:
                self._link.beat(commanding=self._link.may_command(now))

    def _freshen(self) -> None:
        """Wait for samples that are newer than the check, which took time; on the wall clock."""
        self._inbox.read()
        self.loop.arms.use(time.monotonic_ns())
        until = time.monotonic() + _FRESH_S
        while not self.loop.arms.all_newer and time.monotonic() < until:
            self._inbox.wait(self._period)
            self._inbox.read()

    # -- on the wall clock --------------------------------------------------------------------

    def on_period(self) -> None:
        """Keep the arms supplied when states stop coming (wall clock)."""
        now = time.monotonic_ns()
        safety, late = self.loop.safety, now - self._cycle_at > 1.5 * self._period * SECOND
        if safety.in_charge and late and not (safety.law_runs and self.loop.arms.known(now)):
            self._cycle_at = now
            self._outcome = self.loop.cycle_without_samples(now)
            self._send(self._tick, self._outcome)

    def keep_house(self) -> None:
        """Watch the simulator, and tell how things are."""
        now = time.monotonic()
        if self._link is not None:
            self._link.keep_beating(self._now())
        self._record.look()
        self._objects.keep_house(self._record.step, self.loop)
        if not self._record.done:
            self._watch_simulator(now)
        guard = "" if self._link is None else self._link.warning
        level, message = condition(self.loop, self._refusal, guard or self._record.warning)
        changed = self._diagnostics.changed(level, message)
        if changed or self._diagnostics.due():
            found = figures(self.loop, self._record.step) | self._latency.figures()
            found |= {"tick": self._tick, **self._durations.figures("control cycle")}
            self._diagnostics.publish(level, message, found)
        if changed and level != OK:
            self._complain(message)

    def _watch_simulator(self, now: float) -> None:
        """Notice on the wall clock that states have stopped; in lockstep nothing else would."""
        silent = now - self._heard_at
        if self.loop.began is None:
            if self._attended and silent > self._patience:
                raise RunError(
                    f"no joint states for {self._patience:g} s; expected a simulator of the same "
                    "scenario and mode in the same ROS domain."
                )
            return
        if silent <= self._silence_limit:
            self._gone = False
            return
        if self._gone or not self._lockstep:
            return
        self._gone = True
        sentence = f"no joint states for {silent:.2g} s of wall-clock time; the simulator is gone."
        outcome = None
        for arm in self.loop.system.arms:
            outcome = self.loop.fall_back(self._tick, Cause.ARM_LOST, arm.name, sentence)
        if outcome is not None:
            self._send(self._tick, outcome)
        if self._attended:
            raise RunError(f"tick {self._tick}: {sentence}")

    def refuse(self, sentence: str) -> None:
        """Note why a start was refused, for the diagnostics."""
        self._refusal = sentence

    def _complain(self, sentence: str) -> None:
        if sentence != self._said:
            self._node.get_logger().error(sentence)
        self._said = sentence
