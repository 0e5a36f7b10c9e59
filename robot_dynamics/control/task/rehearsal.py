# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The nominal course of a task, computed before its start, and checked.

The phases themselves run in a world without errors: the arms are where their references are, and
contact is felt where the grasps are. Held objects are rolled out with their law.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robot_dynamics.arrays import Array
from robot_dynamics.control.hybrid.law import HybridLaw
from robot_dynamics.control.path_check import SPACING_S, PathProblem, PreflightError, in_phase
from robot_dynamics.control.reference import POSE
from robot_dynamics.control.rollout import Rollout
from robot_dynamics.control.settings import SafetySettings
from robot_dynamics.control.task.free_arms import FreeArms
from robot_dynamics.control.task.free_phases import Grasp
from robot_dynamics.control.task.held_phases import HeldPhase
from robot_dynamics.control.task.phases import Now, PhaseFailed, TaskPhase
from robot_dynamics.manipulation.system import GraspSystem
from robot_dynamics.wording import apart, outside


class TaskPlan:
    """Nominal course of a task: rows of the object's reference over time.

    Args:
        times: Times (N,) [s].
        rows: Rows at these times (N, w).
        phases: Names of the phases at these times (N,).
        duration: Longest time that the task can take [s].

    Attributes:
        duration: Longest time that the task can take [s].
        planned_s: Duration of the nominal course [s].
        start: Pose of the object at the start (7,).
    """

    def __init__(self, times: Array, rows: Array, phases: Sequence[str], duration: float) -> None:
        self._times, self._rows, self._phases = times, rows, phases
        self.duration, self.planned_s = duration, float(times[-1])
        self.start = rows[0, POSE]

    def rows(self, times: ArrayLike) -> Array:
        """Return the rows at the nominal instants at or before times (N,) [s]."""
        return self._rows[self._at(times)]

    def phases(self, times: ArrayLike) -> list[str]:
        """Return the names of the phases at the nominal instants at or before times (N,) [s]."""
        return [self._phases[i] for i in self._at(times)]

    def _at(self, times: ArrayLike) -> NDArray[np.intp]:
        t = np.atleast_1d(np.asarray(times, dtype=float))
        at = np.searchsorted(self._times, t + 1e-9, side="right") - 1
        return np.clip(at, 0, len(self._times) - 1)

    def settled_intervals(self, settle_s: float) -> list[tuple[float, float]]:
        """Return the intervals of rest that are known beforehand: none."""
        return []


class Rehearsal(NamedTuple):
    """Nominal course of a task.

    Attributes:
        plan: Rows of the object's reference over time.
        motion: Motion of the arms.
    """

    plan: TaskPlan
    motion: Rollout


