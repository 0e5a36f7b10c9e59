# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What an object that slides along surfaces drags on them: Coulomb friction, traceable."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from robot_dynamics.scalar.functions import sqrt
from robot_dynamics.spatial import Scalar, Vector3

_SLOW = 1e-3  # speed [m/s] over which friction comes up to what sliding makes
_AXES = (Vector3(1.0, 0.0, 0.0), Vector3(0.0, 1.0, 0.0), Vector3(0.0, 0.0, 1.0))


class Sliding(NamedTuple):
    """Friction of a surface that the object slides on.

    Attributes:
        friction: Coulomb's coefficient.
        point: Of the object that touches (3,) [m].
    """

    friction: float
    point: tuple[float, float, float]


class Guided(NamedTuple):
    """A hinge or a line that resists the motion that it leaves, nobody knows by how much.

    It stands at the first of its functions, which are lengths along the axes x, y and, of a hinge,
    z of its frame.

    Attributes:
        point: Of the object that a line guides (3,) [m]; None of a hinge.
    """

    point: tuple[float, float, float] | None = None

    def resisted(self, center: Vector3, gradients: Sequence[Sequence[Scalar]]) -> list[Scalar]:
        """Return the wrench (6,) that it resists with, of size one; see `SurfaceFriction.of`.

        Args:
            center: The object's centre of mass, in the object.
            gradients: Of its functions, in the object's axes.
        """
        x, y = (Vector3.of(gradient[3:]) for gradient in gradients[:2])
        axis = x.cross(y)
        if self.point is None:
            return [*axis, 0.0, 0.0, 0.0]
        return [*(Vector3.of(self.point) - center).cross(axis), *axis]


def drag(
    friction: float, arm: Vector3, gradient: Sequence[Scalar], twist: Sequence[Scalar]
) -> list[Scalar]:
    """Return the wrench (6,) by a sliding object on its surface, for a push of 1.

    It is about the object's centre of mass, all in the same axes. Friction is smooth about rest,
    mu v / sqrt(v^2 + v0^2): it has no direction there.

    Args:
        friction: Coulomb's coefficient.
        arm: From the centre of mass to the point that touches.
        gradient: Of the surface's function over the twist (6,), of any length: the push of 1 is
            along it, and friction that of a normal force of its length.
        twist: Angular velocity, velocity of the centre of mass (6,).
    """
    v, normal = Vector3.of(twist[3:]) + Vector3.of(twist[:3]).cross(arm), Vector3.of(gradient[3:])
    along = _across(v, normal)
    force = along * (friction * sqrt(normal.dot(normal) / (along.dot(along) + _SLOW * _SLOW)))
    return [*arm.cross(force), *force]


def _across(vector: Vector3, normal: Vector3) -> Vector3:
    """Return what of a vector is across a normal of any length."""
    return vector - normal * (normal.dot(vector) / normal.dot(normal))


@dataclass(frozen=True)
class SurfaceFriction:
    """How an object rubs on surfaces, by wrenches on them in its axes, about its centre of mass.

    Attributes:
        drag: Of friction for a push of 1, as the object is planned to slide (C, 6); zero where
            nothing slides.
        sideways: By the index of each surface that something slides on, of unit forces across its
            normal where it is touched: three (3, 6), of which two are independent. Of a hinge or a
            line that resists, of that (1, 6).
    """

    drag: list[list[Scalar]]
    sideways: dict[int, list[list[Scalar]]]

    @classmethod
    def of(
        cls,
        sliding: Sequence[Sliding | Guided | None],
        center: Vector3,
        gradients: Sequence[Sequence[Scalar]],
        twist: Sequence[Scalar],
    ) -> SurfaceFriction:
        """Return how an object rubs that moves at a twist.

        Args:
            sliding: Friction of the surfaces that have some.
            center: The object's centre of mass, in the object.
            gradients: Of the surfaces (C, 6), in the object's axes.
            twist: Of the object (6,), likewise.
        """
        rows: list[list[Scalar]] = [[0.0] * 6 for _ in gradients]
        sideways = {}
        for i, (one, gradient) in enumerate(zip(sliding, gradients, strict=True)):
            if isinstance(one, Guided):
                sideways[i] = [one.resisted(center, gradients[i:])]
            elif one is not None:
                arm, normal = Vector3.of(one.point) - center, Vector3.of(gradient[3:])
                rows[i] = drag(one.friction, arm, gradient, twist)
                forces = [_across(axis, normal) for axis in _AXES]
                sideways[i] = [[*arm.cross(force), *force] for force in forces]
        return cls(rows, sideways)
