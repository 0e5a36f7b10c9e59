# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Derivatives of programs, forward and in reverse, of every operation and through calls."""

import numpy as np
import pytest

from robot_dynamics.compile import call, trace
from robot_dynamics.compile.differentiation import jacobian_times_vector, vector_times_jacobian
from robot_dynamics.scalar import functions as f

STEP = 1e-6
TOL = 1e-8  # relative: of central differences with that step


def every_operation(x, p):
    """Return three numbers of four, in which each operation of programs occurs."""
    a, b, c, d = x
    first = f.sin(a) * f.cos(b) + f.sqrt(a * a + 2.0) / (b - 3.0 * p[0])
    second = f.exp(-c) - f.log(2.0 + d * d) + f.atan2(a, b + 2.0) * p[1]
    third = f.absolute(c * d) + f.minimum(a, b) * f.maximum(c, d) - first * second
    return [first, second, third]


def plain():
    """Return the program of these operations."""
    return trace(lambda x, p: {"y": every_operation(x, p)}, "plain", {"x": 4}, 2)


def nested():
    """Return a program that calls it twice, once with parameters that depend on the inputs."""
    inner = plain()

    def run(x, p):
        once = call(inner, x, parameters=p)["y"]
        again = call(inner, [once[0], x[1], x[2], 0.5], parameters=[p[0], p[1] + 0.1 * x[3]])["y"]
        return {"y": again, "z": once[2] * x[0]}

    return trace(run, "nested", {"x": 4}, 2)


def constant_outputs():
    """Return a program that calls one with constant outputs, which equal indices of its nodes."""
    inner = trace(lambda x, p: {"y": [x[0] * x[0], x[1], 0.0, 1.0, 2.0]}, "inner", {"x": 4})

    def run(x, p):
        y = call(inner, x, parameters=[])["y"]
        return {"y": [y[0] * y[1] * p[0], y[3] * x[2] * p[1], y[4] * x[3]], "z": y[0]}

    return trace(run, "constant_outputs", {"x": 4}, 2)


def differences(function, x):
    """Return the Jacobian matrix of a function by central differences."""
    steps = STEP * np.eye(len(x))
    return np.stack([(function(x + e) - function(x - e)) / (2.0 * STEP) for e in steps], axis=-1)


X, P, V = np.array([0.3, -0.7, 1.1, 0.4]), np.array([0.8, 1.7]), np.array([0.2, -1.0, 0.6, 0.9])


@pytest.mark.parametrize(
    "program",
    [plain(), nested(), constant_outputs()],
    ids=["plain", "calls", "constant outputs"],
)
def test_both_directions(program):
    """Jacobian times vector and vector times Jacobian are those of differences."""

    def results(x, p=P):
        return np.concatenate([np.ravel(y) for y in program.evaluate(x, parameters=p)])

    J = differences(results, X)
    w = np.array([1.3, -0.4, 0.8, 0.5])[: len(J)]
    weights = [list(w)] if len(J) == 3 else [list(w[:3]), w[3]]
    forward = jacobian_times_vector(program, [X.tolist()], [V.tolist()], P.tolist())
    flat = np.concatenate([np.ravel(forward[name]) for name in program.outputs])
    np.testing.assert_allclose(flat, J @ V, rtol=TOL, atol=TOL)
    reverse = vector_times_jacobian(program, [X.tolist()], weights, P.tolist())
    np.testing.assert_allclose(reverse["x"], w @ J, rtol=TOL, atol=TOL)
    by_parameters = w @ differences(lambda p: results(X, p), P)
    np.testing.assert_allclose(reverse["parameters"], by_parameters, rtol=TOL, atol=TOL)


@pytest.mark.parametrize("program", [plain(), nested()], ids=["plain", "calls"])
def test_traced_and_twice(program):
    """They are traced like other functions: the gradient's derivative is that of differences."""
    count = len(program.outputs)

    def gradient(x, p):
        weights = [[1.0, 2.0, -1.0], 0.7][:count]
        return {"g": vector_times_jacobian(program, [x], weights, p)["x"]}

    first = trace(gradient, "gradient", {"x": 4}, 2)

    def product(x, v, p):
        return {"h": jacobian_times_vector(first, [x], [v], p)["g"]}

    second = trace(product, "product", {"x": 4, "v": 4}, 2)
    H = differences(lambda x: first.evaluate(x, parameters=P)[0], X)
    np.testing.assert_allclose(H, H.T, atol=1e-6)
    np.testing.assert_allclose(second.evaluate(X, V, parameters=P)[0], H @ V, rtol=1e-7, atol=1e-7)
