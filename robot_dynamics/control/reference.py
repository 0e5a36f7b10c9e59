# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Reference of the object: a smooth path from rest to rest, and a profile of internal force.

Every segment of the path moves along a straight line and rotates about a fixed axis, both by one
time law s(t) from 0 to 1. Velocity and acceleration are then exact and in closed form: with the
axis n fixed in the world, omega = n theta s' and alpha = n theta s''. The shortest rotation
between any two orientations has this form.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import radians, sqrt
from typing import Protocol

import numpy as np
from numpy.polynomial import Polynomial
from numpy.typing import ArrayLike, NDArray

from robot_dynamics.arrays import Array
from robot_dynamics.control.rotation_path import (
    axis_and_angle,
    conjugate,
    from_rpy,
    product,
    rotated,
    turn,
)
from robot_dynamics.control.settings import (
    ForceStepSettings,
    ReferenceSettings,
    SegmentSettings,
)
from robot_dynamics.dynamics.arguments import pose_vector
from robot_dynamics.errors import ArgumentError, require_length

# s(u) for u in [0, 1] with as many zero derivatives at both ends as possible.
TIME_LAWS = {
    "quintic": Polynomial([0.0, 0.0, 0.0, 10.0, -15.0, 6.0]),
    "septic": Polynomial([0.0, 0.0, 0.0, 0.0, 35.0, -84.0, 70.0, -20.0]),
}
#: Largest rate and acceleration of the quintic, of a motion by 1 in a time of 1.
PEAK_RATE, PEAK_ACCELERATION = 15.0 / 8.0, 10.0 / sqrt(3.0)
_RISE_S = 0.2  # in which a motion at most gets to its largest speed, unless it says otherwise
POSE, TWIST, ACCELERATION, FORCE = slice(0, 7), slice(7, 13), slice(13, 19), slice(19, None)
SQUEEZE = 3  # of `manipulation.grasp_map.TRANSMITTED`, the internal force of laws without contacts


def value_at(law: Polynomial, u: float) -> float:
    """Return `law(u)` of one number, to the last bit, in a fifth of the time."""
    value = 0.0
    for coefficient in reversed(law.coef.tolist()):
        value = coefficient + value * u
    return value


def time_between_rests(
    distance: float, velocity: float, acceleration: float | None = None
) -> float:
    """Return the duration [s] of a quintic motion from rest to rest.

    Args:
        distance: Its length [m or rad].
        velocity: Its largest speed [m/s or rad/s].
        acceleration: Its largest acceleration; by default the speed over 0.2 s.
    """
    most = velocity / _RISE_S if acceleration is None else acceleration
    return max(distance * PEAK_RATE / velocity, sqrt(distance * PEAK_ACCELERATION / most))


@dataclass(frozen=True)
class _Segments:
    """The stretches of a path, one row each."""

    begin: Array  # (n,)
    duration: Array  # (n,)
    position: Array  # (n, 3), at the beginning
    displacement: Array  # (n, 3)
    orientation: Array  # (n, 4), at the beginning
    axis: Array  # (n, 3), in the world
    angle: Array  # (n,)

    @property
    def at_rest(self) -> NDArray[np.bool_]:
        """Which stretches are pauses."""
        return (self.angle == 0.0) & ~self.displacement.any(axis=1)


@dataclass(frozen=True)
class _ForceSteps:
    """The changes of the internal force, one row each."""

    begin: Array  # (n,)
    duration: Array  # (n,)
    before: Array  # (n, nf)
    change: Array  # (n, nf)


class HasRows(Protocol):
    """A reference, or a plan with more columns: all beyond the motion are forces."""

    def rows(self, times: ArrayLike) -> Array:
        """Return rows at times (N,); see `Reference.rows`."""


class Plan(HasRows, Protocol):
    """Rows with an end."""

    @property
    def duration(self) -> float:
        """Time at which everything has come to rest [s]."""


def consecutive(**sizes: int) -> Mapping[str, slice]:
    """Return the slices of parts of given sizes, one after the other."""
    result, start = {}, 0
    for name, size in sizes.items():
        result[name] = slice(start, start + size)
        start += size
    return result


def row_columns(surfaces: int, internal: int) -> Mapping[str, slice]:
    """Return the columns of a row that a control law follows.

    Pose x y z qx qy qz qw, twist and acceleration of the object's origin in world axes; forces on
    the surfaces; 1 for surfaces that must be touched; internal force; and the desired forces to
    compare with measured ones, which belong to earlier commands.
    """
    C, m = surfaces, internal
    return consecutive(
        pose=7,
        twist=6,
        acceleration=6,
        contact=C,
        touch=C,
        internal=m,
        compared_contact=C,
        compared_internal=m,
    )


