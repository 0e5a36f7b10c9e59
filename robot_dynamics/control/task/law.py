# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The law of a task: it runs phases one after the other, and switches between their laws.

A law that takes over is started from the measured state and the torque that was sent last, so
that the torque's rate is limited across phases as within them. A phase that fails or takes too
long ends the task in the safe end that its settings state.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from robot_dynamics.arrays import Array
from robot_dynamics.control.abilities import AdjustsGrip, FollowsPlan, RunsTask
from robot_dynamics.control.control_law import SCALES, HeldStep
from robot_dynamics.control.reference import POSE
from robot_dynamics.control.resume import ResumeError, Way
from robot_dynamics.control.rollout import Rollout
from robot_dynamics.control.settings import ControlSettings, SafetySettings
from robot_dynamics.control.start_check import check_joints
from robot_dynamics.control.task.free_arms import FreeArms
from robot_dynamics.control.task.free_phases import Grasp, Move, Release
from robot_dynamics.control.task.grippers import Grippers
from robot_dynamics.control.task.held_phases import HeldLaw, HeldPhase
from robot_dynamics.control.task.phases import Now, PhaseFailed, TaskPhase, Wait
from robot_dynamics.control.task.rehearsal import Rehearsal, rehearse

_REST_S = 0.5  # rest at the end of a task, until it is over


@dataclass(slots=True, kw_only=True, eq=False)
class TaskStep(HeldStep):
    """Result of a control step of a task.

    Without a held object closure, internal force and wrenches of held bodies are zero.

    Attributes:
        contact_force: Forces by the object on surfaces, as the controller sees them (C,).
        touched: 1 for surfaces whose force is controlled, 0 for others (C,).
        phase: Index of the phase.
        holding: Whether the law of the held object runs.
    """

    contact_force: Array
    touched: Array
    phase: int
    holding: bool

    @property
    def recorded(self) -> Sequence[Array]:
        """Vectors that together hold the values of the law's `columns`, in their order."""
        scales, phase = self.scales[: len(SCALES)], np.array([self.phase, self.holding], float)
        held = self.pose, self.twist, self.closure, self.internal_force
        return *held, scales, self.contact_force, self.touched, phase


