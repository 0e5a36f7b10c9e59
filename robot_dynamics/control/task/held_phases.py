# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Phases of a held object: its law follows parts of its plan, one after the other."""

from __future__ import annotations

import numpy as np

from robot_dynamics.arrays import Array
from robot_dynamics.control.control_law import ObjectPlan
from robot_dynamics.control.reference import POSE
from robot_dynamics.control.resume import Resumed
from robot_dynamics.control.task.held_law import HeldLaw
from robot_dynamics.control.task.held_plan import Parts, PlanPart
from robot_dynamics.control.task.phases import SETTLE_S, Now, PhaseFailed, TaskPhase
from robot_dynamics.control.task_settings import LiftSettings

_WEIGH_S = 1.0  # in which the arms come to rest, and what they carry settles
_PRESSES = 0.5  # share of the force of the search from which an object counts as standing
_STANDS_M = 1e-3  # height up to which an object still stands on its support


class HeldPhase(TaskPhase):
    """A phase of a held object that follows the parts of its plan one after the other.

    Args:
        name: Key of the phase.
        held: The law.
        parts: Begin and end of each part of the plan [s].
        limit_s: Longest duration [s]; None for the default.
        on_failure: Safe end after a failure.
        begins: Whether the law starts with this phase.

    Attributes:
        held: The law.
        parts: Begin and end of each part of the plan [s].
        begins: Whether the law starts with this phase.
    """

    _from_here = False  # whether parts begin where the object is to be, not at their own places
    _transfer: int | None = None  # number of the part in which the weight changes hands

    def __init__(
        self,
        name: str,
        held: HeldLaw,
        parts: Parts,
        limit_s: float | None = None,
        on_failure: str = "hold",
        *,
        begins: bool = False,
    ) -> None:
        super().__init__(name, limit_s, on_failure)
        self.held, self.parts, self.begins = held, parts, begins
        self._plans = tuple(map(held.part, parts))
        self.planned_s = sum(part.duration for part in self._plans)
        self._at, self._since = 0, 0.0
        self._followed: ObjectPlan = self._plans[0]
        self._prepared: PlanPart | None = None

    def prepare(self, now: Now) -> bool:
        """See `TaskPhase`."""
        return not self.begins or self.held.prepare(now.q, self._plans[0])

    def begin(self, now: Now) -> None:
        """See `TaskPhase`."""
        if self.begins:
            self.held.start(now)
            self._at, self._since, self._followed = 0, now.time, self.held.first
        else:
            self._follow(0, now)

    def advance(self, now: Now) -> bool:
        """See `TaskPhase`."""
        passed = now.time - self._since >= self._followed.duration
        if not self._is_over(now, self._at, passed):
            return False
        if self._at + 1 == len(self.parts):
            return True
        self._follow(self._at + 1, now)
        return False

    def rest(self) -> None:
        """Come to rest on the path; see `TaskLaw.pause`.

        While the weight changes hands, the support takes it: arms that rest with a share of it
        would lift an object that is lighter than modelled higher and higher.
        """
        law = self.held.law
        if self._at == self._transfer:
            part = self._plans[self._at]
            standing = part.still(0.0 if self._at == 0 else part.duration)
            self.held.follow(standing.moved_to(law.running.last.reference[POSE]))
        else:
            law.hold(self.held.tick)

    def go_on(self, now: Now) -> None:
        """Go on along the present part, from where the object has come to rest in a pause."""
        law, followed = self.held.law, self._followed
        pose, time = law.running.last.reference[POSE], self._path_time(now.time)
        if isinstance(followed, Resumed):
            followed = followed.plan
        self._since = now.time
        self._followed = Resumed(followed, pose, time, law.settings.resume)
        self.held.follow(self._followed)

    def _path_time(self, time: float) -> float:
        """Return the time of the present part at a time of the phase [s]."""
        followed = self._followed
        since = min(time - self._since, followed.duration)
        if isinstance(followed, Resumed):
            return min(float(followed.path_time(since)), followed.plan.duration)
        return since

    def begin_in_air(self) -> None:
        """Choose the part in which the object is in the air, for a start by `choose_resumed`."""
        self._at, self._since = int(self._transfer == 0), 0.0
        self._followed = self._plans[self._at]

    def choose_resumed(self, q: Array, time: float) -> str:
        """Choose a start of this phase from where arms at `q` (na,) hold the object in the air.

        Args:
            q: Positions of the arm joints (na,).
            time: Time of the phase when the law ended [s].

        Returns:
            A sentence about the motion there.

        Raises:
            ResumeError: If the object is on its support.
        """
        part, begin = self._plans[self._at], self.parts[self._at][0]
        self._resumed = self.held.choose_resumed(q, part, begin, self._path_time(time))
        self._prepared = None
        return str(self._resumed)

    def prepare_resume(self, q: Array) -> None:
        """Do most of the work of `resume` beforehand; see `HeldLaw.prepare_resume`."""
        self._prepared = self.held.prepare_resume(q, self._resumed)

    def resume(self, now: Now) -> None:
        """Begin as `choose_resumed` has chosen."""
        plan = self._prepared or self.held.prepare_resume(now.q, self._resumed)
        self.held.resume(now, plan)
        self._prepared = None
        self._since, self._followed = 0.0, self._resumed

    def _follow(self, at: int, now: Now) -> None:
        """Follow a part of the plan from now on."""
        part = self._plans[at]
        if self._from_here:
            part = part.moved_to(self.held.law.running.last.reference[POSE])
        self._at, self._since, self._followed = at, now.time, part
        self.held.follow(part, leave=True)

    def _is_over(self, now: Now, part: int, passed: bool) -> bool:
        """Return whether a part is over, given whether its time has passed."""
        return passed


