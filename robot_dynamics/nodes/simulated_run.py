# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Parts of the simulator node that change together: the run, its answers, pauses, faults."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

from robot_dynamics.app.recordings.recording import Recording
from robot_dynamics.app.runs.recorders import PlantRecorder
from robot_dynamics.app.scenarios.plant import make_plant
from robot_dynamics.app.scenarios.scenario import Scenario
from robot_dynamics.arrays import Array
from robot_dynamics.manipulation.system import GraspSystem
from robot_dynamics.nodes.conversions import answers
from robot_dynamics.nodes.diagnostics import Durations
from robot_dynamics.nodes.pushes import Pushes
from robot_dynamics.simulation.faults import Faults, fault_of


class SimulatedRun:
    """The plant, its present tick and the recording; `begin` starts the next run.

    Attributes:
        plant: Arms and object.
        pushes: External wrenches on their links.
        measurement: The last measurement.
        tick: Control periods since the start.
        over: Whether the run has ended.

    Args:
        scenario: The scenario.
        system: Arms and object with their true properties.
        ticks: Length of a run in control periods; `sys.maxsize` if nothing limits it.
        keep: Whether to record it.
    """

    def __init__(self, scenario: Scenario, system: GraspSystem, ticks: int, *, keep: bool) -> None:
        self.plant = make_plant(scenario, system)
        self.pushes = Pushes(self.plant)
        self._scenario, self._longest, self._keep = scenario, ticks, keep
        self.begin()

    def begin(self) -> None:
        """Return to the start."""
        self.measurement, self.tick, self.over = self.plant.reset(), 0, False
        self.pushes.reset()
        self._ticks, self._ended = self._longest, False
        self._recorder = None
        if self._keep:
            ticks = None if self._ticks == sys.maxsize else self._ticks
            self._recorder = PlantRecorder(self.plant.scene, self._scenario, ticks)

    def end_at(self, last_tick: int | None, first: int) -> None:
        """Set the last tick of a run that began at a tick; with None its full length."""
        self._ended = last_tick is not None
        self._ticks = self._longest if last_tick is None else last_tick + 1 - first

    @property
    def time(self) -> float:
        """Simulated time [s]."""
        return self.tick * self.plant.period

    def advance(self, torque: Array | None) -> None:
        """Simulate one control period under torques (na,); None if the brakes hold the arms."""
        if torque is None:
            self.measurement = self.measurement._replace(qd=0.0 * self.measurement.qd)
        else:
            self.measurement = self.plant.step(torque, self.pushes.at(self.tick))
        self.tick += 1

    def lasts(self, first: int) -> bool:
        """Return whether a run that began at a tick has not reached its length."""
        return self.tick - first < self._ticks

    def record(self) -> None:
        """Write the present state into the recording."""
        if self._recorder is None or self.over:
            return
        seen = self.measurement
        if seen.tick != self.tick:
            seen = seen._replace(tick=self.tick, time=self.time)
        self._recorder.write(seen, self.plant)

    def recording(self, wall_time: float) -> Callable[[], Recording] | None:
        """Return a function that makes the recording; None if there is nothing to write.

        Args:
            wall_time: Duration of the run by the steady clock [s].
        """
        recorder = self._recorder
        if recorder is None or not recorder.recorder.count:
            return None
        if self._ended:
            recorder.end_at(self._ticks)
        hashed = self.plant.state_hash()
        return lambda: recorder.finish(wall_time_s=wall_time, plant_state_hash=hashed)


