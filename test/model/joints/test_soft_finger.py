# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A soft finger."""

import numpy as np
from model.joints.cases import moved

from robot_dynamics.model.joints import Reversed, SoftFinger, Spherical, verify
from robot_dynamics.spatial import Transform


def test_its_parts_fit_together():
    """T and the residual agree by finite differences, either way round."""
    assert verify(SoftFinger()) == []
    assert verify(Reversed(SoftFinger())) == []


def test_torsion_is_of_velocity_only(rng):
    """The torsion row is marked, and any rotation about the point leaves no position error."""
    rows = SoftFinger().rows
    assert [row.direction for row in rows] == ["rz", "x", "y", "z"]
    assert [row.holonomic for row in rows] == [False, True, True, True]
    turned = Spherical().transform(Spherical().integrate([0, 0, 0, 1.0], [0.3, -0.2, 0.9]))
    assert SoftFinger().residual(turned) == [0.0, 0.0, 0.0, 0.0]


def test_torsion_is_no_rate_of_a_position():
    """Rolling about x, then y, then back: no spin at any time, and yet the body has turned.

    This is why the row has no position error: there is no function of X whose rate it is.
    """
    a = 0.3
    X = Transform.identity()
    for axis, angle in ((0, a), (1, a), (0, -a), (1, -a)):
        X = moved(X, np.eye(6)[axis] * angle)
    spin = np.arctan2(X.E.rows[0][1], X.E.rows[0][0])
    assert abs(spin) > 0.5 * a * a
