# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Derivatives of single operations against complex steps and closed forms."""

import math

import numpy as np
import pytest

from robot_dynamics.compile import trace
from robot_dynamics.scalar import functions
from robot_dynamics.scalar.dual import Dual, new_depth, parts
from robot_dynamics.scalar.symbolic import SymbolicValueError

# A handful of roundings; a complex step of 1e-30 is as exact as the function itself.
RTOL = 5e-15
STEP = 1e-30
UNARY = {
    "sin": np.sin, "cos": np.cos, "tan": np.tan, "sqrt": np.sqrt, "exp": np.exp, "log": np.log,
    "asin": np.arcsin, "acos": np.arccos, "atan": np.arctan,
}  # fmt: skip
ARITHMETIC = {
    "sum": lambda x: 2.0 + x + x + 3.0,
    "difference": lambda x: 2.0 - x - 3.0 * x - 1.0,
    "product": lambda x: x * 3.0 * x,
    "quotient": lambda x: (2.0 / x) / (x + 3.0) / 4.0,
    "powers": lambda x: x**3 + x**-2 + x**0.5 + x**1.3 + 2.0**x,
    "sign": lambda x: -(+x),
}


def derivative(function, x):
    """Return the value and the derivative of a function of one scalar."""
    depth = new_depth()
    return parts(function(Dual(depth, x, 1.0)), depth)


@pytest.mark.parametrize("x", [0.1, 0.6, 0.95])
@pytest.mark.parametrize("name", [*UNARY, *ARITHMETIC])
def test_first_derivatives_equal_a_complex_step(name, x):
    """Values are those of the function, derivatives those of a complex step."""
    ours = ARITHMETIC.get(name) or getattr(functions, name)
    theirs = ARITHMETIC.get(name) or UNARY[name]
    value, slope = derivative(ours, x)
    assert value == pytest.approx(theirs(x), rel=RTOL)
    assert slope == pytest.approx(np.imag(theirs(complex(x, STEP))) / STEP, rel=RTOL)


@pytest.mark.parametrize("name", [*UNARY, *ARITHMETIC])
def test_second_derivatives_equal_a_complex_step(name):
    """The derivative of a derivative is the complex step of one."""
    x = 0.6
    ours = ARITHMETIC.get(name) or getattr(functions, name)
    theirs = ARITHMETIC.get(name) or UNARY[name]
    _, curvature = derivative(lambda y: derivative(ours, y)[1], x)
    h = 1e-4
    # Central differences of the exact slopes: the error is h^2 f'''' / 6, below 1e-6.
    slopes = [np.imag(theirs(complex(x + s * h, STEP))) / STEP for s in (1.0, -1.0)]
    assert curvature == pytest.approx((slopes[0] - slopes[1]) / (2.0 * h), rel=2e-6, abs=1e-9)


@pytest.mark.parametrize(
    ("function", "by_first", "by_second"),
    [
        (functions.atan2, lambda y, x: x / (x * x + y * y), lambda y, x: -y / (x * x + y * y)),
        (functions.hypot, lambda x, y: x / math.hypot(x, y), lambda x, y: y / math.hypot(x, y)),
        (functions.minimum, lambda a, b: float(a < b), lambda a, b: float(b < a)),
        (functions.maximum, lambda a, b: float(a > b), lambda a, b: float(b > a)),
    ],
)
@pytest.mark.parametrize("a", [-0.4, 1.2])
def test_functions_of_two(function, by_first, by_second, a):
    """Either argument, or both, may have a derivative."""
    b = 0.7
    value, slope = derivative(lambda x: function(x, b), a)
    assert value == pytest.approx(function(a, b), rel=RTOL)
    assert slope == pytest.approx(by_first(a, b), rel=RTOL)
    _, slope = derivative(lambda x: function(a, x), b)
    assert slope == pytest.approx(by_second(a, b), rel=RTOL)
    _, slope = derivative(lambda x: function(x * a, x * b), 1.0)
    assert slope == pytest.approx(a * by_first(a, b) + b * by_second(a, b), rel=RTOL, abs=1e-15)


