# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Plücker coordinate transforms, stored as rotation and translation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, overload

from robot_dynamics.spatial.inertia import ArticulatedInertia, Inertia
from robot_dynamics.spatial.motion_force import Force, Motion
from robot_dynamics.spatial.rotation import Rotation
from robot_dynamics.spatial.vector3 import Scalar, Symmetric3, Vector3, cross_products


@dataclass(frozen=True, slots=True)
class Transform:
    """The transform `BX_A = rot(E) xlt(r)` from A to B coordinates (2.24).

    `E` turns A coordinates into B coordinates; `r` is B's origin in A coordinates [m].
    `X * object` takes a motion, force or inertia from A to B, `X.inverse_times(object)` from B
    to A; neither forms a six-by-six matrix (Table A.4).
    """

    E: Rotation
    r: Vector3

    @classmethod
    def identity(cls) -> Transform:
        """Return the identity."""
        return cls(Rotation.identity(), Vector3.zero())

    @classmethod
    def of(cls, values: Sequence[Scalar]) -> Transform:
        """Return the transform of twelve scalars: the rows of E, then r."""
        rows = (values[0:3], values[3:6], values[6:9])
        return cls(Rotation.of(rows), Vector3.of(values[9:12]))

    def components(self) -> list[Scalar]:
        """Return the twelve scalars in the order that `of` takes."""
        return [*(entry for row in self.E.rows for entry in row), *self.r]

    def component_rates(self, v: Motion) -> list[Scalar]:
        """Return the rates of the twelve scalars while B moves at a velocity, in B coordinates."""
        columns = [column.cross(v.angular) for column in self.E.columns()]
        rows = zip(*columns, strict=True)
        return [*(entry for row in rows for entry in row), *self.E.inverse_times(v.linear)]

    def inverse(self) -> Transform:
        """Return the transform from B to A."""
        return Transform(self.E.transpose(), -(self.E * self.r))

    def displacement(self) -> Motion:
        """Return the small motion from A to B: XtoV (A.1), exact for translations.

        Its components in A and in B coordinates are equal, X v = v.
        """
        a, b, c = self.E.rows
        turn = Vector3(b[2] - c[1], c[0] - a[2], a[1] - b[0])  # X23 - X32, X31 - X13, X12 - X21
        # The lower left block of X is -E rx; X53 - X62, X61 - X43, X42 - X51 are twice
        # the mean of r in both coordinates, but for second order.
        rows = [self.r.cross(Vector3(*row)) for row in self.E.rows]
        shift = Vector3(rows[1].z - rows[2].y, rows[2].x - rows[0].z, rows[0].y - rows[1].x)
        return Motion(turn * 0.5, shift * 0.5)

    def compose(self, other: Transform) -> Transform:
        """Return `self other`: if other = BX_A and self = CX_B, the result is CX_A."""
        return Transform(self.E.compose(other.E), other.r + other.E.inverse_times(self.r))

    @overload
    def __mul__(self, item: Motion) -> Motion: ...
    @overload
    def __mul__(self, item: Force) -> Force: ...
    @overload
    def __mul__(self, item: Inertia) -> Inertia: ...
    def __mul__(self, item: Motion | Force | Inertia) -> Motion | Force | Inertia:
        E, r = self.E, self.r
        if isinstance(item, Motion):
            return Motion(E * item.angular, E * (item.linear - r.cross(item.angular)))
        if isinstance(item, Force):
            return Force(E * (item.angular - r.cross(item.linear)), E * item.linear)
        if isinstance(item, Inertia):
            y = item.h - r * item.mass
            shifted = item.I + cross_products(r, item.h, y)
            return Inertia(item.mass, E * y, E.congruence(shifted))
        raise TypeError(f"a Transform does not act on {type(item).__name__}.")

    @overload
    def inverse_times(self, item: Motion) -> Motion: ...
    @overload
    def inverse_times(self, item: Force) -> Force: ...
    @overload
    def inverse_times(self, item: Inertia) -> Inertia: ...
    @overload
    def inverse_times(self, item: ArticulatedInertia) -> ArticulatedInertia: ...
    def inverse_times(self, item: Any) -> Any:
        """Return the object in A coordinates: X^-1 v, X^T f, X^T I X or X^T I^A X."""
        E, r = self.E, self.r
        if isinstance(item, Motion):
            angular = E.inverse_times(item.angular)
            return Motion(angular, E.inverse_times(item.linear) + r.cross(angular))
        if isinstance(item, Force):
            linear = E.inverse_times(item.linear)
            return Force(E.inverse_times(item.angular) + r.cross(linear), linear)
        if isinstance(item, Inertia):
            h = E.inverse_times(item.h)
            y = h + r * item.mass
            turned = E.inverse_congruence(item.I) - cross_products(r, h, y)
            return Inertia(item.mass, y, turned)
        if isinstance(item, ArticulatedInertia):
            return self._inverse_times_articulated(item)
        raise TypeError(f"a Transform does not act on {type(item).__name__}.")

    def _inverse_times_articulated(self, item: ArticulatedInertia) -> ArticulatedInertia:
        """Return X^T I^A X: M' = E^T M E, H' = E^T H E, then H' + r x M' and the rest."""
        to_a, r = self.E.transpose(), self.r
        M = to_a.congruence(item.M)
        H = to_a.congruence_general(item.H)
        rx = (Vector3(0.0, -r.z, r.y), Vector3(r.z, 0.0, -r.x), Vector3(-r.y, r.x, 0.0))
        M_rows = [Vector3(*row) for row in M.rows()]

        def row_times(a: Vector3, rows: list[Vector3]) -> Vector3:
            return rows[0] * a.x + rows[1] * a.y + rows[2] * a.z

        H_new = tuple(h + row_times(a, M_rows) for h, a in zip(H, rx, strict=True))
        # I + r x H^T - (H + r x M) r x : only the lower triangle is formed
        I_old = to_a.congruence(item.I)

        def entry(i: int, j: int) -> object:
            h_column = Vector3(*(tuple(H[j])))  # row j of H = column j of H^T
            rx_column = Vector3(*(tuple(row)[j] for row in rx))
            return rx[i].dot(h_column) - H_new[i].dot(rx_column)

        correction = Symmetric3(
            entry(0, 0), entry(1, 0), entry(1, 1), entry(2, 0), entry(2, 1), entry(2, 2)
        )
        return ArticulatedInertia(M, H_new, I_old + correction)  # type: ignore[arg-type]
