# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The law of a task: it runs phases one after the other, and switches between their laws.

A law that takes over is started from the measured state and the torque that was sent last, so
that the torque's rate is limited across phases as within them. A phase that fails or takes too
long ends the task in the safe end that its settings state.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np

from robot_dynamics.arrays import Array
from robot_dynamics.control.abilities import (
    AdjustsGrip,
    FollowsPlan,
    RunsTask,
    TaskError,
    TaskState,
)
from robot_dynamics.control.control_law import SCALES
from robot_dynamics.control.hybrid.law import HybridLaw
from robot_dynamics.control.hybrid.law_inputs import payload_columns
from robot_dynamics.control.resume import ResumeError, Way
from robot_dynamics.control.rollout import Rollout
from robot_dynamics.control.settings import ControlSettings, SafetySettings
from robot_dynamics.control.start_check import check_joints
from robot_dynamics.control.task.follow_phase import Follow
from robot_dynamics.control.task.free_arms import FreeArms
from robot_dynamics.control.task.free_phases import Approach, Grasp, Move, Release
from robot_dynamics.control.task.grippers import Grippers
from robot_dynamics.control.task.hands import require_free_hands, require_load
from robot_dynamics.control.task.held_law import HeldLaw
from robot_dynamics.control.task.held_phases import HeldPhase, PutDown
from robot_dynamics.control.task.joint_trajectory import JointGoal
from robot_dynamics.control.task.pace import Pace
from robot_dynamics.control.task.phases import Now, PhaseFailed, TaskPhase, Wait
from robot_dynamics.control.task.rehearsal import Rehearsal, rehearse
from robot_dynamics.control.task.step import TaskStep, free_step, held_step
from robot_dynamics.control.task.wrench_observer import WrenchObserver

_REST_S = 0.5  # rest at the end of a task, until it is over
_LATE = 2.0  # time limits that a phase may take if control periods are lost


