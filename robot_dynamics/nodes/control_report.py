# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Recording, progress reports and diagnostics of a controlled run."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping, Sequence
from math import isfinite
from typing import Any

import numpy as np
from rclpy.node import Node

from robot_dynamics.app.progress import seconds_since_process_start
from robot_dynamics.app.recordings.recording import MEASURED, Recording
from robot_dynamics.app.runs.recorders import ControlRecorder
from robot_dynamics.app.runs.run import RunEnd, progress_of
from robot_dynamics.app.scenarios.scenario import Scenario
from robot_dynamics.arrays import Array
from robot_dynamics.control.abilities import HoldsObject, MonitorsSlip
from robot_dynamics.control.control_law import HeldStep, LawStep
from robot_dynamics.control.control_loop import ControlLoop, Outcome
from robot_dynamics.control.controller import of_observer
from robot_dynamics.control.faults import State
from robot_dynamics.control.start_check import disagreement
from robot_dynamics.nodes.background_work import RecordingFile
from robot_dynamics.nodes.command_topics import CommandPublisherMonitor
from robot_dynamics.nodes.diagnostics import (
    ERROR,
    OK,
    WARN,
    Diagnostics,
    Durations,
    SentenceLog,
    fault_figures,
)
from robot_dynamics.nodes.process import Reporter
from robot_dynamics.nodes.task_topics import task_figures

PROGRESS_S = 0.1  # wall-clock time between reports
_CLOSURE = "closure error [m or rad]"
_SCALES = ("force scale", "motion scale", "rate scale", "support over limit", "smallest pivot")
# Further scales of the hybrid law.
_MORE_SCALES = ("contact force scale", "lost acceleration [m/s^2]", "posture scale")