class CommandAnswers:
    """Times of published states and of the commands that answer them; times in [s].

    Attributes:
        published_at: When the last state was published.
        commanded_at: When a command arrived last.
        started_at: When the first complete command arrived; None before.
        first_tick: Its tick on the wall clock; None before, and in lockstep.
        repeats: Number of repeated states.
        numbers: The ticks that the last commands answer, by arm.
        missed: Real time in which no control period was simulated.

    Args:
        period: Control period.
    """

    def __init__(self, period: float) -> None:
        self._period = period
        self.reset()

    def reset(self) -> None:
        """Begin a new run."""
        self.published_at = self.commanded_at = time.monotonic()
        self.started_at: float | None = None
        self.first_tick: int | None = None
        self.repeats, self.missed = 0, 0.0
        self._latency = Durations(self._period)
        self.numbers: dict[str, int] = {}
        self._prompt, self._prompt_tick = 0, -1  # periods that were answered within the period

    def complete(self, tick: int, now: float) -> bool:
        """Note that the commands of all arms have arrived; return whether for the first time."""
        first = self.started_at is None
        if first:
            self.started_at = now
        prompt = all(answers(number, tick) for number in self.numbers.values())
        if prompt and self._prompt_tick != tick:
            self._prompt_tick = tick
            self._prompt += 1
            self._latency.add(now - self.published_at)
        return first

    def wall_time(self) -> float:
        """Return the time since the first command."""
        now = time.monotonic()
        return now - (self.started_at or now)

    def figures(self, tick: int, now: float) -> dict[str, object]:
        """Return figures for the diagnostics."""
        begun, first = self.started_at or now, self.first_tick or 0
        controlled = (tick - first) * self._period
        return {
            "tick": tick,
            "time [s]": tick * self._period,
            "real time factor": controlled / (now - begun) if now > begun else 0.0,
            "repeated states": self.repeats,
            "control periods": tick - first,
            "answered within the period": self._prompt,
            "missed control periods": self.missed / self._period,
            **self._latency.figures("latency"),
        }


class Pause:
    """Whether simulated time is paused, and the single steps that were asked for meanwhile.

    Attributes:
        paused: Whether simulated time is paused.
        held_back: Whether complete commands wait for the simulation to go on.
    """

    def __init__(self) -> None:
        self.paused = False
        self.reset()

    def reset(self) -> None:
        """Forget single steps and held commands; a pause lasts."""
        self.held_back, self._steps = False, 0

    def switch(self, paused: bool) -> None:
        """Pause simulated time, or let it go on."""
        self.paused, self._steps = paused, 0

    def ask_steps(self, steps: int) -> None:
        """Ask for more control periods."""
        self._steps += steps

    def lets_pass(self) -> bool:
        """Return whether a control period may pass now, and count it."""
        if self.paused and not self._steps:
            return False
        self._steps = max(0, self._steps - 1)
        return True


class FaultSwitch:
    """Switches the faults of a simulated plant, and notes when messages first show them.

    Args:
        faults: The faults of the plant.
        in_lockstep: Whether times are control ticks; else those of the steady clock [ns].
    """

    def __init__(self, faults: Faults, *, in_lockstep: bool) -> None:
        self._faults, self._in_lockstep = faults, in_lockstep
        self.reset()

    def reset(self) -> None:
        """Forget when faults were shown."""
        self._began: int | None = None
        self._shown: int | None = None
        self._reported: int | None = None

    @property
    def active(self) -> bool:
        """Whether any fault is on."""
        return bool(self._faults.active)

    @property
    def unreported(self) -> bool:
        """Whether messages show a fault that `figures` has not returned yet."""
        return self._reported != self._shown

    def switch(self, text: str) -> None:
        """Switch on the faults that a text names, separated by commas, and no others.

        Raises:
            RobotDynamicsError: If the text names an unknown fault.
        """
        texts = [part for part in text.split(",") if part.strip()]
        if texts or self._faults.active:
            self._faults.switch([fault_of(part, self._faults.joints) for part in texts])

    def published(self, tick: int) -> None:
        """Note that the state of a tick was published."""
        if self._began != self._faults.began:
            self._began = self._faults.began
            self._shown = tick if self._in_lockstep else time.monotonic_ns()

    def figures(self) -> dict[str, object]:
        """Return since when messages show a fault, for the diagnostics; empty if none has."""
        self._reported = self._shown
        if self._shown is None:
            return {}
        return {"simulated fault since": self._shown, "simulated fault is on": self.active}
