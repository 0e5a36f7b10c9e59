# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Derivatives of functions against closed forms."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from robot_dynamics.compile import compile_program, trace
from robot_dynamics.scalar.derivatives import (
    directional_derivative,
    gradient,
    hessian_times,
    jacobian,
    rates,
)
from robot_dynamics.scalar.functions import cos, sin, sqrt

RTOL = 1e-14  # a dozen roundings


def surface(p):
    """Return the distance of a point outside an ellipsoid with a wave on it."""
    x, y, z = p
    return x * x / 4.0 + y * y / 9.0 + z * z - 1.0 + 0.1 * sin(x) * cos(y)


def surface_gradient(p):
    x, y, z = p
    return [
        x / 2 + 0.1 * np.cos(x) * np.cos(y),
        2 * y / 9 - 0.1 * np.sin(x) * np.sin(y),
        2 * z,
    ]


def surface_hessian(p):
    x, y, _ = p
    a, b = 0.1 * np.sin(x) * np.cos(y), 0.1 * np.cos(x) * np.sin(y)
    return np.array([[0.5 - a, -b, 0.0], [-b, 2 / 9 - a, 0.0], [0.0, 0.0, 2.0]])


def planar(q):
    """Return the end of a two-link arm, by axis."""
    return [cos(q[0]) + 0.5 * cos(q[0] + q[1]), sin(q[0]) + 0.5 * sin(q[0] + q[1])]


P, V, A = [0.3, -0.8, 0.5], [0.7, 0.2, -1.1], [0.4, -0.3, 0.9]


def test_gradient_and_hessian_of_a_surface():
    """Gradient, directional derivative and Hessian times direction are the closed forms."""
    assert_allclose(gradient(surface, P), surface_gradient(P), rtol=RTOL)
    value, slope = directional_derivative(surface, P, V)
    assert value == surface(P)
    assert slope == pytest.approx(np.dot(surface_gradient(P), V), rel=RTOL)
    assert_allclose(hessian_times(surface, P, V), surface_hessian(P) @ V, rtol=RTOL)


def test_rates_along_a_motion():
    """First and second rate are g.v and v.H v + g.a."""
    value, first, second = rates(surface, P, V, A)
    g, H = np.array(surface_gradient(P)), surface_hessian(P)
    assert value == surface(P)
    assert first == pytest.approx(g @ V, rel=RTOL)
    assert second == pytest.approx(V @ H @ V + g @ A, rel=RTOL)
    assert rates(surface, P, V)[2] == pytest.approx(V @ H @ V, rel=RTOL)


def test_jacobian_of_an_arm():
    """Rows belong to values, columns to variables; the last rate is Jdot qd."""
    q, qd = [0.4, 0.9], [1.2, -0.7]
    s1, c1, s12, c12 = np.sin(q[0]), np.cos(q[0]), np.sin(sum(q)), np.cos(sum(q))
    J = [[-s1 - 0.5 * s12, -0.5 * s12], [c1 + 0.5 * c12, 0.5 * c12]]
    assert_allclose(jacobian(planar, q), J, rtol=RTOL)
    w = sum(qd) ** 2
    expected = [-c1 * qd[0] ** 2 - 0.5 * c12 * w, -s1 * qd[0] ** 2 - 0.5 * s12 * w]
    assert_allclose(rates(planar, q, qd)[2], expected, rtol=RTOL)


def test_derivatives_are_nested_like_values():
    """Mappings, lists, tuples and arrays of scalars keep their form; constants have no rate."""

    def function(x):
        return {"a": x[0] * x[1], "b": [(2.0, x[1])], "c": np.array([x[0], x[1]]) * 3.0}

    value, rate = directional_derivative(function, [2.0, 5.0], [1.0, 0.0])
    assert value == {"a": 10.0, "b": [[2.0, 5.0]], "c": [6.0, 15.0]}
    assert rate == {"a": 5.0, "b": [[0.0, 0.0]], "c": [3.0, 0.0]}


def test_derivatives_can_be_nested_three_times():
    """Derivatives of derivatives of derivatives: (x^5)''' = 60 x^2."""

    def once(f):
        return lambda x: gradient(f, x)[0]

    assert once(once(once(lambda x: x[0] ** 5)))([1.5]) == pytest.approx(60 * 1.5**2, rel=RTOL)


def test_compiled_and_in_batches():
    """A traced gradient compiles, and runs over a batch of points as over arrays."""
    program = trace(lambda p, _: {"g": gradient(surface, p)}, "gradient", {"p": 3})
    points = np.random.default_rng(0).normal(size=(50, 3))
    expected = np.array([surface_gradient(p) for p in points])
    # Terms of order one may cancel.
    assert_allclose(compile_program(program).bind()(points), expected, atol=1e-14)
    assert_allclose(np.transpose(gradient(surface, list(points.T))), expected, atol=1e-14)


def test_normal_of_a_surface():
    """The unit normal of a traced surface, and its rate, are those of a sphere: r / |r|."""

    def normal(p):
        g = gradient(lambda r: sqrt(r[0] * r[0] + r[1] * r[1] + r[2] * r[2]) - 1.0, p)
        return g

    n, nd = directional_derivative(normal, P, V)
    r, v = np.array(P), np.array(V)
    size = np.linalg.norm(r)
    assert_allclose(n, r / size, rtol=RTOL)
    assert_allclose(nd, v / size - r * (r @ v) / size**3, rtol=RTOL)
