# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Parts that depend on parameters alone are computed when a kernel is bound."""

import numpy as np
import pytest

from robot_dynamics.compile import call, compile_program, trace
from robot_dynamics.compile.host import find_host
from robot_dynamics.compile.preparation import prepare
from robot_dynamics.scalar.functions import cos, sin, sqrt


def body(x, p):
    """Some work on parameters, some on inputs, and outputs of every kind."""
    length = sqrt(p[0] * p[0] + p[1] * p[1])
    return {
        "late": [x[0] * sin(length) + p[2] * x[1], x[1] / (length + 1.0) - cos(p[2])],
        "early": [length, p[1], 2.0, p[0] * 3.0],
        "same": x[0],
    }


@pytest.fixture(scope="module")
def inner():
    return trace(body, "inner", {"x": 2}, parameters=3)


def evaluate(parts, arrays, parameters):
    """Evaluate a program in two steps."""
    block = parameters
    if parts.preparation is not None:
        (block,) = parts.preparation.evaluate(parameters)
    return parts.remainder.evaluate(*arrays, parameters=block)


def check(program, parameters):
    """Both parts together compute the program's results, interpreted and compiled."""
    x = np.random.default_rng(0).normal(size=(9, 2))
    expected = program.evaluate(x, parameters=parameters)
    for found, value in zip(evaluate(prepare(program), [x], parameters), expected, strict=True):
        np.testing.assert_array_equal(found, value)
    if find_host() is None:
        return
    one, many = (compile_program(program, lanes).bind(parameters)(x) for lanes in (1, 8))
    if len(expected) == 1:
        one, many = (one,), (many,)
    for found, same, value in zip(one, many, expected, strict=True):
        np.testing.assert_array_equal(found, same)
        np.testing.assert_allclose(found, value, rtol=1e-14, atol=1e-14)  # fused operations


P = np.array([0.4, -0.3, 1.2])


def test_parts_together_are_the_program(inner):
    """Splitting changes when things are computed, and nothing else."""
    check(inner, P)


def test_remainder_computes_nothing_of_parameters_alone(inner):
    """The remainder has the operations that need inputs; all others are in the preparation."""
    parts = prepare(inner)
    assert parts.preparation.operation_counts() == {
        "multiply": 3,
        "add": 2,
        "sqrt": 1,
        "sin": 1,
        "cos": 1,
    }
    counts = parts.remainder.operation_counts()
    assert counts == {"multiply": 2, "add": 1, "subtract": 1, "divide": 1}


def test_plain_parameters_need_no_preparation():
    """If parameters are used as they are, the program stays as it is."""
    program = trace(lambda x, p: {"y": x * p[0] + p[1]}, "f", {"x": ()}, 2)
    parts = prepare(program)
    assert parts.preparation is None
    assert parts.remainder is program


def outer(inner, choose):
    def f(x, p):
        first = call(inner, x, parameters=choose(x, p))
        second = call(inner, first["late"], parameters=choose(x, p))
        return {
            "a": [*second["late"], *first["early"], second["same"], first["early"][0] * x[0]],
            "b": [p[0] + 1.0, first["late"][1]],
        }

    return trace(f, "outer", {"x": 2}, parameters=4)


@pytest.mark.parametrize(
    "choose",
    [
        lambda x, p: p[:3],
        lambda x, p: p[1:],
        lambda x, p: [p[2], p[0] * p[1], 0.7],
        lambda x, p: [0.1, 0.2, 0.3],
        lambda x, p: [p[0], x[1], p[1]],
    ],
    ids=["first", "last", "computed", "constant", "of the state"],
)
def test_calls_are_prepared(inner, choose):
    """The called program's preparation becomes part of the caller's, if it can."""
    check(outer(inner, choose), np.array([0.4, -0.3, 1.2, 0.8]))


def test_calls_in_calls_are_prepared(inner):
    """The preparation goes through several levels of calls."""
    middle = outer(inner, lambda x, p: [p[2], p[0] * p[1], 0.7])

    def f(x, p):
        result = call(middle, x, parameters=[p[0], 2.0 * p[1], *p[1:]])
        return {"y": [value + 1.0 for value in result["a"]]}

    program = trace(f, "top", {"x": 2}, parameters=3)
    check(program, P)
    assert "sqrt" not in prepare(program).remainder.operation_counts()


def test_call_of_parameters_alone_is_prepared(inner):
    """A call that needs no input at all is made when binding."""

    def f(x, p):
        fixed = call(inner, [p[0], p[1]], parameters=p)
        return {"y": [fixed["late"][0] * x[0], fixed["late"][1] + x[1]]}

    program = trace(f, "f", {"x": 2}, parameters=3)
    check(program, P)
    assert prepare(program).remainder.operation_counts() == {"multiply": 1, "add": 1}


def test_outputs_may_all_be_prepared():
    """A program that does not look at its inputs only copies."""
    program = trace(lambda x, p: {"y": [p[0] * p[1], p[0]]}, "f", {"x": 2}, parameters=3)
    check(program, P)
    assert prepare(program).remainder.operation_counts() == {}


@pytest.mark.parametrize(("turns", "splits"), [(900, True), (1100, False)])
def test_little_of_a_long_program_is_not_prepared(turns, splits):
    """One product of parameters is prepared in 901 operations, and not in 1101."""

    def f(x, p):
        y = x
        for _ in range(turns // 2):
            y = y * y + 1.0
        return {"y": y + p[0] * p[1]}

    program = trace(f, "long", {"x": ()}, parameters=2)
    parts = prepare(program)
    assert (parts.preparation is not None) == splits
    (found,) = evaluate(parts, [0.3], P[:2])
    np.testing.assert_array_equal(found, program.evaluate(0.3, parameters=P[:2])[0])