def rehearse(
    arms: FreeArms,
    law: HybridLaw,
    phases: Sequence[TaskPhase],
    q: Array,
    pose: Array,
    safety: SafetySettings,
    period: float,
    *,
    resumes: bool = False,
) -> Rehearsal:
    """Return the nominal course of a task.

    Args:
        arms: The arms while they are free; their reference changes.
        law: A law of the held object, for the width of rows.
        phases: The phases.
        q: Positions of the arm joints at the start (na,).
        pose: Pose of the object at the start (7,).
        safety: Limits.
        period: Control period [s].
        resumes: Whether the first phase continues where it was interrupted, with a held object as
            `HeldPhase.choose_resumed` has chosen.

    Raises:
        PreflightError: If joints leave their limits on the way, a held object cannot follow its
            plan, or a time limit is shorter than its phase.
    """
    spacing = max(1, round(SPACING_S / period))
    count, row = 0, np.zeros(len(law.row(0)))
    row[POSE] = pose
    times, positions, rows = [0.0], [np.array(q)], [row.copy()]
    names = [phases[0].name]
    longest, end, lifted = 0.0, 0.0, 0.0
    arms.begin(q, arms.support(q))
    for phase in phases:
        if isinstance(phase, HeldPhase):
            longest += phase.longest_s
            in_air = resumes and phase is phases[0]
            starts = phase.begins or in_air
            _require_time(phase, end if starts else lifted + phase.parts[0][0], period)
            if starts:
                if not in_air:
                    phase.held.begin_with_whole()
                try:
                    held = phase.held.law.check_path(positions[-1])
                except PreflightError as error:
                    later = [_located(one, phase, phases, end) for one in error.problems]
                    raise PreflightError(later, "task") from None
                times += (end + held.times[1:]).tolist()
                positions += list(held.q[1:])
                rows += list(phase.held.rows(held.times[1:], len(row)))
                end, row = times[-1], rows[-1].copy()
                lifted = end - phase.held.duration
                arms.begin(held.q[-1], arms.support(held.q[-1]))
            last = lifted + phase.parts[-1][1]
            names += [phase.name] * int(np.sum(np.array(times[len(names) :]) <= last + 1e-9))
            continue
        phase.begin(Now(0.0, arms.q, arms.qd, None, arms.last))
        _require_time(phase, end, period)
        longest += phase.longest_s
        count, over = 0, False
        while not over:
            wrenches = np.zeros((len(arms.system.arms), 6))
            if isinstance(phase, Grasp):
                wrenches = phase.ideal_wrenches()
            now = Now(count * period, arms.q, arms.qd, wrenches, arms.last)
            try:
                over = phase.advance(now)
            except PhaseFailed as error:
                problem = PathProblem(end, phase.name, in_phase(str(error), phase.name))
                raise PreflightError([problem], "task") from None
            count += 1
            if count % spacing == 0 or over:
                times.append(end + count * period)
                positions.append(np.array(arms.q))
                rows.append(row.copy())
                names.append(phase.name)
        end = times[-1]
    course, at = np.array(times), np.array(positions)
    problems = list(_limit_problems(arms.system, safety, course, at, names))
    if problems:
        raise PreflightError(problems, "task")
    plan = TaskPlan(course, np.array(rows), names, longest)
    nothing = np.zeros_like(at)
    of_arms = np.zeros((len(course), 0))
    motion = Rollout(
        course, of_arms, at, np.gradient(at, course, axis=0), nothing, nothing,
        np.ones(len(course)), of_arms, None, np.zeros((len(arms.system.arms), 2)),
    )  # fmt: skip
    return Rehearsal(plan, motion)


def _require_time(phase: TaskPhase, begin: float, period: float) -> None:
    """Refuse a phase whose time limit [s] is shorter than planned."""
    least = phase.planned_s + period
    if not phase.longest_s >= least:
        limit, expected = apart(phase.longest_s, least)
        sentence = (
            f"time_limit_s of the phase {phase.name!r} is {limit} s, expected at least {expected} "
            "s, its planned duration."
        )
        raise PreflightError([PathProblem(begin, phase.name, sentence)], "task")


def _located(
    problem: PathProblem, first: HeldPhase, phases: Sequence[TaskPhase], begin: float
) -> PathProblem:
    """Return a problem on the path of a held object, with its phase and its time in the task.

    Args:
        problem: The problem, with its time on the path.
        first: The phase with which the path begins.
        phases: All phases.
        begin: Time of the task at which the path begins [s].
    """
    held = [one for one in phases if isinstance(one, HeldPhase) and one.held is first.held]
    time = problem.time - (first.held.law.reference.duration - first.held.duration)
    phase = next((one for one in held if time <= one.parts[-1][1]), held[-1])
    said = in_phase(problem.sentence, phase.name)
    return problem._replace(time=problem.time + begin, sentence=said)


def _limit_problems(
    system: GraspSystem, safety: SafetySettings, times: Array, q: Array, phases: Sequence[str]
) -> Iterator[PathProblem]:
    """Yield joints that leave their limits of position or velocity."""
    limits, names, units = system.limits, system.joint_names, system.joint_units
    lower = limits["lower"] + safety.position_margin
    upper = limits["upper"] - safety.position_margin
    beyond = ~((q >= lower) & (q <= upper))
    for j in np.flatnonzero(beyond.any(axis=0)):
        i = int(np.argmax(beyond[:, j]))
        would = outside(q[i, j], lower[j], upper[j], units[j])
        said = in_phase(f"joint {names[j]!r} would be at {would}.", phases[i])
        yield PathProblem(float(times[i]), names[j], said)
    most = limits["velocity"] * safety.velocity_fraction
    step = np.maximum(np.diff(times), 1e-9)
    rates = np.abs(np.diff(q, axis=0)) / step[:, None]
    for j in np.flatnonzero((rates > most).any(axis=0)):
        i = int(np.argmax(rates[:, j] > most[j]))
        fastest, allowed = apart(float(rates[:, j].max()), float(most[j]), digits=4)
        said = (
            f"joint {names[j]!r} would have to move at up to {fastest} {units[j]}/s, expected at "
            f"most {allowed} {units[j]}/s."
        )
        yield PathProblem(float(times[i]), names[j], in_phase(said, phases[i]))
