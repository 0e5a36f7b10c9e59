# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Phases of a held object: its law follows parts of its plan, one after the other."""

from __future__ import annotations

import numpy as np

from robot_dynamics.arrays import Array
from robot_dynamics.control.control_law import ObjectPlan
from robot_dynamics.control.hybrid.law import HybridLaw
from robot_dynamics.control.reference import POSE
from robot_dynamics.control.rollout import Rollout
from robot_dynamics.control.task.held_plan import Parts, PlanPart
from robot_dynamics.control.task.phases import SETTLE_S, Now, PhaseFailed, TaskPhase
from robot_dynamics.control.task_settings import LiftSettings

_STANDS_M = 1e-3  # height up to which an object still stands on its support


class HeldLaw:
    """The law of a held object in a task: its plan starts again with each grasp.

    Args:
        law: The law; its plan is that of `held_plan.plan_held`.

    Attributes:
        law: The law.
        tick: Control periods since it started.
        stood: Pose of the object at the start (7,), on its support.
    """

    def __init__(self, law: HybridLaw) -> None:
        self.law, self._plan, self.tick = law, law.plan, 0
        self.stood = law.plan.start

    def start(self, now: Now, part: tuple[float, float]) -> None:
        """Start the law where the arms hold the object, with a part of its plan moved to there."""
        law = self.law
        self.stood = law.object_pose(now.q)
        law.begin_with(PlanPart(self._plan, *part).moved_to(self.stood))
        law.start(now.q, now.qd, now.last)
        self.tick = law.ramp_ticks  # nothing ramps in: the arms carry nothing that is new

    def rehearse(self, q: Array) -> Rollout:
        """Return the motion of the arms along the whole plan from positions `q` (na,), checked.

        Raises:
            PreflightError: If they cannot follow it.
        """
        self.law.begin_with(self._plan)
        return self.law.check_path(q)

    def rows(self, times: Array, width: int) -> Array:
        """Return the rows of the plan at times (N,), filled with zeros to a width."""
        rows = np.zeros((len(times), width))
        planned = self._plan.rows(times)
        rows[:, : planned.shape[1]] = planned
        return rows

    def follow(self, part: tuple[float, float]) -> None:
        """Follow another part of the plan from now on."""
        self.law.follow(PlanPart(self._plan, *part), self.tick)


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
        self.planned_s = sum(end - begin for begin, end in parts)

    def begin(self, now: Now) -> None:
        """See `TaskPhase`."""
        self._at, self._since = 0, now.time
        if self.begins:
            self.held.start(now, self.parts[0])
        else:
            self._follow()

    def advance(self, now: Now) -> bool:
        """See `TaskPhase`."""
        begin, end = self.parts[self._at]
        if not self._is_over(now, self._at, now.time - self._since >= end - begin):
            return False
        if self._at + 1 == len(self.parts):
            return True
        self._at, self._since = self._at + 1, now.time
        self._follow()
        return False

    def _follow(self) -> None:
        """Follow the present part of the plan from now on."""
        self.held.follow(self.parts[self._at])

    def _is_over(self, now: Now, part: int, passed: bool) -> bool:
        """Return whether a part is over, given whether its time has passed."""
        return passed


class Lift(HeldPhase):
    """Transfer of the weight to the arms, then a lift; see `LiftSettings`.

    Args:
        held: The law.
        parts: Begin and end of the transfer and of the lift [s].
        settings: The settings.
        weight: Weight of the object [N].
        begins: Whether the law starts with this phase.
    """

    def __init__(
        self,
        held: HeldLaw,
        parts: Parts,
        settings: LiftSettings,
        weight: float,
        *,
        begins: bool,
    ) -> None:
        limit, end = settings.time_limit_s, settings.on_failure
        super().__init__("lift", held, parts, limit, end, begins=begins)
        self._settings, self._weight = settings, weight

    def _is_over(self, now: Now, part: int, passed: bool) -> bool:
        own, step = self._settings, self.held.law.running.last
        if part == 0:
            moved = float(np.linalg.norm(step.pose[:3] - self.held.stood[:3]))
            if not moved <= own.slip_within_m:
                raise PhaseFailed(
                    f"the hands moved by {moved:.3g} m while the object still stands, expected at "
                    f"most {own.slip_within_m:g} m: they slip."
                )
        else:
            other = float(np.linalg.norm(step.held_body_wrenches[0, -3:]))
            if not other <= own.weight_tolerance * self._weight:
                raise PhaseFailed(
                    f"the arms carry {other:.3g} N more or less than the weight of "
                    f"{self._weight:.3g} N, expected at most "
                    f"{own.weight_tolerance * self._weight:.3g} N: the object is heavier or "
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

    def begin(self, now: Now) -> None:
        """See `TaskPhase`."""
        super().begin(now)
        self._touched_s = np.inf

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

    def __init__(
        self, held: HeldLaw, plan: ObjectPlan, parts: Parts, on: str, normal: int
    ) -> None:
        super().__init__("put_back", held, parts, on, normal)
        self._plan = plan

    def begin(self, now: Now) -> None:
        """See `TaskPhase`."""
        self._touched_s, self._since, self._at = np.inf, now.time, 0
        risen = self.held.law.running.last.pose[:3] - self.held.stood[:3]
        self._stands = self.touching or float(np.linalg.norm(risen)) <= _STANDS_M
        if not self._stands:
            self._follow()

    def advance(self, now: Now) -> bool:
        """See `TaskPhase`."""
        return self._stands or super().advance(now)

    def _follow(self) -> None:
        here = self.held.law.running.last.reference[POSE]
        part = PlanPart(self._plan, *self.parts[self._at])
        self.held.law.follow(part.moved_to(here), self.held.tick)
