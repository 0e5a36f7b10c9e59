# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Transforms act like the six-by-six matrices of Featherstone's Table A.2."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.spatial.transform import Rotation as ScipyRotation

from robot_dynamics.spatial import (
    ArticulatedInertia,
    Force,
    Inertia,
    Motion,
    Rotation,
    Symmetric3,
    Transform,
    Vector3,
)

RTOL = 1e-13  # a few dozen roundings of numbers of order one


def skew(v):
    x, y, z = v
    return np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])


def random_transform(rng):
    E = ScipyRotation.random(random_state=rng).as_matrix()
    r = rng.normal(size=3)
    matrix = np.block([[E, np.zeros((3, 3))], [-E @ skew(r), E]])
    return Transform(Rotation.of(E), Vector3.of(r)), matrix


def random_inertia(rng):
    """Return a physical inertia and its matrix, built by a formula of its own (2.63)."""
    mass, center = rng.uniform(0.5, 3), rng.normal(size=3)
    a = rng.normal(size=(3, 3))
    about_center = a @ a.T
    inertia = Inertia.from_center_of_mass(mass, Vector3.of(center), Symmetric3.of(about_center))
    c = skew(center)
    matrix = np.block([[about_center + mass * c @ c.T, mass * c], [mass * c.T, mass * np.eye(3)]])
    return inertia, matrix


def matrix_of(inertia):
    """Return the six-by-six matrix of an inertia, column by column."""
    columns = [(inertia * Motion.of(row)).components() for row in np.eye(6).tolist()]
    return np.array(columns).T


@pytest.fixture
def rng():
    return np.random.default_rng(3)


@pytest.mark.book("S1")
def test_motion_and_force(rng):
    """X m, X* f, X^-1 m and X^T f agree with dense matrices."""
    X, dense = random_transform(rng)
    m, f = rng.normal(size=6), rng.normal(size=6)
    assert_allclose((X * Motion.of(m)).components(), dense @ m, rtol=RTOL, atol=RTOL)
    assert_allclose(
        (X * Force.of(f)).components(), np.linalg.inv(dense).T @ f, rtol=RTOL, atol=1e-12
    )
    assert_allclose(
        X.inverse_times(Motion.of(m)).components(),
        np.linalg.solve(dense, m),
        rtol=RTOL,
        atol=1e-12,
    )
    assert_allclose(X.inverse_times(Force.of(f)).components(), dense.T @ f, rtol=RTOL, atol=RTOL)


@pytest.mark.book("S1")
def test_inertia_both_ways(rng):
    """X* I X^-1 and X^T I X agree with dense congruences."""
    X, dense = random_transform(rng)
    inertia, matrix = random_inertia(rng)
    assert_allclose(matrix_of(inertia), matrix, rtol=RTOL, atol=RTOL)
    inverse = np.linalg.inv(dense)
    assert_allclose(matrix_of(X * inertia), inverse.T @ matrix @ inverse, rtol=1e-12, atol=1e-12)
    assert_allclose(
        matrix_of(X.inverse_times(inertia)), dense.T @ matrix @ dense, rtol=1e-12, atol=1e-12
    )


@pytest.mark.book("S1")
def test_articulated_inertias_transform_by_the_dense_congruence(rng):
    """X^T I^A X of a general symmetric matrix agrees with the dense congruence."""
    X, dense = random_transform(rng)
    a = rng.normal(size=(6, 6))
    full = a @ a.T
    H = tuple(Vector3(*row) for row in full[:3, 3:])
    item = ArticulatedInertia(Symmetric3.of(full[3:, 3:]), H, Symmetric3.of(full[:3, :3]))
    assert_allclose(matrix_of(item), full, rtol=RTOL, atol=RTOL)
    assert_allclose(
        matrix_of(X.inverse_times(item)), dense.T @ full @ dense, rtol=1e-12, atol=1e-12
    )


@pytest.mark.book("S1")
def test_compose_and_inverse(rng):
    """Products and inverses agree with dense matrices."""
    X, a = random_transform(rng)
    Y, b = random_transform(rng)
    m = rng.normal(size=6)
    assert_allclose((X.compose(Y) * Motion.of(m)).components(), a @ b @ m, rtol=RTOL, atol=1e-12)
    assert_allclose(
        (X.inverse() * Motion.of(m)).components(), np.linalg.solve(a, m), rtol=RTOL, atol=1e-12
    )


@pytest.mark.book("S8")
def test_inertia_is_refused_what_it_is_not():
    """A transform refuses objects that are not spatial."""
    with pytest.raises(TypeError, match="does not act on float"):
        Transform.identity() * 1.0
