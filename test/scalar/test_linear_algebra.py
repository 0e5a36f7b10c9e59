# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Factors and products over lists of scalars agree with NumPy's, and keep structural zeros."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from robot_dynamics.scalar.linear_algebra import (
    dot,
    factor,
    is_zero,
    times,
    transposed_times,
)

RTOL = 1e-13  # matrices of condition under 100, a few dozen roundings


@pytest.fixture
def rng():
    return np.random.default_rng(1)


def positive(rng, n):
    a = rng.normal(size=(n, n))
    return a @ a.T + n * np.eye(n)


def dense_factors(factors):
    """Return L and D of a factorisation as arrays."""
    n = len(factors.inverse_diagonal)
    L = np.eye(n)
    for i, row in enumerate(factors.lower):
        L[i, :i] = row[:i]
    return L, np.diag(1.0 / np.array(factors.inverse_diagonal))


def test_products_are_those_of_numpy(rng):
    """Dot, times and transposed_times equal the matrix products."""
    matrix, x, y = rng.normal(size=(4, 3)), rng.normal(size=3), rng.normal(size=4)
    assert_allclose(times(matrix.tolist(), x.tolist()), matrix @ x, rtol=RTOL)
    assert_allclose(transposed_times(matrix.tolist(), y.tolist(), 3), matrix.T @ y, rtol=RTOL)
    assert_allclose(dot(x.tolist(), x.tolist()), x @ x, rtol=RTOL)


def test_products_of_nothing():
    """A matrix without rows has a transpose that gives zeros, and an empty product."""
    assert times([], [1.0]) == []
    assert transposed_times([], [], 2) == [0.0, 0.0]
    assert dot([], []) == 0.0


def test_only_the_constant_is_a_structural_zero():
    """An array or a computed number is a value, whatever it holds; the float 0.0 is none."""
    assert is_zero(0.0)
    assert is_zero(-0.0)
    assert not is_zero(1e-300)
    assert not is_zero(np.zeros(3))
    assert not is_zero(np.float64(1.0))


@pytest.mark.parametrize("n", [1, 2, 6, 12])
def test_factors_multiply_back(rng, n):
    """A = L^T D L with L unit lower triangular and D positive."""
    A = positive(rng, n)
    L, D = dense_factors(factor(A.tolist()))
    assert_allclose(L.T @ D @ L, A, rtol=RTOL, atol=RTOL)
    assert (np.diag(D) > 0).all()


@pytest.mark.parametrize("n", [1, 3, 7])
def test_solves_are_those_of_numpy(rng, n):
    """Solve is A^-1 b; half_solve, scale and back_solve are its three factors."""
    A, b = positive(rng, n), rng.normal(size=n)
    factors = factor(A.tolist())
    L, D = dense_factors(factors)
    assert_allclose(factors.solve(b.tolist()), np.linalg.solve(A, b), rtol=RTOL)
    assert_allclose(factors.half_solve(b.tolist()), np.linalg.solve(L.T, b), rtol=RTOL)
    assert_allclose(factors.scale(b.tolist()), np.linalg.solve(D, b), rtol=RTOL)
    assert_allclose(factors.back_solve(b.tolist()), np.linalg.solve(L, b), rtol=RTOL)


def test_half_solutions_make_the_product_with_the_inverse(rng):
    """b^T A^-1 c is the D^-1 product of the half solutions of b and c."""
    A, b, c = positive(rng, 5), rng.normal(size=5), rng.normal(size=5)
    factors = factor(A.tolist())
    half = [factors.half_solve(x.tolist()) for x in (b, c)]
    product = dot(half[0], factors.scale(half[1]))
    assert_allclose(product, b @ np.linalg.solve(A, c), rtol=RTOL)


def test_only_the_lower_triangle_is_read(rng):
    """Values above the diagonal do not matter."""
    A, b = positive(rng, 4), rng.normal(size=4).tolist()
    spoilt = A + np.triu(np.full((4, 4), np.nan), 1)
    assert factor(spoilt.tolist()).solve(b) == factor(A.tolist()).solve(b)


def test_factors_of_a_tree_have_no_fill_in():
    """Structural zeros of a branched tree's inertia matrix stay the constant 0.0 (section 6.5)."""
    parents = [-1, 0, 1, 1, 0, 4]  # a tree of six joints
    support = []
    for i, p in enumerate(parents):
        support.append({i} | (support[p] if p >= 0 else set()))
    A = [
        [(9.0 if i == j else 1.0) if j in support[i] or i in support[j] else 0.0 for j in range(6)]
        for i in range(6)
    ]
    lower = factor(A).lower
    for i in range(6):
        for j in range(i):
            assert is_zero(lower[i][j]) == (j not in support[i])


def test_batches_are_factored_elementwise(rng):
    """Arrays as scalars give the solutions of every matrix of a batch."""
    A = np.array([positive(rng, 3) for _ in range(5)])
    b = rng.normal(size=(5, 3))
    solution = factor([[A[:, i, j] for j in range(3)] for i in range(3)]).solve(list(b.T))
    assert_allclose(np.array(solution).T, np.linalg.solve(A, b[..., None])[..., 0], rtol=RTOL)


def test_pivot_tells_singular_from_badly_scaled(rng):
    """The smallest pivot is 1 for a diagonal, does not see units, and vanishes with the rank."""
    assert factor([[2.0, 0.0], [0.0, 1e-9]]).smallest_pivot == 1.0
    A = positive(rng, 4)
    scale = np.diag([1.0, 1e-6, 1e3, 1.0])
    plain, scaled = factor(A.tolist()), factor((scale @ A @ scale).tolist())
    assert_allclose(scaled.smallest_pivot, plain.smallest_pivot, rtol=1e-10)
    rows = rng.normal(size=(4, 3))
    # The matrix has rank 3: what is left of the last pivot is rounding.
    assert abs(factor((rows @ rows.T).tolist()).smallest_pivot) < 1e-13


def test_pivot_of_a_matrix_that_is_not_a_number():
    """A nan anywhere that counts does not hide behind the other pivots."""
    pivot = factor([[float("nan"), 0.0], [0.0, 1.0]]).smallest_pivot
    assert not pivot >= 0.5
