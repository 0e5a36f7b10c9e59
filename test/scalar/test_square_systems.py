# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Square systems without branches on values, against NumPy."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from robot_dynamics.scalar.square_systems import InOrder, Reflected, sign


@pytest.fixture
def rng():
    return np.random.default_rng(3)


def drawn(n, rng):
    """Return a matrix with some zeros, well conditioned."""
    while True:
        A = rng.standard_normal((n, n)) * (rng.uniform(size=(n, n)) < 0.7)
        if np.linalg.cond(A) < 50.0 and np.all(np.abs(np.diag(A)) > 0.1):
            return A


@pytest.mark.parametrize("kind", [Reflected, InOrder])
@pytest.mark.parametrize("n", [1, 2, 3, 6])
def test_solutions_and_determinants(kind, n, rng):
    """For few and many right sides, with the determinant's sign."""
    for _ in range(10):
        A, b = drawn(n, rng), rng.standard_normal((n + 2, n))
        factors = kind(A.tolist())
        determinant = np.prod(factors.diagonal) * (-1.0 if factors.turned else 1.0)
        assert_allclose(determinant, np.linalg.det(A), rtol=1e-10)
        assert_allclose(factors.squares, np.square(factors.diagonal), rtol=1e-12)
        expected = np.linalg.solve(A, b.T).T
        # Condition 50 at most; elimination in a fixed order may lose some digits more.
        assert_allclose(
            factors.solve_all(b.tolist()), expected, atol=1e-10 * np.abs(expected).max()
        )
        assert_allclose(factors.solve_all(b[:1].tolist())[0], expected[0], atol=1e-9)
        assert factors.solve_all([[0.0] * n]) == [[0.0] * n]


def test_reflections_meet_no_zero_on_the_way():
    """All leading minors are zero, the matrix is a permutation."""
    A = np.eye(4)[[1, 2, 3, 0]]
    assert_allclose(Reflected(A.tolist()).solve([1.0, 2.0, 3.0, 4.0]), [4.0, 1.0, 2.0, 3.0])
    nearly = np.array([[1e-17, 1.0], [1.0, 1.0]])
    assert_allclose(Reflected(nearly.tolist()).solve([1.0, 2.0]), [1.0, 1.0], rtol=1e-14)
    # Elimination in order loses all digits here: this is what reflections are for.
    assert abs(InOrder(nearly.tolist()).solve([1.0, 2.0])[0] - 1.0) > 0.1


def test_the_sign_of_zero_is_positive():
    """So that a vector across has a reflection."""
    assert [sign(x) for x in (3.0, 0.0, -1e-20)] == [1.0, 1.0, -1.0]
