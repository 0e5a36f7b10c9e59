# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Simplifications after the recording."""

import numpy as np

from robot_dynamics.compile import trace
from robot_dynamics.compile.simplification import operands
from robot_dynamics.scalar.functions import sin, sqrt


def counts(function, size=3):
    return trace(lambda x, p: function(*x), "f", {"x": (size,)}).operation_counts()


def test_unused_operations_are_dropped():
    """Only the nodes that outputs need remain."""

    def f(a, b, c):
        _ = sin(a) * b + c
        return {"y": a * b}

    assert counts(f) == {"multiply": 1}


def test_shared_divisor_is_inverted_once():
    """Several quotients with one divisor take one division; a single one stays as it is."""
    assert counts(lambda a, b, c: {"y": [a / c, b / c, 1.0 / c, 2.0 / c]}) == {
        "divide": 1,
        "multiply": 3,
    }
    assert counts(lambda a, b, c: {"y": [a / c, b / a]}) == {"divide": 2}


def test_left_over_signs_cost_nothing():
    """A sign that no sum took up goes into a difference, a constant factor or a numerator."""
    assert counts(lambda a, b, c: {"y": -(a - b)}) == {"subtract": 1}
    assert counts(lambda a, b, c: {"y": sqrt(-(a * 2.0))}) == {"multiply": 1, "sqrt": 1}
    assert counts(lambda a, b, c: {"y": -(2.0 / c)}) == {"divide": 1}
    assert counts(lambda a, b, c: {"y": -(a * b)}) == {"multiply": 1, "negate": 1}


def test_meaning_is_kept():
    """The rewritten program computes the function's results."""

    def f(a, b, c):
        d = a - b
        return {"y": [-d, a / c, -(b / c), -(a * 3.0), 1.0 / c, -(2.0 / c), sin(-d), -2.0 / c + a]}

    program = trace(lambda x, p: f(*x), "f", {"x": (3,)})
    x = np.array([0.3, -1.7, 2.1])
    expected = f(*x)["y"]
    # A product with a reciprocal has two roundings where a quotient has one.
    np.testing.assert_allclose(program.evaluate(x)[0], expected, rtol=4e-16)


def test_outputs_may_be_constants_and_inputs():
    """Constants become numbers, inputs are handed through."""
    program = trace(lambda x, p: {"y": [x[1], 2.0, x[0] * 0.0]}, "f", {"x": (2,)})
    assert program.results == (0, 2.0, 0.0)
    assert len(program.nodes) == 1


def test_operands_stand_before_their_users():
    """The nodes are in an order in which they can be evaluated."""
    program = trace(
        lambda x, p: {"y": [x[0] / x[2], sin(x[1]) / x[2], -(x[0] * 2.0)]}, "f", {"x": (3,)}
    )
    for index, node in enumerate(program.nodes):
        assert all(operand < index for operand in operands(node))


def test_same_function_same_program():
    """Recording is deterministic."""

    def f(x, p):
        return {"y": [sin(x[0]) * x[1] - x[2] / x[0], x[1] / x[0]]}

    first, second = (trace(f, "f", {"x": (3,)}) for _ in range(2))
    assert first.nodes == second.nodes
    assert first.results == second.results