class Lift(HeldPhase):
    """Transfer of the weight to the arms, then a lift; see `LiftSettings`.

    Args:
        held: The law.
        parts: Begin and end of the transfer and of the lift [s].
        settings: The settings.
        normal: Index of the normal force on its support among all forces on surfaces.
        begins: Whether the law starts with this phase.
    """

    _from_here, _transfer = True, 0

    def __init__(
        self, held: HeldLaw, parts: Parts, settings: LiftSettings, normal: int, *, begins: bool
    ) -> None:
        limit, end = settings.time_limit_s, settings.on_failure
        super().__init__("lift", held, parts, limit, end, begins=begins)
        self._settings, self._normal = settings, normal
        gravity = np.array(held.law.system.model.gravity)
        self._up = -gravity / np.linalg.norm(gravity)

    def go_on(self, now: Now) -> None:
        """See `HeldPhase`; the weight changes hands anew."""
        if self._at == 0:
            self._follow(0, now)
        else:
            super().go_on(now)

    def _is_over(self, now: Now, part: int, passed: bool) -> bool:
        own, step, weight = self._settings, self.held.law.running.last, self.held.weight
        if part == 0:
            moved = step.pose[:3] - self.held.stood[:3]
            risen, most = float(self._up @ moved), own.slip_within_m
            # An object of up to this weight less than modelled leaves its support early.
            borne = float(step.outputs.contact_force[self._normal])
            leaves = risen > most and borne <= own.weight_tolerance * weight
            slipped = moved - risen * self._up if leaves else moved
            if not np.linalg.norm(slipped) <= most:
                raise PhaseFailed(
                    f"the hands moved by {np.linalg.norm(slipped):.3g} m while the object still "
                    f"stands, expected at most {most:g} m: they slip."
                )
            passed = passed or leaves
        else:
            other = float(np.linalg.norm(step.held_body_wrenches[0, -3:]))
            if not other <= own.weight_tolerance * weight:
                raise PhaseFailed(
                    f"the arms carry {other:.3g} N more or less than the weight of "
                    f"{weight:.3g} N, expected at most "
                    f"{own.weight_tolerance * weight:.3g} N: the object is heavier or "
                    "lighter than modelled, or stuck."
                )
        return passed


