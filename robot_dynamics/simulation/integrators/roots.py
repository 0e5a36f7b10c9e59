# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Roots of scalar functions within a step: cubics, and Newton's method between two bounds."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple


class Cubic(NamedTuple):
    """a x^3 + b x^2 + c x + d, for x from 0 to 1."""

    a: float
    b: float
    c: float
    d: float

    @classmethod
    def through(cls, g0: float, s0: float, g1: float, s1: float) -> Cubic:
        """Return the cubic with value g0 and slope s0 at 0, g1 and s1 at 1."""
        return cls(2.0 * (g0 - g1) + s0 + s1, 3.0 * (g1 - g0) - 2.0 * s0 - s1, s0, g0)

    def __call__(self, x: float) -> float:
        """Return the value."""
        return ((self.a * x + self.b) * x + self.c) * x + self.d

    def stationary(self) -> list[float]:
        """Return the arguments of zero slope between 0 and 1, in ascending order."""
        inside = self.b * self.b - 3.0 * self.a * self.c
        if not inside >= 0.0:
            return []
        q = -(self.b + math.copysign(math.sqrt(inside), self.b))
        roots = [up / down for up, down in ((q, 3.0 * self.a), (self.c, q)) if down]
        return sorted(x for x in roots if 0.0 < x < 1.0)


def falling_root(
    function: Callable[[float], tuple[float, float]], low: float, high: float
) -> float:
    """Return the root between `low`, with a positive value, and `high`, with a value <= 0.

    Newton's method, to 1e-15 of the root. It bisects where a Newton step leaves the bracket, and
    every eighth time.

    Args:
        function: Returns value and slope.
        low: Lower bound of the root.
        high: Upper bound, where the method starts.
    """
    x, count = high, 0
    while True:
        value, slope = function(x)
        low, high = (x, high) if value > 0.0 else (low, x)
        if value == 0.0 or high - low <= 1e-15 * high:
            return x
        after = x - value / slope if slope < 0.0 else math.inf
        if abs(after - x) <= 1e-15 * x:
            return x
        count += 1
        x = after if low < after < high and count % 8 else 0.5 * (low + high)
