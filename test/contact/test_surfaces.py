# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Surfaces are zero where they are, and negative where the object may be."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from robot_dynamics.contact.surfaces import cylinder, hole, plane, sphere
from robot_dynamics.errors import ArgumentError
from robot_dynamics.scalar.derivatives import gradient
from robot_dynamics.spatial import Vector3

MOUTH = (0.1, 0.2, 0.3)
CASES = [
    (plane((0, 0, 1.0), (0, 0, 2.0)), (0.3, 4.0, 1.5), -0.5, (0, 0, 1)),
    (sphere((0, 0, 1.0), 0.5), (0, 0, 1.7), -0.2, (0, 0, 1)),
    (sphere((0, 0, 1.0), 0.5, inside=True), (0, 0, 1.4), -0.1, (0, 0, -1)),
    (cylinder((0, 0, 0), (0, 0, 3.0), 0.5), (0.6, 0, 7.0), -0.1, (1, 0, 0)),
    (cylinder((0, 0, 0), (1.0, 0, 0), 0.5, inside=True), (9.0, 0.4, 0), -0.1, (0, -1, 0)),
    (hole(MOUTH, (0, 0, 1), 0.05, 0.2), (0.1 + 0.04, 0.2, 0.25), -0.01, (-1, 0, 0)),  # its wall
    (hole(MOUTH, (0, 0, 1), 0.05, 0.2), (0.1, 0.2, 0.11), -0.01, (0, 0, 1)),  # its bottom
    (hole(MOUTH, (0, 0, 1), 0.05, 0.2), (0.4, 0.2, 0.32), -0.02, (0, 0, 1)),  # the block's face
    (hole(MOUTH, (0, 0, 1), 0.05, 0.2), (0.4, 0.2, 0.29), 0.01, (0, 0, 1)),  # within the block
]


@pytest.mark.parametrize(("surface", "point", "value", "free"), CASES)
def test_distances_and_normals(surface, point, value, free):
    """Minus the distance, and a gradient of length one against free space, to rounding."""
    assert_allclose(surface(Vector3.of(list(map(float, point)))), value, atol=1e-14)
    slope = gradient(lambda r: surface(Vector3.of(r)), list(map(float, point)))
    assert_allclose(-np.array(slope), free, atol=1e-14)


@pytest.mark.parametrize(
    "make",
    [
        lambda: plane((0, 0, 0), (0, 0, 0)),
        lambda: plane((0, 0, 0), "up"),
        lambda: plane((0, 0), (0, 0, 1)),
        lambda: sphere((0, np.nan, 0), 1.0),
        lambda: sphere((0, 0, 0), 0.0),
        lambda: cylinder((0, 0, 0), (0, np.nan, 0), 1.0),
        lambda: hole((0, 0, 0), (0, 0, 1), 0.1, -1.0),
    ],
)
def test_surfaces_that_are_none_are_refused(make):
    """No normal, no radius, no depth: said so."""
    with pytest.raises(ArgumentError, match="expected"):
        make()
