# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Spatial cross products obey the identities of Featherstone's Table 2.3."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from robot_dynamics.spatial import Force, Motion

ATOL = 1e-13  # sums of a dozen products of numbers of order one


@pytest.mark.book("S2")
def test_cross_products_are_dual():
    """(u x v) . f = -v . (u x* f), and u x u = 0."""
    u, v, f = np.random.default_rng(0).normal(size=(3, 6))
    U, V, F = Motion.of(u), Motion.of(v), Force.of(f)
    assert_allclose(U.cross(V).dot(F), -V.dot(U.cross_force(F)), atol=ATOL)
    assert_allclose(U.cross(U).components(), np.zeros(6), atol=ATOL)


@pytest.mark.book("S2")
def test_cross_matches_the_matrix():
    """u x v is [[w x, 0], [v x, w x]] v (2.31)."""
    u, v = np.random.default_rng(1).normal(size=(2, 6))
    expected = np.concatenate(
        [np.cross(u[:3], v[:3]), np.cross(u[:3], v[3:]) + np.cross(u[3:], v[:3])]
    )
    assert_allclose(Motion.of(u).cross(Motion.of(v)).components(), expected, atol=ATOL)


@pytest.mark.book("S8")
@pytest.mark.parametrize(
    "mistake",
    [
        lambda m, f: m + f,
        lambda m, f: f - m,
        lambda m, f: m.dot(m),
        lambda m, f: m.cross(f),
        lambda m, f: m.cross_force(m),
    ],
)
def test_operations_without_meaning_are_refused(mistake):
    """Mixing the two spaces raises instead of giving six plausible numbers."""
    with pytest.raises(TypeError):
        mistake(Motion.zero(), Force.zero())
