# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The controller node: joint states and wrenches in, torques out, the safety layer in between."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from geometry_msgs.msg import WrenchStamped
from rclpy.duration import Duration
from rclpy.node import Node
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from std_srvs.srv import Trigger

from robot_dynamics.app.scenario import load_scenario
from robot_dynamics.app.topic_names import SECOND, stamp_of, tick_of
from robot_dynamics.control.faults import Cause, State
from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.nodes import topics
from robot_dynamics.nodes.control_loop import ControlLoop, Outcome
from robot_dynamics.nodes.control_record import ControlRecord
from robot_dynamics.nodes.control_status import condition, figures
from robot_dynamics.nodes.conversions import CommandWriter, read_time, read_wrench
from robot_dynamics.nodes.diagnostics import OK, Diagnostics, Durations
from robot_dynamics.nodes.guard_link import GuardLink
from robot_dynamics.nodes.inbox import Inbox
from robot_dynamics.nodes.lockstep import Action, StateGate
from robot_dynamics.nodes.object_topics import ObjectTopics
from robot_dynamics.nodes.parameters import CONTROLLER, declare
from robot_dynamics.nodes.process import RefusedError, Reporter, RunError, run

_SILENT_STEPS = 1000  # steps of the law that the other side may take to answer
GOODBYE_S = 0.2  # for the last commands to be sent, and for them to arrive


