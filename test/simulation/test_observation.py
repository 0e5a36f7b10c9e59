# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What is told of the engine's state agrees with NumPy and SciPy."""

from __future__ import annotations

import numpy as np
from numpy.testing import assert_allclose
from scipy.spatial.transform import Rotation

from robot_dynamics.manipulation.grasp_map import transmitted_force_map
from robot_dynamics.model import pose
from robot_dynamics.simulation.observation import observation

ATOL = 1e-13  # a few dozen roundings of numbers of order one


def test_figures_of_a_state():
    """Twist in world axes, internal force, largest gaps and drift are what they are called."""
    rng = np.random.default_rng(0)
    grasps = [pose((0.0, 0.2, 0.0)), pose((0.1, -0.2, 0.0)), pose((-0.2, 0.0, 0.1))]
    maps = transmitted_force_map(grasps, [0.5, 0.2, 0.3])
    turned = Rotation.random(random_state=1)
    velocity, multipliers, closure, drift = (rng.normal(size=n) for n in (6, 18, 18, 18))
    at = np.concatenate([[0.1, 0.2, 0.3], turned.as_quat()])
    twist, internal, gaps = observation(maps)(at, velocity, multipliers, closure, drift)
    expected = np.concatenate([turned.apply(velocity[:3]), turned.apply(velocity[3:])])
    assert_allclose(twist, expected, atol=ATOL)
    assert_allclose(internal, maps.internal_force(multipliers), atol=ATOL)
    sides = closure.reshape(3, 6)
    assert_allclose(
        gaps,
        [
            np.linalg.norm(sides[:, 3:], axis=1).max(),
            np.linalg.norm(sides[:, :3], axis=1).max(),
            np.abs(drift).max(),
        ],
        atol=ATOL,
    )
