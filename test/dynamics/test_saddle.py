# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Sparse saddle-point systems at full rank and below."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.sparse import csr_matrix

from robot_dynamics.dynamics.saddle import SaddlePoint
from robot_dynamics.errors import RobotDynamicsError


def problem(rng, hard=3, soft=4, n=10):
    root = rng.normal(size=(n, n))
    return root @ root.T + np.eye(n), rng.normal(size=(hard + soft, n)), rng.normal(size=n)


def test_full_rank_is_the_plain_solution(rng):
    """Compliance leaves no trace: the solution is that of the dense matrix."""
    M, K, f = problem(rng)
    k = rng.normal(size=7)
    system = SaddlePoint(csr_matrix(M), csr_matrix(K), np.ones(4))
    a, multipliers = system.solve(f, k)
    dense = np.block([[M, K.T], [K, np.zeros((7, 7))]])
    expected = np.linalg.solve(dense, np.concatenate([f, k]))
    # Conditions of a few thousand.
    assert_allclose(a, expected[:10], rtol=1e-10)
    assert_allclose(multipliers, -expected[10:], rtol=1e-10)
    assert system.idle.shape == (4, 0)
    assert 1e-3 < system.weakest < 1.0


def test_dependent_rows_share_with_least_norm(rng):
    """Of all multipliers that do the same the smallest are given, in the weights of their rows."""
    M, K, f = problem(rng, hard=0, soft=3)
    weights = np.array([0.5, 2.0, 1.0, 3.0])
    K = np.vstack([K, K[0] - K[1]])
    k = K @ rng.normal(size=10)
    system = SaddlePoint(csr_matrix(M), csr_matrix(K), weights)
    a, multipliers = system.solve(f, k)
    assert_allclose(K @ a, k, atol=1e-11)
    assert_allclose(M @ a - K.T @ multipliers, f, atol=1e-10)
    assert system.idle.shape == (4, 1)
    assert_allclose(system.idle[2], 0.0, atol=1e-9)
    assert_allclose((multipliers / weights) @ system.idle, 0.0, atol=1e-10)
    assert_allclose(K.T @ system.null_space, 0.0, atol=1e-10)


@pytest.mark.parametrize("weak", [1e-2, 1e-5, 1e-6, 3e-7, 1e-8, 1e-10])
def test_rows_that_nearly_depend_on_each_other_both_count(weak, rng):
    """A row off another by little, beside one that repeats a third, counts like their difference
    at full size.
    """
    M, K, f = problem(rng, hard=2, soft=3)
    aside, wanted = rng.normal(size=10), rng.normal(size=10)
    K = np.vstack([K, K[2] + weak * aside, K[3]])
    system = SaddlePoint(csr_matrix(M), csr_matrix(K), np.ones(5))
    a, multipliers = system.solve(f, K @ wanted)
    rows = np.vstack([K[:5], aside])
    dense = np.block([[M, rows.T], [rows, np.zeros((6, 6))]])
    expected = np.linalg.solve(dense, np.concatenate([f, rows @ wanted]))[:10]
    # Rounding of K, over the size of the difference, at conditions of a few hundred.
    assert_allclose(a, expected, atol=1e-13 / weak * np.max(np.abs(expected)))
    assert system.idle.shape == (5, 1)
    assert 0.05 * weak < system.weakest < 3.0 * weak
    # Multipliers are as large as one over the difference, and rounded at the same conditions.
    largest = np.max(np.abs(multipliers))
    assert_allclose(M @ a - K.T @ multipliers, f, atol=1e-12 * largest)


def test_contradictions_are_met_in_the_mean(rng):
    """Two rows that ask for different accelerations each get half of the difference."""
    M, K, f = problem(rng, hard=2, soft=1)
    K = np.vstack([K, K[2]])
    k = np.array([0.1, 0.2, 1.0, 3.0])
    a, _ = SaddlePoint(csr_matrix(M), csr_matrix(K), np.ones(2)).solve(f, k)
    assert_allclose(K @ a, [0.1, 0.2, 2.0, 2.0], atol=1e-11)


def test_many_dependent_rows(rng):
    """The whole null space is found, however large: twelve rows of rank three."""
    M, _, f = problem(rng)
    K = rng.normal(size=(12, 3)) @ rng.normal(size=(3, 10))
    k = K @ rng.normal(size=10)
    system = SaddlePoint(csr_matrix(M), csr_matrix(K), np.ones(12))
    a, multipliers = system.solve(f, k)
    assert system.idle.shape == (12, 9)
    assert_allclose(K @ a, k, atol=1e-10)
    inverse = np.linalg.inv(M)
    expected = np.linalg.pinv(K @ inverse @ K.T, rcond=1e-10) @ (k - K @ inverse @ f)
    assert_allclose(multipliers, expected, atol=1e-9)


def test_rows_that_are_zero(rng):
    """A row that nothing can affect is a direction that does not act."""
    M, K, f = problem(rng, hard=1, soft=2)
    K[2] = 0.0
    system = SaddlePoint(csr_matrix(M), csr_matrix(K), np.ones(2))
    a, multipliers = system.solve(f, np.array([1.0, 2.0, 0.0]))
    assert system.idle.shape == (2, 1)
    assert multipliers[2] == pytest.approx(0.0, abs=1e-12)
    assert_allclose(K[:2] @ a, [1.0, 2.0], atol=1e-11)


def test_singular_equations_are_refused():
    """Directions without inertia that no row holds have no acceleration, exactly or nearly so.

    Rounding errors of inertia, 1e-17 or nothing, decide where it shows, in the factors or in
    the solution; the answer is the same for every orientation.
    """
    M = np.diag([1.0, 1.0, 0.0])
    with pytest.raises(RobotDynamicsError, match="no inertia"):
        SaddlePoint(csr_matrix(M), csr_matrix((0, 3)), np.zeros(0))
    for seed in range(200):
        turn = np.linalg.qr(np.random.default_rng(seed).normal(size=(3, 3)))[0]
        nearly = turn @ M @ turn.T
        with pytest.raises(RobotDynamicsError, match="no inertia"):
            SaddlePoint(csr_matrix(nearly), csr_matrix((0, 3)), np.zeros(0)).solve(
                np.ones(3), np.zeros(0)
            )
