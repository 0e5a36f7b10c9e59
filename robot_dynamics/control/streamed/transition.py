# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""From what is followed to something else, without a jump of acceleration or force."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robot_dynamics.control.halt import HasRows
from robot_dynamics.control.reference import ACCELERATION, FORCE, POSE, TWIST
from robot_dynamics.control.rotation_path import conjugate, product, rotation_vector
from robot_dynamics.control.streamed.curve import FADE, Points, hermite, points_of, powers, rows_of

Array = NDArray[np.float64]

SHORTEST_S = 0.1
# The most that a transition adds: jerk [m/s^3, rad/s^3], and change of forces [N/s].
_JERK, _TURNING_JERK, _FORCE_RATE = 15.0, 30.0, 200.0


class Plan(HasRows, Protocol):
    """Rows with an end."""

    @property
    def duration(self) -> float:
        """When everything has come to rest [s]."""


class WithForces:
    """A path with forces that stay, or some of them.

    Attributes:
        duration: When the path has come to rest [s].
        start: Pose x y z qx qy qz qw at the beginning (7,).

    Args:
        path: Rows (N, 19 or more).
        forces: The columns that follow pose and motion (m,); NaN for those of the path.
        delay: When the path begins [s]; negative if a part of it is over.
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


class Standing:
    """Standing still at a pose.

    Attributes:
        duration: It is at rest from the beginning on [s].

    Args:
        pose: x y z qx qy qz qw (7,).
    """

    duration = 0.0

    def __init__(self, pose: ArrayLike) -> None:
        self._pose = np.array(pose, dtype=float)

    def rows(self, times: ArrayLike) -> Array:
        """Return rows (N, 19)."""
        rows = np.zeros((np.size(times), FORCE.start))
        rows[:, POSE] = self._pose
        return rows


class Transition:
    """Another reference, with what was followed before fading from it.

    At its beginning pose, velocity, acceleration and forces are those of before; at the end of
    the transition those of the new reference. It takes as long as the distance needs, so that it
    adds little acceleration.

    Attributes:
        begin: The row that was followed when it begins.
        target: The new reference, whose time 0 is the beginning.
        blend_s: How long the transition takes [s].
        duration: When everything has come to rest [s].

    Args:
        begin: The row that is followed now (19 + m,).
        target: What is to be followed from now on.
        switched: Columns of `FORCE` that change at once.
    """

    def __init__(self, begin: Array, target: Plan, switched: Sequence[int] = ()) -> None:
        self.begin, self.target = np.array(begin), target
        first = target.rows([0.0])
        now = points_of(self.begin[None])
        new = points_of(first).nearer_to(now)
        # The new path's quaternions change their sign as a whole, if at all.
        self._sign = np.ones(7)
        if float(points_of(first).value[0, 3:] @ now.value[0, 3:]) < 0.0:
            self._sign[3:] = -1.0
        self.blend_s = _time_of(self.begin, first[0])
        offset = tuple((a - b)[0] for a, b in zip(now, new, strict=True))
        zero = np.zeros(7)
        self._offset = hermite(offset, (zero, zero, zero), self.blend_s)  # type: ignore[arg-type]
        self._fading = np.ones(len(self.begin) - FORCE.start)
        self._fading[list(switched)] = 0.0
        self._force = self.begin[FORCE]
        self.duration = max(target.duration, self.blend_s)

    def rows(self, times: ArrayLike) -> Array:
        """Return rows as `Reference.rows` does, from time 0 on."""
        t = np.atleast_1d(np.asarray(times, dtype=float))
        rows = self.target.rows(t)
        fading = t < self.blend_s
        if not fading.any():
            return rows
        at = np.maximum(t[fading], 0.0)
        new = Points(*(part * self._sign for part in points_of(rows[fading])))
        mixed = (part + powers(at, len(c)) @ c for part, c in zip(new, self._offset, strict=True))
        rows[fading, : FORCE.start] = rows_of(Points(*mixed))
        left = FADE(at / self.blend_s)[:, None] * self._fading
        rows[fading, FORCE] = rows[fading, FORCE] * (1.0 - left) + self._force * left
        return rows

    def row(self, time: float) -> Array:
        """Return the row at one time (19 + m,)."""
        return np.asarray(self.rows([time])[0])


def distance_between(row: Array, other: Array) -> tuple[float, float]:
    """Return distance [m] and angle [rad] between the poses of two rows."""
    turned = rotation_vector(product(row[POSE][3:], conjugate(other[POSE][3:])))
    return float(np.linalg.norm(row[:3] - other[:3])), float(np.linalg.norm(turned))


def _time_of(begin: Array, first: Array) -> float:
    """Return how long the transition from one row to another takes [s]."""
    moved, turned = distance_between(begin, first)
    velocity, acceleration = (
        np.linalg.norm((begin[part] - first[part]).reshape(2, 3), axis=1)
        for part in (TWIST, ACCELERATION)
    )
    force = float(np.max(np.abs(begin[FORCE] - first[FORCE]), initial=0.0))
    # The quintic from (x, v, a) to nothing begins with the jerk 60 x / T^3, 36 v / T^2, 9 a / T.
    linear = (moved, float(velocity[1]), float(acceleration[1]), _JERK)
    turning = (turned, float(velocity[0]), float(acceleration[0]), _TURNING_JERK)
    return max(
        SHORTEST_S,
        *(
            max((60.0 * x / j) ** (1.0 / 3.0), (36.0 * v / j) ** 0.5, 9.0 * a / j)
            for x, v, a, j in (linear, turning)
        ),
        1.875 * force / _FORCE_RATE,  # the fade's steepest rate
    )
