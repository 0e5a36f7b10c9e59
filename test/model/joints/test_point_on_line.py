# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A point on a line."""

import numpy as np
from model.joints.cases import moved

from robot_dynamics.model.joints import Cylindrical, PointOnLine, Reversed, verify


def test_its_parts_fit_together():
    """T, its rate and the residual agree by finite differences, either way round."""
    assert verify(PointOnLine()) == []
    assert verify(Reversed(PointOnLine())) == []


def test_a_sphere_moves_along_its_cylinder_and_turns_in_any_way(rng):
    """Translation along the line and any rotation about the point leave it closed."""
    X = Cylindrical().transform([0.4, 2.0])
    turned = moved(X, [*rng.normal(size=3), 0, 0, 0])
    np.testing.assert_allclose(PointOnLine().residual(turned), 0.0, atol=1e-15)
