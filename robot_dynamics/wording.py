# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Numbers in sentences for people."""

from __future__ import annotations

_EXACT = 17  # digits in which any two different numbers differ


def apart(value: float, bound: float, digits: int = 3) -> tuple[str, str]:
    """Return a number and the bound that it misses, with as many digits as tell them apart.

    Args:
        value: The number.
        bound: What it was compared with.
        digits: The least number of digits.
    """
    for count in range(digits, _EXACT):
        words = f"{value:.{count}g}", f"{bound:.{count}g}"
        if words[0] != words[1]:
            return words
    return f"{value:.{_EXACT}g}", f"{bound:.{_EXACT}g}"


def counted(count: int, noun: str) -> str:
    """Return a number of things: "1 motion", "2 motions"."""
    return f"{count} {noun}{'' if count == 1 else 's'}"


def distance(metres: float) -> str:
    """Return a distance in a unit in which it has few digits."""
    if metres < 1.0:
        return f"{1e3 * metres:.3g} mm"
    # Three digits of metres, but no power of ten before there are millions of them.
    return f"{metres:.3g} m" if metres < 1e3 or metres >= 1e6 else f"{metres:.0f} m"
