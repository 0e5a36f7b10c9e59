# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The phases of a task while it runs: each moves a reference, and decides when it is over.

A phase of free arms moves the reference of `FreeArms`; a phase of a held object lets the law of
the held object follow parts of its plan. Decisions come from measurement.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from robot_dynamics.arrays import Array
from robot_dynamics.control.control_law import ObjectPlan
from robot_dynamics.control.hybrid.law import HybridLaw
from robot_dynamics.control.reference import POSE, TIME_LAWS
from robot_dynamics.control.rollout import Rollout
from robot_dynamics.control.task.free_arms import FreeArms, JointMove, Lines
from robot_dynamics.control.task.held_plan import Parts, PlanPart
from robot_dynamics.control.task_settings import (
    ApproachSettings,
    GraspSettings,
    LiftSettings,
    MoveSettings,
    ReleaseSettings,
)

_PATIENCE_S = 5.0  # default time limit of a phase beyond its planned duration
_SETTLE_S = 0.1  # for which a contact must last, and forces must settle
_PRESSES = 0.5  # share of the squeeze that each hand must measure
_STANDS_M = 1e-3  # height up to which an object still stands on its support
_QUINTIC = TIME_LAWS["quintic"]
_Z = 5  # force along z in a wrench


class SqueezeWrenches(NamedTuple):
    """Squeeze of a grasp.

    Attributes:
        internal: Internal force (m,), in the order of the law of the held object.
        wrenches: Wrenches by the tools on the object, in tool frames (k, 6).
    """

    internal: Array
    wrenches: Array


class PhaseFailed(Exception):
    """A phase that cannot go on; its message is a sentence with the reason."""


@dataclass(slots=True)
class Now:
    """State that a phase sees in a control period.

    Attributes:
        time: Since the beginning of the phase [s].
        q: Measured positions of the arm joints (na,).
        qd: Measured velocities (na,).
        wrenches: Measured grasp wrenches (k, 6), in tool frames; None if they are not measured.
        last: Torque that was sent last (na,).
    """

    time: float
    q: Array
    qd: Array
    wrenches: Array | None
    last: Array

    def pressing(self, arm: int) -> float:
        """Return the force by an arm along the z axis of its tool [N]."""
        return 0.0 if self.wrenches is None else float(self.wrenches[arm, _Z])


class TaskPhase(ABC):
    """A phase of a task.

    Attributes:
        name: Its key in the settings.
        planned_s: Planned duration [s]; for the phase after `begin`.
        limit_s: Longest duration [s]; None for 5 s more than planned.
        on_failure: Name of the safe end after a failure.
        safe_end: Its phases; none for "hold".
    """

    planned_s = 0.0
    safe_end: tuple[TaskPhase, ...] = ()

    def __init__(self, name: str, limit_s: float | None = None, on_failure: str = "hold") -> None:
        self.name, self.limit_s, self.on_failure = name, limit_s, on_failure

    @property
    def longest_s(self) -> float:
        """Time limit [s]."""
        return self.planned_s + _PATIENCE_S if self.limit_s is None else self.limit_s

    @abstractmethod
    def begin(self, now: Now) -> None:
        """Begin, at the time 0 of the phase."""

    @abstractmethod
    def advance(self, now: Now) -> bool:
        """Move the reference for a period; return whether the phase is over.

        Raises:
            PhaseFailed: If it cannot go on.
        """


class Wait(TaskPhase):
    """A pause in which free arms stay where they are."""

    def __init__(self, duration: float) -> None:
        super().__init__("wait")
        self.planned_s = duration

    def begin(self, now: Now) -> None:
        """See `TaskPhase`; the reference is at rest already."""

    def advance(self, now: Now) -> bool:
        """See `TaskPhase`."""
        return now.time >= self.planned_s


class FreePhase(TaskPhase):
    """A phase of free arms.

    Args:
        name: Key of the phase.
        arms: The arms.
        settings: With its time limit and end after a failure.
    """

    def __init__(
        self,
        name: str,
        arms: FreeArms,
        settings: MoveSettings | ApproachSettings | GraspSettings | ReleaseSettings,
    ) -> None:
        super().__init__(name, settings.time_limit_s, settings.on_failure)
        self._arms = arms

    def _require_free(self, now: Now, most: float) -> None:
        """Fail if a wrist measures more than a force [N]."""
        for i, arm in enumerate(self._arms.system.arms):
            force = 0.0
            if now.wrenches is not None:
                force = float(np.linalg.norm(now.wrenches[i, 3:]))
            if not force <= most:
                raise PhaseFailed(
                    f"arm {arm.name!r} touches something with {force:.3g} N, expected at most "
                    f"{most:g} N before the grasp."
                )

    def _lines(self, length: float, speed: float) -> Lines:
        return Lines(len(self._arms.system.arms), length, speed)


