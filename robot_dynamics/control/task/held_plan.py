# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Plan of an object from grasp to release: one plan, of which each phase follows its own parts.

The plan begins with the object on its support and the squeeze closed, and ends so. Where a phase
waits for an event, its part ends at rest, and the next part follows when the event has come. All
of it is checked before the start as any other plan.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robot_dynamics.arrays import Array
from robot_dynamics.control.control_law import ObjectPlan
from robot_dynamics.control.reference import POSE, plan_reference, time_between_rests
from robot_dynamics.control.rotation_path import conjugate, product, rotated
from robot_dynamics.control.settings import ForceStepSettings, ReferenceSettings, SegmentSettings
from robot_dynamics.control.task_settings import (
    CarrySettings,
    GraspSettings,
    LiftSettings,
    PhaseSettings,
    PutDownSettings,
    WaitSettings,
)
from robot_dynamics.control.touch_settings import TouchForceSettings, TouchSettings
from robot_dynamics.errors import ArgumentError, UnknownNameError

_REST_S = 0.1  # pause before and after the weight changes hands
_FADE_S = 0.1  # in which `TouchPlan` lets the force fade before a surface is left
_STANDS_M = 5e-3  # largest distance of a surface on which the object stands
_BEYOND_M = 0.01  # way beyond its old place, within which an object that is put back must touch
_BACK_SPEED = 0.03  # of its descent, on which it may touch at any time [m/s]
_LOAD_S = 0.5  # time in which the support takes it back
_MOST_ROWS = 50_000  # that are computed beforehand
_LEAST_FACING = 0.1  # cosine of the angle from a support's normal to the direction against gravity
_SAME_S = 1e-9  # difference of times that counts as none


SEARCH_SHARE = 0.1  #: Of the weight: force on a surface until it is found.
#: Begin and end of the parts of a plan that a phase follows [s].
Parts = tuple[tuple[float, float], ...]


@dataclass(frozen=True)
class Support:
    """A plane on which a face of the object can stand.

    Attributes:
        normal: Normal of the plane, into free space (3,).
        point: A point of the plane in the world (3,) [m].
        face: Middle of the face in the object (3,) [m].
    """

    normal: Array
    point: Array
    face: Array

    def distance(self, pose: Array) -> float:
        """Return the distance of the face from the plane with the object at a pose (7,) [m]."""
        there = pose[:3] + rotated(pose[3:], self.face)
        return float(self.normal @ (there - self.point))

    def height(self, pose: Array, up: Array) -> float:
        """Return the height of the face above the plane with the object at a pose (7,) [m].

        Args:
            pose: The pose.
            up: Direction against gravity (3,); zero without gravity.

        Raises:
            ArgumentError: If gravity does not press the object on the plane.
        """
        facing = float(self.normal @ up)
        if not facing > _LEAST_FACING:
            raise ArgumentError(
                "task: cell.gravity does not press the object on its support, expected gravity "
                "into the plane: lift and put_down hand over the weight."
            )
        return self.distance(pose) / facing


@dataclass(frozen=True)
class HeldPlan:
    """Plan of an object from grasp to release.

    Attributes:
        reference: Path, squeeze and forces on supports.
        parts: Begin and end of each part of the plan [s], for each phase after `grasp`.
        supports: Names of the surfaces on which it stands at the beginning and at the end.
        end: Pose of the object at the end of the path, on its support (7,).
    """

    reference: ReferenceSettings
    parts: tuple[Parts, ...]
    supports: tuple[str, str]
    end: Array


