# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Rotations as coordinate transforms."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import permutations

from robot_dynamics.scalar.functions import absolute, atan2, maximum, sqrt
from robot_dynamics.scalar.linear_algebra import is_zero
from robot_dynamics.spatial.vector3 import Scalar, Symmetric3, Vector3

_TINY = 1e-18  # far below the rounding of any sine; keeps the axis of no rotation finite
_LEAST = 1e-30  # makes a sign of zero; cubes of its reciprocal are finite
# Two columns whose product is less may have either sign: one of the three is longer than both. Its
# reciprocal multiplies rounding errors in second derivatives.
_EITHER = 1e-3
# Added to the square of a sine: its ratio to the angle changes by a sixth of it, not in any digit,
# and its second derivatives divide rounding by 1e-8 at most.
_SMALL = 1e-16

Row = tuple[Scalar, Scalar, Scalar]


@dataclass(frozen=True, slots=True)
class Rotation:
    """A coordinate transform `E` from frame A to frame B: `v_B = E v_A`.

    `E` is the transpose of the matrix whose columns are B's axes in A. The entries are three rows
    of three scalars.
    """

    rows: tuple[Row, Row, Row]

    @classmethod
    def identity(cls) -> Rotation:
        """Return the identity."""
        return cls(((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)))

    @classmethod
    def of(cls, matrix: Sequence[Sequence[Scalar]]) -> Rotation:
        """Return the rotation of a (3, 3) matrix `E`."""
        a, b, c = (tuple(row) for row in matrix)
        return cls((a, b, c))  # type: ignore[arg-type]

    @classmethod
    def about_z(cls, cosine: Scalar, sine: Scalar) -> Rotation:
        """Return `rz(theta)` of Table 2.2: B is A turned by theta about z."""
        return cls(((cosine, sine, 0.0), (-sine, cosine, 0.0), (0.0, 0.0, 1.0)))

    @classmethod
    def from_quaternion(cls, x: Scalar, y: Scalar, z: Scalar, w: Scalar) -> Rotation:
        """Return E of the unit quaternion (x, y, z, w) of B's orientation in A (4.12)."""
        return cls(
            (
                (1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y + w * z), 2.0 * (x * z - w * y)),
                (2.0 * (x * y - w * z), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z + w * x)),
                (2.0 * (x * z + w * y), 2.0 * (y * z - w * x), 1.0 - 2.0 * (x * x + y * y)),
            )
        )

    def transpose(self) -> Rotation:
        """Return the inverse transform, from B to A."""
        a, b, c = self.rows
        return Rotation(((a[0], b[0], c[0]), (a[1], b[1], c[1]), (a[2], b[2], c[2])))

    def columns(self) -> tuple[Vector3, Vector3, Vector3]:
        """Return the columns of E: A's axes in B coordinates."""
        a, b, c = self.transpose().rows
        return Vector3(*a), Vector3(*b), Vector3(*c)

    def __mul__(self, v: Vector3) -> Vector3:
        a, b, c = self.rows
        return Vector3(
            a[0] * v.x + a[1] * v.y + a[2] * v.z,
            b[0] * v.x + b[1] * v.y + b[2] * v.z,
            c[0] * v.x + c[1] * v.y + c[2] * v.z,
        )

    def inverse_times(self, v: Vector3) -> Vector3:
        """Return `E^T v`, from B to A coordinates."""
        a, b, c = self.rows
        return Vector3(
            a[0] * v.x + b[0] * v.y + c[0] * v.z,
            a[1] * v.x + b[1] * v.y + c[1] * v.z,
            a[2] * v.x + b[2] * v.y + c[2] * v.z,
        )

    def compose(self, other: Rotation) -> Rotation:
        """Return the product `self other`: first `other`, then `self`."""
        columns = [self * column for column in other.columns()]
        return Rotation(tuple(zip(*columns, strict=True)))  # type: ignore[arg-type]

    def congruence(self, matrix: Symmetric3) -> Symmetric3:
        """Return `E A E^T`: a symmetric matrix of A coordinates in B coordinates."""
        turned = self._turned_twice(matrix.rows())
        if turned:
            return Symmetric3.of(turned)
        a, b, c = (Vector3(*row) for row in self.rows)
        ya, yb, yc = matrix * a, matrix * b, matrix * c
        return Symmetric3(a.dot(ya), b.dot(ya), b.dot(yb), c.dot(ya), c.dot(yb), c.dot(yc))

    def _turned_twice(self, matrix: Sequence[Sequence[Scalar]]) -> list[list[Scalar]] | None:
        """Return `E A E^T` of a rotation with an entry that is zero by structure, else None.

        It is a turn about one coordinate axis and then about another, with half of the operations.
        """
        for k, j in permutations(range(3), 2):
            if is_zero(self.rows[k][j]):
                cosine, sine = self.transpose()._about(k, j)
                return _turned(_turned(matrix, j, *self._about(j, k)), k, cosine, -sine)
        return None

    def _about(self, axis: int, other: int) -> tuple[Scalar, Scalar]:
        """Return cosine and sine of the turn about an axis, from the row of another axis."""
        third = 3 - axis - other
        sine = self.rows[other][third]
        return self.rows[other][other], sine if other == (axis + 1) % 3 else -sine

    def inverse_congruence(self, matrix: Symmetric3) -> Symmetric3:
        """Return `E^T A E`: a symmetric matrix of B coordinates in A coordinates."""
        return self.transpose().congruence(matrix)

    def congruence_general(self, matrix: Sequence[Vector3]) -> tuple[Vector3, Vector3, Vector3]:
        """Return `E A E^T` of a general matrix, given and returned as its three rows."""
        turned = self._turned_twice([list(row) for row in matrix])
        if turned:
            a, b, c = (Vector3(*row) for row in turned)
            return a, b, c
        half = [self * row for row in matrix]  # rows of A E^T
        transposed = [Vector3(*column) for column in zip(*half, strict=True)]
        columns = [self * column for column in transposed]
        a, b, c = (Vector3(*row) for row in zip(*columns, strict=True))
        return a, b, c


