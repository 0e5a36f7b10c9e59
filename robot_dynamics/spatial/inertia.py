# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Rigid-body and articulated-body inertias in compact form (Featherstone 2008, A.3)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from robot_dynamics.scalar.linear_algebra import factor
from robot_dynamics.spatial.motion_force import Force, Motion
from robot_dynamics.spatial.vector3 import Scalar, Symmetric3, Vector3, cross_products


@dataclass(frozen=True, slots=True)
class Inertia:
    """A rigid-body inertia: mass, first moment `h = m c`, rotational inertia about the origin.

    Ten scalars (2.63). `mass` in kg, `h` in kg m, `I` in kg m^2.
    """

    mass: Scalar
    h: Vector3
    I: Symmetric3

    @classmethod
    def zero(cls) -> Inertia:
        """Return the zero inertia."""
        return cls(0.0, Vector3.zero(), Symmetric3.zero())

    @classmethod
    def from_center_of_mass(cls, mass: Scalar, center: Vector3, inertia: Symmetric3) -> Inertia:
        """Return the inertia of a body from mass, centre of mass [m] and inertia about it."""
        h = center * mass
        # I_O = I_C - m c x c x, Eq 2.63
        return cls(mass, h, inertia - cross_products(center, h, Vector3.zero()))

    @classmethod
    def of(cls, values: Sequence[Scalar]) -> Inertia:
        """Return the inertia of ten scalars: mass, h (3), I (xx, yx, yy, zx, zy, zz)."""
        return cls(values[0], Vector3.of(values[1:4]), Symmetric3(*values[4:10]))

    def components(self) -> list[Scalar]:
        """Return the ten scalars in the order that `of` takes."""
        I = self.I
        return [self.mass, *self.h, I.xx, I.yx, I.yy, I.zx, I.zy, I.zz]

    def __add__(self, other: Inertia) -> Inertia:
        return Inertia(self.mass + other.mass, self.h + other.h, self.I + other.I)

    def __mul__(self, v: Motion) -> Force:
        return Force(
            self.I * v.angular + self.h.cross(v.linear),
            v.linear * self.mass - self.h.cross(v.angular),
        )

    def inverse_times(self, f: Force) -> Motion:
        """Return I^-1 f: the acceleration of a free body at rest under a force (2.74)."""
        c = self.h * (1.0 / self.mass)
        about_center = self.I + cross_products(c, self.h, Vector3.zero())
        moment = f.angular - c.cross(f.linear)
        spin = Vector3.of(factor(about_center.rows()).solve(list(moment)))
        return Motion(spin, f.linear * (1.0 / self.mass) + c.cross(spin))

    def constrained_inverse_times(self, f: Force, freedoms: Sequence[Motion]) -> Motion:
        """Return Phi f with Phi = S (S^T I S)^-1 S^T: the body can move only in S (3.54)."""
        matrix = [[s.dot(self * t) for t in freedoms] for s in freedoms]
        rates = factor(matrix).solve([s.dot(f) for s in freedoms])
        total = Motion.zero()
        for s, rate in zip(freedoms, rates, strict=True):
            total = total + s * rate
        return total

    def articulated(self) -> ArticulatedInertia:
        """Return the same inertia in the 21-parameter form."""
        h, m = self.h, self.mass
        cross = (
            Vector3(0.0, -h.z, h.y),
            Vector3(h.z, 0.0, -h.x),
            Vector3(-h.y, h.x, 0.0),
        )
        return ArticulatedInertia(Symmetric3.diagonal(m, m, m), cross, self.I)


@dataclass(frozen=True, slots=True)
class ArticulatedInertia:
    """A symmetric six-by-six inertia `[[I, H], [H^T, M]]` with 21 parameters; H as three rows."""

    M: Symmetric3
    H: tuple[Vector3, Vector3, Vector3]
    I: Symmetric3

    def __add__(self, other: ArticulatedInertia) -> ArticulatedInertia:
        a, b, c = (mine + theirs for mine, theirs in zip(self.H, other.H, strict=True))
        return ArticulatedInertia(self.M + other.M, (a, b, c), self.I + other.I)

    def __mul__(self, v: Motion) -> Force:
        a, b, c = self.H
        w, u = v.angular, v.linear
        return Force(
            self.I * w + Vector3(a.dot(u), b.dot(u), c.dot(u)),
            self.M * u + a * w.x + b * w.y + c * w.z,
        )

    def matrix(self) -> list[list[Scalar]]:
        """Return all 36 entries, row by row, angular part first."""
        I, M = self.I.rows(), self.M.rows()
        columns = zip(*self.H, strict=True)
        upper = [[*row, *h] for row, h in zip(I, self.H, strict=True)]
        return upper + [[*h, *row] for h, row in zip(columns, M, strict=True)]

    def minus_dyad(self, U: Force, V: Force) -> ArticulatedInertia:
        """Return `self - U V^T` for parallel U and V (a symmetric dyad), as in Eq 7.23."""

        def outer(a: Vector3, b: Vector3) -> Symmetric3:
            return Symmetric3(a.x * b.x, a.y * b.x, a.y * b.y, a.z * b.x, a.z * b.y, a.z * b.z)

        rows = tuple(
            row - V.linear * factor for row, factor in zip(self.H, U.angular, strict=True)
        )
        return ArticulatedInertia(
            self.M - outer(U.linear, V.linear),
            rows,  # type: ignore[arg-type]
            self.I - outer(U.angular, V.angular),
        )