class PutDown(HeldPhase):
    """Descent to a surface, and transfer of the weight to it; see `PutDownSettings`.

    Args:
        name: Key of the phase.
        held: The law.
        parts: Begin and end of the descent and of the transfer [s].
        on: Name of the surface.
        normal: Index of its normal force among all forces on surfaces.
        limit_s: Longest duration [s]; None for the default.
    """

    _transfer = 1

    def __init__(
        self,
        name: str,
        held: HeldLaw,
        parts: Parts,
        on: str,
        normal: int,
        limit_s: float | None = None,
    ) -> None:
        super().__init__(name, held, parts, limit_s)
        self._on, self._normal, self._touched_s = on, normal, np.inf
        self._weighs = False

    def begin(self, now: Now) -> None:
        """See `TaskPhase`."""
        self.held.tare()
        super().begin(now)
        self._touched_s, self._weighs, self.added_s = np.inf, False, 0.0

    def advance(self, now: Now) -> bool:
        """See `TaskPhase`."""
        if self._weighs:
            if now.time < self.added_s:
                return False
            self._weighs = False
            self.held.tare()
            self._descend(now)
        return super().advance(now)

    def resume(self, now: Now) -> None:
        """See `HeldPhase`; a new controller does not know the weight yet, so it weighs at rest."""
        super().resume(now)
        self.held.follow(self._plans[0].still(0.0).moved_to(self._resumed.start))
        self._touched_s = np.inf
        self._weigh(now)

    def go_on(self, now: Now) -> None:
        """See `HeldPhase`; the support that has taken the weight keeps it."""
        if self._at == 0 and not self._weighs:
            super().go_on(now)

    def _weigh(self, now: Now) -> None:
        """Begin to weigh the object, which comes to rest; `_descend` follows."""
        self._weighs, self.added_s = True, _WEIGH_S

    def _descend(self, now: Now) -> None:
        """Begin the descent after weighing."""
        self._since, self._followed = now.time, self._resumed
        self.held.follow(self._resumed)

    @property
    def touching(self) -> bool:
        """Whether the object touches the surface."""
        return bool(self.held.law.running.last.touched[self._normal])

    def _is_over(self, now: Now, part: int, passed: bool) -> bool:
        if part:
            return passed
        if not self.touching:
            self._touched_s = np.inf
            if passed:
                raise PhaseFailed(f"the object did not touch {self._on!r} where it is expected.")
            return False
        force = float(self.held.law.running.last.outputs.contact_force[self._normal])
        if not force >= _PRESSES * self.held.search_n:
            # An object that is lighter than modelled may come off again, and must not fall.
            self._touched_s = np.inf
            return False
        self._touched_s = min(self._touched_s, now.time)
        return now.time >= self._touched_s + SETTLE_S


class PutBack(PutDown):
    """Return of an object to the support from which it was to be lifted; at once if it stands.

    Args:
        held: The law.
        plan: Plan of the return; see `held_plan.plan_back`.
        parts: Begin and end of the descent and of the transfer [s].
        on: Name of the surface.
        normal: Index of its normal force among all forces on surfaces.
    """

    _from_here = True

    def __init__(
        self, held: HeldLaw, plan: ObjectPlan, parts: Parts, on: str, normal: int
    ) -> None:
        super().__init__("put_back", held, parts, on, normal)
        self._plans = tuple(PlanPart(plan, *part, held.law.period) for part in parts)

    def begin(self, now: Now) -> None:
        """See `TaskPhase`."""
        self._touched_s = np.inf
        risen = self.held.law.running.last.pose[:3] - self.held.stood[:3]
        self._stands = self.touching or float(np.linalg.norm(risen)) <= _STANDS_M
        self._at, self._weighs = 0, False
        if not self._stands:  # what the arms carry may have changed a moment ago
            self.held.law.hold(self.held.tick)
            self._weigh(now)

    def advance(self, now: Now) -> bool:
        """See `TaskPhase`."""
        return self._stands or super().advance(now)

    def go_on(self, now: Now) -> None:
        """See `HeldPhase`."""
        if not self._stands:
            super().go_on(now)

    def _descend(self, now: Now) -> None:
        """See `PutDown`."""
        self._follow(0, now)
