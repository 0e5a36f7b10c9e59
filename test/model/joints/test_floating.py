# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The joint of a free body."""

import numpy as np
import pytest
from model.joints.cases import random_positions
from scipy.linalg import expm
from scipy.spatial.transform import Rotation as ScipyRotation

from robot_dynamics.model.joints import Floating, verify
from robot_dynamics.spatial import Transform


def test_its_parts_fit_together():
    """Transform, S and steps agree by finite differences."""
    assert verify(Floating()) == []


def test_a_step_is_exact_to_third_order(rng):
    """A step of constant body velocity is off by the cube of the step, in position alone."""
    kind = Floating()
    q, qd = random_positions(rng, kind), rng.normal(size=6).tolist()
    wx, wy, wz = qd[:3]
    twist = np.array([[0, -wz, wy, qd[3]], [wz, 0, -wx, qd[4]], [-wy, wx, 0, qd[5]], [0, 0, 0, 0]])
    start = np.eye(4)
    start[:3, :3] = ScipyRotation.from_quat(q[3:]).as_matrix()
    start[:3, 3] = q[:3]
    errors = []
    for step in (0.1, 0.05):
        reached = kind.integrate(q, [step * v for v in qd])
        exact = start @ expm(step * twist)
        turned = ScipyRotation.from_quat(reached[3:]).as_matrix()
        # The series of `turn` is good to 1e-13 for steps below one radian.
        np.testing.assert_allclose(turned, exact[:3, :3], atol=1e-13)
        errors.append(np.abs(np.array(reached[:3]) - exact[:3, 3]).max())
    assert errors[0] / errors[1] == pytest.approx(8.0, rel=0.15)  # 2^3, plus the next order


def test_positions_are_in_predecessor_coordinates(rng):
    """r is the position, whatever the orientation, and moves with it at rest in the body."""
    q = random_positions(rng, Floating())
    assert list(Floating().transform(q).r) == q[:3]
    spin = Floating().position_rate(q, [1.0, -2.0, 3.0, 0.0, 0.0, 0.0])
    assert spin[:3] == [0.0, 0.0, 0.0]


def test_a_floating_loop_joint_has_no_constraints():
    """A loop joint with six freedoms has no rows."""
    assert Floating().rows == ()
    assert Floating().residual(Transform.identity()) == []
