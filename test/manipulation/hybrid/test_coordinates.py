# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Coordinates along surfaces as a user states them."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.spatial.transform import Rotation

from robot_dynamics.errors import ArgumentError
from robot_dynamics.manipulation.contact_settings import CoordinateSettings
from robot_dynamics.manipulation.hybrid import Environment
from robot_dynamics.manipulation.hybrid.environment import coordinate_function

START = Rotation.from_rotvec([0.4, -1.0, 2.0])
CENTER = np.array([0.02, -0.01, 0.03])


def terms(settings, x, R, twist=(0.0,) * 6):
    """Return value, gradient and rate of a coordinate."""
    function = coordinate_function(settings, START.as_matrix(), CENTER)
    found = Environment((), (function,)).terms(np.asarray(x), R.as_matrix(), np.asarray(twist))
    return found.s[0], found.E_P[0], found.E_P_dot_v[0]


def test_a_point_along_a_direction():
    """Its displacement along the unit direction; about the centre of mass."""
    along = np.array([0.0, 3.0, 4.0])
    point, x = np.random.default_rng(1).standard_normal((2, 3))
    settings = CoordinateSettings(along=tuple(along), point=tuple(point))
    value, gradient, _ = terms(settings, x, START)
    arm = START.apply(point - CENTER)
    assert_allclose(value, along @ (x + arm) / 5.0, atol=1e-12)
    assert_allclose(gradient, np.concatenate([np.cross(arm, along), along]) / 5.0, atol=1e-12)


@pytest.mark.parametrize("axis", [(1.0, 0.0, 0.0), (0.0, -2.0, 0.0), (0.3, 0.5, -0.2)])
def test_a_turn_about_an_axis(axis):
    """The angle from the start, up to half a turn, wherever the object is; its rate is omega."""
    n = np.array(axis) / np.linalg.norm(axis)
    for angle in (-3.0, -0.4, 0.0, 1.7, 3.1):
        R = Rotation.from_rotvec(angle * n) * START
        settings = CoordinateSettings(about=axis)
        value, gradient, rate = terms(settings, [1.0, 2.0, 3.0], R, [*(2.0 * n), 0.0, 0.0, 0.0])
        assert_allclose(value, angle, atol=1e-12)
        assert_allclose(gradient @ [*n, 0.0, 0.0, 0.0], 1.0, atol=1e-12)
        assert_allclose(rate, 0.0, atol=1e-10)
    # At the start, what turns it about other axes does not count.
    assert_allclose(terms(settings, np.zeros(3), START)[1], [*n, 0.0, 0.0, 0.0], atol=1e-12)


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({}, "neither `along` nor `about`"),
        ({"along": (1.0, 0.0, 0.0), "about": (1.0, 0.0, 0.0)}, "both `along` and `about`"),
        ({"about": (0.0, 0.0, 0.0)}, r"direction \(0\.0, 0\.0, 0\.0\)"),
        ({"about": (1.0, 0.0, 0.0), "point": (0.0, 0.0, 1.0)}, "`about` .* `point`"),
    ],
)
def test_invalid_coordinates_are_refused(settings, sentence):
    """Two at once, none, no direction, and a point that an angle does not have."""
    with pytest.raises(ArgumentError, match=sentence):
        CoordinateSettings(**settings)
