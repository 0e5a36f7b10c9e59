# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What is kept and told of a controlled run: its recording, and its progress to a launcher."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from robot_dynamics.app.recorders import ControlRecorder
from robot_dynamics.app.recording import Recording
from robot_dynamics.app.run import progress_of
from robot_dynamics.app.scenario import Scenario
from robot_dynamics.control.control_law import LawStep
from robot_dynamics.nodes.background_work import RecordingFile
from robot_dynamics.nodes.control_loop import ControlLoop, Outcome
from robot_dynamics.nodes.process import Reporter, seconds_since_process_start

PROGRESS_S = 0.1  # wall-clock time between reports
_ROOM = 100_000  # control periods to make room for at once


class ControlRecord:
    """Counts the control periods of a run, and writes them down.

    Attributes:
        done: Whether the run is over.
        step: What the law saw last; None before the start.

    Args:
        scenario: The scenario.
        loop: The controller.
        reporter: Tells a launcher.
        output: File for the recording; empty for none.
        ticks: Control periods of the run.
    """

    def __init__(
        self, scenario: Scenario, loop: ControlLoop, reporter: Reporter, output: str, ticks: int
    ) -> None:
        self._scenario, self._loop, self._reporter = scenario, loop, reporter
        self._file, self._ticks = RecordingFile(output, reporter), ticks
        self._keep = bool(output)
        self._effort = loop.system.limits["effort"]
        self._recorder: ControlRecorder | None = None
        self._first_torque_s: float | None = None
        self.step: LawStep | None = None
        self.begin()

    def begin(self) -> None:
        """Begin a run; what was written of one before is forgotten."""
        self.done = False
        self._fault_tick: int | None = None
        self._last_tick = 0
        self._largest = 0.0
        self._told_at = time.monotonic()
        if self._keep:
            self._recorder = ControlRecorder(
                self._loop.supervised.controller, self._scenario, min(self._ticks, _ROOM)
            )

    def note(self, tick: int, outcome: Outcome) -> None:
        """Note what was sent at a tick; the last one of the run ends it."""
        torque, began = outcome.torque, self._loop.began
        if torque is None or began is None:
            return
        if self._first_torque_s is None:
            self._first_torque_s = seconds_since_process_start()
        if outcome.step is not None:
            self.step = outcome.step
        if self.done or self.step is None:
            return
        self._last_tick = tick
        if self._fault_tick is None and self._loop.safety.faults:
            self._fault_tick = tick
        if self._recorder is not None:
            intake = self._loop.supervised.intake
            streamed = intake is not None and intake.taken > 0
            elapsed_us = 1e6 * outcome.elapsed_s
            self._recorder.write(tick, torque, outcome.step, elapsed_us, streamed=streamed)
        self._largest = max(self._largest, float((np.abs(torque) / self._effort).max()))
        last = tick - began + 1 >= self._ticks
        now = time.monotonic()
        if last or now - self._told_at >= PROGRESS_S:
            self._told_at = now
            self._tell(tick - began, self.step)
        if last:
            self.done = True
            self._file.save(self._recording())

    @property
    def warning(self) -> str:
        """What is wrong with the recording; empty if nothing is."""
        return self._file.warning

    def look(self) -> None:
        """Tell a launcher when the run is over and written.

        Raises:
            RunError: If it could not be written and a launcher waits for it.
        """
        self._file.poll()

    def close(self) -> None:
        """Return when everything is written, also of a run that was broken off.

        Raises:
            RunError: If it could not be written.
        """
        self._file.close(None if self.done else self._recording())

    def _recording(self) -> Callable[[], Recording] | None:
        """Return what makes the recording; a run that begins meanwhile does not change it."""
        recorder, loop = self._recorder, self._loop
        if recorder is None or not recorder.recorder.count:
            return None
        metadata: dict[str, object] = {"start_to_first_torque_s": self._first_torque_s}
        if loop.safety.faults:
            # One that nobody was to be told of any more came after the last period.
            tick = self._last_tick if self._fault_tick is None else self._fault_tick
            at = tick * self._scenario.control.period
            metadata["fault"] = f"at {at:g} s: {loop.safety.cause}"
        start_tick = self._scenario.start_tick + (loop.began or 0)
        return lambda: recorder.finish(start_tick, **metadata)

    def _tell(self, tick: int, step: LawStep) -> None:
        if not self._reporter.enabled:
            return
        period = self._scenario.control.period
        law = self._loop.supervised.controller
        figures = progress_of(tick, self._ticks, period, step, law)
        self._reporter.report("progress", **{**vars(figures), "torque_fraction": self._largest})
        self._largest = 0.0
