# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What may and may not be done with symbols, whatever records them."""

import numpy as np
import pytest

from robot_dynamics.compile.graph import Graph
from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.scalar.symbolic import SymbolicScalar, SymbolicValueError


@pytest.fixture
def x():
    return Graph().input(0, 0)


def test_cannot_be_instantiated_itself():
    """The base class only states what symbols do."""
    with pytest.raises(TypeError):
        SymbolicScalar()


@pytest.mark.parametrize(
    "ask",
    [
        lambda x: x < 1.0,
        lambda x: x <= x,
        lambda x: x > 1.0,
        lambda x: x >= x,
        lambda x: x == 0.0,
        lambda x: x != x,
        lambda x: min(x, 1.0),
        lambda x: bool(x),
        lambda x: 1 if x else 0,
        lambda x: x in [1.0],
        lambda x: float(x),
        lambda x: int(x),
        lambda x: [1, 2][x],
    ],
)
def test_value_is_refused(x, ask):
    """Comparisons, truth values and conversions raise a TypeError of this package."""
    with pytest.raises(SymbolicValueError, match="symbol") as caught:
        ask(x)
    assert isinstance(caught.value, TypeError)
    assert isinstance(caught.value, RobotDynamicsError)


def test_serves_as_a_key(x):
    """Symbols are told apart by identity, so they may be keys and members of sets."""
    y = x + 1.0
    assert len({x, y, x}) == 2
    assert {x: 1, y: 2}[y] == 2


@pytest.mark.parametrize("number", [2, np.float64(2.0), np.float32(2.0), np.int64(2)])
def test_numbers_are_constants_on_both_sides(x, number):
    """Python and NumPy numbers combine with symbols to symbols, never to arrays of objects."""
    for value in (
        number + x,
        x + number,
        number * x,
        x * number,
        number - x,
        x / number,
        number / x,
    ):
        assert isinstance(value, SymbolicScalar)
    assert number * x is x * 2.0


def test_arrays_do_not_mix(x):
    """An array of numbers and a symbol do not combine silently to an array of objects."""
    for operation in (lambda a: a * x, lambda a: x * a, lambda a: a + x, lambda a: x - a):
        with pytest.raises(TypeError):
            operation(np.ones(3))
