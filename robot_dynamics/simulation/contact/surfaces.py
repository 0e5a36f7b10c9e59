# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Surfaces that points of the object touch: functions of a point in the world.

A surface is where its function is zero, free space where it is negative, as in
`manipulation.hybrid.Environment`. The function need not be a distance: it is divided by the length
of its gradient, which is exact to first order at the surface. Anything written over scalars will
do: it is differentiated and compiled.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from robot_dynamics.errors import ArgumentError
from robot_dynamics.scalar.functions import minimum, sqrt
from robot_dynamics.spatial import Scalar, Vector3

#: A function of a point in the world [m]: zero on the surface, negative in free space.
PointFunction = Callable[[Vector3], Scalar]

_TINY = 1e-30  # keeps the gradient at a centre finite [m^2]


def plane(point: Sequence[float], normal: Sequence[float]) -> PointFunction:
    """Return a plane through a point [m], its normal pointing into free space."""
    n, through = _direction("normal", normal), Vector3.of(list(point))
    return lambda r: n.dot(through - r)


def sphere(center: Sequence[float], radius: float, *, inside: bool = False) -> PointFunction:
    """Return a sphere [m]; with `inside` free space is within it."""
    middle, sign = Vector3.of(list(center)), _side(radius, inside)

    def p(r: Vector3) -> Scalar:
        arm = r - middle
        return sign * (radius - sqrt(arm.dot(arm) + _TINY))

    return p


def cylinder(
    point: Sequence[float], axis: Sequence[float], radius: float, *, inside: bool = False
) -> PointFunction:
    """Return an endless cylinder about an axis [m]; with `inside` free space is within it."""
    through, along, sign = Vector3.of(list(point)), _direction("axis", axis), _side(radius, inside)
    return lambda r: sign * (radius - _from_axis(r - through, along))


def hole(
    mouth: Sequence[float], axis: Sequence[float], radius: float, depth: float
) -> PointFunction:
    """Return a block with a round hole of flat bottom.

    Args:
        mouth: The middle of its opening [m], in the plane that is the block's face.
        axis: Out of the hole, into free space.
        radius: Of the hole [m].
        depth: Of its bottom below the mouth [m].
    """
    through, out = Vector3.of(list(mouth)), _direction("axis", axis)
    _side(radius, True)
    if not depth > 0.0:
        raise ArgumentError(f"a hole {depth:g} m deep, expected a positive depth.")

    def p(r: Vector3) -> Scalar:
        arm = r - through
        height = out.dot(arm)
        # In the block: below its face and outside the bore, or below the bottom.
        beside = minimum(-height, _from_axis(arm, out) - radius)
        return -minimum(-beside, height + depth)

    return p


def _from_axis(arm: Vector3, along: Vector3) -> Scalar:
    """Return the distance of a point from an axis through the origin."""
    across = arm - along * along.dot(arm)
    return sqrt(across.dot(across) + _TINY)


def _direction(name: str, vector: Sequence[float]) -> Vector3:
    values = np.asarray(vector, dtype=float)
    length = float(np.linalg.norm(values))
    if values.shape != (3,) or not 0.0 < length < np.inf:
        raise ArgumentError(f"a surface with {name} {list(vector)}, expected three numbers.")
    return Vector3.of((values / length).tolist())


def _side(radius: float, inside: bool) -> float:
    if not 0.0 < radius < np.inf:
        raise ArgumentError(f"a surface of radius {radius:g} m, expected a positive one.")
    return -1.0 if inside else 1.0
