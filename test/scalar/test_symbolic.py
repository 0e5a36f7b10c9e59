# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Allowed and forbidden operations with symbols, independent of the recorder."""

import numpy as np
import pytest

from robot_dynamics.compile import trace
from robot_dynamics.compile.graph import Graph
from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.scalar import functions
from robot_dynamics.scalar.symbolic import SymbolicScalar, SymbolicValueError


@pytest.fixture
def x():
    return Graph().input(0, 0)


def test_cannot_be_instantiated_itself():
    """The base class only states the operations of symbols."""
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


NUMPY = {
    np.sin: functions.sin, np.cos: functions.cos, np.tan: functions.tan,
    np.arcsin: functions.asin, np.arccos: functions.acos, np.arctan: functions.atan,
    np.sqrt: functions.sqrt, np.exp: functions.exp, np.log: functions.log,
    np.absolute: functions.absolute, np.fabs: functions.absolute,
    np.negative: lambda x: -x, np.positive: lambda x: x, np.square: lambda x: x * x,
    np.radians: lambda x: x * (np.pi / 180.0), np.degrees: lambda x: x * (180.0 / np.pi),
}  # fmt: skip
NUMPY_OF_TWO = {
    np.arctan2: functions.atan2, np.hypot: functions.hypot,
    np.minimum: functions.minimum, np.maximum: functions.maximum,
    np.add: lambda a, b: a + b, np.subtract: lambda a, b: a - b,
    np.multiply: lambda a, b: a * b, np.divide: lambda a, b: a / b,
}  # fmt: skip


@pytest.mark.parametrize("ufunc", NUMPY, ids=lambda f: f.__name__)
def test_functions_of_numpy_are_ours(x, ufunc):
    """np.sin(symbol) records the same as our sine, also in an array of symbols."""
    assert ufunc(x) is NUMPY[ufunc](x)
    assert ufunc(np.array([x]))[0] is NUMPY[ufunc](x)


@pytest.mark.parametrize("ufunc", NUMPY_OF_TWO, ids=lambda f: f.__name__)
def test_functions_of_two_are_ours(x, ufunc):
    """A symbol, a NumPy number or an array of symbols may stand in either place."""
    function, y = NUMPY_OF_TWO[ufunc], x + 1.0
    assert ufunc(x, y) is function(x, y)
    assert ufunc(np.float64(2.0), x) is function(2.0, x)
    assert ufunc(x, np.float64(2.0)) is function(x, 2.0)
    assert ufunc(np.array([x]), y)[0] is function(x, y)


def test_vectors_of_symbols(x):
    """Products, norms and cross products of arrays of symbols are recorded."""
    v = np.array([x, x + 1.0, 2.0 * x])
    assert v @ np.array([0.0, 1.0, 0.0]) is x + 1.0
    assert np.cross(v, [1.0, 0.0, 0.0])[1] is 2.0 * x
    assert np.linalg.norm(v) is functions.sqrt(v @ v)


def test_powers_become_products_roots_or_exponentials(x):
    """Whole powers are products, one half is the root, others go through the logarithm."""
    assert x**2 is x * x
    assert np.power(x, 3) is x * x * x
    assert x**-1 is 1.0 / x
    assert x**0.5 is functions.sqrt(x)
    assert x**1.5 is functions.exp(1.5 * functions.log(x))
    assert x**x is functions.exp(x * functions.log(x))
    program = trace(lambda x, p: {"y": 2.0**x}, "power", {"x": ()})
    # An exponential of a logarithm: the rounding of the exponent counts.
    assert program.evaluate(1.5)[0] == pytest.approx(2.0**1.5, rel=1e-15)


@pytest.mark.parametrize("ask", [np.floor, lambda x: np.less(x, 1.0), lambda x: np.add.reduce(x)])
def test_other_functions_of_numpy_are_refused(x, ask):
    """Functions that cannot be recorded are refused; the message refers to the page."""
    with pytest.raises(SymbolicValueError, match=r"robot_dynamics\.scalar\.functions"):
        ask(x)