class TaskLaw(RunsTask, FollowsPlan, AdjustsGrip):
    """Runs the phases of a task.

    Args:
        control: Rate and start.
        safety: Limits of joints on the way.
        arms: The arms while they are free.
        phases: The phases, with their safe ends.
        law: The law of the object in the first grasp, which defines internal forces.
        home: Positions of the arm joints at which the task is to start (na,).
        start: Pose of the object at the start (7,).
        places: Poses (7,) at which the object is put down.
        grippers: Grippers of the arms; None for palms.

    Attributes:
        phases: Names of all phases; those of safe ends follow those of the task.
        has_operator: Whether an operator ends the phases that wait for one.
        beginning: How the last chosen start begins, in words.

    Raises:
        RobotDynamicsError: If the arms cannot do the task from home.
    """

    def __init__(
        self,
        control: ControlSettings,
        safety: SafetySettings,
        arms: FreeArms,
        phases: Sequence[TaskPhase],
        law: HybridLaw,
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
        self._law, self.system, self.grasp = law, law.system, law.grasp
        self._stated_home = np.array(home)
        self._begin_pose, self._places = np.array(start), tuple(places)
        laws = {phase.held.law for phase in phases if isinstance(phase, HeldPhase)}
        for held in {law, *laws}:
            held.grip_support(home)  # a fallback must not compile anything
            held.firmer_grip(home)
        self._pace, self.has_operator, self._resumes = Pace(self._period), False, False
        self._observer: WrenchObserver | None = None
        self._taken_up, self._anew, self.beginning = -1, False, "control ramps in"
        self._forget(home)
        self._rehearsed: tuple[Array, Rehearsal] | None = None
        self._planned = self._rehearse(home).plan
        self.reference = self._planned

    def sense_by(self, *, wrist_sensors: bool) -> None:
        """Take wrenches from wrist sensors, or estimate them; see `HoldsObject.sense_by`."""
        delay = self._control.command_delay_periods
        self._observer = None if wrist_sensors else WrenchObserver(self._arms, self._period, delay)

    def _forget(self, q: Array) -> None:
        """Reset for a start of the whole task at positions `q` (na,)."""
        self._course, self._at = self._phases, 0
        if self.grippers is not None:
            self.grippers.reset()
        if self._observer is not None:
            self._observer.forget()
        self._running: HeldLaw | None = None
        self._pose, self._last = self._begin_pose.copy(), np.zeros(len(q))
        self._home = np.array(q)
        self._set_home(q)
        for phase in self._every:
            if isinstance(phase, HeldPhase):
                phase.held.forget()
        self._reset_time()

    def _set_home(self, q: Array) -> None:
        """Set the positions `q` (na,) of phases that go home."""
        for phase in self._every:
            if isinstance(phase, Move) and phase.goes_home:
                phase.target = np.array(q)

    def _reset_time(self) -> None:
        """Reset the course of a phase for a start."""
        # At rest at first, so that a wrong model shows; see `ModelWatch`.
        self._passed, self._lost, self._missed, self._time = 0, 0.0, 0.0, 0.0
        self._tick = 0
        if self._observer is not None:
            self._observer.begin()
        self._rests_from, self._resting = np.inf, False
        self.done, self.failure = False, ""
        self._wanted: Literal["run", "pause", "abort"] = "run"
        self._halted = self._told = False
        self._pace.reset()
        self._arms.pace = 1.0, 0.0

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
        return self._running is not None and self._running.carries

    @property
    def mass_ratio(self) -> float:
        """Mass of the held object that the next step uses over the stated one."""
        return 1.0 if self._running is None else self._running.law.mass_ratio

    def start(self, q: Array, qd: Array, last: Array | None = None) -> TaskStep:
        """Begin the first phase, or a chosen one, at the measured positions.

        See `ControlLaw.start`.
        """
        resumes, self._resumes = self._resumes, False
        if resumes:
            self._reset_time()
        else:
            self._forget(q)
        phase = self._course[self._at]
        self._taken_up = -1
        if resumes and isinstance(phase, HeldPhase):
            if self.grippers is not None:
                self.grippers.close()
            self._running = phase.held
            self._last = self.hold_support(q) if last is None else np.array(last, dtype=float)
            phase.resume(Now(0.0, q, qd, None, self._last))
            return held_step(phase.held.law.running.last, self.phase)
        self._arms.begin(q, self._arms.last if last is None else last)
        self._arms.still.begin()
        self._last = self._arms.support(q) if last is None else np.array(last, dtype=float)
        self._arms.last = self._last
        phase.begin(Now(0.0, q, qd, None, self._last))
        return self._free_step(q, self._last)

    def _free_step(self, q: Array, torque: Array) -> TaskStep:
        phase, force = self._course[self._at], np.zeros(self._law.layout.internal)
        if isinstance(phase, (Grasp, Release)):
            force = phase.share * phase.squeeze.internal
        return free_step(self._arms, self._law, q, torque, self._pose, force, self.phase)

    def update(self, tick: int, q: Array, qd: Array, wrenches: Array | None = None) -> TaskStep:
        """Return the step of a control period; see `ControlLaw.update`."""
        if self._observer is not None:
            wrenches = self._observer.wrenches(q, qd, max(tick - self._tick, 1))
        # References advance once in each control period that takes place: so does their time.
        self._time = self._passed * self._period - self._lost
        now = Now(self._time, q, qd, wrenches, self._last)
        ramped = tick >= self._control.ramp_ticks
        self._missed += self._pace.value * max(tick - self._tick - 1, 0) * self._period
        self._tick = tick
        if ramped and not self._resting:
            if self._passed == 0:  # the start's ramp is over
                self._tare_free_tools()
            try:
                self._keep_pace(now)
                if self._running is None:
                    self._arms.require_tracking(q)
                self._advance(tick, now)
            except PhaseFailed as reason:
                self._fail(tick, now, str(reason))
        self._passed += ramped and not self._resting
        self.done = tick >= self._rests_from + round(_REST_S / self._period)
        if self._running is None:
            step = self._free_step(q, self._arms.torque(q, qd))
        else:
            step = held_step(self._running.step(q, qd, wrenches), self.phase)
            self._pose = np.array(step.pose)
        self._last = step.torque
        return step

    def sent(self, torque: Array) -> None:
        """Take the torque (na,) that was sent; see `RunsTask.sent`."""
        self._last = torque
        if self._observer is not None:
            self._observer.sent(torque)
        if self._running is None:
            self._arms.last = torque

    def _advance(self, tick: int, now: Now) -> None:
        """Advance the running phase; begin the next ones if it is over."""
        while not self._resting:
            phase = self._course[self._at]
            waited = phase.for_operator and self.has_operator  # as long as the operator likes
            most, taken = phase.longest_s, now.time - phase.added_s
            if taken > most and not waited:
                raise PhaseFailed(
                    f"it took longer than its time limit of {most:.3g} s{phase.awaited}."
                )
            taken += self._missed
            if taken > _LATE * most and not waited:
                raise PhaseFailed(
                    f"it took {taken:.3g} s because control periods are lost, expected at most "
                    f"{_LATE:g} times its time limit of {most:.3g} s."
                )
            if self._halted and isinstance(phase, HeldPhase):
                return
            if not phase.advance(now) or self._waits or self._wanted != "run":
                return
            if self._at + 1 == len(self._course):
                self._rest(tick, self._arms.q)
            elif not self._course[self._at + 1].prepare(now):
                return
            else:
                self._at += 1
                self._begin_phase(now)

    def _begin_phase(self, now: Now) -> None:
        phase = self._course[self._at]
        self._passed, self._lost, self._missed, now.time = 0, 0.0, 0.0, 0.0
        self._told = self._halted = False
        if isinstance(phase, HeldPhase):
            self._running = phase.held
        elif not isinstance(phase, Wait):
            self._running = None
        self._tare_free_tools()
        phase.begin(now)

    def _tare_free_tools(self) -> None:
        """Take estimated wrenches of tools that touch nothing for errors of the model."""
        free = isinstance(self._course[self._at], (Move, Follow, Approach, Grasp))
        if self._observer is not None and free:
            self._observer.tare()

    def _fail(self, tick: int, now: Now, reason: str) -> None:
        """End the task early, in the safe end of the phase."""
        phase = self._course[self._at]
        if self._wanted == "abort":  # the safe end runs
            self._wanted = "run"
            self._pace.reset()
            self._arms.pace = 1.0, 0.0
        if not self.failure:
            self.failure = f"{self._phase_in_words}: {reason}"
        if phase.safe_end and self._course is self._phases:
            self._course, self._at = phase.safe_end, 0
            self._begin_phase(now)
        else:
            self._rest(tick, now.q)

    def _rest(self, tick: int, q: Array) -> None:
        """End the task at rest; see `_stay`."""
        self._rests_from = min(self._rests_from, tick)
        self._stay(q)

    def _stay(self, q: Array) -> None:
        """Stay: free arms at positions `q` (na,), a held object on its path."""
        self._resting, phase = True, self._course[self._at]
        if self._running is None:
            self._arms.rest(q)
        elif isinstance(phase, HeldPhase) and not self._halted:
            phase.rest()

    def hold(self, tick: int) -> None:
        """Come to rest in the running phase, which a fault has ended; see `FollowsPlan.hold`."""
        if not self._resting:
            self._stay(self._arms.q)

    def still_joints(self, q: Array) -> Sequence[int]:
        """Return joints of free arms that do not follow at all; see `RunsTask.still_joints`."""
        if self._running is not None:
            self._arms.still.begin()
            return ()
        return self._arms.still.look(q, self._arms.q)

    # -- pause, resume, abort, next -----------------------------------------------------------

    @property
    def state(self) -> TaskState:
        """Present state; see `RunsTask`."""
        if self._wanted == "pause" and not self._resting:
            return "paused"
        if self.failure or (self._resting and self._rests_from == np.inf):
            return "failed"
        if self._resting:
            return "done"
        return "waiting" if self._waits else "running"

    @property
    def _waits(self) -> bool:
        """Whether the phase continues only at the request of an operator."""
        return self._course[self._at].for_operator and self.has_operator and not self._told

    def pause(self) -> str:
        """Come to rest on the way; see `RunsTask.pause`."""
        self._require_under_way("pause")
        self._require_no_abort("pause")
        self._wanted = "pause"
        return f"the task pauses in {self._phase_in_words}"

    def go_on(self) -> str:
        """Go on after a pause; see `RunsTask.go_on`."""
        if self._wanted != "pause" or self._resting:
            raise TaskError("resume refused: the task is not paused; expected a pause before it.")
        self._wanted = "run"
        return f"the task goes on in {self._phase_in_words}"

    def abort(self) -> str:
        """Come to rest, then end in the safe end of the phase; see `RunsTask.abort`."""
        self._require_under_way("abort")
        self._wanted = "abort"
        phase = self._course[self._at]
        end = phase.on_failure if self._course is self._phases else "hold"
        return f"the task ends in {self._phase_in_words}, by: {end}"

    def next(self) -> str:
        """End a phase that waits for an operator; see `RunsTask.next`."""
        self._require_under_way("next")
        self._require_no_abort("next")
        if not self._waits:
            raise TaskError(
                f"next refused: {self._phase_in_words} does not wait for an operator; expected a "
                "phase `wait: {until: operator}` or `move: {until: operator}`."
            )
        self._told = True
        return f"{self._phase_in_words} is over"

    def follow_joints(self, goals: Mapping[str, JointGoal]) -> None:
        """Follow trajectories of free arms; see `RunsTask.follow_joints`."""
        phase = self._course[self._at]
        if self._resting or self._wanted != "run" or self._pace.changing:
            raise TaskError("trajectory refused: the task rests; expected a running task.")
        if not isinstance(phase, Follow) or self._told:
            raise TaskError(
                f"trajectory refused: {self._phase_in_words} follows none; expected a phase "
                "`move: {until: operator}`."
            )
        phase.follow(goals)

    def follows(self, goal: JointGoal) -> bool:
        """Return whether a goal is under way; see `RunsTask.follows`."""
        phase = self._course[self._at]
        under_way = isinstance(phase, Follow) and goal in phase.goals.values()
        return under_way and not self._resting

    def _require_under_way(self, what: str) -> None:
        if self._resting:
            how = "it has ended early" if self.state == "failed" else "it is over"
            raise TaskError(f"{what} refused: no task is under way, {how}; expected a start.")

    def _require_no_abort(self, what: str) -> None:
        if self._wanted == "abort":
            raise TaskError(f"{what} refused: the task is being aborted; expected its end.")

    def _keep_pace(self, now: Now) -> None:
        """Slow down to a pause or an abort, or go on after it; the time of the phase with it.

        Raises:
            PhaseFailed: If an abort was asked for, and all is at rest.
        """
        pace, phase = self._pace, self._course[self._at]
        if not pace.changing:
            if self._halted and self._wanted == "abort":
                raise PhaseFailed("aborted on request.")
            if self._halted != (self._wanted != "run"):
                self._halted = not self._halted
                pace.change(0.0 if self._halted else 1.0)
                if isinstance(phase, HeldPhase):
                    if self._halted:
                        phase.rest()
                    else:
                        phase.go_on(now)
        pace.advance()
        self._arms.pace = pace.value, pace.rate
        self._lost += (1.0 - pace.value) * self._period

    # -- checks before the start --------------------------------------------------------------

    def check_start(self, q: Array, qd: Array) -> None:
        """Refuse joints beyond their limits or in motion; free hands may be anywhere.

        Raises:
            StartError: With the joint, and by how much.
        """
        phase = self._course[self._at]
        if self._resumes and isinstance(phase, HeldPhase):
            phase.held.law.check_start(q, qd)
        else:
            check_joints(self.system, self._control.start, q, qd)

    def check_hands(self, q: Array, wrenches: Array | None) -> None:
        """Refuse a start whose hands do not measure what its phase needs; see `RunsTask`."""
        if self._resumes and not self._anew:
            return
        at = self._at if self._resumes else 0
        phase = self._phases[at]
        if isinstance(phase, HeldPhase):
            grasp = next(one for one in self._phases[at::-1] if isinstance(one, Grasp))
            gravity = np.array(self.system.model.gravity)
            weight = phase.held.weight * gravity / np.linalg.norm(gravity)
            squeeze = grasp.squeeze.wrenches
            require_load(self._arms, q, wrenches, squeeze, weight, self.grippers)
            return
        # Arms that only wait after the others must be as free as in these.
        order = (*self._phases[at:], *self._phases[:at][::-1])
        free = (one for one in order if isinstance(one, (Move, Follow, Approach)))
        most = next((one.touch_n for one in free), np.inf)  # a task of waits touches anything
        gap = self._safety.closure_limit_m
        require_free_hands(self.system, q, wrenches, most, gap, self.grippers)

    @property
    def planned_s(self) -> float:
        """Time that the task takes; see `RunsTask.planned_s`."""
        return self._control.start.ramp_s + self._planned.planned_s + _REST_S

    @property
    def resumes(self) -> bool:
        """Whether the next start continues an interrupted phase."""
        return self._resumes

    def take_up(self, number: int) -> None:
        """Set the phase with which the first resume begins; see `RunsTask.take_up`."""
        if not 1 <= number <= len(self._phases):
            raise TaskError(
                f"resume_phase is {number}, expected a phase of the task, from 1 to "
                f"{len(self._phases)}."
            )
        before = [one for one in self._phases[:number] if not isinstance(one, Wait)]
        phase = self._phases[number - 1]
        waits = isinstance(phase, Wait) and before and isinstance(before[-1], (HeldPhase, Grasp))
        if waits or isinstance(phase, (Grasp, Release)):
            raise TaskError(
                f"resume_phase is {number}, {phase.name}, in which the hands are at the standing "
                "object; expected a phase of free arms, or of an object in the air: move the arms "
                "away by the drives' own controllers."
            )
        self._taken_up = number - 1

    def _begin_at(self, at: int) -> None:
        """Count the task, as stated, as interrupted at the beginning of a phase."""
        self._home = self._stated_home
        self._course, self._at, self._running, self._time = self._phases, at, None, 0.0
        placed = sum(isinstance(one, PutDown) for one in self._phases[:at])
        self._pose = np.array((self._begin_pose, *self._places)[placed])
        phase = self._phases[at]
        if isinstance(phase, HeldPhase):
            phase.begin_in_air()

    def choose_start(self, way: Way, q: Array, tick: int) -> None:
        """Choose between the whole task and its interrupted phase.

        See `FollowsPlan.choose_start`.
        """
        self._resumes, self.beginning = False, "control ramps in"
        if way == "start":
            return
        if way != "resume":
            raise ResumeError(
                f"{way} refused: a task puts its object down itself; expected `resume`, or the "
                "drives' own controllers."
            )
        self._anew = tick == 0 and self._taken_up >= 0
        if self._anew:
            self._begin_at(self._taken_up)
        elif tick == 0 or (self.done and not self.failure):
            raise ResumeError(
                "resume refused: no task was interrupted in this process; expected a start, or "
                "the parameter resume_phase: the phase in which an earlier process was."
            )
        phase = self._course[self._at]
        if self._course is not self._phases:
            expected = "controller/start"
            if self.holds_object:
                expected = (
                    "the object put down by the drives' own controllers, then a new controller "
                    "process and controller/start"
                )
            raise ResumeError(
                "resume refused: the task was in its safe end, which does not go on; expected "
                f"{expected}."
            )
        self.beginning = f"the task goes on in {self._phase_in_words}"
        if isinstance(phase, HeldPhase):
            self.beginning += f": {phase.choose_resumed(q, self._time)}"
        elif isinstance(phase, Grasp) or self._running is not None:  # as in a wait on the support
            raise ResumeError(
                f"resume refused: in {self._phase_in_words}, the hands are at the object; "
                "expected them away from it, and a start."
            )
        self._resumes = True

    def check_path(self, q: Array) -> Rollout:
        """Check the task from positions `q` (na,) on, and return its nominal motion.

        Raises:
            PreflightError: If the arms cannot do it.
        """
        found = self._rehearse(q)
        self.reference = self._planned = found.plan
        return found.motion

    def planned_phases(self, times: Array) -> Sequence[str]:
        """Return the names of the phases at times (N,) of the checked plan [s]."""
        return self._planned.phases(times)

    def _rehearse(self, q: Array) -> Rehearsal:
        """Return the nominal course from positions `q` (na,), checked."""
        # A start that is refused must leave the interrupted phase as it is.
        if self._resumes:
            self._set_home(self._home)
            found = self._rehearsal(self._phases[self._at :], q, self._pose)
            phase = self._phases[self._at]
            if isinstance(phase, HeldPhase):
                phase.prepare_resume(q)
            return found
        if self._rehearsed is None or not np.array_equal(self._rehearsed[0], q):
            self._set_home(q)
            self._rehearsed = np.array(q), self._rehearsal(self._phases, q, self._begin_pose)
        return self._rehearsed[1]

    def _rehearsal(self, phases: Sequence[TaskPhase], q: Array, pose: Array) -> Rehearsal:
        self._arms.pace = 1.0, 0.0
        if self.grippers is not None:
            self.grippers.rehearsing = True
        try:
            return rehearse(
                self._arms, self._law, phases, q, pose, self._safety, self._period,
                resumes=self._resumes,
            )  # fmt: skip
        finally:
            if self.grippers is not None:
                self.grippers.rehearsing = False

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
        return {**super().columns, **own, **payload_columns(self._law.layout)}

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
