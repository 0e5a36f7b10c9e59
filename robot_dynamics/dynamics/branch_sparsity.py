# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Factors of the inertia matrix of a tree, and products with them, over its parent array (6.5).

Row i of H has entries only in the columns i, lambda(i), lambda(lambda(i)), ..., and so have the
factors of H = L^T L and H = L^T D L: zeros of branches cost no operations. Compiled programs find
the same zeros while they are traced (`scalar.linear_algebra.factor`). Use this module if H is an
array of numbers, one or a batch, and the tree is known; lambda is the expanded parent array,
`model.tree.expanded(...)`, -1 for the base.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from robot_dynamics.scalar.functions import sqrt
from robot_dynamics.scalar.linear_algebra import Matrix
from robot_dynamics.spatial import Scalar

Rows = list[list[Scalar]]
Parents = Sequence[int]


def ltl(H: Matrix, parents: Parents) -> Rows:
    """Return L, lower triangular, of H = L^T L (Table 6.3); the lower triangle of H is read."""
    L = _lower(H)
    for k in reversed(range(len(L))):
        L[k][k] = sqrt(L[k][k])
        for i in _above(k, parents):
            L[k][i] = L[k][i] / L[k][k]
        for i in _above(k, parents):
            for j in (i, *_above(i, parents)):
                L[i][j] = L[i][j] - L[k][i] * L[k][j]
    return L


def ltdl(H: Matrix, parents: Parents) -> tuple[Rows, list[Scalar]]:
    """Return L, lower triangular with ones, and D, diagonal, of H = L^T D L (Table 6.3)."""
    L = _lower(H)
    for k in reversed(range(len(L))):
        for i in _above(k, parents):
            a = L[k][i] / L[k][k]
            for j in (i, *_above(i, parents)):
                L[i][j] = L[i][j] - a * L[k][j]
            L[k][i] = a
    D = [L[k][k] for k in range(len(L))]
    for k in range(len(L)):
        L[k][k] = 1.0
    return L, D


def times_factor(L: Matrix, parents: Parents, x: Sequence[Scalar]) -> list[Scalar]:
    """Return L x (Table 6.5)."""
    y = list(x)
    for i in range(len(y)):
        y[i] = L[i][i] * x[i]
        for j in _above(i, parents):
            y[i] = y[i] + L[i][j] * x[j]
    return y


def times_transposed_factor(L: Matrix, parents: Parents, x: Sequence[Scalar]) -> list[Scalar]:
    """Return L^T x (Table 6.5)."""
    y = list(x)
    for i in range(len(y)):
        y[i] = L[i][i] * x[i]
        for j in _above(i, parents):
            y[j] = y[j] + L[i][j] * x[i]
    return y


def solve_factor(L: Matrix, parents: Parents, b: Sequence[Scalar]) -> list[Scalar]:
    """Return L^-1 b (Table 6.5)."""
    x = list(b)
    for i in range(len(x)):
        for j in _above(i, parents):
            x[i] = x[i] - L[i][j] * x[j]
        x[i] = x[i] / L[i][i]
    return x


def solve_transposed_factor(L: Matrix, parents: Parents, b: Sequence[Scalar]) -> list[Scalar]:
    """Return L^-T b (Table 6.5)."""
    x = list(b)
    for i in reversed(range(len(x))):
        x[i] = x[i] / L[i][i]
        for j in _above(i, parents):
            x[j] = x[j] - L[i][j] * x[i]
    return x


def times_symmetric(H: Matrix, parents: Parents, x: Sequence[Scalar]) -> list[Scalar]:
    """Return H x; the entries of the tree in the lower triangle of H are read (Table 6.5)."""
    y = [H[i][i] * x[i] for i in range(len(x))]
    for i in reversed(range(len(x))):
        for j in _above(i, parents):
            y[i] = y[i] + H[i][j] * x[j]
            y[j] = y[j] + H[i][j] * x[i]
    return y


def _lower(H: Matrix) -> Rows:
    return [[H[i][j] if j <= i else 0.0 for j in range(len(H))] for i in range(len(H))]


def _above(i: int, parents: Parents) -> Iterator[int]:
    """Yield lambda(i), lambda(lambda(i)), ... to the base."""
    i = parents[i]
    while i >= 0:
        yield i
        i = parents[i]
