# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The object's path through points that somebody sends, to rest at its end."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics.arrays import Array
from robot_dynamics.control.reference import ACCELERATION, FORCE, POSE, TWIST, Plan
from robot_dynamics.control.streamed.curve import Points, hermite, points_of, powers, rows_of
from robot_dynamics.errors import RobotDynamicsError

MOST_POINTS = 10_000
LONGEST_S = 3600.0
HALT_S = 0.4  # to come to rest behind a last point that moves
_LARGEST_TURN = np.radians(120.0)  # between neighbouring points: from half a turn on it is open


class TrajectoryError(RobotDynamicsError):
    """A trajectory, or a force, is refused.

    Attributes:
        point: Index of the wrong point; None if the error is not at a point.
    """

    def __init__(self, sentence: str, point: int | None = None) -> None:
        self.point = point
        where = "" if point is None else f"point {point}: "
        super().__init__(f"reference refused: {where}{sentence}")


class ObjectTrajectory:
    """A path through points, with continuous acceleration.

    Quintic polynomials connect the points and satisfy position, velocity and acceleration at each.
    Omitted twists follow from the neighbouring points, and are zero at the first and the last;
    omitted accelerations are zero. A last point in motion is followed by a halt.

    Attributes:
        start: Pose x y z qx qy qz qw at the first point (7,).
        duration: Time at which everything has come to rest [s].
        moving_end: Whether the last point moves, so that a continuation is expected.

    Args:
        times: Times of the points (n,) [s], from 0 on; before the first the object is at rest
            there.
        poses: Poses in the world, x y z qx qy qz qw (n, 7).
        twists: Angular velocities and velocities of the origin, world axes (n, 6); optional.
        accelerations: Angular accelerations, and derivatives of the origin's velocity, world axes
            (n, 6); optional.

    Raises:
        TrajectoryError: With the wrong point.
    """

    def __init__(
        self,
        times: ArrayLike,
        poses: ArrayLike,
        twists: ArrayLike | None = None,
        accelerations: ArrayLike | None = None,
    ) -> None:
        t, pose = _checked_times(times), _checked("pose", poses, len(np.atleast_1d(times)), 7)
        pose = _unit(pose)
        n = len(t)
        rows = np.zeros((n, FORCE.start))
        rows[:, POSE] = pose
        if twists is not None:
            rows[:, TWIST] = _checked("twist", twists, n, 6)
        if accelerations is not None:
            rows[:, ACCELERATION] = _checked("acceleration", accelerations, n, 6)
        knots = points_of(rows)
        if twists is None and n > 2:
            between = (knots.value[2:] - knots.value[:-2]) / (t[2:] - t[:-2])[:, None]
            knots.rate[1:-1] = between
        self.start = pose[0]
        self.moving_end = bool(rows[-1, TWIST].any())
        if self.moving_end:
            t, knots = _with_halt(t, knots)
        self.duration = float(t[-1])
        self._times, self._knots = t, knots
        pieces = [
            hermite(_at(knots, i), _at(knots, i + 1), float(t[i + 1] - t[i]))
            for i in range(len(t) - 1)
        ]
        self._pieces = [np.array(part) for part in zip(*pieces, strict=True)]

    def rows(self, times: ArrayLike) -> Array:
        """Return reference rows (N, 19), without forces, at times (N,) [s]."""
        t = np.clip(np.atleast_1d(np.asarray(times, dtype=float)), 0.0, self.duration)
        t = np.maximum(t, self._times[0])
        if not self._pieces:
            return rows_of(Points(*(np.repeat(part, len(t), axis=0) for part in self._knots)))
        i = np.clip(np.searchsorted(self._times, t, side="right") - 1, 0, len(self._times) - 2)
        along = t - self._times[i]
        value, rate, second = (
            np.einsum("nk,nkj->nj", powers(along, part.shape[1]), part[i]) for part in self._pieces
        )
        rows = rows_of(Points(value, rate, second))
        # Beyond its ends it is at rest.
        outside = (np.asarray(times) < self._times[0]) | (np.asarray(times) > self.duration)
        rows[np.atleast_1d(outside), TWIST.start :] = 0.0
        return rows


