# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""One among the efforts that give the same motion: nearest to wishes, one wish after the other.

All efforts and multipliers that give a motion are x = x0 + Z y. Each wish asks for R x to be near
t, and leaves to the next what it does not decide. Where the nearest point obeys all bounds nothing
else is needed; otherwise a quadratic program finds the nearest point that does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from robot_dynamics.dynamics.force_bounds import ForceBounds
from robot_dynamics.dynamics.quadratic_program import TOLERANCE, nearest_within
from robot_dynamics.errors import RobotDynamicsError

Array = NDArray[np.float64]

# Directions in which a wish or a bound acts by less than this part of the strongest are rounding.
_NEGLIGIBLE = 1e-9


class InfeasibleError(RobotDynamicsError):
    """Nothing that gives the motion is within the bounds.

    Attributes:
        excess: By how much each bound in the way is exceeded, by its name [N m or N], where the
            sum of squares is least (moments and torques at the declared length).
    """

    def __init__(self, place: str, excess: Mapping[str, float]) -> None:
        self.excess = dict(excess)
        worst = sorted(self.excess.items(), key=lambda item: -item[1])
        words = [f"{name} by {value:.3g}" for name, value in worst[:4]]
        more = f" and {len(worst) - 4} more" if len(worst) > 4 else ""
        super().__init__(
            f"{place}: the motion needs more than the bounds allow, at the least "
            f"{', '.join(words)}{more} [N m or N]."
        )


@dataclass(frozen=True)
class Wish:
    """Values `goal` (k,) that `rows` x should be near to, in the least sum of squares."""

    rows: Array
    goal: Array


def distribute(
    place: str, x: Array, Z: Array, wishes: Sequence[Wish], bounds: ForceBounds, unit: float
) -> Array:
    """Return the efforts and multipliers among x + Z y that wishes and bounds choose.

    Args:
        place: The mechanism, for messages.
        x: Efforts and multipliers that give the motion (p + n^c,).
        Z: What can be added without any effect on it (p + n^c, k).
        wishes: Each counts only as far as those before leave a choice.
        bounds: What is kept in any case.
        unit: A typical force [N]; bounds are met to 1e-10 of it.

    Raises:
        InfeasibleError: If nothing is within the bounds; it names those in the way.
    """
    scales = bounds.scales * unit
    rows = bounds.rows / scales[:, None]
    lower, upper = bounds.lower / scales, bounds.upper / scales
    obeyed = len(rows) == 0
    for wish in wishes:
        if Z.shape[1] == 0:
            break
        U, s, Vt = np.linalg.svd(wish.rows @ Z)
        used = int(np.sum(s > _NEGLIGIBLE * np.max(s, initial=0.0)))
        if used == 0:
            continue
        # y = V [w / s; free]: the wish is for w, and all else costs nothing
        to_goal = U[:, :used].T @ (wish.goal - wish.rows @ x)
        decided, rest = Z @ (Vt[:used].T / s[:used]), Z @ Vt[used:].T
        ideal = x + decided @ to_goal
        if _within(rows, lower, upper, ideal):
            x, obeyed = ideal, True
        else:
            moves = np.hstack([decided, rest])
            x, obeyed = x + moves @ _nearest(place, x, moves, to_goal, bounds, unit), True
        Z = rest
    if not obeyed and not _within(rows, lower, upper, x):
        x = x + Z @ _nearest(place, x, Z, np.zeros(0), bounds, unit)
    return x


def _within(rows: Array, lower: Array, upper: Array, x: Array) -> bool:
    values = rows @ x
    return bool(np.all(values >= lower - TOLERANCE) and np.all(values <= upper + TOLERANCE))


def _nearest(
    place: str, x: Array, moves: Array, goal: Array, bounds: ForceBounds, unit: float
) -> Array:
    """Return how far to go along the moves to be nearest to the goal within the bounds."""
    scales = bounds.scales * unit
    # What no move changes is fixed by the motion alone.
    at, rows = bounds.rows @ x / scales, bounds.rows @ moves / scales[:, None]
    lower, upper = bounds.lower / scales - at, bounds.upper / scales - at
    size = np.max(np.abs(rows), axis=1, initial=0.0)
    free = size > _NEGLIGIBLE * np.max(size, initial=0.0)
    fixed_excess = np.maximum(lower, -upper)[~free]
    if np.all(fixed_excess <= TOLERANCE):
        # in units in which the rows are of size one
        typical = float(np.max(size, initial=0.0)) or 1.0
        found = nearest_within(goal * typical, rows[free] / typical, lower[free], upper[free])
        if found is not None:
            return found / typical
    excess = _least_excess(rows, lower, upper) * scales
    named: dict[str, float] = {}
    for name, value in zip(bounds.names, excess, strict=True):
        if value > 1e-6 * unit:
            named[name] = max(value, named.get(name, 0.0))
    raise InfeasibleError(place, named)


def _least_excess(rows: Array, lower: Array, upper: Array) -> Array:
    """Return by how much each row has to be exceeded, with the least sum of squares."""
    count = len(rows)
    slack = np.hstack([np.eye(count), rows])
    found = nearest_within(np.zeros(count), slack, lower, upper)
    assert found is not None  # slacks meet all bounds
    return np.abs(found[:count])