def _turned(
    matrix: Sequence[Sequence[Scalar]], axis: int, cosine: Scalar, sine: Scalar
) -> list[list[Scalar]]:
    """Return `R A R^T` of the turn R about a coordinate axis, `about_z` for z.

    Across the axis the trace and the difference of the other two entries do not change, and the
    rest turns by twice the angle: 4 multiplications.
    """
    a, b = (axis + 1) % 3, (axis + 2) % 3
    A, R = [list(row) for row in matrix], [list(row) for row in matrix]
    if is_zero(cosine):  # a quarter turn, or three
        R[a][a], R[a][b], R[b][a], R[b][b] = A[b][b], -A[b][a], -A[a][b], A[a][a]
    elif not is_zero(sine):
        p = (A[a][b] + A[b][a]) * cosine - (A[a][a] - A[b][b]) * sine
        R[a][a], R[b][b] = A[a][a] + p * sine, A[b][b] - p * sine
        R[a][b], R[b][a] = p * cosine - A[b][a], p * cosine - A[a][b]
    R[a][axis] = cosine * A[a][axis] + sine * A[b][axis]
    R[b][axis] = cosine * A[b][axis] - sine * A[a][axis]
    R[axis][a] = cosine * A[axis][a] + sine * A[axis][b]
    R[axis][b] = cosine * A[axis][b] - sine * A[axis][a]
    return R


def rotation_vector(orientation: Rotation) -> Vector3:
    """Return the rotation vector [rad] of an orientation, for any angle up to pi.

    At pi itself the axis has either sign.

    Args:
        orientation: The matrix R whose columns are the turned axes, `R_1^T R_2` for the turn from
            frame 1 to frame 2.
    """
    a, b, c = orientation.rows
    sine = Vector3(c[1] - b[2], a[2] - c[0], b[0] - a[1]) * 0.5
    cosine = (a[0] + b[1] + c[2] - 1.0) * 0.5
    # Towards half a turn the sine does not tell the axis any more. The symmetric part of R less
    # its cosine does, but not the sign. Beyond a right angle both are added up.
    beyond = maximum(-cosine, 0.0)
    along = sine + _along_axis(orientation, cosine, sine) * beyond
    small = _SMALL * (cosine + beyond) + _TINY * _TINY  # negligible beyond a right angle
    size = sqrt(sine.dot(sine) + small)
    length = sqrt(along.dot(along) + small)
    return along * (atan2(size, cosine) / length)


def _along_axis(orientation: Rotation, cosine: Scalar, sine: Vector3) -> Vector3:
    """Return a vector along the axis, on the side of the sine: not zero beyond a right angle.

    Columns of (R + R^T) / 2 - cosine 1 = (1 - cosine) a a^T are along the axis a. They are added
    with signs that make them agree, so that no column must be selected. At half a turn itself
    there are no second derivatives: the axis has either sign.
    """
    a, b, c = orientation.rows
    xy, xz, yz = (a[1] + b[0]) * 0.5, (a[2] + c[0]) * 0.5, (b[2] + c[1]) * 0.5
    sum_ = Vector3(a[0] - cosine, xy, xz)
    for column in (Vector3(xy, b[1] - cosine, yz), Vector3(xz, yz, c[2] - cosine)):
        sum_ = sum_ + column * _sign(sum_.dot(column) + _EITHER)
    return sum_ * _sign(sum_.dot(sine) + _LEAST)


def _sign(x: Scalar) -> Scalar:
    """Return 1 or -1."""
    return x / absolute(x)