def plan_held(
    grasp: GraspSettings,
    phases: Sequence[PhaseSettings],
    start: Array,
    supports: Mapping[str, Support],
    weight: Array,
) -> HeldPlan:
    """Return the plan of an object from the end of `grasp` to the end of `put_down`.

    Args:
        grasp: The grasp before it.
        phases: The phases until `put_down`, which is the last.
        start: Pose of the object on its support (7,).
        supports: Planes by the names of their surfaces.
        weight: Weight of the object as a vector (3,) [N].

    Raises:
        ArgumentError: If the object stands on none of the planes at the start, `put_down` is
            below its plane, or gravity does not press the object on a plane.
        UnknownNameError: If there is no plane of the name that `put_down` gives.
    """
    load = float(np.linalg.norm(weight))
    up = -weight / (load or 1.0)
    segments: list[SegmentSettings] = []
    touches: list[TouchSettings] = []
    parts: list[Parts] = []
    pose, time = np.array(start), 0.0
    standing = first_support = _support_at(start, supports)
    supports[standing].height(start, up)  # refuses supports that bear no weight

    def add(*more: SegmentSettings) -> tuple[float, float]:
        nonlocal pose, time
        begin = time
        segments.extend(more)
        path = plan_reference(ReferenceSettings(segments=more), pose)
        pose, time = path.row(path.duration)[POSE], begin + path.duration
        return begin, time

    for phase in phases:
        own = phase.own
        if isinstance(own, LiftSettings):
            unload = add(SegmentSettings(3.0 * _REST_S + own.unload_s + _FADE_S))
            change = TouchForceSettings(unload[0] + _REST_S, 0.0, own.unload_s)
            left = unload[1] - _REST_S
            touches.append(TouchSettings(standing, 0.0, left, load, (change,)))
            parts.append((unload, add(_straight(own.height_m * up, own.speed))))
        elif isinstance(own, CarrySettings):
            parts.append((add(*own.segments),))
        elif isinstance(own, PutDownSettings):
            if own.on not in supports:
                raise UnknownNameError("plane", own.on, supports, "task.put_down.on")
            standing = own.on
            support, near = supports[own.on], own.touch_within_m
            fall = support.height(pose, up) - near
            if not fall >= 0.0:
                raise ArgumentError(
                    f"task.put_down: the object is {fall + near:.3g} m above {own.on!r} before "
                    f"it is put down, expected at least {near:g} m."
                )
            down = [_straight(-fall * up, own.speed)] if fall > 0.0 else []
            first = add(*down)[0] if down else time
            search = add(_straight(-2.0 * near * up, own.touch_speed))
            rest = add(SegmentSettings(_REST_S))
            transfer = add(SegmentSettings(2.0 * _REST_S + own.load_s))
            change = TouchForceSettings(transfer[0] + _REST_S, load, own.load_s)
            seek = SEARCH_SHARE * load
            touches.append(TouchSettings(own.on, search[0], force_n=seek, changes=(change,)))
            parts.append(((first, rest[1]), transfer))
        elif isinstance(own, WaitSettings):
            parts.append((add(SegmentSettings(own.planned_s)),))
    squeeze = ForceStepSettings(0.0, squeeze_n=grasp.squeeze_n)
    reference = ReferenceSettings(tuple(segments), (squeeze,), tuple(touches))
    pose[:3] -= supports[standing].height(pose, up) * up
    return HeldPlan(reference, tuple(parts), (first_support, standing), pose)


def plan_back(
    grasp: GraspSettings, lift: LiftSettings, standing: str, weight: Array
) -> tuple[ReferenceSettings, Parts]:
    """Return the plan that puts a lifted object back onto its support, and its two parts.

    Args:
        grasp: The grasp.
        lift: The lift; it has been lifted by its height at most.
        standing: Name of the surface on which it stood.
        weight: Weight of the object as a vector (3,) [N].
    """
    load = float(np.linalg.norm(weight))
    down = _straight(weight / load * (lift.height_m + _BEYOND_M), _BACK_SPEED)
    first, last = down.duration_s + _REST_S, 3.0 * _REST_S + _LOAD_S
    change = TouchForceSettings(first + _REST_S, load, _LOAD_S)
    touch = TouchSettings(standing, force_n=SEARCH_SHARE * load, changes=(change,))
    reference = ReferenceSettings(
        (down, SegmentSettings(_REST_S + last)),
        (ForceStepSettings(0.0, squeeze_n=grasp.squeeze_n),),
        (touch,),
    )
    return reference, ((0.0, first), (first, first + last))


