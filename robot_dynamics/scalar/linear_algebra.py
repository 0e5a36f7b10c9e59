# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Small dense linear algebra over lists of scalars, without branches on values.

Entries that are the float 0.0 are structural zeros: they are skipped in all operations, so that a
traced program has the sparsity of its matrices.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf

from robot_dynamics.scalar.functions import minimum, sqrt
from robot_dynamics.scalar.symbolic import Scalar

Matrix = Sequence[Sequence[Scalar]]


def is_zero(value: Scalar) -> bool:
    """Return whether a scalar is a structural zero: the constant 0.0, not a value that is zero."""
    return isinstance(value, float) and value == 0.0


def dot(a: Sequence[Scalar], b: Sequence[Scalar]) -> Scalar:
    """Return the scalar product of two sequences."""
    total: Scalar = 0.0
    for x, y in zip(a, b, strict=True):
        if not (is_zero(x) or is_zero(y)):
            total = total + x * y
    return total


def norm(vector: Sequence[Scalar]) -> Scalar:
    """Return the length of a vector."""
    return sqrt(dot(vector, vector))


def add(a: Sequence[Scalar], b: Sequence[Scalar]) -> list[Scalar]:
    """Return a + b of two vectors."""
    return [x + y for x, y in zip(a, b, strict=True)]


def subtract(a: Sequence[Scalar], b: Sequence[Scalar]) -> list[Scalar]:
    """Return a - b of two vectors."""
    return [x - y for x, y in zip(a, b, strict=True)]


def times(matrix: Matrix, vector: Sequence[Scalar]) -> list[Scalar]:
    """Return matrix times vector."""
    return [dot(row, vector) for row in matrix]


def transposed_times(matrix: Matrix, vector: Sequence[Scalar], columns: int) -> list[Scalar]:
    """Return `matrix^T vector` for a matrix of `columns` columns."""
    return times(transposed(matrix, columns), vector)


def transposed(matrix: Matrix, columns: int) -> list[list[Scalar]]:
    """Return the transpose of a matrix of `columns` columns."""
    return [[row[j] for row in matrix] for j in range(columns)]


@dataclass(frozen=True)
class Factors:
    """The factors of `A = L^T D L` with L unit lower triangular (Table 6.3, LTDL).

    Attributes:
        lower: The strictly lower triangle of L; entry (i, j) for j < i, full rows.
        inverse_diagonal: 1 / D.
        smallest_pivot: The smallest D_ii / A_ii: 1 for a diagonal matrix, 0 for a singular one.
            It does not depend on the units of the rows.
    """

    lower: list[list[Scalar]]
    inverse_diagonal: list[Scalar]
    smallest_pivot: Scalar

    def half_solve(self, b: Sequence[Scalar]) -> list[Scalar]:
        """Return `L^-T b`, so that `b^T A^-1 c` is the D^-1 product of two such vectors."""
        x = list(b)
        for i in reversed(range(len(x))):
            if is_zero(x[i]):
                continue
            for j in range(i):
                if not is_zero(self.lower[i][j]):
                    x[j] = x[j] - self.lower[i][j] * x[i]
        return x

    def back_solve(self, b: Sequence[Scalar]) -> list[Scalar]:
        """Return `L^-1 b`."""
        x = list(b)
        for i in range(len(x)):
            x[i] = x[i] - dot(self.lower[i][:i], x[:i])
        return x

    def scale(self, b: Sequence[Scalar]) -> list[Scalar]:
        """Return `D^-1 b`."""
        return [value * inverse for value, inverse in zip(b, self.inverse_diagonal, strict=True)]

    def solve(self, b: Sequence[Scalar]) -> list[Scalar]:
        """Return `A^-1 b`."""
        return self.back_solve(self.scale(self.half_solve(b)))

    def inverse(self) -> list[list[Scalar]]:
        """Return `A^-1`, symmetric: from each pair the entry with fewer operations."""
        n = len(self.inverse_diagonal)
        columns = [self.solve([float(i == j) for i in range(n)]) for j in range(n)]
        return [[columns[max(i, j)][min(i, j)] for j in range(n)] for i in range(n)]


def factor(matrix: Matrix) -> Factors:
    """Factor a symmetric positive definite matrix, of which the lower triangle is read.

    The elimination runs from the last row to the first: the joint-space inertia matrix of a tree
    then suffers no fill-in (section 6.5).
    """
    n = len(matrix)
    A = [list(row[: i + 1]) for i, row in enumerate(matrix)]
    inverse = [0.0] * n
    smallest: Scalar = 1.0
    for k in reversed(range(n)):
        if is_zero(A[k][k]):  # no result would be finite
            inverse[k], smallest = inf, 0.0
        else:
            inverse[k] = 1.0 / A[k][k]
            smallest = minimum(smallest, A[k][k] / matrix[k][k])
        for i in reversed(range(k)):
            if is_zero(A[k][i]):
                continue
            a = A[k][i] * inverse[k]
            for j in range(i + 1):
                if not is_zero(A[k][j]):
                    A[i][j] = A[i][j] - a * A[k][j]
            A[k][i] = a
    return Factors([row[:-1] for row in A], inverse, smallest)
