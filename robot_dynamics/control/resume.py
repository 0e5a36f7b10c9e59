# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Starts with the object where the arms hold it, as after a stop: back to the plan, and along it.

The object moves on a straight line, turning about a fixed axis, to the nearest point of the plan's
path. There the plan is taken up from rest: forwards, or back to its beginning, where the object
was lifted. Forces are those of the plan at that point until the motion along it begins.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import degrees
from typing import Literal

import numpy as np
from numpy.polynomial import Polynomial
from numpy.typing import ArrayLike

from robot_dynamics.arrays import Array
from robot_dynamics.control.control_law import ObjectPlan
from robot_dynamics.control.halt import at_pace
from robot_dynamics.control.path_check import path_times
from robot_dynamics.control.reference import (
    FORCE,
    POSE,
    HasRows,
    plan_reference,
    time_between_rests,
)
from robot_dynamics.control.rotation_path import axis_and_angle, conjugate, product
from robot_dynamics.control.settings import (
    ReferenceSettings,
    ResumeSettings,
    SegmentSettings,
    StartSettings,
    TurnSettings,
)
from robot_dynamics.errors import RobotDynamicsError

#: How control begins: at the beginning of the plan; where the arms hold the object, and on along
#: the plan; or from there back to the beginning of the plan.
Way = Literal["start", "resume", "put_down"]

_EASE_S = 0.4  # time in which the plan is taken up from rest; half of it is gone through on it
# Plan time gone through, over that time: its rate rises smoothly from 0 to 1.
_PROGRESS = Polynomial([0.0, 0.0, 0.0, 1.0, -0.5])
_RATE, _SECOND = _PROGRESS.deriv(1), _PROGRESS.deriv(2)
_ALIKE = 0.2  # of the tolerances of a start: difference of distances that counts as none


class ResumeError(RobotDynamicsError):
    """A plan that cannot be taken up where the arms hold the object."""


def nearest_time(
    bodies: Sequence[HasRows],
    duration: float,
    poses: Array,
    tolerances: StartSettings,
    near: float = 0.0,
) -> float:
    """Return the time of a plan at which the object is nearest to some pose [s].

    Args:
        bodies: Plan of each body of the object.
        duration: Of the plan [s].
        poses: Of the bodies, x y z qx qy qz qw (b, 7).
        tolerances: How distances and angles compare with one another.
        near: Where the object passes a place more than once, the time nearest to this one [s].
    """
    times = path_times(duration)
    off = np.zeros(len(times))
    for body, pose in zip(bodies, poses, strict=True):
        rows = body.rows(times)[:, POSE]
        distance = np.linalg.norm(rows[:, :3] - pose[:3], axis=1)
        angle = 2.0 * np.arccos(np.clip(np.abs(rows[:, 3:] @ pose[3:]), 0.0, 1.0))
        off = np.maximum(off, distance / tolerances.position_tolerance_m)
        off = np.maximum(off, angle / tolerances.rotation_tolerance_rad)
    alike = times[off <= off.min() + _ALIKE]
    return float(alike[np.argmin(np.abs(alike - near))])


