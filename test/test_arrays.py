# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Products of short vectors have the bits of NumPy's functions."""

import numpy as np

from robot_dynamics.arrays import cross, length


def test_products_of_short_vectors():
    """Also of vectors that are columns of a matrix."""
    rng = np.random.default_rng(0)
    for matrix in rng.normal(size=(200, 3, 4)) * 10.0 ** rng.integers(-3, 4, size=(200, 1, 4)):
        a, b = matrix[:, 0], matrix[:, 2].copy()
        np.testing.assert_array_equal(cross(a, b), np.cross(a, b))
        assert length(b) == np.linalg.norm(b)
