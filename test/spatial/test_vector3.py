# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Three-vectors and symmetric matrices agree with NumPy."""

from __future__ import annotations

import numpy as np
from numpy.testing import assert_allclose

from robot_dynamics.spatial import Symmetric3, Vector3
from robot_dynamics.spatial.vector3 import cross_products

ATOL = 1e-14


def skew(v):
    return np.cross(np.eye(3), v).T * 1.0


def test_products_equal_numpy():
    """dot, cross and matrix times vector agree with NumPy."""
    a, b, m = (np.random.default_rng(0).normal(size=s) for s in (3, 3, (3, 3)))
    A, B = Vector3.of(a), Vector3.of(b)
    assert_allclose(A.dot(B), a @ b, atol=ATOL)
    assert_allclose(list(A.cross(B)), np.cross(a, b), atol=ATOL)
    sym = m + m.T
    assert_allclose(list(Symmetric3.of(sym) * A), sym @ a, atol=ATOL)


def test_cross_products_of_a_shifted_moment():
    """a x b x + c x a x for c = b + k a equals the product of cross matrices."""
    a, b = np.random.default_rng(1).normal(size=(2, 3))
    c = b + 0.7 * a
    ax, bx, cx = (
        np.array([[0, -v[2], v[1]], [v[2], 0, -v[0]], [-v[1], v[0], 0]]) for v in (a, b, c)
    )
    got = cross_products(Vector3.of(a), Vector3.of(b), Vector3.of(c)).rows()
    assert_allclose(got, ax @ bx + cx @ ax, atol=ATOL)