class Reference:
    """Pose, motion and internal force of the object over time.

    Before time 0 and after `duration` it stands still at its ends.

    Attributes:
        duration: Time at which everything has come to rest [s].
        start: Pose x y z qx qy qz qw at the beginning (7,).
        force_size: Number of components of the internal force, 6 (arms - 1).
    """

    def __init__(
        self, start: Array, segments: _Segments, steps: _ForceSteps, duration: float, law: str
    ) -> None:
        self.start = start
        self.duration = duration
        self.force_size = steps.before.shape[1]
        self._segments, self._steps = segments, steps
        s = TIME_LAWS[law]
        self._law = (s, s.deriv(1), s.deriv(2))

    @property
    def width(self) -> int:
        """Number of columns of `rows`."""
        return FORCE.start + self.force_size

    def rows(self, times: ArrayLike) -> Array:
        """Return the reference at some times.

        Args:
            times: Times since the start of the reference (N,) [s].

        Returns:
            Rows (N, 19 + force_size): x y z qx qy qz qw of the object's frame in the world, the
            quaternion's sign continuous | angular velocity, velocity of the object's origin |
            angular acceleration, acceleration of the origin (its second derivative), all in world
            axes | internal force in the frame in the middle of the grasps, [m; f] for each arm
            but the last.
        """
        t = np.atleast_1d(np.asarray(times, dtype=float))
        rows = np.zeros((len(t), self.width))
        self._fill_motion(t, rows)
        if self.force_size:
            steps = self._steps
            i = np.clip(np.searchsorted(steps.begin, t, side="right") - 1, 0, None)
            u = np.clip((t - steps.begin[i]) / steps.duration[i], 0.0, 1.0)
            rows[:, FORCE] = steps.before[i] + steps.change[i] * self._law[0](u)[:, None]
        return rows

    def row(self, time: float) -> Array:
        """Return the reference at one time (19 + force_size,)."""
        return np.asarray(self.rows([time])[0])

    def _fill_motion(self, t: Array, rows: Array) -> None:
        at = self._segments
        i = np.clip(np.searchsorted(at.begin, t, side="right") - 1, 0, None)
        T = at.duration[i]
        u = np.clip((t - at.begin[i]) / T, 0.0, 1.0)
        s, rate, second = (law(u)[:, None] for law in self._law)
        rate, second = rate / T[:, None], second / (T * T)[:, None]
        whole_turn = at.axis[i] * at.angle[i, None]
        rows[:, 0:3] = at.position[i] + at.displacement[i] * s
        rows[:, 3:7] = product(turn(at.axis[i], at.angle[i] * s[:, 0]), at.orientation[i])
        rows[:, 7:10] = whole_turn * rate
        rows[:, 10:13] = at.displacement[i] * rate
        rows[:, 13:16] = whole_turn * second
        rows[:, 16:19] = at.displacement[i] * second

    def settled_intervals(self, settle_s: float) -> list[tuple[float, float]]:
        """Return the intervals in which pose and force have been at rest for at least `settle_s`.

        Args:
            settle_s: Time for transients to die out [s].

        Returns:
            Intervals [begin, end] within [0, duration] in order; each begins `settle_s` after
            the last change. The last may be the single instant `duration` if a change ends there
            and `settle_s` is 0.
        """
        moves, steps = self._segments, self._steps
        changing = [
            (b, b + d)
            for b, d, rest in zip(moves.begin, moves.duration, moves.at_rest, strict=True)
            if not rest
        ]
        changing += [
            (b, b + d)
            for b, d, change in zip(steps.begin, steps.duration, steps.change, strict=True)
            if change.any()
        ]
        intervals, free_from = [], 0.0
        for begin, end in [*sorted(changing), (self.duration, self.duration)]:
            if free_from + settle_s <= begin:
                intervals.append((float(free_from + settle_s), float(begin)))
            free_from = max(free_from, end)
        return intervals

    def settled(self, times: ArrayLike, settle_s: float) -> NDArray[np.bool_]:
        """Return for some times (N,) whether they are in `settled_intervals`, ends included."""
        t = np.asarray(times, dtype=float)
        inside = np.zeros(t.shape, dtype=bool)
        for begin, end in self.settled_intervals(settle_s):
            inside |= (t >= begin) & (t <= end)
        return inside


def looked_up(source: HasRows, times: NDArray[np.floating], ahead: float) -> Array:
    """Return rows with pose and twist of each time, and acceleration and forces of its command.

    A command acts some time after its measurement, and is held for a period: accelerations and
    forces are taken in the middle of that period.

    Args:
        source: The reference.
        times: Times of measurements (N,) [s].
        ahead: Time from a measurement to the middle of the action of its command [s].
    """
    rows = source.rows(times)
    rows[:, ACCELERATION.start :] = source.rows(times + ahead)[:, ACCELERATION.start :]
    return rows


