# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The rows that a hybrid controller follows, and how a new plan takes over from an old one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robot_dynamics.control.halt import HasRows
from robot_dynamics.control.reference import ACCELERATION, POSE, TWIST
from robot_dynamics.control.rotation_path import conjugate, product, rotation_vector

Array = NDArray[np.float64]


class HybridPlan(Protocol):
    """What a hybrid controller follows; it begins and ends at rest."""

    @property
    def duration(self) -> float:
        """When everything has come to rest [s]."""

    @property
    def start(self) -> Array:
        """Pose of the object at the beginning, x y z qx qy qz qw (7,)."""

    def rows(self, times: ArrayLike) -> Array:
        """Return what is to be done at times (N,) [s].

        Rows (N, 19 + 2 C + m): pose x y z qx qy qz qw of the object's frame in the world, twist
        and acceleration of its origin in world axes, angular first; forces by the object on the C
        surfaces; 1 for those to be touched, 0 for the others; internal force.
        """

    def settled_intervals(self, settle_s: float) -> list[tuple[float, float]]:
        """Return from when to when it has been at rest for `settle_s` [s]."""


def looked_up(source: HasRows, times: ArrayLike, ahead: float) -> Array:
    """Return one row a time: where to be then, and what to do when the command acts.

    Args:
        source: What is followed.
        times: Times of measurements (N,) [s].
        ahead: How much later the middle of the command's action on them is [s].
    """
    times = np.asarray(times, dtype=float)
    rows = source.rows(times)
    rows[:, ACCELERATION.start :] = source.rows(times + ahead)[:, ACCELERATION.start :]
    return rows


def with_compared(rows: Array, before: Array, at: Mapping[str, slice], late: int) -> Array:
    """Return rows with the forces that measured ones are compared with.

    A force that is measured is the answer to what was wanted some samples before.

    Args:
        rows: Rows of a plan (N, 19 + 2 C + m).
        before: Rows that were followed before them (M, at least as wide); none at the start.
        at: Where everything stands in a row; see `Layout.reference`.
        late: How many samples.
    """
    width = rows.shape[1]
    past = np.vstack([before[:, :width], rows]) if len(before) else rows
    index = np.maximum(np.arange(len(rows)) + len(past) - len(rows) - late, 0)
    compared = past[index]
    return np.hstack([rows, compared[:, at["contact"]], compared[:, at["internal"]]])


def blended(
    rows: Array, last: Array, period: float, duration: float, forces: slice | NDArray[np.intp]
) -> Array:
    """Return rows that begin with another one and become those that they are, smoothly.

    Displacement, its rate and its acceleration, as they are between the plans where the new one
    takes over, are carried on by a polynomial of fifth order that ends at rest: pose, velocity and
    acceleration are continuous. The rotation between the plans is taken away about its own axis,
    which is exact where the plans turn about the same one, and small where they hardly turn.
    Forces change by the same law.

    Args:
        rows: Rows of the new plan (N, any); the last one is held where they are too few.
        last: The row that was followed where the new plan takes over.
        period: Between rows [s].
        duration: Over which it takes over [s].
        forces: Which columns are forces.
    """
    count = max(2, int(np.ceil(duration / period)))
    if len(rows) <= count:
        rows = np.vstack([rows, np.repeat(rows[-1:], count + 1 - len(rows), axis=0)])
    rows, u = rows.copy(), np.arange(count) / count
    T, first = count * period, rows[0].copy()
    turned = rotation_vector(product(last[POSE][3:], conjugate(first[POSE][3:])))
    offset = np.concatenate([turned, last[:3] - first[:3]])
    rate = last[TWIST] - first[TWIST]
    second = last[ACCELERATION] - first[ACCELERATION]
    # Quintics with the given value, rate and second rate at u = 0 and none at u = 1.
    of_value = [1 - 10 * u**3 + 15 * u**4 - 6 * u**5]
    of_value += [-30 * u**2 + 60 * u**3 - 30 * u**4, -60 * u + 180 * u**2 - 120 * u**3]
    of_rate = [u - 6 * u**3 + 8 * u**4 - 3 * u**5]
    of_rate += [1 - 18 * u**2 + 32 * u**3 - 15 * u**4, -36 * u + 96 * u**2 - 60 * u**3]
    of_second = [0.5 * u**2 - 1.5 * u**3 + 1.5 * u**4 - 0.5 * u**5]
    of_second += [u - 4.5 * u**2 + 6 * u**3 - 2.5 * u**4, 1 - 9 * u + 18 * u**2 - 10 * u**3]
    away = [
        (np.outer(a, offset) + np.outer(b, rate * T) + np.outer(c, second * T * T)) / T**order
        for order, (a, b, c) in enumerate(zip(of_value, of_rate, of_second, strict=True))
    ]
    part = rows[:count]
    part[:, :3] += away[0][:, 3:]
    angle = np.linalg.norm(away[0][:, :3], axis=1, keepdims=True)
    half = 0.5 * np.sinc(angle / (2.0 * np.pi))
    quaternions = np.hstack([half * away[0][:, :3], np.cos(0.5 * angle)])
    part[:, 3:7] = product(quaternions, part[:, 3:7])
    part[:, TWIST] += away[1]
    part[:, ACCELERATION] += away[2]
    part[:, forces] += np.outer(of_value[0], (last - first)[forces])
    return rows
