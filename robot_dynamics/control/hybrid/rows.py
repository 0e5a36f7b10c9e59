# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The rows that a hybrid controller follows, and how a new plan takes over from an old one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robot_dynamics.control.reference import FORCE
from robot_dynamics.control.streamed.curve import FADE, Points, hermite, points_of, powers, rows_of

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

    What the plans differ by where the new one takes over, as curves of position and quaternion
    (see `control.streamed.curve`), fades by a polynomial of fifth order: pose, velocity and
    acceleration are continuous, and each is the rate of the one before.
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
    rows, u = rows.copy(), np.arange(count, dtype=float) / count
    first, part = rows[0].copy(), rows[:count]
    new = points_of(first[None])
    now = points_of(last[None]).nearer_to(new)
    value, rate, second = ((a - b)[0] for a, b in zip(now, new, strict=True))
    still = np.zeros_like(value)
    fading = hermite((value, rate, second), (still, still, still), count * period)
    t: Array = u * (count * period)
    mixed = (a + powers(t, len(c)) @ c for a, c in zip(points_of(part), fading, strict=True))
    part[:, : FORCE.start] = rows_of(Points(*mixed))
    part[:, forces] += np.outer(FADE(u), (last - first)[forces])
    return rows
