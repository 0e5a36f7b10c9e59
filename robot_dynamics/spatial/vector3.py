# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Vectors of three scalars and symmetric three-by-three matrices."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

Scalar = Any  # float, NumPy array (elementwise) or SymbolicScalar


@dataclass(frozen=True, slots=True)
class Vector3:
    """A three-vector of scalars in some Cartesian frame."""

    x: Scalar
    y: Scalar
    z: Scalar

    @classmethod
    def zero(cls) -> Vector3:
        """Return the zero vector."""
        return cls(0.0, 0.0, 0.0)

    @classmethod
    def of(cls, values: Sequence[Scalar]) -> Vector3:
        """Return the vector of a sequence of three scalars."""
        x, y, z = values
        return cls(x, y, z)

    def __iter__(self) -> Iterator[Scalar]:
        yield self.x
        yield self.y
        yield self.z

    def __add__(self, other: Vector3) -> Vector3:
        return Vector3(self.x + other.x, self.y + other.y, self.z + other.z)

    def __sub__(self, other: Vector3) -> Vector3:
        return Vector3(self.x - other.x, self.y - other.y, self.z - other.z)

    def __neg__(self) -> Vector3:
        return Vector3(-self.x, -self.y, -self.z)

    def __mul__(self, factor: Scalar) -> Vector3:
        return Vector3(self.x * factor, self.y * factor, self.z * factor)

    def dot(self, other: Vector3) -> Scalar:
        """Return the scalar product."""
        return self.x * other.x + self.y * other.y + self.z * other.z

    def cross(self, other: Vector3) -> Vector3:
        """Return the vector product `self x other`."""
        return Vector3(
            self.y * other.z - self.z * other.y,
            self.z * other.x - self.x * other.z,
            self.x * other.y - self.y * other.x,
        )


@dataclass(frozen=True, slots=True)
class Symmetric3:
    """A symmetric matrix, stored as its lower triangle so that tracing sees the symmetry."""

    xx: Scalar
    yx: Scalar
    yy: Scalar
    zx: Scalar
    zy: Scalar
    zz: Scalar

    @classmethod
    def zero(cls) -> Symmetric3:
        """Return the zero matrix."""
        return cls(0.0, 0.0, 0.0, 0.0, 0.0, 0.0)

    @classmethod
    def diagonal(cls, x: Scalar, y: Scalar, z: Scalar) -> Symmetric3:
        """Return a diagonal matrix."""
        return cls(x, 0.0, y, 0.0, 0.0, z)

    @classmethod
    def of(cls, matrix: Sequence[Sequence[Scalar]]) -> Symmetric3:
        """Return the symmetric matrix with the lower triangle of `matrix` (3, 3)."""
        return cls(
            matrix[0][0], matrix[1][0], matrix[1][1], matrix[2][0], matrix[2][1], matrix[2][2]
        )

    def rows(self) -> tuple[tuple[Scalar, Scalar, Scalar], ...]:
        """Return the full matrix, row by row."""
        return (
            (self.xx, self.yx, self.zx),
            (self.yx, self.yy, self.zy),
            (self.zx, self.zy, self.zz),
        )

    def __add__(self, other: Symmetric3) -> Symmetric3:
        return Symmetric3(
            self.xx + other.xx,
            self.yx + other.yx,
            self.yy + other.yy,
            self.zx + other.zx,
            self.zy + other.zy,
            self.zz + other.zz,
        )

    def __sub__(self, other: Symmetric3) -> Symmetric3:
        return Symmetric3(
            self.xx - other.xx,
            self.yx - other.yx,
            self.yy - other.yy,
            self.zx - other.zx,
            self.zy - other.zy,
            self.zz - other.zz,
        )

    def scaled(self, factor: Scalar) -> Symmetric3:
        """Return the matrix times a scalar."""
        values = (self.xx, self.yx, self.yy, self.zx, self.zy, self.zz)
        return Symmetric3(*(value * factor for value in values))

    def __mul__(self, v: Vector3) -> Vector3:
        return Vector3(
            self.xx * v.x + self.yx * v.y + self.zx * v.z,
            self.yx * v.x + self.yy * v.y + self.zy * v.z,
            self.zx * v.x + self.zy * v.y + self.zz * v.z,
        )


def cross_products(a: Vector3, b: Vector3, c: Vector3) -> Symmetric3:
    """Return `a x b x + c x a x` where that sum is symmetric, as it is for `c = b + k a`.

    With `a x b x = b a^T - (a . b) 1` (Table 2.1 of Featherstone 2008); only the lower
    triangle is computed.
    """
    s = b + c
    xx, yy, zz = a.x * s.x, a.y * s.y, a.z * s.z
    return Symmetric3(
        -(yy + zz),
        b.y * a.x + a.y * c.x,
        -(xx + zz),
        b.z * a.x + a.z * c.x,
        b.z * a.y + a.z * c.y,
        -(xx + yy),
    )
