# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The controller node: joint states and wrenches in, torques out, the safety layer in between."""

from __future__ import annotations

import sys
import time
from functools import partial

import numpy as np
from geometry_msgs.msg import WrenchStamped
from rclpy.duration import Duration
from rclpy.node import Node
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from std_srvs.srv import Trigger

from robot_dynamics.app.progress import Progress
from robot_dynamics.app.recorders import ControlRecorder
from robot_dynamics.app.run import progress_of
from robot_dynamics.app.scenario import load_scenario
from robot_dynamics.control.coordinated import ControlStep
from robot_dynamics.control.faults import Cause, State
from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.nodes import topics
from robot_dynamics.nodes.control_loop import ControlLoop, Outcome
from robot_dynamics.nodes.conversions import (
    SECOND,
    CommandWriter,
    read_time,
    read_wrench,
    stamp_of,
    tick_of,
)
from robot_dynamics.nodes.diagnostics import ERROR, OK, WARN, Diagnostics, Durations
from robot_dynamics.nodes.inbox import Inbox
from robot_dynamics.nodes.lockstep import Action, StateGate
from robot_dynamics.nodes.object_topics import ObjectTopics
from robot_dynamics.nodes.parameters import CONTROLLER, declare
from robot_dynamics.nodes.process import Reporter, RunError, run, seconds_since_process_start

