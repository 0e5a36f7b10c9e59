# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A body's path as a curve in seven coordinates, with a quaternion of any length.

Pose, twist and acceleration of a reference row are a point p = (x, q) of position and quaternion,
with its first and second derivatives. For any smooth curve p(t), q / |q| is a smooth orientation:
pieces can be joined and blended like positions, and velocity and acceleration stay exact.
Orientations that are blended must differ by less than half a turn.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.polynomial import Polynomial

from robot_dynamics.arrays import Array
from robot_dynamics.control.reference import ACCELERATION, POSE, TWIST
from robot_dynamics.control.rotation_path import conjugate, product

_POSITION, _QUATERNION = slice(0, 3), slice(3, 7)


class Points(NamedTuple):
    """Points of a curve with their derivatives by time, each (N, 7)."""

    value: Array
    rate: Array
    second: Array

    def nearer_to(self, other: Points) -> Points:
        """Return the same with quaternions of the sign that is nearer to others' (N, 7)."""
        dots = np.sum(self.value[:, _QUATERNION] * other.value[:, _QUATERNION], axis=-1)
        sign = np.ones((len(dots), 7))
        sign[dots < 0.0, _QUATERNION] = -1.0
        return Points(*(sign * part for part in self))


def points_of(rows: Array) -> Points:
    """Return the points of reference rows (N, 19 or more)."""
    value = rows[:, POSE]
    q = value[:, _QUATERNION]
    omega, alpha = (_pure(rows[:, part][:, :3]) for part in (TWIST, ACCELERATION))
    q_rate = 0.5 * product(omega, q)  # q' = w q / 2 with w in the world
    q_second = 0.5 * (product(alpha, q) + product(omega, q_rate))
    return Points(
        value,
        np.concatenate([rows[:, TWIST][:, 3:], q_rate], axis=1),
        np.concatenate([rows[:, ACCELERATION][:, 3:], q_second], axis=1),
    )


def rows_of(points: Points) -> Array:
    """Return the reference rows (N, 19) of points whose quaternions may have any length."""
    p, dp, ddp = (part[:, _QUATERNION] for part in points)
    size = np.linalg.norm(p, axis=1, keepdims=True)
    q = p / size
    # of p = |p| q: q' = (p' - |p|' q) / |p|, and once more
    size_rate = np.sum(q * dp, axis=1, keepdims=True)
    q_rate = (dp - size_rate * q) / size
    size_second = np.sum(q_rate * dp + q * ddp, axis=1, keepdims=True)
    q_second = (ddp - size_second * q - 2.0 * size_rate * q_rate) / size
    omega = 2.0 * product(q_rate, conjugate(q))
    alpha = 2.0 * (product(q_second, conjugate(q)) + product(q_rate, conjugate(q_rate)))
    x, dx, ddx = (part[:, _POSITION] for part in points)
    return np.concatenate([x, q, omega[:, :3], dx, alpha[:, :3], ddx], axis=1)


def hermite(
    begin: tuple[Array, Array, Array],
    end: tuple[Array, Array, Array],
    duration: float | Array,
) -> tuple[Array, Array, Array]:
    """Return quintics between points and their derivatives, coefficients (6, ..., n) of t.

    Args:
        begin: Value, rate and second derivative at the beginning, (..., n) each.
        end: The same at the end.
        duration: Time between them (...) [s].
    """
    T = duration
    p0, v0, a0 = begin
    p1, v1, a1 = end
    d = p1 - p0 - v0 * T - 0.5 * a0 * T**2
    dv, da = (v1 - v0 - a0 * T) * T, (a1 - a0) * T**2
    c = np.stack(
        [
            p0,
            v0,
            0.5 * a0,
            (10.0 * d - 4.0 * dv + 0.5 * da) / T**3,
            (-15.0 * d + 7.0 * dv - da) / T**4,
            (6.0 * d - 3.0 * dv + 0.5 * da) / T**5,
        ]
    )
    count = np.arange(1.0, 6.0).reshape(5, *[1] * (c.ndim - 1))
    rate = count * c[1:]
    return c, rate, count[:4] * rate[1:]


def _pure(vectors: Array) -> Array:
    """Return vectors (N, 3) as quaternions without a real part (N, 4)."""
    return np.concatenate([vectors, np.zeros((len(vectors), 1))], axis=1)


def powers(t: Array, count: int) -> Array:
    """Return 1, t, t^2, ... (N, count)."""
    return np.vander(t, count, increasing=True)


# From 1 to 0 at u = 1, with rate and second derivative zero at both ends.
FADE = Polynomial([1.0, 0.0, 0.0, -10.0, 15.0, -6.0])
