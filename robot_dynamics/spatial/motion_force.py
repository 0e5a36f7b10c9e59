# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Spatial motion and force vectors, angular part first (Featherstone 2008, chapter 2).

The two are in dual spaces: they cannot be added, and only mixed products exist.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

from robot_dynamics.spatial.vector3 import Scalar, Vector3

Six = TypeVar("Six", bound="_SixVector")


@dataclass(frozen=True, slots=True)
class _SixVector:
    """A linear space of six scalars, the base of motions and forces."""

    angular: Vector3
    linear: Vector3

    @classmethod
    def zero(cls: type[Six]) -> Six:
        """Return the zero vector."""
        return cls(Vector3.zero(), Vector3.zero())

    @classmethod
    def of(cls: type[Six], values: Sequence[Scalar]) -> Six:
        """Return the vector of six scalars, angular part first."""
        return cls(Vector3.of(values[:3]), Vector3.of(values[3:]))

    def components(self) -> list[Scalar]:
        """Return the six scalars, angular part first."""
        return [*self.angular, *self.linear]

    def __add__(self: Six, other: Six) -> Six:
        _require_same_space(self, other)
        return type(self)(self.angular + other.angular, self.linear + other.linear)

    def __sub__(self: Six, other: Six) -> Six:
        _require_same_space(self, other)
        return type(self)(self.angular - other.angular, self.linear - other.linear)

    def __neg__(self: Six) -> Six:
        return type(self)(-self.angular, -self.linear)

    def __mul__(self: Six, factor: Scalar) -> Six:
        return type(self)(self.angular * factor, self.linear * factor)


@dataclass(frozen=True, slots=True)
class Motion(_SixVector):
    """A motion vector `[angular; linear]`: velocity, acceleration or a direction of freedom.

    The linear part is the velocity of the body-fixed point at the frame's origin. Accelerations
    are spatial, not classical (2.48).
    """

    def dot(self, force: Force) -> Scalar:
        """Return the power (or work) of a force on this motion."""
        _require(force, Force)
        return self.angular.dot(force.angular) + self.linear.dot(force.linear)

    def screw(self) -> tuple[Scalar, Vector3]:
        """Return the pitch [m/rad] and the point of the axis nearest to the origin (2.10).

        The motion is a rotation about the axis along `angular` through that point, and a
        translation along it of the pitch times the angle. A motion without rotation has no axis.
        """
        along = 1.0 / self.angular.dot(self.angular)
        return self.angular.dot(self.linear) * along, self.angular.cross(self.linear) * along

    def cross(self, other: Motion) -> Motion:
        """Return `self x other` (2.31)."""
        _require(other, Motion)
        return Motion(
            self.angular.cross(other.angular),
            self.angular.cross(other.linear) + self.linear.cross(other.angular),
        )

    def cross_force(self, force: Force) -> Force:
        """Return `self x* force` (2.32)."""
        _require(force, Force)
        return Force(
            self.angular.cross(force.angular) + self.linear.cross(force.linear),
            self.angular.cross(force.linear),
        )


@dataclass(frozen=True, slots=True)
class Force(_SixVector):
    """A force vector `[moment; force]`: the moment is about the frame's origin."""


def _require(item: object, kind: type[_SixVector]) -> None:
    if type(item) is not kind:
        raise TypeError(f"expected a {kind.__name__}, not a {type(item).__name__}.")


def _require_same_space(a: _SixVector, b: _SixVector) -> None:
    if type(a) is not type(b):
        raise TypeError(f"a {type(a).__name__} and a {type(b).__name__} do not add.")
