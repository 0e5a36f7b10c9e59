# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""When plans are at rest."""

from __future__ import annotations

from collections.abc import Iterable

from robot_dynamics.control.control_law import ObjectPlan

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


def settled_rows(resting: Iterable[bool], period: float, settle_s: float) -> list[Interval]:
    """Return the periods in which something has been at rest for `settle_s`.

    Args:
        resting: Whether it was at rest in each period.
        period: The period [s].
        settle_s: Time at rest before it counts as settled [s].
    """
    found, begin = [], None
    for i, rests in enumerate([*resting, False]):
        if rests and begin is None:
            begin = i
        elif not rests and begin is not None:
            since, until = begin * period + settle_s, (i - 1) * period
            if since <= until:
                found.append((since, until))
            begin = None
    return found


def common(some: Iterable[Interval], others: Iterable[Interval]) -> list[Interval]:
    """Return the intervals that lie in both of two lists."""
    others = list(others)
    both = [(max(a, c), min(b, d)) for a, b in some for c, d in others]
    return [(begin, end) for begin, end in both if begin <= end]
