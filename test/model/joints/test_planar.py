# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The planar joint."""

import numpy as np
import pytest
from model.joints.cases import matrix_of, moved
from scipy.linalg import expm

from robot_dynamics.model.joints import Planar, verify


def test_its_parts_fit_together():
    """Transform, S, T, steps and residual agree by finite differences."""
    assert verify(Planar()) == []


def test_positions_are_the_origin_in_the_predecessor():
    """r is (q2, q3, 0), whatever the angle; rates turn with it."""
    assert list(Planar().transform([2.0, 0.3, -0.4]).r) == [0.3, -0.4, 0.0]
    quarter = np.pi / 2
    rate = Planar().position_rate([quarter, 0.3, -0.4], [5.0, 1.0, 2.0])
    np.testing.assert_allclose(rate, [5.0, -2.0, 1.0], atol=1e-15)


def test_a_step_is_exact_to_third_order(rng):
    """A step of constant body velocity is off by the cube of the step, in position alone."""
    kind = Planar()
    q, (w, x, y) = rng.normal(size=3).tolist(), rng.normal(size=3)
    twist = np.array([[0, -w, x], [w, 0, y], [0, 0, 0]])
    c, s = np.cos(q[0]), np.sin(q[0])
    start = np.array([[c, -s, q[1]], [s, c, q[2]], [0, 0, 1]])
    errors = []
    for step in (0.1, 0.05):
        reached = kind.integrate(q, [step * w, step * x, step * y])
        exact = start @ expm(step * twist)
        np.testing.assert_allclose(np.cos(reached[0]), exact[0, 0], atol=1e-15)
        errors.append(np.abs(np.array(reached[1:]) - exact[:2, 2]).max())
    assert errors[0] / errors[1] == pytest.approx(8.0, rel=0.1)


def test_the_distance_is_measured_where_the_successor_is():
    """Far from the predecessor's origin a tilt about the successor's own origin is only a tilt."""
    kind = Planar()
    X = moved(kind.transform([0.4, 30.0, -50.0]), [1e-4, -2e-4, 0, 0, 0, 0])
    np.testing.assert_allclose(kind.residual(X), [1e-4, -2e-4, 0.0], atol=1e-11)
    assert matrix_of(X).shape == (6, 6)
