# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Quaternions and turns, against SciPy's rotations."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from robot_dynamics.control.rotation_path import (
    axis_and_angle,
    conjugate,
    distance_between,
    from_rpy,
    product,
    rotated,
    rotation_vector,
    turn,
)

RNG = np.random.default_rng(4)
A, B = (Rotation.random(50, random_state=seed).as_quat() for seed in (1, 2))
EPS = 1e-14  # a few roundings of numbers of order one


def test_product_conjugate_and_rotation_of_vectors():
    """They are those of the rotation matrices."""
    R_a, R_b = Rotation.from_quat(A), Rotation.from_quat(B)
    v = RNG.normal(size=(50, 3))
    got = Rotation.from_quat(product(A, B)).as_matrix()
    np.testing.assert_allclose(got, (R_a * R_b).as_matrix(), atol=EPS)
    np.testing.assert_allclose(
        Rotation.from_quat(conjugate(A)).as_matrix(), R_a.inv().as_matrix(), atol=EPS
    )
    np.testing.assert_allclose(rotated(A, v), R_a.apply(v), atol=1e-14 * 5)


def test_a_turn_and_its_rotation_vector():
    """Below half a turn the rotation vector is axis times angle, down to the smallest angles."""
    axis = RNG.normal(size=(60, 3))
    axis /= np.linalg.norm(axis, axis=1, keepdims=True)
    angle = np.concatenate([np.linspace(0.01, np.pi - 1e-6, 30), np.logspace(-15, -2, 30)])
    vector = rotation_vector(turn(axis, angle))
    np.testing.assert_allclose(vector, axis * angle[:, None], rtol=1e-9, atol=1e-16)
    np.testing.assert_array_equal(rotation_vector(-turn(axis, angle)), vector)


def test_a_turn_is_continuous_beyond_a_full_one():
    """No sign flips at half or full turns."""
    q = turn(np.array([0.0, 0.6, 0.8]), np.linspace(-10.0, 10.0, 2001))
    assert np.max(np.linalg.norm(np.diff(q, axis=0), axis=1)) < 0.006  # half of the step's 0.01


@pytest.mark.parametrize("angle", [0.0, 1e-13])
def test_no_turn_has_an_axis(angle):
    """The identity is a turn by 0 about some axis, not about a direction made of rounding."""
    axis, found = axis_and_angle(turn(np.array([1.0, 0.0, 0.0]), np.array(angle)))
    assert found == 0.0
    assert np.linalg.norm(axis) == 1.0


def test_roll_pitch_yaw_are_those_of_urdf():
    """R = Rz(yaw) Ry(pitch) Rx(roll)."""
    rpy = (0.3, -0.8, 1.9)
    R = Rotation.from_quat(from_rpy(rpy)).as_matrix()
    x, y, z = (Rotation.from_rotvec(a * np.eye(3)[i]).as_matrix() for i, a in enumerate(rpy))
    np.testing.assert_allclose(R, z @ y @ x, atol=EPS)


def test_distance_and_angle_between_poses():
    """In metres and radians, either sign of the quaternion; rows begin with a pose."""
    row = np.zeros(19)
    row[6] = 1.0
    other = row.copy()
    other[:3] = [0.3, 0.0, 0.4]
    other[3:7] = [np.sin(0.1), 0.0, 0.0, np.cos(0.1)]
    assert distance_between(row, other) == pytest.approx((0.5, 0.2))
    other[3:7] *= -1.0
    assert distance_between(row[:7], other[:7]) == pytest.approx((0.5, 0.2))
