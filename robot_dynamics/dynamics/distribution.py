# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Selection among the efforts that give the same motion, by least-squares goals in priority order.

All efforts and multipliers that give a motion are x = x0 + Z y. Each goal minimises the norm
of R x - t in the null space of the goals before it. If the result violates bounds, a quadratic
program finds the nearest point within them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from robot_dynamics.arrays import Array
from robot_dynamics.dynamics.force_bounds import ForceBounds
from robot_dynamics.dynamics.quadratic_program import TOLERANCE, nearest_within
from robot_dynamics.errors import RobotDynamicsError

# Entries below this share of their possible size are rounding, and set to zero ...
_ROUNDING = 1e-11
# ... and directions this weak are not used for a goal: they would need a million times its size.
_WEAK = 1e-6


class InfeasibleError(RobotDynamicsError):
    """No efforts within the bounds give the motion.

    Attributes:
        excess: Excess over each violated bound, by its name [N m or N], with the least sum of
            squares (moments and torques at the declared length).
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
class LeastSquaresGoal:
    """Values `goal` (k,) that `rows` x should be near to, in the least sum of squares."""

    rows: Array
    goal: Array


def distribute(
    place: str,
    x: Array,
    Z: Array,
    goals: Sequence[LeastSquaresGoal],
    bounds: ForceBounds,
    unit: float,
) -> Array:
    """Return the efforts and multipliers among x + Z y by goals in priority order and bounds.

    Args:
        place: The mechanism, for messages.
        x: Efforts and multipliers that give the motion (p + n^c,).
        Z: Directions that do not affect the motion (p + n^c, k).
        goals: Goals in priority order; each uses the freedom left by the earlier goals.
        bounds: Bounds, which have the highest priority.
        unit: A typical force [N]; bounds are met to 1e-10 of it.

    Raises:
        InfeasibleError: If no solution is within the bounds; it names the violated ones.
        RobotDynamicsError: If a bound is active and there is no solver, or it failed.
    """
    scales = bounds.scales * unit
    rows = bounds.rows / scales[:, None]
    lower, upper = bounds.lower / scales, bounds.upper / scales
    reach = np.max(np.abs(Z), axis=1, initial=0.0)
    # The last goal is empty: it keeps the bounds.
    for goal in (*goals, LeastSquaresGoal(np.zeros((0, len(x))), np.zeros(0))):
        U, s, Vt = np.linalg.svd(_along(goal.rows, Z, reach))
        used = int(np.sum(s > _WEAK * np.max(np.abs(goal.rows) @ reach, initial=0.0)))
        # y = V [w / s; free]: the goal is w, and `free` costs nothing
        turn = np.hstack([Vt[:used].T / s[:used], Vt[used:].T])
        to_goal = U[:, :used].T @ (goal.goal - goal.rows @ x)
        y = turn[:, :used] @ to_goal
        at = rows @ x
        if not _within(rows @ (x + Z @ y), lower, upper):
            moved = _along(rows, Z, reach) @ turn
            found = _nearest(to_goal, moved, lower - at, upper - at)
            if found is None:
                excess = _least_excess(moved, lower - at, upper - at) * scales
                raise InfeasibleError(place, _by_name(bounds.names, excess, 1e-6 * unit))
            y = turn @ found
        x, Z = x + Z @ y, Z @ Vt[used:].T
        # Clip excess by rounding.
        lower, upper = np.minimum(lower, rows @ x), np.maximum(upper, rows @ x)
    return x


def _along(rows: Array, Z: Array, reach: Array) -> Array:
    """Return rows Z without rounding, given the reach of the entries of x."""
    result = rows @ Z
    doubt = _ROUNDING * (np.abs(rows) @ reach)
    result[np.abs(result) <= doubt[:, None]] = 0.0
    return np.asarray(result)


def _within(values: Array, lower: Array, upper: Array) -> bool:
    return bool(np.all(values >= lower - TOLERANCE) and np.all(values <= upper + TOLERANCE))


def _nearest(goal: Array, moved: Array, lower: Array, upper: Array) -> Array | None:
    """Return the step that is nearest to the goal within the bounds, if there is one."""
    size = np.max(np.abs(moved), axis=1, initial=0.0)
    free = size > 0.0
    # Rows that no step changes are fixed by the motion alone.
    if not _within(np.zeros(len(lower))[~free], lower[~free], upper[~free]):
        return None
    largest = float(np.max(size, initial=0.0)) or 1.0  # rows are of size one for the solver
    found = nearest_within(goal * largest, moved[free] / largest, lower[free], upper[free])
    return None if found is None else found / largest


def _least_excess(moved: Array, lower: Array, upper: Array) -> Array:
    """Return the least excess over each bound, by sum of squares."""
    count = len(moved)
    largest = float(np.max(np.abs(moved), initial=0.0)) or 1.0
    slack = np.hstack([np.eye(count), moved / largest])
    found = nearest_within(np.zeros(count), slack, lower, upper)
    if found is None:  # slacks meet any bounds
        raise RobotDynamicsError("the quadratic program of least excess was not solved by DAQP.")
    return np.abs(found[:count])


def _by_name(names: Sequence[str], values: Array, least: float) -> dict[str, float]:
    """Return the largest value of each name, if it is above the least."""
    result: dict[str, float] = {}
    for name, value in zip(names, values.tolist(), strict=True):
        if value > least:
            result[name] = max(value, result.get(name, 0.0))
    return result
