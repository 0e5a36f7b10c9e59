# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Rotations agree with SciPy's and with dense products."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.spatial.transform import Rotation as ScipyRotation

from robot_dynamics.spatial import Rotation, Symmetric3, Vector3, rotation_vector

ATOL = 1e-14  # products of unit-norm rows


def test_quaternion_is_the_transpose_of_scipys_matrix():
    """E of a quaternion takes A coordinates to B: the transpose of the body's orientation."""
    turned = ScipyRotation.random(random_state=1)
    E = Rotation.from_quaternion(*turned.as_quat())
    assert_allclose(E.rows, turned.as_matrix().T, atol=ATOL)


def test_products_and_congruences():
    """Composition, inverse and both congruences agree with NumPy."""
    rng = np.random.default_rng(2)
    a, b = (ScipyRotation.random(random_state=seed).as_matrix() for seed in (3, 4))
    A, B = Rotation.of(a), Rotation.of(b)
    v, m = rng.normal(size=3), rng.normal(size=(3, 3))
    assert_allclose(A.compose(B).rows, a @ b, atol=ATOL)
    assert_allclose(list(A * Vector3.of(v)), a @ v, atol=ATOL)
    assert_allclose(list(A.inverse_times(Vector3.of(v))), a.T @ v, atol=ATOL)
    sym = m + m.T
    assert_allclose(A.congruence(Symmetric3.of(sym)).rows(), a @ sym @ a.T, atol=1e-13)
    assert_allclose(A.inverse_congruence(Symmetric3.of(sym)).rows(), a.T @ sym @ a, atol=1e-13)
    general = A.congruence_general([Vector3.of(row) for row in m])
    assert_allclose([list(row) for row in general], a @ m @ a.T, atol=1e-13)


@pytest.mark.parametrize("axes", ["xy", "xz", "yx", "yz", "zx", "zy", "x", "y", "z"])
@pytest.mark.parametrize("quarter", [False, True])
def test_congruences_of_turns_about_two_axes(axes, quarter):
    """With an entry that is exactly zero they are made one after the other, to the same result."""
    rng = np.random.default_rng(5)
    angles = [np.pi / 2 if quarter else 0.7, -0.4][: len(axes)]
    a = ScipyRotation.from_euler(axes, angles).as_matrix().reshape(3, 3)
    a[np.abs(a) < 1e-15] = 0.0
    m = rng.normal(size=(3, 3))
    for matrix in (a, a.T):
        E = Rotation.of(matrix.tolist())
        found = E.congruence(Symmetric3.of(m + m.T)).rows()
        assert_allclose(found, matrix @ (m + m.T) @ matrix.T, atol=1e-14)
        general = E.congruence_general([Vector3.of(row) for row in m])
        assert_allclose([list(row) for row in general], matrix @ m @ matrix.T, atol=1e-14)


def test_about_z_turns_the_frame():
    """rz(theta) gives the coordinates of a fixed vector in a frame turned by theta (Table 2.2)."""
    E = Rotation.about_z(np.cos(0.3), np.sin(0.3))
    assert_allclose(list(E * Vector3(np.cos(0.3), np.sin(0.3), 0.0)), [1, 0, 0], atol=ATOL)


@pytest.mark.parametrize("angle", [0.0, 1e-9, 0.1, 1.5, 3.0, 3.1])
def test_rotation_vectors_equal_scipy_at_every_angle_below_pi(angle):
    """The rotation vector is SciPy's at every angle below pi, large ones included."""
    vector = angle * np.array([0.6, -0.48, 0.64])
    R = Rotation.of(ScipyRotation.from_rotvec(vector).as_matrix())
    # Near pi the sine is small, and with it the digits of the axis: 1e-16 / sin(3.1) is 2e-15.
    assert_allclose(list(rotation_vector(R)), vector, atol=1e-13)


@pytest.mark.parametrize("short", [1e-2, 1e-5, 1e-7, 1e-9, 1e-12, 1e-15, 0.0])
def test_rotation_vector_towards_half_a_turn(short):
    """Axis and angle are SciPy's up to pi, about axes of the frame, between them, and any."""
    rng = np.random.default_rng(6)
    axes = [*np.eye(3), *-np.eye(3), [1, -1, 0], [1, 0, -1], [0, 1, -1], [1, 1, -1], [1, 1e-9, -1]]
    axes += [[1e-9, 1, 0], [-1e-5, 1e-7, 1], *rng.normal(size=(20, 3))]
    for axis in axes:
        vector = (np.pi - short) * np.asarray(axis, dtype=float) / np.linalg.norm(axis)
        turned = ScipyRotation.from_rotvec(vector)
        found = np.array(list(rotation_vector(Rotation.of(turned.as_matrix()))))
        # Rounding of R moves the angle by 2e-16, and the axis by as much.
        assert (turned.inv() * ScipyRotation.from_rotvec(found)).magnitude() < 4e-15
        if short > 1e-12:  # nearer to pi rounding may choose the other side
            assert_allclose(found, vector, atol=1e-14)


def test_a_vanishing_turn_keeps_its_small_vector():
    """Near the identity the vector is the sine, as before anything is known of half turns."""
    vector = np.array([3e-9, -2e-9, 1e-9])
    R = Rotation.of(ScipyRotation.from_rotvec(vector).as_matrix())
    assert_allclose(list(rotation_vector(R)), vector, atol=1e-16)
