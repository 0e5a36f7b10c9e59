# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The cylindrical joint."""

import numpy as np
from model.joints.cases import matrix_of

from robot_dynamics.model.joints import Cylindrical, Prismatic, Revolute, verify


def test_its_parts_fit_together():
    """Transform, S, T, steps and residual agree by finite differences."""
    assert verify(Cylindrical()) == []


def test_it_is_a_revolute_and_a_prismatic_joint_in_either_order(rng):
    """Rotation and translation along one axis commute."""
    turn, slide = rng.normal(size=2)
    own = matrix_of(Cylindrical().transform([turn, slide]))
    R, P = matrix_of(Revolute().transform([turn])), matrix_of(Prismatic().transform([slide]))
    np.testing.assert_allclose(own, R @ P, atol=1e-15)
    np.testing.assert_allclose(own, P @ R, atol=1e-15)
