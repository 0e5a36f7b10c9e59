# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Kernels of programs that call programs."""

import numpy as np
import pytest

from robot_dynamics.compile import call, compile_program, trace
from robot_dynamics.compile.host import find_host
from robot_dynamics.scalar.functions import sin

pytestmark = pytest.mark.skipif(find_host() is None, reason="there is no llvmlite")
WIDTHS = (1, 2, 4, 8)


def close(found, expected):
    """Compare with the interpreter: fused operations round once where it rounds twice."""
    np.testing.assert_allclose(found, expected[0], rtol=1e-13, atol=1e-13)


@pytest.fixture(scope="module")
def inner():
    def oscillator(x, p):
        return {"dx": [x[1], -p[0] * sin(x[0]) - p[1] * x[1]], "energy": x[1] * x[1] * 0.5}

    return trace(oscillator, "oscillator", {"x": 2}, parameters=2)


def step(inner, x, p):
    """A step of the classical Runge-Kutta method, h = 0.1."""
    h = 0.1
    k1 = call(inner, x, parameters=p)["dx"]
    k2 = call(inner, [a + 0.5 * h * b for a, b in zip(x, k1, strict=True)], parameters=p)["dx"]
    k3 = call(inner, [a + 0.5 * h * b for a, b in zip(x, k2, strict=True)], parameters=p)["dx"]
    k4 = call(inner, [a + h * b for a, b in zip(x, k3, strict=True)], parameters=p)["dx"]
    return [x[i] + h / 6.0 * (k1[i] + 2.0 * k2[i] + 2.0 * k3[i] + k4[i]) for i in range(2)]


@pytest.mark.parametrize(
    "block",
    [
        lambda p: p[1:3],
        lambda p: [p[2], p[0]],
        lambda p: [2.0 * p[0], 3.0],
        lambda p: [1.0, 2.0],
    ],
    ids=["in place", "shuffled", "computed", "constant"],
)
def test_steps_with_any_parameters(inner, block):
    """The called program's parameters may be a part of our block or anything computed."""
    program = trace(lambda x, p: {"x": step(inner, x, block(p))}, "step", {"x": 2}, parameters=3)
    x, p = np.random.default_rng(0).normal(size=(21, 2)), np.array([0.4, 1.5, 0.3])
    expected = program.evaluate(x, parameters=p)
    by_hand = step(inner, [x[:, 0], x[:, 1]], block(p.tolist()))
    np.testing.assert_allclose(expected[0], np.stack(by_hand, axis=1), rtol=1e-14)
    single = compile_program(program, lanes=1).bind(p)(x)
    for lanes in WIDTHS:
        found = compile_program(program, lanes).bind(p)(x)
        close(found, expected)
        np.testing.assert_array_equal(found, single)


def test_parameters_that_depend_on_the_state(inner):
    """An input may become a parameter of a called kernel."""
    program = trace(
        lambda x, k, p: {"e": call(inner, x, parameters=[k, p[0]])["dx"][1]},
        "f",
        {"x": 2, "k": ()},
        parameters=1,
    )
    random = np.random.default_rng(0)
    x, k = random.normal(size=(13, 2)), random.normal(size=13)
    close(compile_program(program).bind([0.5])(x, k), program.evaluate(x, k, parameters=[0.5]))


def test_calls_within_calls(inner):
    """A called program may call others; its code is there once for each use of parameters."""
    middle = trace(
        lambda x, p: {"x": step(inner, step(inner, x, p[:2]), p[1:])},
        "m",
        {"x": 2},
        3,
    )
    outer = trace(
        lambda x, p: {
            "x": call(middle, call(middle, x, parameters=p)["x"], parameters=[1.0, *p[1:]])["x"]
        },
        "outer",
        {"x": 2},
        3,
    )
    x, p = np.random.default_rng(0).normal(size=(9, 2)), [0.4, 1.5, 0.3]
    for lanes in WIDTHS:
        close(compile_program(outer, lanes).bind(p)(x), outer.evaluate(x, parameters=p))
