# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Numbers, units and values in sentences and files."""

from __future__ import annotations

import math
from collections.abc import Iterable

#: Units of efforts by the units of positions.
EFFORT_UNITS = {"rad": "N m", "m": "N"}
_TURN = 2.0 * math.pi  # positions beyond it may have been meant as degrees
_EXACT = 17  # digits in which any two different numbers differ


def apart(value: float, bound: float, digits: int = 3) -> tuple[str, str]:
    """Return a number and the bound that it misses, with as many digits as tell them apart.

    Args:
        value: The number.
        bound: The number with which it was compared.
        digits: The least number of digits.
    """
    for count in range(digits, _EXACT):
        words = f"{value:.{count}g}", f"{bound:.{count}g}"
        if words[0] != words[1]:
            return words
    return f"{value:.{_EXACT}g}", f"{bound:.{_EXACT}g}"


def outside(value: float, lower: float, upper: float, unit: str, digits: int = 4) -> str:
    """Return a position beyond its limits and the limits: "4 rad, expected -2 to 2 rad".

    A hint follows if it would be within the limits as an angle in degrees.

    Args:
        value: The position.
        lower: Its lower limit.
        upper: Its upper limit.
        unit: Unit of them, "rad" or "m".
        digits: The least number of digits.
    """
    ends = [f"{lower:.{digits}g}", f"{upper:.{digits}g}"]
    missed = 0 if value < lower else 1
    at, ends[missed] = apart(value, (lower, upper)[missed], digits)
    text = f"{at} {unit}, expected {ends[0]} to {ends[1]} {unit}"
    if unit == "rad" and abs(value) > _TURN and lower <= math.radians(value) <= upper:
        text += f"; {value:.6g} degrees are {math.radians(value):.4g} rad"
    return text


def shortened(text: str, most: int = 60) -> str:
    """Return a text, its end left out if it has more characters than `most`."""
    return text if len(text) <= most else f"{text[: most - 3]}..."


def exact(values: Iterable[float]) -> str:
    """Return numbers in a row that are read back to the last bit."""
    return " ".join(repr(float(value)) for value in values)


def counted(count: int, noun: str) -> str:
    """Return a number of things: "1 motion", "2 motions"."""
    return f"{count} {noun}{'' if count == 1 else 's'}"


def distance(metres: float) -> str:
    """Return a distance in a unit in which it has few digits."""
    if metres < 1.0:
        return f"{1e3 * metres:.3g} mm"
    # Three digits of metres, but no power of ten before there are millions of them.
    return f"{metres:.3g} m" if metres < 1e3 or metres >= 1e6 else f"{metres:.0f} m"