PROGRESS_S = 0.1  # wall-clock time between reports to a launcher
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
        self._reporter = reporter
        reporter.enabled = values["progress"]
        self._lockstep = values["mode"] == "lockstep"
        self._output, self._silence_limit = values["output"], values["silence_limit"]
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
        limited = self._lockstep or values["output"] or values["duration"] > 0.0
        ticks = scenario.ticks(loop.supervised.reference, values["duration"] or None)
        self._ticks = ticks if limited else sys.maxsize
        self._step: ControlStep | None = None
        self._outcome: Outcome | None = None
        self._tick = self._latest_tick = -1
        self._fault_tick: int | None = None
        self._recorder: ControlRecorder | None = None
        self._began()
        self._first_torque_s: float | None = None
        self._fraction = 0.0
        self._durations = Durations(period)
        self._born = self._heard_at = self._told_at = time.monotonic()
        self._cycle_at = 0
        self._gone = False
        self._said = self._refusal = ""

        names = [*values["joint_state_topics"], *loop.wrenches]
        self._gate = StateGate(names)
        self._create_topics(values["joint_state_topics"])

    def close(self) -> None:
        """Leave the arms with what holds them up, and save what was recorded."""
        loop = self._loop
        if loop.safety.in_charge and not (self._lockstep and self._done):
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
        if not self._done:
            self._save()

    def _create_topics(self, joint_state_topics: list[str]) -> None:
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
        # Wrenches first: they are read in this order, and joint states come last.
        for arm in self._loop.wrenches:
            self.inbox.subscribe(
                WrenchStamped,
                topics.wrench(arm),
                partial(self._on_wrench, arm),
                stream,
                awaited=False,
            )
        for topic in joint_state_topics:
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
        self._loop.take_joints(topic, stamp, message.name, position, velocity, now)

    @property
    def incomplete(self) -> bool:
        """Whether some messages of a state have come and others are awaited."""
        return self._lockstep and self._gate.incomplete

    def on_messages(self) -> None:
        """Compute or repeat an answer."""
        tick = self._latest_tick
        if not self._lockstep:
            # Once every arm has something new, and not twice in a control period.
            if tick > self._tick and self._loop.all_newer:
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
        if self._start_wanted and loop.complete:
            self._start(now, tick)
        outcome = loop.cycle(now, tick)
        self._tick, self._cycle_at = tick, now
        if outcome.torque is None:
            self._outcome = None
            return
        self._outcome = outcome
        self._send(tick, outcome)
        if self._first_torque_s is None:
            self._first_torque_s = seconds_since_process_start()
        self._note(tick, outcome)
        self._durations.add(time.perf_counter() - begin)

    def _send(self, tick: int, outcome: Outcome) -> None:
        torque = outcome.torque
        # The last look at what leaves the house; the safety layer never lets this happen.
        if torque is None or not np.isfinite(torque).all():
            return
        arms, slices = self._loop.system.arms, self._loop.system.arm_slices
        for i, (arm, own) in enumerate(zip(arms, slices, strict=True)):
            if arm.name not in outcome.released:
                self._command_topics[i].publish(self._command_writers[i].fill(tick, torque[own]))
            elif self._lockstep:  # the step must not wait for it
                empty = torque[:0]
                self._command_topics[i].publish(self._command_writers[i].fill(tick, empty))

    def _note(self, tick: int, outcome: Outcome) -> None:
        """Write down and show what was done, after it was done."""
        step, torque = outcome.step, outcome.torque
        if torque is None:
            return
        if step is not None:
            self._step = step
        if self._step is None:
            return
        if self._fault_tick is None and self._loop.safety.faults:
            self._fault_tick = tick
        if self._recorder is not None and not self._done:
            seen = step if step is not None else _unknown(self._step)
            self._recorder.write(tick, torque, seen, 1e6 * outcome.elapsed_s)
        effort = self._loop.system.limits["effort"]
        self._fraction = max(self._fraction, float((np.abs(torque) / effort).max()))
        if step is not None:
            self._objects.publish(stamp_of(tick, self._period), step)
        now = time.monotonic()
        began = self._loop.began or 0
        last = tick - began + 1 >= self._ticks
        if not self._done and (now - self._told_at >= PROGRESS_S or last):
            self._told_at = now
            self._tell(tick - began)
        if last and not self._done:
            self._finish()

    def _tell(self, tick: int) -> None:
        if not self._reporter.enabled or self._step is None:
            return
        ticks = min(self._ticks, 2**53)
        effort = self._loop.system.limits["effort"]
        figures: Progress = progress_of(tick, ticks, self._period, self._step, effort)
        self._reporter.tell("progress", **{**vars(figures), "torque_fraction": self._fraction})
        self._fraction = 0.0

    def _finish(self) -> None:
        self._done = True
        self._save()
        self._reporter.tell("done", output=self._output)

    def _new_recorder(self) -> ControlRecorder | None:
        if not self._output:
            return None
        capacity = min(self._ticks, 100_000)  # there will be more room when it is needed
        return ControlRecorder(self._loop.system, self._scenario, capacity)

    def _save(self) -> None:
        if self._recorder is None or not self._recorder.recorder.count:
            return
        loop = self._loop
        metadata: dict[str, object] = {"start_to_first_torque_s": self._first_torque_s}
        if loop.safety.faults:
            at = (self._fault_tick or 0) * self._period
            metadata["fault"] = f"at {at:g} s: {loop.safety.cause}"
        start_tick = self._scenario.start_tick + (loop.began or 0)
        recording = self._recorder.finish(loop.supervised.reference, start_tick, **metadata)
        recording.save(self._output)

    # -- start, stop, reset -------------------------------------------------------------------

    def _start(self, now: int, tick: int) -> None:
        """Start control with the samples that have come; when it is refused, do not try again."""
        try:
            if not self._prepared:
                self._loop.prepare(now)
                self._prepared = True
                if not self._lockstep:
                    return  # that took time: start with fresh samples
            self._start_wanted = self._prepared = False
            self._loop.start(now, tick)
        except RobotDynamicsError as error:
            self._start_wanted = self._prepared = False
            if self._attended:
                raise RunError(str(error)) from error
            self._refusal = str(error)
            self._complain(self._refusal)
            return
        self._began()

    def _began(self) -> None:
        self._refusal = ""
        self._done = False
        self._fault_tick = None
        self._recorder = self._new_recorder()

    def _on_start(self, request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        def start() -> str:
            now = self._now()
            checked = self._loop.prepare(now)
            if checked and not self._lockstep:
                self._start_wanted = self._prepared = True
                return "checked; control starts with the next samples"
            self._loop.start(now, max(self._tick, 0))
            self._began()
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
            if not runs or not self._loop.arms_known(now):
                outcome = self._loop.cycle_without_samples(now)
                self._cycle_at = now
                self._outcome = outcome
                self._send(self._tick, outcome)

    def keep_house(self) -> None:
        """Watch the simulator, and tell how things are."""
        now = time.monotonic()
        self._objects.keep_house(self._step, self._loop)
        if not self._done:
            self._watch_simulator(now)
        level, message = self._condition()
        if self._diagnostics.changed(level, message):
            self._diagnostics.publish(level, message, self._figures())
            if level != OK:
                self._complain(message)
        elif self._diagnostics.due():
            self._diagnostics.publish(level, message, self._figures())

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

    def _condition(self) -> tuple[bytes, str]:
        """Return the level and the sentence of the diagnostics."""
        loop, safety = self._loop, self._loop.safety
        state = safety.state
        if state in (State.FALLBACK, State.STOPPED):
            return ERROR, f"{state.value}: {safety.cause}"
        if state is State.INACTIVE:
            trouble = self._refusal or loop.complaint
            return (WARN, f"inactive: {trouble}") if trouble else (OK, "inactive")
        if safety.closure_warning:
            return WARN, f"{state.value}: the arms disagree about the object"
        return OK, state.value

    def _figures(self) -> dict[str, object]:
        figures: dict[str, object] = {"tick": self._tick}
        for number, (_, fault) in enumerate(self._loop.safety.faults, 1):
            figures[f"fault {number}"] = fault
        if self._step is not None:
            names = ("force", "motion", "rate")
            scales = self._step.scales.tolist()
            figures |= {f"{n} scale": s for n, s in zip(names, scales, strict=False)}
            figures["support over limit"] = scales[3]
            figures["closure error [m or rad]"] = float(
                np.max(np.abs(self._step.closure), initial=0.0)
            )
        saturated = ", ".join(self._loop.safety.saturated)
        if saturated:
            figures["saturated in the fallback"] = saturated
        old = {n: s.watch.old_samples for n, s in self._loop.joints.streams.items()}
        figures |= {f"{name} old samples": count for name, count in old.items() if count}
        return figures | self._durations.figures("control cycle")

    def _complain(self, sentence: str) -> None:
        if sentence != self._said:
            self.node.get_logger().error(sentence)
        self._said = sentence


def _answer(response: Trigger.Response, action: object) -> Trigger.Response:
    """Return the response to a service: what the action says, or why it was refused."""
    try:
        response.message = action()  # type: ignore[operator]
        response.success = True
    except RobotDynamicsError as error:
        response.success, response.message = False, str(error)
    return response


def _unknown(step: ControlStep) -> ControlStep:
    """Return a step like another, of which nothing is known."""
    return ControlStep(*(np.full_like(np.asarray(x, dtype=float), np.nan) for x in step))


def main() -> None:
    """Run the node `controller`."""
    sys.exit(run("controller", Controller))


if __name__ == "__main__":
    main()
