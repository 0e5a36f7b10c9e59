# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Programs: evaluation, statistics, variants."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from robot_dynamics.compile import ShapeError, call, trace
from robot_dynamics.compile import program as program_module
from robot_dynamics.compile.program import run
from robot_dynamics.errors import UnknownNameError
from robot_dynamics.scalar.functions import absolute, atan2, cos, maximum, minimum, sin, sqrt


def formula(x, y, p):
    return {
        "a": [sin(x[0]) * y + p[0], cos(x[1]) / p[1], 0.0, atan2(x[0], x[1])],
        "b": [[maximum(x[0], y), 2.0], [sqrt(x[0] * x[0] + 1.0), x[1] - y]],
    }


@pytest.fixture
def program():
    return trace(formula, "formula", {"x": 2, "y": ()}, parameters=2)


def test_evaluates_batches(program):
    """Leading dimensions broadcast and every state gets the result of the formula."""
    random = np.random.default_rng(0)
    x, y, p = random.normal(size=(3, 1, 2)), random.normal(size=4), random.normal(size=2)
    a, b = program.evaluate(x, y, parameters=p)
    assert a.shape == (3, 4, 4)
    assert b.shape == (3, 4, 2, 2)
    for i in range(3):
        for j in range(4):
            expected = formula(x[i, 0].tolist(), float(y[j]), p.tolist())
            # NumPy's and the C library's functions may differ in the last place.
            np.testing.assert_allclose(a[i, j], expected["a"], rtol=1e-15)
            np.testing.assert_allclose(b[i, j], expected["b"], rtol=1e-15)


def test_each_state_may_have_its_parameters(program):
    """A batch of parameter blocks goes with the batch of states."""
    x, y, p = np.ones((5, 2)), np.arange(5.0), np.arange(1.0, 11.0).reshape(5, 2)
    a, _ = program.evaluate(x, y, parameters=p)
    for i in range(5):
        np.testing.assert_array_equal(a[i], program.evaluate(x[i], y[i], parameters=p[i])[0])


def test_parameters_as_input(program):
    """The variant with the block as an input computes the same."""
    variant = program.with_parameters_as_input()
    assert variant.inputs == {"x": (2,), "y": (), "parameters": (2,)}
    assert variant.parameters == 0
    x, y, p = [0.1, 0.2], 0.3, [0.4, 0.5]
    for found, expected in zip(
        variant.evaluate(x, y, p), program.evaluate(x, y, parameters=p), strict=True
    ):
        np.testing.assert_array_equal(found, expected)


def test_counts_operations(program):
    """Operations are counted by name, those of called programs included."""
    counts = program.operation_counts()
    assert counts == {
        "sin": 1,
        "cos": 1,
        "sqrt": 1,
        "atan2": 1,
        "maximum": 1,
        "multiply": 2,
        "divide": 1,
        "add": 2,
        "subtract": 1,
    }
    outer = trace(
        lambda x, p: {"a": call(program, x, x[0], parameters=p)["a"]}, "outer", {"x": 2}, 2
    )
    assert outer.operation_counts() == {**counts, "call": 1}


def test_tells_structure_of_outputs(program):
    """Zeros by structure are known without evaluating."""
    np.testing.assert_array_equal(program.non_zero("a"), [True, True, False, True])
    np.testing.assert_array_equal(program.non_zero("b"), np.ones((2, 2), dtype=bool))
    with pytest.raises(UnknownNameError, match="'c'"):
        program.non_zero("c")


def test_refuses_wrong_shapes(program):
    """Errors name the program and the input."""
    with pytest.raises(ShapeError, match="formula: expected x of shape"):
        program.evaluate([1.0], 1.0, parameters=[1.0, 1.0])
    with pytest.raises(ShapeError, match="formula: expected a parameter block"):
        program.evaluate([1.0, 2.0], 1.0)


def test_representation(program):
    """A program shows its name and signature."""
    assert "formula (2),()->(4),(2,2)" in repr(program)


def test_fingerprints_tell_programs_apart():
    """Equal programs have equal fingerprints; constants and callees count."""

    def made(factor, called=None):
        def run(x, p):
            inner = x[0] if called is None else call(called, x)["y"][0]
            return {"y": [factor * inner, 0.0]}

        return trace(run, "f", {"x": 2})

    one, same, other = made(2.0), made(2.0), made(2.0 + 1e-15)
    assert one.fingerprint == same.fingerprint
    assert one.fingerprint != other.fingerprint
    assert made(1.0, one).fingerprint == made(1.0, same).fingerprint
    assert made(1.0, one).fingerprint != made(1.0, other).fingerprint


def test_runs_on_floats_and_batches():
    """Elements may be floats or arrays of one shape; slots come back."""
    program = trace(lambda x, p: {"y": absolute(x[0] - x[1]) * p[0]}, "f", {"x": 2}, 1)
    assert run(program, [1.0, 3.0, 2.0]) == [4.0]
    assert type(run(program, [1, np.float64(3.0), 2])[0]) is float
    np.testing.assert_array_equal(run(program, [np.array([1.0, 5.0]), 3.0, 2.0])[0], [4.0, 4.0])


def test_never_raises_or_warns_on_values():
    """Undefined values are nan or infinite, silently."""
    program = trace(
        lambda x, p: {"y": [sqrt(x[0]), x[1] / x[2], minimum(x[3], 1.0), x[4] * x[4]]},
        "f",
        {"x": 5},
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        root, quotient, least, square = program.evaluate([-1.0, 1.0, 0.0, np.nan, 1e300])[0]
    assert np.isnan(root)
    assert np.isinf(quotient)
    assert np.isnan(least)
    assert np.isinf(square)


def test_calls_run_the_called_program():
    """A call hands inputs and parameters on, and takes results back."""
    inner = trace(lambda a, b, p: {"y": a[0] * b + p[0]}, "g", {"a": 2, "b": ()}, 1)
    outer = trace(
        lambda x, p: {"y": call(inner, [x[0], x[1]], x[0], parameters=[x[1]])["y"]}, "f", {"x": 2}
    )
    assert outer.evaluate([3.0, 5.0])[0] == 14.0


def test_long_programs_are_several_functions(program, monkeypatch):
    """A program that is compiled in pieces computes the same."""
    expected = program.evaluate([0.3, 0.4], 0.5, parameters=[1.0, 2.0])
    monkeypatch.setattr(program_module, "_LONG", 2)
    pieces = trace(formula, "formula", {"x": 2, "y": ()}, parameters=2)
    found = pieces.evaluate([0.3, 0.4], 0.5, parameters=[1.0, 2.0])
    for ours, theirs in zip(found, expected, strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_size_is_that_of_the_longest_function(program):
    """A program that calls another is as long as the longer of the two."""
    assert program.size == len(program.nodes)
    outer = trace(
        lambda x, p: {"z": call(program, x[:2], x[2], parameters=p)["a"]}, "f", {"x": 3}, 2
    )
    assert outer.size == max(program.size, len(outer.nodes))
    alone = trace(lambda x, p: {"z": x[0] + 1.0}, "g", {"x": 1})
    assert alone.size < program.size