def _checked_times(times: ArrayLike) -> Array:
    t = np.atleast_1d(np.asarray(times, dtype=float))
    if t.ndim != 1 or not 1 <= len(t) <= MOST_POINTS:
        raise TrajectoryError(f"{t.size} points; expected 1 to {MOST_POINTS}.")
    before = -1.0
    for i, time in enumerate(t):
        if not (time >= 0.0 and time > before and time <= LONGEST_S):
            raise TrajectoryError(
                f"its time is {time:g} s; expected times from 0 to {LONGEST_S:g} s, each later "
                "than the one before.",
                i,
            )
        before = float(time)
    return t


def _checked(what: str, values: ArrayLike, count: int, width: int) -> Array:
    array = np.array(values, dtype=float)
    if array.shape != (count, width):
        raise TrajectoryError(f"{what} of shape {array.shape}; expected {(count, width)}.")
    wrong = ~np.isfinite(array).all(axis=1)
    if wrong.any():
        at = int(np.argmax(wrong))
        raise TrajectoryError(f"{what} {array[at].tolist()} is not finite.", at)
    return array


def _unit(poses: Array) -> Array:
    """Return poses with unit quaternions, whose signs are continuous."""
    sizes = np.linalg.norm(poses[:, 3:], axis=1)
    wrong = np.abs(sizes - 1.0) > 1e-3
    if wrong.any():
        at = int(np.argmax(wrong))
        raise TrajectoryError(
            f"its quaternion has length {sizes[at]:.4g}; expected a unit quaternion.", at
        )
    poses = poses.copy()
    poses[:, 3:] /= sizes[:, None]
    for i in range(1, len(poses)):
        dot = float(poses[i - 1, 3:] @ poses[i, 3:])
        if dot < 0.0:
            poses[i, 3:] *= -1.0
        angle = 2.0 * np.arccos(min(1.0, abs(dot)))
        if angle > _LARGEST_TURN:
            raise TrajectoryError(
                f"it is {np.degrees(angle):.3g} degrees from the one before; expected at most "
                f"{np.degrees(_LARGEST_TURN):.3g} degrees, so that the way is clear.",
                i,
            )
    return poses


def _with_halt(t: Array, knots: Points) -> tuple[Array, Points]:
    """Return times and points with one more, at which a moving end has come to rest."""
    end = knots.value[-1] + 0.5 * HALT_S * knots.rate[-1]
    zero = np.zeros((1, 7))
    return np.append(t, t[-1] + HALT_S), Points(
        np.concatenate([knots.value, end[None]]),
        np.concatenate([knots.rate, zero]),
        np.concatenate([knots.second, zero]),
    )


def _at(knots: Points, i: int) -> tuple[Array, Array, Array]:
    return knots.value[i], knots.rate[i], knots.second[i]


class WithForces:
    """A path with constant forces, or some of them.

    Attributes:
        duration: Time at which the path has come to rest [s].
        start: Pose x y z qx qy qz qw at the beginning (7,).

    Args:
        path: Rows (N, 19 or more).
        forces: The columns that follow pose and motion (m,); NaN for those of the path.
        delay: Beginning of the path [s]; negative if a part of it has passed.
    """

    def __init__(self, path: Plan, forces: ArrayLike, delay: float = 0.0) -> None:
        self._path, self._delay = path, delay
        self._forces = np.array(forces, dtype=float)
        self.duration = max(path.duration + delay, 0.0)
        self.start = self.rows([0.0])[0, POSE]

    def rows(self, times: ArrayLike) -> Array:
        """Return rows as `Reference.rows` does."""
        t = np.atleast_1d(np.asarray(times, dtype=float)) - self._delay
        rows = self._path.rows(t)
        forces = np.tile(self._forces, (len(t), 1))
        own = np.isnan(self._forces)
        if own.any():
            forces[:, own] = rows[:, FORCE][:, own]
        return np.concatenate([rows[:, : FORCE.start], forces], axis=1)

    def settled_intervals(self, settle_s: float) -> list[tuple[float, float]]:
        """Return from when to when it has been at rest; only its end is known to be."""
        return [(self.duration, self.duration)] if settle_s == 0.0 else []