def _straight(way: Array, speed: float) -> SegmentSettings:
    x, y, z = way.tolist()
    duration = time_between_rests(float(np.linalg.norm(way)), speed)
    return SegmentSettings(duration, move=(x, y, z))


def _support_at(pose: Array, supports: Mapping[str, Support]) -> str:
    distances = {name: abs(support.distance(pose)) for name, support in supports.items()}
    nearest = min(distances, key=distances.__getitem__, default="")
    if not nearest or distances[nearest] > _STANDS_M:
        found = f"{nearest!r} is {distances[nearest]:.3g} m away" if nearest else "there is none"
        raise ArgumentError(
            f"task: the object stands on no surface before it is lifted: {found}; expected a "
            f"plane with a `part` of kind face within {_STANDS_M:g} m of it."
        )
    return nearest


class PlanPart:
    """A part of a plan as a plan of its own, at other places if the object is held elsewhere.

    Its first rows are computed here, at multiples of half a control period: a control period has
    no time for many of them.

    Args:
        plan: The whole plan.
        begin: Its time at the beginning of the part [s].
        end: Its time at the end of the part, at which it is at rest [s].
        period: Control period [s].
    """

    def __init__(self, plan: ObjectPlan, begin: float, end: float, period: float) -> None:
        self._plan, self._begin, self._last = plan, begin, np.nextafter(end, begin)
        self._step, self.duration = 0.5 * period, end - begin
        self._all = int(np.ceil(self.duration / self._step)) + 1
        self._table = self._looked_up(self._step * np.arange(min(self._all, _MOST_ROWS)))
        self.start = self._table[0, POSE]

    def rows(self, times: ArrayLike) -> Array:
        """Return the rows of the part at times (N,) since its beginning [s]."""
        t = np.atleast_1d(np.asarray(times, dtype=float))
        steps = np.rint(t / self._step).astype(int)
        at = np.clip(steps, 0, self._all - 1)
        between = np.abs(t - steps * self._step).max(initial=0.0) > _SAME_S
        if between or at.max(initial=0) >= len(self._table):
            return self._looked_up(t)
        return self._table[at]

    def settled_intervals(self, settle_s: float) -> list[tuple[float, float]]:
        """Return when the part has been at rest: at its end."""
        return [(self.duration, self.duration)]

    def still(self, time: float) -> PlanPart:
        """Return a part that stays at one time of this part [s]."""
        at = min(self._begin + time, self._last)
        return PlanPart(self._plan, at, at, 2.0 * self._step)

    def moved_to(self, pose: Array) -> PlanPart:
        """Return the part with its beginning at another pose (7,)."""
        return _MovedPart(self, pose)

    def _looked_up(self, times: NDArray[np.floating]) -> Array:
        t = np.minimum(np.maximum(self._begin + times, self._begin), self._last)
        return self._plan.rows(t)


class _MovedPart(PlanPart):
    """A part of a plan with its beginning at another pose (7,)."""

    def __init__(self, part: PlanPart, pose: Array) -> None:
        self._part, self.duration = part, part.duration
        self._turn = product(pose[3:], conjugate(part.start[3:]))
        self._from, self._to = part.start[:3], np.array(pose[:3])
        self.start = self.rows(np.zeros(1))[0, POSE]

    def rows(self, times: ArrayLike) -> Array:
        """See `PlanPart`."""
        rows = self._part.rows(times)
        rows[:, :3] = self._to + rotated(self._turn, rows[:, :3] - self._from)
        rows[:, 3:7] = product(self._turn, rows[:, 3:7])
        for i in (7, 10, 13, 16):
            rows[:, i : i + 3] = rotated(self._turn, rows[:, i : i + 3])
        return rows
