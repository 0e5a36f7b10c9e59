# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Surfaces that points of the object touch: functions of a point in the world.

The function is zero on the surface and negative in free space, as in
`manipulation.hybrid.Environment`. It need not be a distance: it is divided by the length of its
gradient, which is exact to first order at the surface. It can be any function over scalars of the
coordinates r.x, r.y and r.z of a point r: it is differentiated and compiled. Other engines support
only the functions below.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from robot_dynamics.dynamics.arguments import finite_vector, positive_number, unit_vector
from robot_dynamics.scalar.derivatives import gradient
from robot_dynamics.scalar.functions import maximum, minimum, sqrt
from robot_dynamics.spatial import Scalar, Vector3

#: A function of a point in the world [m]: zero on the surface, negative in free space.
PointFunction = Callable[[Vector3], Scalar]

_TINY = 1e-30  # keeps the gradient at a centre finite [m^2]


@dataclass(frozen=True)
class Plane:
    """A plane through a point [m]; its unit normal points into free space."""

    point: Vector3
    normal: Vector3

    def __call__(self, r: Vector3) -> Scalar:
        """Return the depth below the plane."""
        return self.normal.dot(self.point - r)


@dataclass(frozen=True)
class Sphere:
    """A sphere [m], from outside or from inside."""

    center: Vector3
    radius: float
    inside: bool = False

    def __call__(self, r: Vector3) -> Scalar:
        """Return the depth below the surface."""
        arm = r - self.center
        depth = self.radius - sqrt(arm.dot(arm) + _TINY)
        return -depth if self.inside else depth


@dataclass(frozen=True)
class Cylinder:
    """An endless cylinder about an axis of unit length [m], from outside or from inside."""

    point: Vector3
    axis: Vector3
    radius: float
    inside: bool = False

    def __call__(self, r: Vector3) -> Scalar:
        """Return the depth below the surface."""
        depth = self.radius - _from_axis(r - self.point, self.axis)
        return -depth if self.inside else depth


@dataclass(frozen=True)
class Hole:
    """A round hole with a flat bottom in a block whose face is across the hole's axis [m].

    Attributes:
        mouth: The middle of its opening.
        axis: Unit vector out of the hole.
        radius: Of the hole.
        depth: Of its bottom below the mouth.
    """

    mouth: Vector3
    axis: Vector3
    radius: float
    depth: float

    def __call__(self, r: Vector3) -> Scalar:
        """Return the depth below the block's surface."""
        arm = r - self.mouth
        height = self.axis.dot(arm)
        # In the block: below its face and outside the bore, or below the bottom.
        beside = minimum(-height, _from_axis(arm, self.axis) - self.radius)
        return maximum(beside, -height - self.depth)


def plane(point: Sequence[float], normal: Sequence[float]) -> Plane:
    """Return a plane through a point [m], its normal pointing into free space."""
    return Plane(_point("point", point), _direction("normal", normal))


def sphere(center: Sequence[float], radius: float, *, inside: bool = False) -> Sphere:
    """Return a sphere [m]; with `inside` free space is within it."""
    return Sphere(_point("center", center), _positive("radius", radius), inside)


def cylinder(
    point: Sequence[float], axis: Sequence[float], radius: float, *, inside: bool = False
) -> Cylinder:
    """Return an endless cylinder about an axis [m]; with `inside` free space is within it."""
    along = _direction("axis", axis)
    return Cylinder(_point("point", point), along, _positive("radius", radius), inside)


def hole(mouth: Sequence[float], axis: Sequence[float], radius: float, depth: float) -> Hole:
    """Return a block with a round hole of flat bottom.

    Args:
        mouth: The middle of its opening [m], in the plane that is the block's face.
        axis: Out of the hole, into free space.
        radius: Of the hole [m].
        depth: Of its bottom below the mouth [m].
    """
    out = _direction("axis", axis)
    return Hole(
        _point("mouth", mouth), out, _positive("radius", radius), _positive("depth", depth)
    )


def gap_and_normal(surface: PointFunction, place: Vector3) -> tuple[Scalar, Vector3]:
    """Return a point's distance [m] from a surface, to first order, and the normal there."""

    def p(at: Sequence[Scalar]) -> Scalar:
        return surface(Vector3.of(at))

    slope = Vector3.of(gradient(p, list(place)))
    size = sqrt(slope.dot(slope) + _TINY)
    return -surface(place) / size, slope * (-1.0 / size)


def _from_axis(arm: Vector3, along: Vector3) -> Scalar:
    """Return the distance of a point from an axis through the origin."""
    across = arm - along * along.dot(arm)
    return sqrt(across.dot(across) + _TINY)


def _point(name: str, values: Sequence[float]) -> Vector3:
    return Vector3.of(finite_vector(f"{name} of a surface", values, 3).tolist())


def _direction(name: str, vector: Sequence[float]) -> Vector3:
    return Vector3.of(unit_vector(f"{name} of a surface", vector).tolist())


def _positive(name: str, value: float) -> float:
    return positive_number(f"{name} of a surface", value)