def plan_reference(
    settings: ReferenceSettings,
    start: ArrayLike,
    arm_count: int = 2,
    *,
    squeeze: ArrayLike | None = None,
    held_by_squeeze: bool = False,
) -> Reference:
    """Return the reference that settings describe.

    Args:
        settings: Segments of the path and changes of the internal force.
        start: Pose x y z qx qy qz qw of the object at the beginning (7,).
        arm_count: Number of arms that hold the object.
        squeeze: Internal force (m,) of a squeeze of 1 N; by default for two rigid grasps. With
            more grasps there is no default.
        held_by_squeeze: Whether the object would fall without it: a stated internal force at time
            0 then acts from the start.

    Raises:
        ArgumentError: If the start is not a pose, if changes of the force overlap or are out of
            order, or if a wrench has the wrong number of components.
    """
    pose = pose_vector("start", start)
    # Without any segment, or any change of the force, there is one that changes nothing.
    segments = _plan_segments(settings.segments or (SegmentSettings(1.0),), pose)
    size = 6 * (arm_count - 1)
    unit = np.eye(size)[SQUEEZE] if arm_count == 2 else np.zeros(size)
    unit = unit if squeeze is None else np.asarray(squeeze, dtype=float)
    steps = _plan_force(settings, unit, held_by_squeeze)
    path_time = sum(segment.duration_s for segment in settings.segments)
    force_time = max((step.time_s + step.duration_s for step in settings.force), default=0.0)
    return Reference(pose, segments, steps, max(path_time, force_time), settings.time_law)


def _plan_segments(settings: Sequence[SegmentSettings], pose: Array) -> _Segments:
    position, orientation = pose[:3], pose[3:]
    time = 0.0
    rows: list[tuple[float, float, Array, Array, Array, Array, float]] = []
    for segment in settings:
        displacement = np.array(segment.move or (0.0, 0.0, 0.0))
        if segment.move_to is not None:
            displacement = np.array(segment.move_to) - position
        axis, angle = _turn_of(segment, orientation)
        rows.append((time, segment.duration_s, position, displacement, orientation, axis, angle))
        position = position + displacement
        orientation = product(turn(axis, np.array(angle)), orientation)
        orientation = orientation / np.linalg.norm(orientation)
        time += segment.duration_s
    columns = (np.array(column) for column in zip(*rows, strict=True))
    return _Segments(*columns)


def _turn_of(segment: SegmentSettings, orientation: Array) -> tuple[Array, float]:
    """Return the axis in the world (3,) and the angle [rad] of a stretch."""
    if segment.rotate is not None:
        axis = np.array(segment.rotate.axis)
        axis = axis / np.linalg.norm(axis)
        if segment.rotate.about == "object":
            axis = rotated(orientation, axis)
        return axis, radians(segment.rotate.degrees)
    if segment.rotate_to is not None:
        return axis_and_angle(product(from_rpy(segment.rotate_to), conjugate(orientation)))
    return np.array([0.0, 0.0, 1.0]), 0.0


def _plan_force(settings: ReferenceSettings, squeeze: Array, at_start: bool) -> _ForceSteps:
    before = np.zeros(len(squeeze))
    free_from = 0.0
    rows: list[tuple[float, float, Array, Array]] = []
    for number, step in enumerate(settings.force, start=1):
        if step.time_s < free_from:
            raise ArgumentError(
                f"reference.force: change {number} of the internal force begins at "
                f"{step.time_s:g} s, before the one before it ends; expected at least "
                f"{free_from:g} s."
            )
        after = _internal_force(number, step, squeeze)
        if at_start and number == 1 and step.time_s == 0.0:
            before = after
        rows.append((step.time_s, step.duration_s, before, after - before))
        before, free_from = after, step.time_s + step.duration_s
    if not rows:
        rows.append((0.0, 1.0, before, before))
    columns = (np.array(column) for column in zip(*rows, strict=True))
    return _ForceSteps(*columns)


def _internal_force(number: int, step: ForceStepSettings, squeeze: Array) -> Array:
    """Return the new internal force (m,)."""
    if step.wrench is not None:
        require_length(
            f"wrench {number} of the internal force",
            step.wrench,
            len(squeeze),
            "one for each internal force",
        )
        return np.array(step.wrench, dtype=float)
    if isinstance(step.squeeze_n, str) or step.squeeze_n is None:
        raise ArgumentError(
            f"reference.force: change {number} of the internal force has an automatic squeeze, "
            "which is for contacts that can slip; expected a number."
        )
    if not squeeze.any():
        expected = (
            f"'wrench' with {len(squeeze)} components"
            if len(squeeze)
            else "no `force`, because it has no internal force, like that of one arm"
        )
        raise ArgumentError(
            f"reference.force: change {number} of the internal force gives a squeeze, which is "
            f"not defined for this grasp; expected {expected}."
        )
    return step.squeeze_n * squeeze
