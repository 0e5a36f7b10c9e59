# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Square systems A x = b without branches on values: by reflections, or by fixed pivots.

Reflections (Householder's, from the right: A = L Q) have no zero pivot if the system is regular.
Elimination along the diagonal keeps the zeros of a large system, and can have a zero pivot.
"""

from __future__ import annotations

from collections.abc import Sequence

from robot_dynamics.scalar.functions import absolute, sqrt
from robot_dynamics.scalar.linear_algebra import dot, is_zero, transposed_times
from robot_dynamics.scalar.symbolic import Scalar

Matrix = Sequence[Sequence[Scalar]]

#: Systems up to this size are solved by reflections: the most rows of a loop in space.
SMALL = 6
_TINY = 1e-300  # has the sign of zero be positive


def sign(x: Scalar) -> Scalar:
    """Return 1 or -1, and 1 for zero."""
    x = x + _TINY
    return x / absolute(x)


class Reflected:
    """A = L Q by reflections.

    Attributes:
        diagonal: Diagonal of L (n,), up to sign the component of each row perpendicular to the
            rows before it.
        squares: Squares of the diagonal (n,).
        turned: Whether Q is a reflection: then det A is minus the product of the diagonal.

    Args:
        A: The matrix (n, n).
    """

    def __init__(self, A: Matrix) -> None:
        n = len(A)
        self._lower = [list(row) for row in A]
        self._reflections: list[tuple[list[Scalar], Scalar]] = []
        self.squares: list[Scalar] = []
        for i, own in enumerate(self._lower):
            self.squares.append(dot(own[i:], own[i:]))
            if _vanishes(own[i + 1 :]):
                continue
            length = sign(own[i]) * sqrt(self.squares[i])
            w = [0.0] * i + [own[i] + length, *own[i + 1 :]]
            share = 1.0 / (length * w[i])  # 2 / w^2
            for row in self._lower[i + 1 :]:
                _reflect(row, w, share)
            own[i:] = [-length] + [0.0] * (n - i - 1)
            self._reflections.append((w, share))
        self.diagonal = [self._lower[i][i] for i in range(n)]
        self._reciprocals = [1.0 / x for x in self.diagonal]
        self.turned = len(self._reflections) % 2 == 1

    def solve(self, b: Sequence[Scalar]) -> list[Scalar]:
        """Return x (n,)."""
        x: list[Scalar] = []
        for row, right, inverse in zip(self._lower, b, self._reciprocals, strict=True):
            missing = right - dot(row[: len(x)], x)
            x.append(0.0 if is_zero(missing) else missing * inverse)
        for w, share in reversed(self._reflections):
            _reflect(x, w, share)
        return x

    def solve_all(self, right: Sequence[Sequence[Scalar]]) -> list[list[Scalar]]:
        """Return x (n,) for each of some right sides (n,): by A^-1 if they are many."""
        n = len(self.diagonal)
        if sum(not _vanishes(b) for b in right) <= n:
            return [[0.0] * n if _vanishes(b) else self.solve(b) for b in right]
        units = [[1.0 if i == j else 0.0 for i in range(n)] for j in range(n)]
        columns = [self.solve(unit) for unit in units]
        return [transposed_times(columns, b, n) for b in right]


class InOrder:
    """A = L U with pivots along the diagonal, in the given order.

    Attributes:
        diagonal: The pivots (n,); their product is det A.
        squares: Squares of the pivots (n,).
        turned: False.

    Args:
        A: The matrix (n, n).
    """

    turned = False

    def __init__(self, A: Matrix) -> None:
        n = len(A)
        self._upper = [list(row) for row in A]
        self._parts: list[list[tuple[int, Scalar]]] = []
        self._inverse: list[Scalar] = []
        for i, own in enumerate(self._upper):
            self._inverse.append(1.0 / own[i])
            left = [j for j in range(i + 1, n) if not is_zero(own[j])]
            parts = []
            for at in range(i + 1, n):
                target = self._upper[at]
                if not is_zero(target[i]):
                    part = target[i] * self._inverse[i]
                    parts.append((at, part))
                    for j in left:
                        target[j] = target[j] - part * own[j]
            self._parts.append(parts)
        self.diagonal = [self._upper[i][i] for i in range(n)]
        self.squares = [x * x for x in self.diagonal]

    def solve(self, b: Sequence[Scalar]) -> list[Scalar]:
        """Return x (n,)."""
        x = list(b)
        for i, parts in enumerate(self._parts):
            if not is_zero(x[i]):
                for at, part in parts:
                    x[at] = x[at] - part * x[i]
        for i in reversed(range(len(x))):
            missing = x[i] - dot(self._upper[i][i + 1 :], x[i + 1 :])
            x[i] = 0.0 if is_zero(missing) else missing * self._inverse[i]
        return x

    def solve_all(self, right: Sequence[Sequence[Scalar]]) -> list[list[Scalar]]:
        """Return x (n,) for each of some right sides (n,)."""
        return [self.solve(b) for b in right]


def _vanishes(b: Sequence[Scalar]) -> bool:
    return all(is_zero(x) for x in b)


def _reflect(x: list[Scalar], w: Sequence[Scalar], share: Scalar) -> None:
    """Reflect a vector at the plane across w, in place."""
    along = dot(w, x)
    if is_zero(along):
        return
    along = along * share
    for j, part in enumerate(w):
        if not is_zero(part):
            x[j] = x[j] - along * part
