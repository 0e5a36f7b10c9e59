# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The spherical joint."""

import numpy as np
from model.joints.cases import random_positions
from scipy.spatial.transform import Rotation as ScipyRotation

from robot_dynamics.model.joints import Spherical, verify


def test_its_parts_fit_together():
    """Transform, S, T, steps and residual agree by finite differences."""
    assert verify(Spherical()) == []


def test_quaternions_are_x_y_z_w(rng):
    """E is the transpose of the orientation that the quaternion describes (4.12)."""
    q = random_positions(rng, Spherical())
    E = np.array(Spherical().transform(q).E.rows)
    np.testing.assert_allclose(E.T, ScipyRotation.from_quat(q).as_matrix(), atol=1e-15)
    assert Spherical().neutral() == [0.0, 0.0, 0.0, 1.0]


def test_normalized_mends_the_length():
    """A quaternion of another length is brought back to one."""
    assert Spherical().normalized([0.0, 0.0, 0.0, 1.25]) == [0.0, 0.0, 0.0, 1.0]
