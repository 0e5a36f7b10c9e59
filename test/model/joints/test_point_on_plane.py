# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A point on a plane."""

import numpy as np
from model.joints.cases import columns, random_transform

from robot_dynamics.model.joints import PointOnPlane, Reversed, verify
from robot_dynamics.spatial import Force, Vector3


def test_its_parts_fit_together():
    """T, its rate and the residual agree by finite differences, either way round."""
    assert verify(PointOnPlane()) == []
    assert verify(Reversed(PointOnPlane())) == []


def test_the_force_is_along_the_normal_through_the_point(rng):
    """In predecessor coordinates the force on the point is z, without a moment about the point."""
    X = random_transform(rng)
    (force,) = PointOnPlane().constraints(X)
    assert force.angular == Vector3.zero()
    np.testing.assert_allclose(list(X.E.inverse_times(force.linear)), [0, 0, 1], atol=1e-15)


def test_reversed_the_plane_is_on_the_successor(rng):
    """Then the normal is constant, and the force acts where the predecessor's point is."""
    X = random_transform(rng)
    (force,) = Reversed(PointOnPlane()).constraints(X)
    point = -(X.E * X.r)  # the predecessor's origin in successor coordinates
    down = Vector3(0.0, 0.0, -1.0)
    expected = Force(point.cross(down), down)
    np.testing.assert_allclose(columns([force]), columns([expected]), atol=1e-15)
