# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The search behind assembly: damped Gauss-Newton steps from one start.

The position errors of loop joints are exact only near closure, and errors of joints with axes also
vanish if an axis points the wrong way (Table 8.1). The constraint Jacobian K always points towards
the closed joint, so steps follow K and not the slope of the error; a zero error counts as closed
only if its slope is K.
"""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import null_space

from robot_dynamics.arrays import Array
from robot_dynamics.dynamics.position_limits import PositionLimits
from robot_dynamics.dynamics.scaling import CLOSED, constraint_scales, coordinate_scales
from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.model import Model

#: K (n^c, nv) and the position error (n^c,) of positions q (nq,).
Closure = Callable[[Array], tuple[Array, Array]]

_LARGEST_STEP = 0.5  # rad, or lengths of the mechanism: linearisation is good for about so much
_LARGEST_DAMPING = 1e-2
_PATIENCE = 25  # steps without progress after which a start is given up


class ClosureSearch:
    """Steps from a start towards closed loops.

    Attributes:
        model: The mechanism.
        closure: Gives K and the position error.
        free: Coordinates (nv,) that may change.
        goal: Gap that counts as closed [m], rotations at `length`.
        length: Length [m] at which a rotation counts like a displacement.
        weakest: Directions in which constraints act by a smaller part of the strongest are
            ignored: rounded frames add constraints that would take a step far away.
    """

    def __init__(
        self,
        model: Model,
        closure: Closure,
        fixed: NDArray[np.bool_],
        limits: bool,
        metric: Callable[[Array], Array] | None,
        length: float,
        goal: float,
        iterations: int,
        seconds: float = np.inf,
        weakest: float = CLOSED,
    ) -> None:
        self.weakest = weakest
        self.model, self.closure, self.metric = model, closure, metric
        self.length, self.goal, self.iterations = length, goal, iterations
        self.free = ~fixed
        self.rows = constraint_scales(model, length) * model.holonomic
        self.columns = coordinate_scales(model, length)
        self.limits = PositionLimits(model, limits)
        self._of_loops = np.array(
            [length if c.unit == "rad" else 1.0 for c in self.limits.of_loops]
        )
        self._end = monotonic() + seconds

    @property
    def late(self) -> bool:
        """Whether the time of the search is over, so that no start takes another step."""
        return monotonic() > self._end

    def run(self, start: Array) -> tuple[Array, float]:
        """Return the best positions found from a start, and the gap that they leave [m]."""
        q = self.within_limits(start)
        best, best_gap, waited = q, np.inf, 0
        for _ in range(self.iterations):
            J, residual = self.terms(q)
            gap = float(np.max(np.abs(residual), initial=0.0))
            if not np.isfinite(gap):
                break
            # Once closed, continue to the last digit: ranks depend on the remaining closure error.
            waited = 0 if gap < 0.999 * best_gap else waited + 1
            if gap < best_gap:
                best, best_gap = q, gap
            if gap == 0.0 or waited > (2 if best_gap <= self.goal else _PATIENCE) or self.late:
                break
            q = self.within_limits(self.moved(q, self.step(q, J, residual)))
        return best, best_gap

    def terms(self, q: Array) -> tuple[Array, Array]:
        """Return rates (m, nv) and sizes (m,) [m] of the errors that a step removes.

        These are the position errors, and distances of loop joints beyond their limits.
        """
        K, error = self.closure(q)
        J, residual = self.rows[:, None] * K, self.rows * error
        if self.limits.of_loops:
            beyond, rates = self.limits.excess(q)
            J = np.vstack([J, self._of_loops[:, None] * rates])
            residual = np.concatenate([residual, self._of_loops * beyond])
        return J, residual

    def settled(self, q: Array, steps: int = 200) -> tuple[Array, float]:
        """Return the positions of the smallest gap near open ones, and the gap [m].

        Far from closure a full step may overshoot; only steps that reduce the gap are accepted.
        """
        damping = _LARGEST_DAMPING
        J, residual = self.terms(q)
        for _ in range(steps):
            moved = self.within_limits(self.moved(q, self.step(q, J, residual, damping)))
            J_there, there = self.terms(moved)
            if np.linalg.norm(there) < np.linalg.norm(residual):
                q, J, residual, damping = moved, J_there, there, 0.3 * damping
            else:
                damping *= 4.0
            if damping > 1e8 or self.late:
                break
        return q, float(np.max(np.abs(residual), initial=0.0))

    def step(self, q: Array, J: Array, residual: Array, damping: float | None = None) -> Array:
        """Return a damped step (nv,) of limited length that crosses no limit that is reached."""
        free, bars = self.free, np.zeros((0, self.model.nv))
        step = np.zeros(self.model.nv)
        if not np.any(free):
            return step
        if self.metric is None:
            part, rows = None, J[:, free] / self.columns[free]
        else:
            part = metric_root(self.metric(q), self.columns, free)
            rows = np.asarray(np.linalg.solve(part, J[:, free].T).T, dtype=float)
        for _ in range(2):  # the second time along the limits that the first would cross
            if len(bars):
                barred = bars[:, free]
                if part is None:
                    along = null_space(barred / self.columns[free])
                else:
                    along = null_space(np.linalg.solve(part, barred.T).T)
                change = along @ self.damped(rows @ along, residual, damping)
            else:
                change = self.damped(rows, residual, damping)
            step[free] = (
                change / self.columns[free] if part is None else np.linalg.solve(part.T, change)
            )
            crossed = self.limits.barriers(q, step)
            if not len(crossed):
                break
            bars = np.vstack([bars, crossed])
        largest = float(np.max(np.abs(step * self.columns), initial=0.0)) / self.length
        return step if largest <= _LARGEST_STEP else step * (_LARGEST_STEP / largest)

    def damped(self, J: Array, residual: Array, damping: float | None) -> Array:
        """Return the step that removes the residual; damping grows with the residual."""
        U, s, Vt = np.linalg.svd(J, full_matrices=False)
        size = min(float(np.linalg.norm(residual)) / self.length, 1e100)  # its square is a number
        # Damping that falls with the square of the error keeps convergence quadratic, also where
        # constraints depend on one another at the solution.
        unit = float(s[0]) ** 2 if len(s) else 1.0
        damping = unit * (min(_LARGEST_DAMPING, size * size) if damping is None else damping)
        keep = s > self.weakest * max(float(s[0]), 1e-300) if len(s) else s > 0.0
        gain = np.where(keep, s / np.where(keep, s * s + damping, 1.0), 0.0)
        result: Array = -Vt.T @ (gain * (U.T @ residual))
        return result

    def moved(self, q: Array, step: Array) -> Array:
        """Return the positions reached by a step (nv,)."""
        model = self.model
        return np.array(model.normalized(model.integrate(q.tolist(), step.tolist())), dtype=float)

    def within_limits(self, q: Array) -> Array:
        """Return positions, of which those that may change are clipped to their limits."""
        return self.limits.clipped(q, self.free)

    def scattered(self, guess: Array, spread: float, rng: np.random.Generator) -> Array:
        """Return random positions; a spread of 1 is anywhere within limits, 0 is the guess."""
        turning = coordinate_scales(self.model, 2.0) == 2.0
        reach = np.where(turning, np.pi, 2.0 * self.length)
        step = rng.uniform(-1.0, 1.0, self.model.nv) * reach
        at_q, at = _plain(self.model)  # others are clipped
        lower, upper = self.limits.lower[at], self.limits.upper[at]
        ranged = (upper - lower) < 2.0 * reach[at]
        target = lower + rng.uniform(0.0, 1.0, len(at)) * np.where(ranged, upper - lower, 0.0)
        step[at] = np.where(ranged, target - guess[at_q], step[at])
        return self.moved(guess, np.where(self.free, spread * step, 0.0))

    def is_genuine(self, q: Array, gap: float, rng: np.random.Generator) -> bool:
        """Return whether the slope of the errors is K; it is not if an axis is reversed."""
        K, _ = self.closure(q)
        J = self.rows[:, None] * K / self.columns
        h = 1e-6  # the best step of central differences in 64-bit numbers is near this
        for _ in range(3):
            direction = rng.normal(size=self.model.nv)
            change = h * self.length / self.columns * direction
            ends = [self.closure(self.moved(q, sign * change))[1] for sign in (1.0, -1.0)]
            slope = self.rows * (ends[0] - ends[1]) / (2.0 * h * self.length)
            # A reversed slope is wrong by twice its size: a tenth is far from both. An error
            # rotates the directions of K by its own size.
            doubt = 0.1 * np.linalg.norm(J, axis=1) + 1e-6 + 10.0 * gap / self.length
            if np.any(np.abs(slope - J @ direction) > doubt):
                return False
        return True


def metric_root(metric: Array | None, columns: Array, free: NDArray[np.bool_]) -> Array:
    """Return the lower factor of a metric over the free coordinates.

    Without a metric it is the diagonal one of displacements.

    Raises:
        RobotDynamicsError: If the metric is singular.
    """
    if metric is None:
        return np.diag(columns[free])
    try:
        return np.asarray(np.linalg.cholesky(metric[np.ix_(free, free)]), dtype=float)
    except np.linalg.LinAlgError:
        raise RobotDynamicsError(
            "motions cannot be compared in the metric: it is not positive definite, as the "
            "inertia matrix of links without mass is not; expected the metric of displacements."
        ) from None


def _plain(model: Model) -> tuple[NDArray[np.int_], NDArray[np.int_]]:
    """Return the position and velocity indices of coordinates whose rate is their derivative."""
    at_q: list[int] = []
    at_v: list[int] = []
    for body, q, v in zip(model.bodies, model.q_slices, model.v_slices, strict=True):
        if body.joint.type.nq == body.joint.type.nv == 1:
            at_q += range(q.start, q.stop)
            at_v += range(v.start, v.stop)
    return np.array(at_q, dtype=int), np.array(at_v, dtype=int)