class Resumed:
    """A plan that is taken up from rest with the object somewhere else.

    Attributes:
        plan: The plan.
        time: Time of the plan at which it is taken up [s].
        joined: When it is taken up [s].
        duration: When everything has come to rest [s].
        start: As of the plan: pose (7,), or poses of both parts (2, 7), at time 0.

    Args:
        plan: The plan.
        pose: Of the object at time 0, of a jointed one of its first part (7,).
        time: Time of the plan at which it is taken up [s].
        settings: Speeds and accelerations of the motion there.
        backwards: Whether the plan is gone through back to its beginning.
    """

    def __init__(
        self,
        plan: ObjectPlan,
        pose: Array,
        time: float,
        settings: ResumeSettings,
        *,
        backwards: bool = False,
    ) -> None:
        self.plan, self.time, self._sign = plan, time, -1.0 if backwards else 1.0
        target = plan.rows([time])[0, POSE]
        pose = np.concatenate([pose[:3], np.copysign(1.0, pose[3:] @ target[3:]) * pose[3:]])
        axis, angle = axis_and_angle(product(target[3:], conjugate(pose[3:])))
        distance = float(np.linalg.norm(target[:3] - pose[:3]))
        self.joined = max(
            time_between_rests(distance, settings.velocity, settings.acceleration),
            time_between_rests(angle, settings.angular_velocity, settings.angular_acceleration),
        )
        if self.joined > 0.0:  # a short way at full acceleration would be a jerk
            self.joined = max(self.joined, _EASE_S)
        then = "back to its beginning" if backwards else "and on"
        self._sentence = (
            f"the object moves by {distance:.3g} m and {degrees(angle):.3g} degrees to the "
            f"reference at {time:.3g} s, in {self.joined:.2g} s, {then}"
        )
        segments: tuple[SegmentSettings, ...] = ()
        if self.joined > 0.0:
            turn = TurnSettings(tuple(axis), degrees(angle))
            segments = (SegmentSettings(self.joined, move_to=tuple(target[:3]), rotate=turn),)
        self._join = plan_reference(ReferenceSettings(segments), pose, arm_count=1)
        left = time if backwards else plan.duration - time
        self.duration = self.joined + _EASE_S + max(left - 0.5 * _EASE_S, 0.0)
        self.start: Array = pose

    def __str__(self) -> str:
        return self._sentence

    def path_time(self, times: ArrayLike) -> Array:
        """Return times of the plan (N,) for times since the start [s]."""
        return self._progress(np.asarray(times, dtype=float))[0]

    def rows(self, times: ArrayLike) -> Array:
        """Return rows at times (N,) [s]; see `ObjectPlan.rows`."""
        t = np.atleast_1d(np.asarray(times, dtype=float))
        rows = self.along(self.plan).rows(t)
        joining = t < self.joined
        if joining.any():
            rows[joining, : FORCE.start] = self._join.rows(t[joining])[:, : FORCE.start]
        return rows

    def along(self, part: HasRows) -> HasRows:
        """Return a part of the plan, as the fold of a jointed object, at the plan's new pace."""
        return _AtPace(part, self._progress)

    def settled_intervals(self, settle_s: float) -> list[tuple[float, float]]:
        """Return when pose and forces have been at rest for at least `settle_s` [s]."""
        found = []
        for rest in self.plan.settled_intervals(0.0):
            # Path time runs evenly from the end of easing in on.
            ends = sorted(
                self.joined + 0.5 * _EASE_S + self._sign * (end - self.time) for end in rest
            )
            begin, end = max(ends[0], self.joined + _EASE_S) + settle_s, ends[1]
            if begin <= end:
                found.append((begin, end))
        return sorted(found)

    def _progress(self, t: Array) -> tuple[Array, Array, Array]:
        """Return time of the plan, its rate, and the rate of that, at times (N,)."""
        since = np.maximum(t - self.joined, 0.0)
        u = np.minimum(since / _EASE_S, 1.0)
        gone = _EASE_S * _PROGRESS(u) + np.maximum(since - _EASE_S, 0.0)
        return (
            self.time + self._sign * gone,
            self._sign * _RATE(u),
            self._sign * _SECOND(u) / _EASE_S,
        )


class _AtPace:
    """A plan at the pace of another that is taken up."""

    def __init__(
        self, plan: HasRows, progress: Callable[[Array], tuple[Array, Array, Array]]
    ) -> None:
        self._plan, self._progress = plan, progress

    def rows(self, times: ArrayLike) -> Array:
        """Return rows as `Reference.rows` does."""
        t = np.atleast_1d(np.asarray(times, dtype=float))
        return at_pace(self._plan, *self._progress(t))
