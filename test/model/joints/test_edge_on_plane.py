# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""An edge on a plane."""

import numpy as np
from model.joints.cases import moved

from robot_dynamics.model.joints import EdgeOnPlane, Planar, Reversed, verify


def test_its_parts_fit_together():
    """T, its rate and the residual agree by finite differences, either way round."""
    assert verify(EdgeOnPlane()) == []
    assert verify(Reversed(EdgeOnPlane())) == []


def test_it_may_slide_spin_and_roll(rng):
    """From anywhere in the plane, rolling about the edge by any angle leaves it closed."""
    X = Planar().transform(rng.normal(size=3).tolist())
    rolled = moved(X, [2.0, 0, 0, 0, 0, 0])
    np.testing.assert_allclose(EdgeOnPlane().residual(rolled), 0.0, atol=1e-15)


def test_both_ends_are_held():
    """Lifting one end is an error of slope, lifting both one of height."""
    X = Planar().transform([0.3, 0.1, 0.2])
    tilted = EdgeOnPlane().residual(moved(X, [0, 0.1, 0, 0, 0, 0]))
    np.testing.assert_allclose(tilted, [np.sin(0.1), 0.0], atol=1e-15)
    lifted = EdgeOnPlane().residual(moved(X, [0, 0, 0, 0, 0, 0.1]))
    np.testing.assert_allclose(lifted, [0.0, 0.1], atol=1e-15)