def test_kinks_have_the_mean_slope():
    """At a kink the slope is the mean of both sides, and no invalid operation is made."""
    assert derivative(functions.absolute, 0.0) == (0.0, 0.0)
    assert derivative(functions.absolute, -2.0) == (2.0, -1.0)
    assert derivative(lambda x: functions.maximum(x, 0.0), 0.0) == (0.0, 0.5)
    assert derivative(lambda x: functions.minimum(3.0 * x, x), 0.0) == (0.0, 2.0)


def test_results_that_do_not_depend_on_the_variable_have_zero_derivative():
    """A root that has no slope does no harm to values that do not depend on the variable."""
    assert derivative(lambda x: functions.sqrt(x - x), 1.0) == (0.0, 0.0)
    assert derivative(lambda x: functions.sqrt(0.0 * x) * x, 1.0) == (0.0, 0.0)
    assert derivative(lambda x: x / x, 3.0) == (1.0, 0.0)


def test_derivatives_do_not_get_mixed_up():
    """d/dx (x d/dy (x + y)) at y = 1 is 1, not 2: each differentiation has its own variable."""
    assert derivative(lambda x: x * derivative(lambda y: x + y, 1.0)[1], 1.0)[1] == 1.0


def test_arrays_are_batches():
    """Values may be arrays; arrays of NumPy stand on either side."""
    x, a = np.linspace(0.1, 0.9, 5), np.arange(5.0)
    value, slope = derivative(lambda x: a * functions.sin(x) + x * a - np.ones(5) / x, x)
    np.testing.assert_allclose(value, a * np.sin(x) + x * a - 1.0 / x, rtol=RTOL)
    np.testing.assert_allclose(slope, a * np.cos(x) + a + 1.0 / x**2, rtol=RTOL)


def test_traced_derivatives_are_short():
    """Sine and cosine of a trace serve value and derivative; constants leave nothing."""

    def run(x, y, _):
        value, slope = derivative(lambda x: functions.sin(x) * functions.exp(y), x)
        return {"value": value, "slope": slope}

    program = trace(run, "derivative", {"x": (), "y": ()})
    assert program.operation_counts() == {"sin": 1, "cos": 1, "exp": 1, "multiply": 2}
    value, slope = program.evaluate(0.4, 0.2)
    assert value == pytest.approx(math.sin(0.4) * math.exp(0.2), rel=RTOL)
    assert slope == pytest.approx(math.cos(0.4) * math.exp(0.2), rel=RTOL)


def test_symbols_and_duals_in_one_operation():
    """A symbol that is not differentiated is a constant in either place of a function."""

    def run(x, y, _):
        return {"slope": derivative(lambda x: functions.atan2(y, x) + np.arctan2(x, y), x)[1]}

    program = trace(run, "mixed", {"x": (), "y": ()})
    x, y = 0.4, 1.3
    assert program.evaluate(x, y)[0] == pytest.approx(0.0, abs=1e-16)


def test_numbers_with_derivatives_do_not_branch():
    """Comparisons are refused, as for symbols: a function is to be the same for all values."""
    with pytest.raises(SymbolicValueError):
        derivative(lambda x: x if x > 0.0 else -x, 1.0)


def test_a_dual_prints_value_and_derivative():
    """A dual shows its value and its derivative."""
    assert repr(Dual(1, 2.0, 3.0)) == "<dual 2.0, derivative 3.0>"


def test_vectors_of_duals():
    """A dual times a vector of objects is a vector, and the length of a vector has its slope."""

    def length(x):
        return np.linalg.norm(x * np.array([3.0, x, 0.0], dtype=object))

    # |(3 x, x^2)| = sqrt(9 x^2 + x^4), and its slope
    value, slope = derivative(length, 2.0)
    assert value == pytest.approx(np.sqrt(52.0), rel=RTOL)
    assert slope == pytest.approx((18.0 * 2.0 + 4.0 * 8.0) / (2.0 * np.sqrt(52.0)), rel=RTOL)