class Move(FreePhase):
    """Motion of free arms to positions of their joints; see `MoveSettings`.

    Attributes:
        goes_home: Whether they go where they were at the start.
        target: The positions (na,); NaN where a joint stays.
    """

    def __init__(self, arms: FreeArms, settings: MoveSettings, target: Array) -> None:
        super().__init__("move", arms, settings)
        self.goes_home = settings.to == "home"
        self._touch = settings.touch_n
        self._velocity = settings.velocity_fraction * arms.system.limits["velocity"]
        self.target = target

    def begin(self, now: Now) -> None:
        """See `TaskPhase`."""
        q = self._arms.q
        end = np.where(np.isnan(self.target), q, self.target)
        self._path = JointMove(q, end, self._velocity)
        self.planned_s = self._path.duration

    def advance(self, now: Now) -> bool:
        """See `TaskPhase`."""
        self._require_free(now, self._touch)
        self._arms.follow(*self._path.at(now.time, self._arms.ahead))
        return now.time >= self.planned_s


class Approach(FreePhase):
    """Motion to some positions, then straight along the tools; see `ApproachSettings`.

    Args:
        arms: The arms.
        settings: The settings.
        target: The positions (na,).
        length: Length of the straight lines [m].
    """

    def __init__(
        self,
        arms: FreeArms,
        settings: ApproachSettings,
        target: Array,
        length: float,
    ) -> None:
        super().__init__("approach", arms, settings)
        self._settings, self._target, self._length = settings, target, length
        self._velocity = settings.velocity_fraction * arms.system.limits["velocity"]

    def begin(self, now: Now) -> None:
        """See `TaskPhase`."""
        self._path = JointMove(self._arms.q, self._target, self._velocity)
        self._along = self._lines(self._length, self._settings.speed)
        self.planned_s = self._path.duration + self._along.duration
        self._on_line = False

    def advance(self, now: Now) -> bool:
        """See `TaskPhase`."""
        self._require_free(now, self._settings.touch_n)
        on_line = now.time - self._path.duration
        if on_line < 0.0:
            self._arms.follow(*self._path.at(now.time, self._arms.ahead))
            return False
        if not self._on_line:
            self._on_line = True
            self._arms.begin_lines()
        self._arms.advance_tools(self._along.speeds(on_line))
        return now.time >= self.planned_s


class Grasp(FreePhase):
    """Search for contact along the tools, then a squeeze; see `GraspSettings`.

    Args:
        arms: The arms.
        settings: The settings.
        squeeze: Its squeeze.

    Attributes:
        squeeze: Its squeeze.
        share: Part of it that the arms press with now.
    """

    def __init__(self, arms: FreeArms, settings: GraspSettings, squeeze: SqueezeWrenches) -> None:
        super().__init__("grasp", arms, settings)
        self._settings, self.squeeze, self.share = settings, squeeze, 0.0

    def begin(self, now: Now) -> None:
        """See `TaskPhase`."""
        own = self._settings
        self._along = self._lines(2.0 * own.touch_within_m, own.speed)
        self.planned_s = self._along.duration + own.squeeze_s + _SETTLE_S
        self._touching = [False] * len(self._arms.system.arms)
        self._squeezed_at, self.share = np.inf, 0.0
        self._arms.begin_lines()

    def advance(self, now: Now) -> bool:
        """See `TaskPhase`."""
        own, arms = self._settings, self._arms
        if not all(self._touching):
            self._search(now)
            if all(self._touching):
                self._squeezed_at = now.time
            return False
        grown = min((now.time - self._squeezed_at) / own.squeeze_s, 1.0)
        self.share = float(_QUINTIC(grown))
        arms.wrenches = self.share * self.squeeze.wrenches
        if now.time < self._squeezed_at + own.squeeze_s + _SETTLE_S:
            return False
        for i, arm in enumerate(arms.system.arms):
            pressed, wanted = now.pressing(i), float(self.squeeze.wrenches[i, _Z])
            if not pressed >= _PRESSES * wanted:
                raise PhaseFailed(
                    f"arm {arm.name!r} presses with {pressed:.3g} N, expected at least "
                    f"{_PRESSES * wanted:.3g} N of the squeeze of {wanted:.3g} N."
                )
        return True

    def ideal_wrenches(self) -> Array:
        """Return the wrenches (k, 6) that wrists would measure with the object at its place."""
        found, own = np.zeros_like(self.squeeze.wrenches), self._settings
        at_grasp = self._arms.along >= own.touch_within_m
        found[at_grasp, _Z] = max(own.touch_n, float(self.squeeze.wrenches[:, _Z].max()))
        return found

    def _search(self, now: Now) -> None:
        """Move the tools that do not touch yet."""
        own, arms = self._settings, self._arms
        for i in range(len(self._touching)):
            if not self._touching[i] and now.pressing(i) >= own.touch_n:
                self._touching[i] = True
                self._along.stop(i)
                arms.rest_arm(i, now.q)
        if now.time >= self._along.duration and not all(self._touching):
            names = [
                repr(arm.name)
                for arm, found in zip(arms.system.arms, self._touching, strict=True)
                if not found
            ]
            raise PhaseFailed(
                f"arm {' and '.join(names)} found no contact within {own.touch_within_m:g} m of "
                "the grasp; expected the object there."
            )
        arms.advance_tools(self._along.speeds(now.time))


