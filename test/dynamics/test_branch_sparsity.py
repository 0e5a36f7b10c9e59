# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Factors over the tree multiply back, and products and solutions are those of dense matrices."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from support.mechanisms import random_state

from robot_dynamics.dynamics import branch_sparsity as sparse
from robot_dynamics.dynamics.inertia_matrix import inertia_matrix
from robot_dynamics.model.connectivity import Tree
from robot_dynamics.model.parameters import parameters_of
from robot_dynamics.scalar.linear_algebra import factor

TOL = 1e-13  # some tens of roundings


@pytest.fixture
def case(tree, rng):
    """Return an inertia matrix, its expanded parent array, and a vector."""
    _, model = tree
    q = random_state(rng, model)[0].tolist()
    H = inertia_matrix(model, q, parameters_of(model))
    parents = model.tree.expanded([body.joint.type.nv for body in model.bodies])
    return H, parents, rng.normal(size=model.nv).tolist()


@pytest.mark.book("F3")
def test_factors_multiply_back(case):
    """L^T L = H and L^T D L = H; below the diagonal L has the entries of the tree alone."""
    H, parents, _ = case
    dense = np.array(H)
    L = np.array(sparse.ltl(H, parents))
    assert_allclose(L.T @ L, dense, rtol=0, atol=TOL * dense.max())
    unit, D = sparse.ltdl(H, parents)
    assert_allclose(np.array(unit).T * D @ unit, dense, rtol=0, atol=TOL * dense.max())
    assert (np.triu(L, 1) == 0.0).all()
    supports = Tree(tuple(parents)).supports
    for i, row in enumerate(L):
        assert not np.delete(row, supports[i]).any()


@pytest.mark.book("F4")
@pytest.mark.parametrize("unit", [False, True])
def test_products_and_solutions(case, unit):
    """L x, L^T x, L^-1 x and L^-T x are those of dense matrices, for either kind of factors."""
    H, parents, x = case
    L = sparse.ltdl(H, parents)[0] if unit else sparse.ltl(H, parents)
    dense = np.array(L)
    for ours, theirs in (
        (sparse.times_factor(L, parents, x), dense @ x),
        (sparse.times_transposed_factor(L, parents, x), dense.T @ x),
        (sparse.solve_factor(L, parents, x), np.linalg.solve(dense, x)),
        (sparse.solve_transposed_factor(L, parents, x), np.linalg.solve(dense.T, x)),
    ):
        assert_allclose(ours, theirs, rtol=0, atol=100 * TOL * np.abs(theirs).max())


@pytest.mark.book("F4")
def test_product_with_H(case):
    """H x reads the entries of the tree in the lower triangle, and is the dense product."""
    H, parents, x = case
    lower = [[H[i][j] if j <= i else np.nan for j in range(len(H))] for i in range(len(H))]
    expected = np.array(H) @ x
    ours = sparse.times_symmetric(lower, parents, x)
    assert_allclose(ours, expected, rtol=0, atol=TOL * np.abs(expected).max())


@pytest.mark.book("F3", "F4")
def test_both_factorisations_solve_with_the_inertia_matrix(case):
    """H^-1 b by either factorisation equals the result of the compiled programs' factors."""
    H, parents, b = case
    expected = np.array(factor(H).solve(b))
    L = sparse.ltl(H, parents)
    by_ltl = sparse.solve_factor(L, parents, sparse.solve_transposed_factor(L, parents, b))
    unit, D = sparse.ltdl(H, parents)
    half = sparse.solve_transposed_factor(unit, parents, b)
    by_ltdl = sparse.solve_factor(unit, parents, [h / d for h, d in zip(half, D, strict=True)])
    tol = 1e-13 * np.linalg.cond(np.array(H)) * np.abs(expected).max()
    assert_allclose(by_ltl, expected, rtol=0, atol=tol)
    assert_allclose(by_ltdl, expected, rtol=0, atol=tol)


class Counted(float):
    """A number that counts its operations."""

    counts: dict[str, int] = {}  # noqa: RUF012 - one count of all numbers is meant

    def _counted(self, name: str, value: float) -> Counted:
        Counted.counts[name] = Counted.counts.get(name, 0) + 1
        return Counted(value)

    def __mul__(self, other):
        return self._counted("m", float(self) * float(other))

    def __sub__(self, other):
        return self._counted("a", float(self) - float(other))

    def __truediv__(self, other):
        return self._counted("d", float(self) / float(other))


@pytest.mark.book("F3", "N4", "N6")
@pytest.mark.parametrize(
    ("parents", "D1", "D2"),
    [((-1, 0, 0, 1, 1, 2, 2), 10, 14), (tuple(range(-1, 5)), 15, 35), ((-1, -1, -1), 0, 0)],
)
def test_costs_are_those_of_table_6_6(parents, D1, D2):
    """LTDL takes D1 divisions and D2 products and differences; D1 of the seven-node tree is 10."""
    n = len(parents)
    H = [[Counted(2.0 * n if i == j else 0.1) for j in range(n)] for i in range(n)]
    Counted.counts = {}
    sparse.ltdl(H, parents)
    found = [Counted.counts.get(name, 0) for name in "dma"]
    assert found == [D1, D2, D2]
