# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Numbers in sentences for people."""

from __future__ import annotations

import pytest

from robot_dynamics.wording import apart, counted, distance, outside


@pytest.mark.parametrize(("count", "words"), [(0, "0 drives"), (1, "1 drive"), (2, "2 drives")])
def test_only_one_is_singular(count, words):
    """One thing is a thing, any other number of them are things."""
    assert counted(count, "drive") == words


@pytest.mark.parametrize(
    ("metres", "words"),
    [
        (0.0, "0 mm"),
        (2.5e-12, "2.5e-09 mm"),
        (0.0123456, "12.3 mm"),
        (0.3, "300 mm"),
        (1.96, "1.96 m"),
        (196.2, "196 m"),
        (19620.4, "19620 m"),
        (2.5e6, "2.5e+06 m"),
    ],
)
def test_distances_have_few_digits(metres, words):
    """Millimetres below a metre, metres above, and powers of ten only where none else will do."""
    assert distance(metres) == words


@pytest.mark.parametrize(
    ("value", "bound", "words"),
    [
        (9.27, 10.0, ("9.27", "10")),
        (4.9096, 4.9052, ("4.91", "4.905")),
        (1.0 + 2.0**-52, 1.0, ("1.0000000000000002", "1")),
        (float("nan"), 4.0, ("nan", "4")),
        (3.0, 3.0, ("3", "3")),
    ],
)
def test_a_number_beyond_a_bound_is_printed_differently(value, bound, words):
    """A number is told from its bound in the fewest digits that do so, three at the least."""
    assert apart(value, bound) == words


@pytest.mark.parametrize(
    ("value", "unit", "words"),
    [
        (-2.5, "rad", "-2.5 rad, expected -2 to 1.5 rad"),
        (1.50001, "m", "1.50001 m, expected -2 to 1.5 m"),
        (57.0, "rad", "57 rad, expected -2 to 1.5 rad; 57 degrees are 0.9948 rad"),
        (57.0, "m", "57 m, expected -2 to 1.5 m"),
        (-200.0, "rad", "-200 rad, expected -2 to 1.5 rad"),  # outside in degrees as well
        (6.0, "rad", "6 rad, expected -2 to 1.5 rad"),  # less than a turn
    ],
)
def test_positions_outside_their_limits(value, unit, words):
    """Digits tell value and limit apart; degrees are a hint where they would be within."""
    assert outside(value, -2.0, 1.5, unit) == words
