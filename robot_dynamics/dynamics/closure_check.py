# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Check that closure functions close the loops of a mechanism, at random coordinates.

The functions are the user's: a wrong sign in one of them would make wrong dynamics without any
other symptom, because loop constraints are not evaluated any more.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from robot_dynamics.arrays import Array, Batch
from robot_dynamics.dynamics.assembly import gaps_in_words, loop_gaps
from robot_dynamics.dynamics.closure_functions import Closure, ClosureFunctionError
from robot_dynamics.dynamics.closure_search import ClosureSearch
from robot_dynamics.dynamics.rank import constraint_rank, opening, rank_tolerance
from robot_dynamics.dynamics.scaling import (
    constraint_names,
    constraint_scales,
    coordinate_scales,
    model_length,
)
from robot_dynamics.errors import ArgumentError

# Closure error of a function that counts as closed, as a share of the length: rounded dimensions.
# The limit of its derivatives is ten times as large.
LARGEST_GAP = 1e-6
# Range in which freedoms without limits are sampled [rad, or lengths].
_SLIDE, _TURN = 1.0, 0.6
# Number of halvings of a path before a difference counts as a jump.
_HALVINGS = 14
_JUMP = 0.1  # [rad, or lengths] what a smooth function may stray within a piece


@dataclass(frozen=True)
class ClosureCheck:
    """Result of the check.

    Attributes:
        samples: The coordinates in the domain at which it was made (N, size).
        gap: Largest closure error [m], rotations at `length`.
        velocity_error: Largest K G, as ratios of distances.
        acceleration_error: Largest K g - k, relative to the terms it is the sum of.
        paths: Number of paths between samples that were searched for jumps.
        length: The length [m] that makes rotations and displacements comparable.
    """

    samples: Array
    gap: float
    velocity_error: float
    acceleration_error: float
    paths: int
    length: float


def check_closure(
    closure: Closure,
    motion: Callable[[Array, Array], tuple[Array, Array, Array, Array]],
    constraint_terms: Callable[[Array, Array], tuple[Array, ...]],
    *,
    samples: Batch | None = None,
    count: int = 16,
    seed: int = 0,
) -> ClosureCheck:
    """Check closure functions against the loops of the mechanism.

    At every sample in the domain the loops must be closed with axes in the right direction, K G =
    0 and K g = k, and there must be as many coordinates as the mechanism has freedoms. Between
    samples the positions must not jump, except by whole turns.

    Args:
        closure: The closure functions.
        motion: Returns q, qd, G and g for y and yd.
        constraint_terms: Returns H, C, K, k and the errors of positions and velocities for q and
            qd.
        samples: Coordinates of the check (N, size); by default `count` samples within the limits,
            or half a radian or a length around zero, or a whole turn for joints that turn without
            limits.
        count: Number of samples to draw.
        seed: Seed of the random numbers.

    Returns:
        The largest errors, which are within the tolerances.

    Raises:
        ClosureFunctionError: If a condition does not hold; it names the loop and the gap.
    """
    model, rng = closure.model, np.random.default_rng(seed)
    if samples is None:
        chosen, given = sample_coordinates(closure, count, rng), False
    else:
        chosen, given = np.atleast_2d(np.asarray(samples, dtype=float)), True
        if chosen.ndim != 2 or chosen.shape[1] != closure.size:
            raise ArgumentError(
                f"samples has the shape {np.asarray(samples).shape}, expected (N, {closure.size})."
            )
    check = _Check(closure, motion, constraint_terms, rng)
    inside = [y for y in chosen if check.is_inside(y, given)]
    if not inside:
        raise ClosureFunctionError(
            f"{model.name}: none of {len(chosen)} samples is in the domain of the closure "
            "functions; expected `samples` that are."
        )
    for y in inside:
        check.sample(y)
    check.freedoms(inside)
    paths = sum(check.path(a, b) for a, b in pairwise(inside))
    return ClosureCheck(np.array(inside), *check.worst, paths, check.length)


