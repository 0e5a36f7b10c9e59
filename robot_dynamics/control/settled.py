# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""When plans are at rest."""

from __future__ import annotations

from collections.abc import Iterable

from robot_dynamics.control.protocol import ObjectPlan

Interval = tuple[float, float]


def settled_until(plan: ObjectPlan, settle_s: float, end: float) -> list[Interval]:
    """Return when a plan has been at rest for `settle_s`, up to a time `end` [s].

    After the last change it stays at rest for as long as one looks.
    """
    intervals = [(a, b) for a, b in plan.settled_intervals(settle_s) if a <= end]
    last = plan.duration
    if end > last:
        if intervals and intervals[-1][1] >= last:
            intervals[-1] = (intervals[-1][0], end)
        elif last + settle_s <= end:
            intervals.append((last + settle_s, end))
    return [(a, min(b, end)) for a, b in intervals]


def common(some: Iterable[Interval], others: Iterable[Interval]) -> list[Interval]:
    """Return the intervals that lie in both of two lists."""
    others = list(others)
    both = [(max(a, c), min(b, d)) for a, b in some for c, d in others]
    return [(begin, end) for begin, end in both if begin <= end]