class Release(FreePhase):
    """End of the squeeze, then a retreat along the tools; see `ReleaseSettings`.

    Args:
        arms: The arms.
        settings: The settings.
        squeeze: Its squeeze.
        open_hands: Opens grippers; None without them.

    Attributes:
        squeeze: Its squeeze.
        share: Part of it that the arms press with now.
    """

    def __init__(
        self,
        arms: FreeArms,
        settings: ReleaseSettings,
        squeeze: SqueezeWrenches,
        open_hands: Callable[[], None] | None = None,
    ) -> None:
        super().__init__("release", arms, settings)
        self._settings, self.squeeze, self.share = settings, squeeze, 0.0
        self._open_hands = open_hands

    def begin(self, now: Now) -> None:
        """See `TaskPhase`."""
        own, arms = self._settings, self._arms
        self._pressing = arms.wrenches  # less than the squeeze after a grasp that failed
        arms.begin(now.q, now.last)
        arms.wrenches = self._pressing
        self._begun = self.share = float(
            np.linalg.norm(self._pressing) / np.linalg.norm(self.squeeze.wrenches)
        )
        self._along = self._lines(-own.distance_m, own.speed)
        self._opened_s = (2.0 if self._open_hands else 1.0) * own.open_s
        self.planned_s = self._opened_s + self._along.duration
        self._on_line = False

    def advance(self, now: Now) -> bool:
        """See `TaskPhase`."""
        own, arms = self._settings, self._arms
        if now.time < own.open_s:
            left = 1.0 - float(_QUINTIC(now.time / own.open_s))
            self.share, arms.wrenches = left * self._begun, left * self._pressing
            return False
        self.share, arms.wrenches = 0.0, np.zeros_like(self._pressing)
        if self._open_hands:
            self._open_hands()
        if now.time < self._opened_s:
            return False
        if not self._on_line:
            self._on_line = True
            arms.begin_lines()
        arms.advance_tools(self._along.speeds(now.time - self._opened_s))
        return now.time >= self.planned_s


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
        self.held, self._parts, self.begins = held, parts, begins
        self.planned_s = sum(end - begin for begin, end in parts)

    def begin(self, now: Now) -> None:
        """See `TaskPhase`."""
        self._at, self._since = 0, now.time
        if self.begins:
            self.held.start(now, self._parts[0])
        else:
            self._follow()

    def advance(self, now: Now) -> bool:
        """See `TaskPhase`."""
        begin, end = self._parts[self._at]
        if not self._is_over(now, self._at, now.time - self._since >= end - begin):
            return False
        if self._at + 1 == len(self._parts):
            return True
        self._at, self._since = self._at + 1, now.time
        self._follow()
        return False

    def _follow(self) -> None:
        """Follow the present part of the plan from now on."""
        self.held.follow(self._parts[self._at])

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
        return now.time >= self._touched_s + _SETTLE_S


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
        part = PlanPart(self._plan, *self._parts[self._at])
        self.held.law.follow(part.moved_to(here), self.held.tick)
