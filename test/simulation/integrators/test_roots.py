# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Roots within a step."""

from __future__ import annotations

import numpy as np
from numpy.testing import assert_allclose

from robot_dynamics.simulation.integrators.roots import Cubic, falling_root


def test_a_cubic_has_its_values_slopes_and_stationary_points():
    """Random ones, and a parabola, whose leading coefficient is zero."""
    rng = np.random.default_rng(1)
    for a, b, c, d in [*rng.normal(size=(50, 4)), (0.0, 1.0, -1.0, 0.2)]:
        cubic = Cubic.through(d, c, a + b + c + d, 3 * a + 2 * b + c)
        assert_allclose(cubic, (a, b, c, d), atol=1e-14)
        roots = np.roots([3 * a, 2 * b, c])
        inside = [x.real for x in roots if x.imag == 0.0 and 0.0 < x.real < 1.0]
        assert_allclose(cubic.stationary(), sorted(inside), rtol=1e-9)


def test_a_falling_root_is_found_to_rounding():
    """Also where Newton's steps leave the bracket or do not converge, and at a jump."""

    def cube_root(x):
        root = np.cbrt(0.3 - x)
        return root, -1.0 / (3.0 * max(root * root, 1e-300))

    for function in (
        lambda x: (0.3 - x, -1.0),
        lambda x: (0.3**9 - x**9, -9 * x**8),
        lambda x: (1.0 if x < 0.3 else -1.0, 0.0),
        lambda x: (np.exp(-50 * x) - np.exp(-15.0), -50 * np.exp(-50 * x)),
        cube_root,
    ):
        assert_allclose(falling_root(function, 0.0, 1.0), 0.3, rtol=1e-14)
