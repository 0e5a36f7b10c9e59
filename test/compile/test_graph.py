# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Folding of operations while a graph is recorded."""

import math

import numpy as np
import pytest

from robot_dynamics.compile import trace
from robot_dynamics.compile.errors import TraceError
from robot_dynamics.compile.graph import NAMES, Graph
from robot_dynamics.scalar import functions


@pytest.fixture
def graph():
    return Graph()


@pytest.fixture
def x(graph):
    return graph.input(0, 0)


@pytest.fixture
def y(graph):
    return graph.input(0, 1)


def kind(symbol):
    return NAMES[symbol.operation]


def test_zeros_and_ones_vanish(x):
    """A constant that decides a result makes it a float, one that changes nothing vanishes."""
    for zero in (x * 0.0, 0.0 * x, x * 0, 0.0 / x, x - x):
        assert type(zero) is float
        assert zero == 0.0
    for same in (x * 1.0, 1 * x, x + 0.0, 0.0 + x, x - 0.0, x / 1.0, +x, x / -1.0 * -1.0):
        assert same is x
    negative = -x
    assert -negative is x
    for negative in (x * -1.0, 0.0 - x, x / -1.0):
        assert negative is -x


def test_equal_expressions_are_one_node(x, y):
    """Equal operations on equal operands, in either order where it does not matter."""
    assert x + y is y + x
    assert x * y is y * x
    assert x - y is not y - x
    assert x / y is x / y
    assert x.sin() is x.sin()
    assert x.atan2(y) is x.atan2(y)
    assert x * 2.0 is 2 * x


def test_signs_move_outwards(x, y):
    """Sums take up signs, all else hands them on."""
    assert x + (-y) is x - y
    assert (-x) + y is y - x
    assert x - (-y) is x + y
    assert (-x) - y is -(x + y)
    assert (-x) * y is -(x * y)
    assert x * (-y) is -(x * y)
    assert (-x) * (-y) is x * y
    assert (-x) / y is -(x / y)
    assert x / (-y) is -(x / y)
    assert x * -2.0 is -(x * 2.0)
    assert x + (-3.0) is x - 3.0
    assert (-3.0) - x is -(x + 3.0)
    assert -2.0 / x is -(2.0 / x)
    assert (-x).sin() is -(x.sin())
    assert (-x).cos() is x.cos()
    assert abs(-x) is x.absolute()


def test_difference_is_known_the_other_way_round(x, y):
    """`b - a` is minus `a - b` once that is recorded: one subtraction serves both."""
    difference = x - y
    assert y - x is -difference


def test_constant_factors_join(x):
    """Chains of constant factors and divisors are one product."""
    assert (x * 2.0) * 3.0 is x * 6.0
    assert x / 4.0 is x * 0.25
    assert (x * 2.0) / 2.0 is x
    assert kind(x / 3.0) == "multiply"


def test_division_by_what_has_no_reciprocal(x):
    """Dividing by zero stays a division: the result is not finite, as it has to be."""
    assert kind(x / 0.0) == "divide"
    assert kind(x / 5e-324) == "divide"


def test_same_operand_twice(x):
    """A minimum of one value is the value; a quotient of it is not folded, it may be 0 / 0."""
    assert x.minimum(x) is x
    assert x.maximum(x) is x
    assert kind(x / x) == "divide"
    assert x.absolute().absolute() is x.absolute()


def test_not_a_number_is_a_constant(x):
    """A constant that is nan is recorded like any other."""
    assert kind(x + math.nan) == "add"
    assert kind(x * math.nan) == "multiply"


def test_graphs_do_not_mix(x):
    """Symbols of different recordings do not combine."""
    other = Graph().input(0, 5)
    for operation in (
        lambda: x + other,
        lambda: x - other,
        lambda: x * other,
        lambda: x / other,
        lambda: x.minimum(other),
        lambda: x.atan2(other),
    ):
        with pytest.raises(TraceError, match="symbols of two traced functions"):
            operation()


def test_other_types_than_numbers_are_refused(x):
    """Strings and None are refused, by operators and by functions."""
    with pytest.raises(TypeError):
        x + "1"
    with pytest.raises(TypeError):
        None * x
    with pytest.raises(TraceError, match="got str"):
        x.minimum("1")


def test_representation_names_the_operation(x):
    """A symbol shows its expression."""
    assert repr(x + 1.0) == "<symbol 2: add>"


def traced(function, points):
    """Return the values of a function of two symbols at points, and its operations."""
    program = trace(lambda x, y, p: {"z": function(x, y)}, "f", {"x": (), "y": ()})
    return program.evaluate(*points)[0], set(program.operation_counts())


@pytest.mark.parametrize(
    "angle",
    [
        lambda x, y: functions.atan2(y, x),
        lambda x, y: functions.atan2(y, x) + x,
        lambda x, y: y - functions.atan2(y, x),
        lambda x, y: 0.7 - functions.atan2(x, 1.0) + functions.atan2(2.0, y),
        lambda x, y: -(functions.atan2(-y, x) - (x + functions.acos(0.1 * y))),
    ],
)
def test_sine_and_cosine_of_the_angle_of_a_point(angle):
    """They are made of the coordinates, in all quadrants, and nobody asks for the angle."""
    x, y = (g.ravel() for g in np.meshgrid(np.linspace(-3, 3, 12), np.linspace(-2, 2, 14)))
    for function, expected in ((functions.sin, np.sin), (functions.cos, np.cos)):
        found, operations = traced(lambda x, y, f=function: f(angle(x, y)), (x, y))
        # Sums of a few products of numbers below one; 0.1 y is close to no end of acos.
        np.testing.assert_allclose(found, expected(angle(x, y)), atol=2e-15)
        assert "atan2" not in operations


def test_long_sums_of_angles_are_left_alone():
    """An angle deep inside of a sum is not searched for."""

    def deep(x, y):
        total = functions.atan2(y, x)
        for _ in range(6):
            total = total + x
        return functions.sin(total)

    found, operations = traced(deep, (0.3, 0.4))
    assert found == pytest.approx(math.sin(math.atan2(0.4, 0.3) + 6 * 0.3), rel=1e-15)
    assert "atan2" in operations


def test_angles_of_constants():
    """The sine of the angle of a constant point is a constant."""
    graph = Graph()
    angle = graph.constant(3.0).atan2(4.0)
    assert (angle.sin(), angle.cos()) == (0.6, 0.8)
