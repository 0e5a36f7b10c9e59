# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Elementary functions on floats, arrays and symbols."""

import math
import warnings

import numpy as np
import pytest

from robot_dynamics.compile import trace
from robot_dynamics.scalar import functions

VALUES = (-1e3, -2.5, -1.0, -0.3, 0.0, 0.7, 1.0, 2.5, 1e3, math.inf, -math.inf, math.nan)
UNARY = ("sin", "cos", "sqrt", "absolute", "exp", "log", "tan", "asin", "acos", "atan")
BINARY = ("minimum", "maximum", "atan2")
# Traced as two or three operations of others, each rounded.
COMPOSITE = ("tan", "asin", "acos", "atan")


@pytest.mark.parametrize("name", UNARY)
def test_unary_kinds_agree(name):
    """Floats, arrays and symbols give the same, and nan without a warning where there is none."""
    function = getattr(functions, name)
    program = trace(lambda x, p: {"y": function(x)}, name, {"x": ()})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        floats = [function(value) for value in VALUES]
        batch = function(np.array(VALUES))
        traced = program.evaluate(np.array(VALUES))[0]
    assert all(type(value) is float for value in floats)
    # libm and NumPy may differ in the last place.
    np.testing.assert_allclose(floats, batch, rtol=4e-16)
    np.testing.assert_allclose(batch, traced, rtol=1e-15 if name in COMPOSITE else 0.0)


@pytest.mark.parametrize("name", BINARY)
def test_binary_kinds_agree(name):
    """Floats, arrays and symbols give the same; nan in either place gives nan."""
    function = getattr(functions, name)
    program = trace(lambda x, y, p: {"z": function(x, y)}, name, {"x": (), "y": ()})
    a, b = (grid.ravel() for grid in np.meshgrid(VALUES, VALUES))
    floats = [function(float(x), float(y)) for x, y in zip(a, b, strict=True)]
    np.testing.assert_allclose(floats, function(a, b), rtol=4e-16)
    np.testing.assert_array_equal(program.evaluate(a, b)[0], function(a, b))
    assert all(
        math.isnan(z)
        for x, y, z in zip(a, b, floats, strict=True)
        if math.isnan(x) or math.isnan(y)
    )


@pytest.mark.parametrize("name", BINARY)
def test_constant_and_symbol(name):
    """A number may stand in either place beside a symbol."""
    function = getattr(functions, name)
    program = trace(
        lambda x, p: {"left": function(0.5, x), "right": function(x, 0.5)}, name, {"x": ()}
    )
    for x in (-2.0, 0.3, 4.0):
        left, right = program.evaluate(x)
        assert left == pytest.approx(function(0.5, x), rel=1e-15)
        assert right == pytest.approx(function(x, 0.5), rel=1e-15)


def test_integers_are_numbers():
    """Python integers are taken like floats."""
    assert functions.sin(0) == 0.0
    assert functions.sqrt(4) == 2.0
    assert functions.minimum(1, 2) == 1.0
    assert functions.maximum(1, 2) == 2.0
    assert functions.atan2(0, 1) == 0.0
    assert functions.absolute(-3) == 3.0
    assert functions.hypot(3, 4) == 5.0
    assert functions.exp(0) == functions.acos(1) + 1.0 == 1.0


def test_length_of_a_vector():
    """The length is that of NumPy on floats, arrays and symbols."""
    program = trace(lambda x, y, p: {"z": functions.hypot(x, y)}, "hypot", {"x": (), "y": ()})
    a, b = np.random.default_rng(0).normal(size=(2, 20))
    expected = np.hypot(a, b)
    np.testing.assert_array_equal(functions.hypot(a, b), expected)
    # A root of a sum of squares: three roundings.
    np.testing.assert_allclose(program.evaluate(a, b)[0], expected, rtol=1e-15)
    np.testing.assert_allclose(functions.hypot(float(a[0]), float(b[0])), expected[0], rtol=4e-16)
