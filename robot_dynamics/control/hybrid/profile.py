# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Forces over time: constant but for smooth changes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robot_dynamics.control.reference import TIME_LAWS
from robot_dynamics.errors import ArgumentError, require_length

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Change:
    """A change to new values.

    Attributes:
        time: When it begins [s].
        values: What they are afterwards.
        duration: How long it takes [s]; 0 for a step.
    """

    time: float
    values: Sequence[float]
    duration: float = 0.5


class Profile:
    """Values over time, zero before the first change unless they begin otherwise.

    Args:
        size: Number of values.
        changes: One after the other.
        begin: The values before the first change (size,).
        law: The time law of changes.

    Attributes:
        size: Number of values.

    Raises:
        ArgumentError: If changes overlap, are out of order, or have another number of values.
    """

    def __init__(
        self,
        size: int,
        changes: Sequence[Change] = (),
        begin: ArrayLike | None = None,
        law: str = "quintic",
    ) -> None:
        self.size = size
        before = np.zeros(size) if begin is None else np.array(begin, dtype=float)
        require_length("values at the beginning", before.tolist(), size, "one a force")
        free_from, levels = -np.inf, [before]
        for number, change in enumerate(changes, start=1):
            require_length(f"values of change {number}", list(change.values), size, "one a force")
            if change.time < free_from or change.duration < 0.0:
                raise ArgumentError(
                    f"change {number} begins at {change.time:g} s and takes {change.duration:g} "
                    f"s, expected at least {free_from:g} s, when the one before it ends, and no "
                    "negative time."
                )
            levels.append(np.array(change.values, dtype=float))
            free_from = change.time + change.duration
        self.duration = max(free_from, 0.0)
        self._begin = np.array([change.time for change in changes])
        # A step is a change that takes no time that could be told.
        self._takes = np.maximum([change.duration for change in changes], 1e-12)
        self._levels, self._law = np.array(levels), TIME_LAWS[law]

    def at(self, times: ArrayLike) -> Array:
        """Return the values at times (N,) [s]: (N, size)."""
        t = np.atleast_1d(np.asarray(times, dtype=float))
        if not len(self._begin):
            return np.tile(self._levels[0], (len(t), 1))
        i = np.searchsorted(self._begin, t, side="right") - 1
        k = np.maximum(i, 0)
        u = np.where(i < 0, 0.0, np.clip((t - self._begin[k]) / self._takes[k], 0.0, 1.0))
        step = self._levels[k + 1] - self._levels[k]
        return np.asarray(self._levels[k] + step * self._law(u)[:, None])

    def changing(self) -> list[tuple[float, float]]:
        """Return from when to when the values change [s]."""
        moves = np.any(np.diff(self._levels, axis=0) != 0.0, axis=1)
        ends = self._begin + self._takes
        return [
            (float(a), float(b)) for a, b, m in zip(self._begin, ends, moves, strict=True) if m
        ]