def sample_coordinates(closure: Closure, count: int, rng: np.random.Generator) -> Array:
    """Return coordinates (count, size) drawn at random, in the domain or not."""
    model, limits = closure.model, closure.model.limits()
    length, turning = model_length(model), coordinate_scales(model, 2.0) == 2.0
    rows = []
    for _ in range(count):
        row: list[float] = []
        for c in closure.coordinates:
            if c.type is None:
                row.append(rng.uniform(-_SLIDE, _SLIDE))
                continue
            at = model.v_slices[model.joint_index(c.name)]
            reach = np.where(turning[at], np.pi if c.nv == 1 else _TURN, _SLIDE * length)
            low, high = limits["lower"][at], limits["upper"][at]
            # A prismatic joint without limits is sampled around its zero, like all others.
            low, high = (
                np.where(np.isfinite(low), low, -reach),
                np.where(np.isfinite(high), high, reach),
            )
            row += c.type.integrate(c.type.neutral(), rng.uniform(low, high).tolist())
        rows.append(row)
    return np.array(rows, dtype=float)


class _Check:
    """The single checks, and the largest errors found."""

    def __init__(
        self,
        closure: Closure,
        motion: Callable[[Array, Array], tuple[Array, Array, Array, Array]],
        constraint_terms: Callable[[Array, Array], tuple[Array, ...]],
        rng: np.random.Generator,
    ) -> None:
        self.closure, self.motion, self.terms, self.rng = closure, motion, constraint_terms, rng
        model = closure.model
        self.model, self.length = model, model_length(model)
        self.rows = constraint_scales(model, self.length)
        self.columns = coordinate_scales(model, self.length)
        self.rest = np.zeros(closure.dimension)
        self.worst = (0.0, 0.0, 0.0)
        nothing = np.zeros(model.nv, dtype=bool)
        self.search = ClosureSearch(
            model, self._K_and_error, nothing, False, None, self.length, 0.0, 0
        )

    def _K_and_error(self, q: Array) -> tuple[Array, Array]:
        _, _, K, _, error, _ = self.terms(q, np.zeros(self.model.nv))
        return K, error

    def is_inside(self, y: Array, expected: bool) -> bool:
        """Return whether y is in the domain; a failure inside the domain is an error."""
        words = self.closure.outside(y.tolist())
        finite = not words and all(np.all(np.isfinite(x)) for x in self.motion(y, self.rest))
        stated = any(f.domain is not None for f in self.closure.functions)
        if words and expected:
            raise ClosureFunctionError(f"{self._at(y)} is outside of the domain: {words}.")
        if not finite and not words and (expected or stated):
            raise ClosureFunctionError(
                f"{self._at(y)} positions or their derivatives are not finite; expected a domain "
                "without that."
            )
        return finite

    def sample(self, y: Array) -> None:
        """Check position, velocity and acceleration at one place."""
        yd = self.rng.normal(size=self.closure.dimension)
        q, qd, G, g = self.motion(y, yd)
        _, _, K, k, error, _ = self.terms(q, qd)
        K = K.reshape(len(k), self.model.nv)  # gears without loops have no rows
        gap = opening(self.model, error, self.length)
        if not gap <= LARGEST_GAP * self.length:
            gaps = loop_gaps(self.model, error * self.model.holonomic)
            raise ClosureFunctionError(
                f"{self._at(y)} the closure functions leave loops open: "
                + gaps_in_words(gaps, LARGEST_GAP * self.length, "by")
                + "; expected positions that close them."
            )
        if len(K) and not self.search.is_genuine(q, gap, self.rng):
            raise ClosureFunctionError(
                f"{self._at(y)} loops are closed only with an axis pointing the wrong way."
            )
        KG = self.rows[:, None] * (K @ G) / self.length
        size = max(1.0, float(np.max(np.abs(self.columns[:, None] * G))) / self.length)
        slip = float(np.max(np.abs(KG), initial=0.0)) / size
        if not slip <= 10.0 * LARGEST_GAP:
            worst = constraint_names(self.model)[int(np.argmax(np.max(np.abs(KG), axis=1)))]
            raise ClosureFunctionError(
                f"{self._at(y)} motions of the closure functions open {worst!r}; expected K G = 0."
            )
        # K g and k may be sums that cancel, of terms of the size of squared velocities.
        terms = self.rows * (np.abs(K) @ np.abs(g) + np.abs(k) + np.abs(K) @ np.abs(qd) ** 2)
        drift = float(np.max(np.abs(self.rows * (K @ g - k)), initial=0.0))
        drift /= max(float(np.max(terms, initial=0.0)), 1e-300)
        if not drift <= 10.0 * LARGEST_GAP:
            raise ClosureFunctionError(
                f"{self._at(y)} accelerations of the closure functions open a loop; expected "
                "functions with two derivatives."
            )
        new = (gap, slip, drift)
        self.worst = tuple(map(max, self.worst, new))  # type: ignore[assignment]

    def freedoms(self, samples: list[Array]) -> None:
        """Check that there are as many independent coordinates as freedoms."""
        mobility, moved = self.model.nv, 0
        for y in samples:  # one of which may be a singular configuration
            q, _, G, _ = self.motion(y, self.rest)
            ranked = constraint_rank(self.model, *self._K_and_error(q), q)
            mobility = min(mobility, self.model.nv - ranked.rank)
            # The closure error limits the accuracy of G, as of K.
            s = np.linalg.svd(self.columns[:, None] * G / self.length, compute_uv=False)
            strongest = float(np.max(s, initial=0.0))
            least = rank_tolerance(self.model, ranked.closure_error, strongest, self.length, q)
            moved = max(moved, int(np.sum(s > least)))
        n, place = self.closure.dimension, self.model.name
        if moved < n:
            raise ClosureFunctionError(
                f"{place}: the {n} independent coordinates move the mechanism in {moved} ways."
            )
        if mobility != n:
            raise ClosureFunctionError(
                f"{place}: the closure functions have {n} independent velocities "
                f"({', '.join(self.closure.names)}), expected {mobility}, the mobility."
            )

    def path(self, start: Array, end: Array) -> bool:
        """Check that positions do not jump on the way; False if it leaves the domain."""
        # Numbers of quaternions do not lie on a straight line: such paths are not followed.
        if self.closure.size != self.closure.dimension:
            return False
        step = end - start
        ends = [self._state(start, step), self._state(end, step)]
        return self._piece((0.0, ends[0]), (1.0, ends[1]), start, step, 0)

    def _state(self, y: Array, step: Array) -> tuple[Array, Array] | None:
        if self.closure.outside(y.tolist()):
            return None
        q, rate, _, _ = self.motion(y, step)
        return (q, rate) if np.all(np.isfinite(q)) and np.all(np.isfinite(rate)) else None

    def _piece(self, a: tuple, b: tuple, start: Array, step: Array, depth: int) -> bool:
        """Compare the ends of a piece with the rates there; halve it where they differ."""
        if a[1] is None or b[1] is None:
            return False
        width = b[0] - a[0]
        moved = np.array(self.model.difference(a[1][0].tolist(), b[1][0].tolist()), dtype=float)
        strayed = moved - 0.5 * width * (a[1][1] + b[1][1])
        turning = self.columns == self.length
        turns = 2.0 * np.pi * np.round(strayed / (2.0 * np.pi))
        strayed = np.where(turning, strayed - turns, strayed / self.length)
        if np.all(np.abs(strayed) <= _JUMP) and depth >= 3:
            return True
        if depth >= _HALVINGS:
            y = start + a[0] * step
            name = self.model.joint_names[self._body_of(int(np.argmax(np.abs(strayed))))]
            raise ClosureFunctionError(
                f"{self._at(y)} the position of joint {name!r} jumps; expected one branch, "
                "continuous in the domain."
            )
        middle = 0.5 * (a[0] + b[0])
        m = (middle, self._state(start + middle * step, step))
        return self._piece(a, m, start, step, depth + 1) and self._piece(
            m, b, start, step, depth + 1
        )

    def _body_of(self, velocity: int) -> int:
        slices = self.model.v_slices
        return next(i for i, at in enumerate(slices) if at.start <= velocity < at.stop)

    def _at(self, y: Array) -> str:
        values = ", ".join(f"{value:.4g}" for value in y)
        return f"{self.model.name}: at y = [{values}]"