class Controller:
    """Node `controller`.

    Attributes:
        node: The node.
        inbox: Its subscriptions.
        period: Of the watch over the streams in wall-clock mode [s].

    Args:
        reporter: Tells a launcher what happens.

    Raises:
        RobotDynamicsError: If a parameter or the scenario is refused.
    """

    def __init__(self, reporter: Reporter) -> None:
        self.node = node = Node("controller")
        values = declare(node, CONTROLLER)
        reporter.enabled = values["progress"]
        self._lockstep = values["mode"] == "lockstep"
        self._silence_limit = values["silence_limit"]
        self._patience = values["patience"]
        self._attended = bool(values["progress"] or values["output"])
        self._start_wanted = values["autostart"] == "always" or (
            self._lockstep and values["autostart"] == "in_lockstep"
        )
        self._prepared = False

        self._scenario = scenario = load_scenario(values["scenario"])
        self._period = period = scenario.control.period
        self.period = None if self._lockstep else period
        self._loop = loop = ControlLoop(
            scenario,
            period if self._lockstep else 1.0 / SECOND,
            use_wrenches=values["use_wrenches"],
            ignored_joints=filter(None, values["ignored_joints"]),
            stale_after_s=0.0 if self._lockstep else values["stale_after"],
        )
        # Both sides are slow without a code generator.
        self._silence_limit += _SILENT_STEPS * loop.supervised.step_time
        limited = self._lockstep or values["output"] or values["duration"] > 0.0
        ticks = scenario.ticks(loop.supervised.reference, values["duration"] or None)
        self._record = ControlRecord(
            scenario, loop, reporter, values["output"], ticks if limited else sys.maxsize
        )
        self._outcome: Outcome | None = None
        self._tick = self._latest_tick = -1
        self._durations = Durations(period)
        self._heard_at = time.monotonic()
        self._cycle_at = 0
        self._gone = False
        self._said = self._refusal = ""

        names = [*values["joint_state_topics"], *loop.wrenches]
        self._gate = StateGate(names)
        self._link: GuardLink | None = None
        self._create_topics(values)

    def close(self) -> None:
        """Leave the arms with what holds them up, and save what was recorded."""
        loop = self._loop
        if loop.safety.in_charge and not (self._lockstep and self._record.done):
            outcome = loop.fall_back(
                self._now(), Cause.STOP_REQUESTED, "controller", "the controller ends."
            )
            self._send(self._tick, outcome)
            # The torque goes to that of the fallback at a limited rate, over several commands.
            until = time.monotonic() + (0.0 if self._lockstep else GOODBYE_S)
            while time.monotonic() < until:
                time.sleep(self._period)
                self.inbox.read()
                self._send(self._tick, loop.cycle_without_samples(self._now()))
            for topic in self._command_topics:
                topic.wait_for_all_acked(Duration(seconds=GOODBYE_S))
        if not self._record.done:
            self._record.save()

    def _create_topics(self, values: dict[str, Any]) -> None:
        node, stream = self.node, topics.STREAM
        arms = self._loop.system.arms
        self._command_topics = [
            node.create_publisher(Float64MultiArray, topics.commands(arm.name), stream)
            for arm in arms
        ]
        self._command_writers = [CommandWriter() for _ in arms]
        self._objects = ObjectTopics(
            node, self._scenario, self._loop, in_real_time=not self._lockstep
        )
        self.inbox = Inbox(node)
        drives_hold = values["on_command_timeout"] == "hold"
        guard = values["guard"]
        if guard == "automatic":
            guard = "required" if drives_hold else "none"
        if guard != "none":
            timeout = values["silence_limit" if self._lockstep else "heartbeat_timeout"]
            # Its reports are read before anything is computed.
            self._link = GuardLink(
                node, self.inbox, self._loop, timeout, required=guard == "required"
            )
        # Wrenches first: they are read in this order, and joint states come last.
        for arm in self._loop.wrenches:
            self.inbox.subscribe(
                WrenchStamped,
                topics.wrench(arm),
                partial(self._on_wrench, arm),
                stream,
                awaited=False,
            )
        for topic in values["joint_state_topics"]:
            self.inbox.subscribe(
                JointState, topic, partial(self._on_joints, topic), stream, awaited=True
            )
        node.create_service(Trigger, "~/start", self._on_start)
        node.create_service(Trigger, "~/stop", self._on_stop)
        node.create_service(Trigger, "~/reset", self._on_reset)
        self._diagnostics = Diagnostics(node, self._scenario.name)

    # -- samples ------------------------------------------------------------------------------

    def _now(self) -> int:
        """Return the time of the safety layer: the tick in lockstep, else a steady clock [ns]."""
        return self._tick if self._lockstep else time.monotonic_ns()

    def _on_wrench(self, arm: str, message: WrenchStamped) -> None:
        stamp = read_time(message.header.stamp)
        if not self._lockstep:
            self._loop.take_wrench(arm, stamp, read_wrench(message), time.monotonic_ns())
            return
        tick = tick_of(stamp, self._period)
        if self._gate.offer(arm, tick):
            self._loop.take_wrench(arm, tick, read_wrench(message), tick)

    def _on_joints(self, topic: str, message: JointState) -> None:
        self._heard_at = time.monotonic()
        stamp = read_time(message.header.stamp)
        now = time.monotonic_ns()
        self._latest_tick = tick_of(stamp, self._period)
        if self._lockstep:
            stamp = now = self._latest_tick
            if not self._gate.offer(topic, stamp):
                return
        position, velocity = np.asarray(message.position), np.asarray(message.velocity)
        self._loop.arms.take(topic, stamp, message.name, position, velocity, now)

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
            later = tick > self._tick or self._loop.safety.state is State.INACTIVE
            if later and self._loop.arms.all_newer:
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
        loop = self._loop
        if self._start_wanted and loop.complete and self._guarded():
            self._start(now, tick)
        outcome = loop.cycle(now, tick)
        self._tick, self._cycle_at = tick, now
        if outcome.torque is None:
            self._outcome = None
            return
        self._outcome = outcome
        self._send(tick, outcome)
        self._record.note(tick, outcome)
        if outcome.step is not None:
            self._objects.publish(stamp_of(tick, self._period), outcome.step)
        self._durations.add(time.perf_counter() - begin)

    def _send(self, tick: int, outcome: Outcome) -> None:
        torque = outcome.torque
        # The last look at what leaves the house; the safety layer never lets this happen.
        if torque is None or not np.isfinite(torque).all():
            return
        if self._link is not None and not self._link.may_command(self._now()):
            return
        arms, slices = self._loop.system.arms, self._loop.system.arm_slices
        for i, (arm, own) in enumerate(zip(arms, slices, strict=True)):
            if arm.name not in outcome.released:
                self._command_topics[i].publish(self._command_writers[i].fill(tick, torque[own]))
            elif self._lockstep:  # the step must not wait for it
                empty = torque[:0]
                self._command_topics[i].publish(self._command_writers[i].fill(tick, empty))
        if self._link is not None:
            self._link.beat(commanding=True)

    # -- start, stop, reset -------------------------------------------------------------------

    def _start(self, now: int, tick: int) -> None:
        """Start control with the samples that have come; when it is refused, do not try again."""
        try:
            if not self._prepared:
                self._prepare(now)
                self._prepared = True
                if not self._lockstep:
                    return  # that took time: start with fresh samples
            self._start_wanted = self._prepared = False
            self._loop.start(now, tick)
        except RobotDynamicsError as error:
            self._start_wanted = self._prepared = False
            if self._attended:
                raise RefusedError(str(error)) from error
            self._refusal = str(error)
            self._complain(self._refusal)
            return
        self._refusal = ""
        self._record.begin()

    def _guarded(self) -> bool:
        """Return whether nothing about the guard stands against a start; say what does."""
        try:
            if self._link is not None:
                self._link.require_guard()
            self._refusal = ""
        except RobotDynamicsError as error:
            self._refusal = str(error)
        return not self._refusal

    def _prepare(self, now: int) -> bool:
        """Check state and reference, and let the guard know that this takes a while."""
        if self._link is not None:
            self._link.beat(commanding=self._link.may_command(now), checking=True)
        try:
            return self._loop.prepare(now)
        finally:
            if self._link is not None:
                self._link.beat(commanding=self._link.may_command(now))

    def _on_start(self, request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        def start() -> str:
            now = self._now()
            if self._link is not None:
                self._link.require_guard()
            checked = self._prepare(now)
            if checked and not self._lockstep:
                self._start_wanted = self._prepared = True
                return "checked; control starts with the next samples"
            self._loop.start(now, max(self._tick, 0))
            self._refusal = ""
            self._record.begin()
            if self._outcome is None:
                self._cycle(self._tick, self._tick)  # simulated time waits for it
            return "started; control ramps in"

        return _answer(response, start)

    def _on_stop(self, request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        def stop() -> str:
            self._loop.stop(self._now())
            return f"stopped; {self._scenario.safety.fallback.replace('_', ' ')} until a reset"

        return _answer(response, stop)

    def _on_reset(self, request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        def reset() -> str:
            self._loop.reset(self._now())
            self._objects.reset()
            return "faults are forgotten; the fallback goes on until the next start"

        return _answer(response, reset)

    # -- on the wall clock --------------------------------------------------------------------

    def on_period(self) -> None:
        """Keep the arms supplied when states stop coming (wall clock)."""
        now = time.monotonic_ns()
        if self._loop.safety.in_charge and now - self._cycle_at > 1.5 * self._period * SECOND:
            runs = self._loop.safety.law_runs
            if not runs or not self._loop.arms.known(now):
                outcome = self._loop.cycle_without_samples(now)
                self._cycle_at = now
                self._outcome = outcome
                self._send(self._tick, outcome)

    def keep_house(self) -> None:
        """Watch the simulator, and tell how things are."""
        now = time.monotonic()
        if self._link is not None:
            self._link.keep_beating(self._now())
        self._objects.keep_house(self._record.step, self._loop)
        if not self._record.done:
            self._watch_simulator(now)
        level, message = condition(
            self._loop, self._refusal, "" if self._link is None else self._link.warning
        )
        changed = self._diagnostics.changed(level, message)
        if changed or self._diagnostics.due():
            found = figures(self._loop, self._record.step)
            found |= {"tick": self._tick, **self._durations.figures("control cycle")}
            self._diagnostics.publish(level, message, found)
        if changed and level != OK:
            self._complain(message)

    def _watch_simulator(self, now: float) -> None:
        """Notice on the wall clock that states have stopped; in lockstep nothing else would."""
        silent = now - self._heard_at
        if self._loop.began is None:
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
        for arm in self._loop.system.arms:
            outcome = self._loop.fall_back(self._tick, Cause.ARM_LOST, arm.name, sentence)
        if outcome is not None:
            self._send(self._tick, outcome)
        if self._attended:
            raise RunError(f"tick {self._tick}: {sentence}")

    def _complain(self, sentence: str) -> None:
        if sentence != self._said:
            self.node.get_logger().error(sentence)
        self._said = sentence


def _answer(response: Trigger.Response, action: Callable[[], str]) -> Trigger.Response:
    """Return the response to a service: what the action says, or why it was refused."""
    try:
        response.message = action()
        response.success = True
    except RobotDynamicsError as error:
        response.success, response.message = False, str(error)
    return response


def main() -> None:
    """Run the node `controller`."""
    sys.exit(run("controller", Controller))


if __name__ == "__main__":
    main()
