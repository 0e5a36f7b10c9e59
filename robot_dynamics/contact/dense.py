# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Linear algebra of small dense systems, compiled: products of rows, factors, substitution."""

from __future__ import annotations

from robot_dynamics.compile.routine import Matrix, Vector, routine


@routine
def larger(a: float, b: float) -> float:
    """Return the larger of two numbers; NaN if one is NaN."""
    return a if a > b or a != a else b


@routine
def copy(source: Vector, target: Vector) -> None:
    """Copy the numbers of a vector."""
    for k in range(len(source)):
        target[k] = source[k]


@routine
def total(x: Vector) -> float:
    """Return the sum of the numbers of a vector."""
    found = 0.0
    for k in range(len(x)):
        found += x[k]
    return found


@routine
def along_row(J: Matrix, i: int, z: Vector) -> float:
    """Return the product of a row and a vector, in four independent sums."""
    a, b, c, d = 0.0, 0.0, 0.0, 0.0
    n = len(z) - len(z) % 4
    for k in range(0, n, 4):
        a += J[i, k] * z[k]
        b += J[i, k + 1] * z[k + 1]
        c += J[i, k + 2] * z[k + 2]
        d += J[i, k + 3] * z[k + 3]
    for k in range(n, len(z)):
        a += J[i, k] * z[k]
    return (a + c) + (b + d)


@routine
def product(J: Matrix, HJ: Matrix, i: int) -> float:
    """Return the product of row i of both matrices, in four independent sums."""
    a, b, c, d = 0.0, 0.0, 0.0, 0.0
    n = J.shape[1] - J.shape[1] % 4
    for k in range(0, n, 4):
        a += J[i, k] * HJ[i, k]
        b += J[i, k + 1] * HJ[i, k + 1]
        c += J[i, k + 2] * HJ[i, k + 2]
        d += J[i, k + 3] * HJ[i, k + 3]
    for k in range(n, J.shape[1]):
        a += J[i, k] * HJ[i, k]
    return (a + c) + (b + d)


@routine
def add_squares(J: Matrix, B: Matrix, first: int, length: int, A: Matrix) -> None:
    """Add J^T B J of a contact with diagonal B to the lower triangle of A, three rows at once."""
    for i in range(first, first + length - length % 3, 3):
        x, y, z = B[i, i - first], B[i + 1, i + 1 - first], B[i + 2, i + 2 - first]
        for k in range(len(A)):
            f, g, h = x * J[i, k], y * J[i + 1, k], z * J[i + 2, k]
            if f != 0.0 or g != 0.0 or h != 0.0:
                for j in range(k + 1):
                    A[k, j] += f * J[i, j] + g * J[i + 1, j] + h * J[i + 2, j]
    for i in range(first + length - length % 3, first + length):
        for k in range(len(A)):
            f = B[i, i - first] * J[i, k]
            if f != 0.0:
                for j in range(k + 1):
                    A[k, j] += f * J[i, j]


@routine
def slope_row(J: Matrix, B: Matrix, i: int, first: int, length: int, row: Vector) -> None:
    """Write row i of B J."""
    for k in range(len(row)):
        row[k] = 0.0
    for j in range(length):
        if B[i, j] != 0.0:
            for k in range(len(row)):
                row[k] += B[i, j] * J[first + j, k]


@routine
def factorise_symmetric(A: Matrix) -> bool:
    """Replace the lower triangle of A by L and D, A = L^T D L; return False if it is not positive.

    Entries between different branches of a tree stay zero (Table 6.3).
    """
    for k in range(len(A) - 1, -1, -1):
        if not A[k, k] > 0.0:
            return False
        part = 1.0 / A[k, k]
        for i in range(k - 1, -1, -1):
            if A[k, i] != 0.0:
                f = part * A[k, i]
                for j in range(i + 1):
                    A[i, j] -= f * A[k, j]
                A[k, i] = f
    return True


@routine
def substitute_symmetric(A: Matrix, x: Vector) -> None:
    """Replace x by A^-1 x, of L and D."""
    for k in range(len(x) - 1, -1, -1):
        for j in range(k):
            x[j] -= A[k, j] * x[k]
    for k in range(len(x)):
        y = x[k] / A[k, k]
        for j in range(k):
            y -= A[k, j] * x[j]
        x[k] = y


@routine
def factorise(A: Matrix, order: Vector) -> bool:
    """Replace A by its factors L U with rows exchanged; return False if it is singular."""
    n = len(order)
    for k in range(n):
        best = k
        for i in range(k + 1, n):
            if abs(A[i, k]) > abs(A[best, k]):
                best = i
        order[k] = best
        if not abs(A[best, k]) > 0.0:
            return False
        if best != k:
            for j in range(n):
                x = A[k, j]
                A[k, j] = A[best, j]
                A[best, j] = x
        for i in range(k + 1, n):
            if A[i, k] != 0.0:
                A[i, k] = A[i, k] / A[k, k]
                f = A[i, k]
                for j in range(k + 1, n):
                    A[i, j] -= f * A[k, j]
    return True


@routine
def substitute(A: Matrix, order: Vector, x: Vector) -> None:
    """Replace x by A^-1 x, of the factors of A."""
    n = len(x)
    for k in range(n):
        at = int(order[k])
        y = x[at]
        x[at] = x[k]
        x[k] = y
    for k in range(n):
        y = x[k]
        for j in range(k):
            y -= A[k, j] * x[j]
        x[k] = y
    for k in range(n - 1, -1, -1):
        y = x[k]
        for j in range(k + 1, n):
            y -= A[k, j] * x[j]
        x[k] = y / A[k, k]