class TaskLaw(RunsTask, FollowsPlan, AdjustsGrip):
    """Runs the phases of a task.

    Args:
        control: Rate and start.
        safety: Limits of joints on the way.
        arms: The arms while they are free.
        phases: The phases, with their safe ends.
        home: Positions of the arm joints at which the task is to start (na,).
        start: Pose of the object at the start (7,).
        places: Poses (7,) at which the object is put down.
        grippers: Grippers of the arms; None for palms.

    Attributes:
        phases: Names of all phases; those of safe ends follow those of the task.

    Raises:
        RobotDynamicsError: If the arms cannot do the task from home.
    """

    def __init__(
        self,
        control: ControlSettings,
        safety: SafetySettings,
        arms: FreeArms,
        phases: Sequence[TaskPhase],
        home: Array,
        start: Array,
        places: Sequence[Array],
        grippers: Grippers | None = None,
    ) -> None:
        self._control, self._safety, self._period = control, safety, control.period
        self._arms, self._phases, self.grippers = arms, tuple(phases), grippers
        ends = {one: phase.on_failure for phase in phases for one in phase.safe_end}
        self._every = (*self._phases, *ends)
        ended = (f"{end}: {one.name}" for one, end in ends.items())
        self.phases = (*(phase.name for phase in self._phases), *ended)
        held = next(phase for phase in phases if isinstance(phase, HeldPhase)).held
        self._law, self.system, self.grasp = held.law, held.law.system, held.law.grasp
        self._begin_pose, self._places = np.array(start), tuple(places)
        self._forget(home)
        self._rehearsed: tuple[Array, Rehearsal] | None = None
        self.reference = self._rehearse(home).plan

    def _forget(self, q: Array) -> None:
        """Reset for a start at positions `q` (na,)."""
        # At rest at first, so that a wrong model shows; see `ModelWatch`.
        self._course, self._at, self._began = self._phases, 0, self._control.ramp_ticks
        self._rests_from, self._resting = np.inf, False
        self.done, self.failure = False, ""
        if self.grippers is not None:
            self.grippers.reset()
        self._running: HeldLaw | None = None
        self._pose, self._last = self._begin_pose.copy(), np.zeros(len(q))
        for phase in self._every:
            if isinstance(phase, Move) and phase.goes_home:
                phase.target = np.array(q)

    # -- the course of the phases -------------------------------------------------------------

    @property
    def phase(self) -> int:
        """Index of the running phase among `phases`."""
        return self._every.index(self._course[self._at])

    @property
    def _phase_in_words(self) -> str:
        """The running phase, as sentences name it."""
        return f"phase {self._at + 1}, {self._course[self._at].name}"

    @property
    def holds_object(self) -> bool:
        """Whether the arms carry the object now."""
        running = self._running
        return running is not None and not running.law.running.last.touched.any()

    def start(self, q: Array, qd: Array, last: Array | None = None) -> TaskStep:
        """Begin the first phase at the measured positions; see `ControlLaw.start`."""
        self._forget(q)
        self._arms.begin(q, self._arms.last if last is None else last)
        self._last = self._arms.support(q) if last is None else np.array(last, dtype=float)
        self._arms.last = self._last
        self._course[0].begin(Now(0.0, q, qd, None, self._last))
        return self._free_step(q, self._last)

    def update(self, tick: int, q: Array, qd: Array, wrenches: Array | None = None) -> TaskStep:
        """Return the step of a control period; see `ControlLaw.update`."""
        now = Now((tick - self._began) * self._period, q, qd, wrenches, self._last)
        if not self._resting and tick >= self._began:
            try:
                self._advance(tick, now)
            except PhaseFailed as reason:
                self._fail(tick, now, str(reason))
        self.done = tick >= self._rests_from + round(_REST_S / self._period)
        if self._running is None:
            step = self._free_step(q, self._arms.torque(q, qd))
        else:
            step = self._held_step(self._running, q, qd, wrenches)
        self._last = step.torque
        return step

    def _advance(self, tick: int, now: Now) -> None:
        """Advance the running phase; begin the next ones if it is over."""
        while not self._resting:
            phase = self._course[self._at]
            if now.time > phase.longest_s:
                most = phase.longest_s
                raise PhaseFailed(f"it took longer than its time limit of {most:.3g} s.")
            if not phase.advance(now):
                return
            if self._at + 1 == len(self._course):
                self._rest(tick, self._arms.q)
            else:
                self._at += 1
                self._begin_phase(tick, now)

    def _begin_phase(self, tick: int, now: Now) -> None:
        phase = self._course[self._at]
        self._began, now.time = tick, 0.0
        if isinstance(phase, HeldPhase):
            self._running = phase.held
        elif not isinstance(phase, Wait):
            self._running = None
        phase.begin(now)

    def _fail(self, tick: int, now: Now, reason: str) -> None:
        """End the task early, in the safe end of the phase."""
        phase = self._course[self._at]
        if not self.failure:
            self.failure = f"{self._phase_in_words}: {reason}"
        if phase.safe_end and self._course is self._phases:
            self._course, self._at = phase.safe_end, 0
            self._begin_phase(tick, now)
        else:
            self._rest(tick, now.q)

    def _rest(self, tick: int, q: Array) -> None:
        """Stay: free arms at measured positions `q` (na,), a held object on its path."""
        self._resting, self._rests_from = True, min(self._rests_from, tick)
        if self._running is None:
            self._arms.rest(q)
        else:
            self._running.law.hold(self._running.tick)

    def hold(self, tick: int) -> None:
        """Come to rest in the running phase; see `FollowsPlan.hold`."""
        self._rest(tick, self._arms.q)

    # -- steps --------------------------------------------------------------------------------

    def _free_step(self, q: Array, torque: Array) -> TaskStep:
        """Return the step of free arms with a torque (na,)."""
        law, support = self._law, self._arms.support(q)
        layout = law.layout
        row = np.zeros(len(law.row(0)))
        row[POSE] = self._pose
        phase, force = self._course[self._at], np.zeros(layout.internal)
        if isinstance(phase, (Grasp, Release)):
            force = phase.share * phase.squeeze.internal
        row[law.internal_columns] = force
        load = float(np.max(np.abs(support) / (self._arms.effort)))
        return TaskStep(
            torque=torque,
            support=support,
            reference=row,
            pose=self._pose,
            scales=np.array([1.0, 1.0, 1.0, load, 1.0]),
            closure=np.zeros(6 * (layout.arms - 1)),
            internal_force=force,
            held_body_wrenches=np.zeros((1, 18)),
            tilts=np.zeros(layout.soft_fingers),
            contact_force=np.zeros(layout.surfaces),
            touched=np.zeros(layout.surfaces),
            phase=self.phase,
            holding=False,
        )

    def _held_step(self, held: HeldLaw, q: Array, qd: Array, wrenches: Array | None) -> TaskStep:
        """Return the step of the law of the held object."""
        seen = held.law.update(held.tick, q, qd, wrenches)
        held.tick += 1
        self._pose = np.array(seen.pose)
        step = TaskStep(
            torque=seen.torque,
            support=seen.support,
            reference=seen.reference,
            pose=seen.pose,
            twist=seen.twist,
            error=seen.error,
            scales=seen.scales,
            closure=seen.closure,
            internal_force=seen.internal_force,
            held_body_wrenches=seen.held_body_wrenches,
            tilts=seen.tilts,
            contact_force=seen.outputs.contact_force,
            touched=seen.touched,
            phase=self.phase,
            holding=True,
        )
        step.task_scale = seen.task_scale
        return step

    # -- checks before the start --------------------------------------------------------------

    def check_start(self, q: Array, qd: Array) -> None:
        """Refuse joints beyond their limits or in motion; the hands may be anywhere.

        Raises:
            StartError: With the joint, and by how much.
        """
        check_joints(self.system, self._control.start, q, qd)

    def choose_start(self, way: Way, q: Array, tick: int) -> None:
        """Accept a start of the whole task only; see `FollowsPlan.choose_start`."""
        if way != "start":
            raise ResumeError(f"{way} refused: a task begins with its first phase.")

    def check_path(self, q: Array) -> Rollout:
        """Check the whole task from positions `q` (na,), and return its nominal motion.

        Raises:
            PreflightError: If the arms cannot do it.
        """
        found = self._rehearse(q)
        self.reference = found.plan
        return found.motion

    def planned_phases(self, times: Array) -> Sequence[str]:
        """Return the names of the phases at times (N,) of the checked plan [s]."""
        return self._rehearsed[1].plan.phases(times) if self._rehearsed else ()

    def _rehearse(self, q: Array) -> Rehearsal:
        """Return the nominal course from positions `q` (na,), checked."""
        if self._rehearsed is None or not np.array_equal(self._rehearsed[0], q):
            self._forget(q)
            found = rehearse(
                self._arms, self._law, self._phases, q, self._begin_pose, self._safety,
                self._period,
            )  # fmt: skip
            self._rehearsed = np.array(q), found
        return self._rehearsed[1]

    # -- support ------------------------------------------------------------------------------

    def hold_support(self, q: Array) -> Array:
        """Return the torque (na,) that holds up arms, and a carried object, at `q` (na,)."""
        if self.holds_object and self._running is not None:
            return self._running.law.hold_support(q)
        return self._arms.support(q)

    def grip_support(self, q: Array) -> Array:
        """Return `hold_support` with the last desired internal force (na,)."""
        if self.holds_object and self._running is not None:
            return self._running.law.grip_support(q)
        return self._arms.support(q)

    def firmer_grip(self, q: Array) -> Array:
        """Return the torque (na,) that makes the grip as firm as control may."""
        if self.holds_object and self._running is not None:
            return self._running.law.firmer_grip(q)
        return np.zeros_like(q)

    # -- facts for recordings -----------------------------------------------------------------

    @property
    def warnings(self) -> Sequence[str]:
        """Current warnings of the law of the held object."""
        return self._law.warnings

    @property
    def internal_columns(self) -> slice:
        """Columns of the internal force in a row of the plan."""
        return self._law.internal_columns

    @property
    def internal_force_names(self) -> Sequence[str]:
        """Names of the internal forces (m,)."""
        return self._law.internal_force_names

    @property
    def columns(self) -> Mapping[str, int]:
        """Width of each column that the law adds to a recording."""
        C = self._law.layout.surfaces
        own = {"estimated_contact_force": C, "touched": C, "phase": 1, "holding": 1}
        return {**super().columns, **own}

    @property
    def units(self) -> Mapping[str, str]:
        """Unit, order and meaning of `columns` and `reference_columns`."""
        own = {
            "control_scales": ", ".join(SCALES),
            "phase": "index among the metadata's `phases`",
            "holding": "1 while the law of the held object runs, else 0",
        }
        return {**self._law.units, **own}

    @property
    def metadata(self) -> Mapping[str, Any]:
        """Facts about the task for a recording (JSON values)."""
        return {
            **self._law.metadata,
            "phases": list(self.phases),
            "places": [place.tolist() for place in self._places],
            "task_failure": self.failure,
            "task_unfinished": "" if self._resting else self._phase_in_words,
            "torque_rate": self._safety.torque_rate,
        }

    def reference_columns(self, rows: Array) -> dict[str, Array]:
        """Return the columns of a recording of rows; see `ControlLaw.reference_columns`."""
        return self._law.reference_columns(rows)