class ControlRecord:
    """Records the control periods of a run, and reports progress to a launcher.

    Attributes:
        done: Whether the run is over.
        last_tick: Last tick of the run; None until it is over.
        step: The last step of the law; None before the start.

    Args:
        scenario: The scenario.
        loop: The control loop.
        reporter: Reports to a launcher.
        output: File for the recording; empty for none.
        ticks: Control periods of the run.
        topics: Resolved names of the topics, by their names in `topic_names`.
    """

    def __init__(
        self,
        scenario: Scenario,
        loop: ControlLoop,
        reporter: Reporter,
        output: str,
        ticks: int,
        topics: Mapping[str, Sequence[str]] | None = None,
    ) -> None:
        self._scenario, self._loop, self._reporter = scenario, loop, reporter
        self._file = RecordingFile(output, reporter)
        self._keep = bool(output)
        self._topics = topics
        self._effort = loop.system.limits["effort"]
        self._recorder: ControlRecorder | None = None
        self._first_torque_s: float | None = None
        self.step: LawStep | None = None
        self.last_tick: int | None = None
        self.begin(ticks)

    def begin(self, ticks: int) -> None:
        """Begin a run of some control periods; the recording of an earlier one is discarded."""
        self.done, self._ticks = False, ticks
        self._interrupted: Callable[[], Recording] | None = None
        self._fault_tick: int | None = None
        self._last_tick, self.last_tick = 0, None
        self._end = RunEnd(self._loop, ticks, self._scenario.control.period)
        self._largest = 0.0
        self._reported_at = time.monotonic()
        if self._keep:
            self._recorder = ControlRecorder(
                self._loop.law,
                self._scenario,
                self._ticks,
                measured={name: len(values) for name, values in self._measured().items()},
                topics=self._topics,
            )

    def write(self, tick: int, outcome: Outcome) -> None:
        """Record the commands of a tick; the last tick ends the run."""
        torque, began = outcome.torque, self._loop.began
        if torque is None or began is None:
            return
        if self._first_torque_s is None:
            self._first_torque_s = seconds_since_process_start()
        if outcome.step is not None:
            self.step = outcome.step
        if self.done:
            return
        self._last_tick = tick
        if self._fault_tick is None and self._loop.safety.faults:
            self._fault_tick = tick
        if self._recorder is not None:
            loop, intake = self._loop, self._loop.intake
            streamed = loop.task is not None or (intake is not None and intake.taken > 0)
            elapsed_us = 1e6 * outcome.elapsed_s
            measured = [*self._measured().values()]
            self._recorder.write(
                tick, torque, outcome.step, elapsed_us, measured=measured, streamed=streamed
            )
        self._largest = max(self._largest, float((np.abs(torque) / self._effort).max()))
        # A task ends the run only if the run is limited.
        last = self._ticks < sys.maxsize and self._end.reached(tick - began)
        now = time.monotonic()
        if last or now - self._reported_at >= PROGRESS_S:
            self._reported_at = now
            self._report_progress(tick - began)
        if last:
            self.done, self.last_tick = True, tick
            self._file.save(self._recording())

    def _measured(self) -> dict[str, Array]:
        """Return the last measurements, with which a recording can be replayed."""
        loop = self._loop
        found = dict(zip(MEASURED, loop.joint_states.state(), strict=False))
        if loop.wrenches:
            wrenches = [stream.values for stream in loop.wrenches.values()]
            found["grasp_wrench"] = np.concatenate(wrenches)
        if loop.object_pose is not None:
            values = loop.object_pose.values
            found |= {"measured_pose": values[:7], "measured_twist": values[7:]}
        return found

    @property
    def warning(self) -> str:
        """Why there is no recording; empty if nothing has failed."""
        return self._file.warning

    def poll(self) -> None:
        """Report to a launcher when the recording of the run is written.

        Raises:
            RunError: If it could not be written and a launcher waits for it.
        """
        self._file.poll()

    def end(self) -> None:
        """End an interrupted run before its stop, which is no fault of the run."""
        if not self.done:
            self.done = True
            self._interrupted = self._recording()

    def close(self) -> None:
        """Return when the recording is written, also of an interrupted run.

        Raises:
            RunError: If it could not be written.
        """
        self.end()
        self._file.close(self._interrupted)

    def _recording(self) -> Callable[[], Recording] | None:
        """Return a function that creates the recording, unaffected by a run that begins later."""
        recorder, loop = self._recorder, self._loop
        if recorder is None or not recorder.recorder.count:
            return None
        metadata: dict[str, Any] = {"start_to_first_torque_s": self._first_torque_s}
        if loop.safety.faults:
            # A fault without a tick came after the last period.
            tick = self._last_tick if self._fault_tick is None else self._fault_tick
            at = tick * self._scenario.control.period
            metadata["fault_time_s"] = at
            # With stamps of the system clock it has ten digits before the decimal point.
            metadata["fault"] = f"at {at:.13g} s: {loop.safety.cause}"
        start_tick = self._scenario.start_tick + (loop.began or 0)
        return lambda: recorder.finish(start_tick, **metadata)

    def _report_progress(self, tick: int) -> None:
        if not self._reporter.enabled or self.step is None:  # a fault came before the first step
            return
        period = self._scenario.control.period
        law = self._loop.law
        figures = progress_of(tick, self._end.expected(tick), period, self.step, law)
        self._reporter.report("progress", **{**vars(figures), "torque_fraction": self._largest})
        self._largest = 0.0


class ControlDiagnostics:
    """Diagnostics and log of a configured controller.

    Attributes:
        refusal: Why the last start was refused; empty if it was not.
        durations: Durations of the control cycles.

    Args:
        node: The node.
        diagnostics: Its diagnostics.
        loop: The control loop.
    """

    def __init__(self, node: Node, diagnostics: Diagnostics, loop: ControlLoop) -> None:
        self._diagnostics, self._loop, self._log = diagnostics, loop, SentenceLog(node)
        self.durations = Durations(loop.clock.period)
        self.refusal = self._logged = self._other_publisher = self._rivals = ""

    def publish(
        self,
        warning: str,
        publisher_monitor: CommandPublisherMonitor,
        values: Callable[[], Mapping[str, object]],
    ) -> None:
        """Publish diagnostics once a second and on change.

        Args:
            warning: About missing publishers, guard or recording; empty if there is none.
            publisher_monitor: Finds other publishers of commands and several of trajectories;
                asked once a second.
            values: Returns the figures.
        """
        if self._diagnostics.due:
            self._other_publisher = publisher_monitor.warning
            self._rivals = publisher_monitor.rival_trajectories
        warning = warning or self._rivals
        level, message = condition(self._loop, self.refusal, warning, self._other_publisher)
        if self._diagnostics.update(level, message, values) and level != OK:
            self.complain(message, level)

    def complain(self, sentence: str, level: bytes = ERROR) -> None:
        """Log a sentence, unless it was logged last."""
        if sentence != self._logged:
            self._log(level, sentence)
        self._logged = sentence

    def close(self) -> None:
        """Take the scenario's name out of the diagnostics."""
        self._diagnostics.set_hardware("controller")


def condition(
    loop: ControlLoop, refusal: str = "", warning: str = "", other_publisher: str = ""
) -> tuple[bytes, str]:
    """Return the level and the sentence: the state, and the first cause of a fault.

    Args:
        loop: The control loop.
        refusal: Why the last start was refused; empty if it was not.
        warning: About the guard or the recording; empty if there is none.
        other_publisher: About another publisher of commands; empty if there is none.
    """
    safety = loop.safety
    state, warnings = safety.state, loop.law.warnings  # as of slip
    of_law = " ".join(warnings if loop.controller is None else map(of_observer, warnings))
    if state in (State.FALLBACK, State.STOPPED):
        return ERROR, f"{state.value}: {safety.cause}"
    if other_publisher:
        return (ERROR if safety.in_charge else WARN), f"{state.value}: {other_publisher}"
    if state is State.INACTIVE:
        trouble = refusal or loop.complaint or warning or of_law
        return (WARN, f"inactive: {trouble}") if trouble else (OK, "inactive")
    if safety.closure_warning:
        return WARN, f"{state.value}: the arms disagree about the object"
    if safety.wrench_warning:
        return WARN, f"{state.value}: {safety.wrench_warning}"
    if loop.oscillation:
        return WARN, f"{state.value}: {loop.oscillation}"
    if loop.joint_states.skew_warning:
        return WARN, f"{state.value}: {loop.joint_states.skew_warning}"
    trouble = warning or loop.joint_states.rate_warning or of_law
    return (WARN, f"{state.value}: {trouble}") if trouble else (OK, state.value)


def figures(loop: ControlLoop, step: LawStep | None) -> dict[str, object]:
    """Return the values of a status: faults, scales, closure, saturation, late samples.

    Args:
        loop: The control loop.
        step: The last step of the law.
    """
    safety, law = loop.safety, loop.law
    found = fault_figures(safety) | task_figures(loop)
    if step is not None:
        # A law has the first scales, or all.
        found |= zip((*_SCALES, *_MORE_SCALES), step.scales.tolist(), strict=False)
    if isinstance(step, HeldStep):
        found[_CLOSURE] = float(np.max(np.abs(step.closure), initial=0.0))
    if isinstance(law, MonitorsSlip) and step is not None:
        margins = zip(law.slip_contacts, law.slip_margins.tolist(), strict=True)
        found |= {f"{name} slip margin [N]": size for name, size in margins if isfinite(size)}
    if (
        safety.state is State.INACTIVE
        and loop.complete
        and (isinstance(law, HoldsObject) and law.grasp.rigid)
    ):
        # Shows before a start whether the grasps are closed.
        found[_CLOSURE] = disagreement(loop.system, loop.joint_states.state()[0])
    intake = loop.intake
    if intake is not None and (intake.taken or intake.refusal):
        found["references taken"] = intake.taken
        found["last reference"] = intake.refusal or "followed"
    if safety.released:
        found["left to their drives"] = ", ".join(safety.released)
    if safety.rate_limited:
        found["torque changes held back"] = safety.rate_limited
    if safety.saturated:
        found["saturated in the fallback"] = ", ".join(safety.saturated)
    if loop.joint_states.skew_s:
        found["skew between the arms [s]"] = loop.joint_states.skew_s
    for name, stream in loop.joint_states.arms.items():
        if stream.watch.old_samples:
            found[f"{name} old samples"] = stream.watch.old_samples
    return found
