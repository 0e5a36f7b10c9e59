# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The rack and pinion."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from robot_dynamics.errors import ArgumentError
from robot_dynamics.model.joints.base import ORIGIN, ConstraintRow, JointType, forces
from robot_dynamics.model.joints.displacement import (
    angle_about_z,
    predecessor_axis,
    tilt,
    wrapped,
)
from robot_dynamics.scalar.functions import cos, sin
from robot_dynamics.spatial import Force, Motion, Rotation, Scalar, Transform, Vector3


@dataclass(frozen=True, eq=False, repr=False)
class RackAndPinion(JointType):
    """A pinion, the successor, that rolls along x of a rack, turning about z [rad] (Ex 4.6).

    The pitch line of the rack is at y = `radius`; the pinion's axis moves along x at y = 0. The
    joint is not symmetric: a rack that moves over a fixed pinion is the reversed type.

    Attributes:
        radius: Radius of the pitch circle [m]; negative for a rack on the other side.
    """

    radius: float

    name, nq, nv, varying = "rack_and_pinion", 1, 1, True

    def __post_init__(self) -> None:
        if not math.isfinite(self.radius) or self.radius == 0.0:
            raise ArgumentError(
                f"the radius of a rack and pinion is {self.radius}, expected a finite number that "
                "is not zero."
            )

    def transform(self, q: Sequence[Scalar]) -> Transform:
        """Return a rotation about z and the translation along x that goes with it."""
        rolled = Vector3(self.radius * q[0], 0.0, 0.0)
        return Transform(Rotation.about_z(cos(q[0]), sin(q[0])), rolled)

    def subspace(self, q: Sequence[Scalar]) -> tuple[Motion, ...]:
        """Return [0, 0, 1, r c1, -r s1, 0]."""
        moving = Vector3(self.radius * cos(q[0]), -self.radius * sin(q[0]), 0.0)
        return (Motion(Vector3(0.0, 0.0, 1.0), moving),)

    def velocity_product(self, q: Sequence[Scalar], qd: Sequence[Scalar]) -> Motion:
        """Return [0, 0, 0, -r s1, -r c1, 0] times the square of the speed."""
        turning = Vector3(-self.radius * sin(q[0]), -self.radius * cos(q[0]), 0.0)
        return Motion(Vector3.zero(), turning * (qd[0] * qd[0]))

    def constraints(self, X: Transform) -> tuple[Force, ...]:
        """Return two moments, and forces along x and y of the rack (the teeth's) and z."""
        teeth = Force(Vector3(0.0, 0.0, -self.radius), predecessor_axis(X, 0))
        apart = Force(Vector3.zero(), predecessor_axis(X, 1))
        return (*forces(1, 2), teeth, apart, *forces(6))

    def constraint_rates(self, X: Transform, vJ: Motion) -> tuple[Force, ...]:
        """Return the rates: the directions of the teeth's forces are fixed in the rack."""
        teeth, apart = (
            Force(Vector3.zero(), predecessor_axis(X, axis).cross(vJ.angular)) for axis in (0, 1)
        )
        still = Force.zero()
        return still, still, teeth, apart, still

    @property
    def rows(self) -> tuple[ConstraintRow, ...]:
        """Return all directions but the rotation about z, which the teeth couple with x."""
        return tuple(ConstraintRow(d) for d in ("rx", "ry", "x", "y", "z"))

    def residual(self, X: Transform) -> list[Scalar]:
        """Return the tilt, the slip of the pinion, and its distance from its path.

        Slip is determined except for whole turns of the pinion, which are ignored.
        """
        slip = self.radius * wrapped(X.r.x * (1.0 / self.radius) - angle_about_z(X))
        return [*tilt(X), slip, X.r.y, X.r.z]

    def coordinates(self, X: Transform, near: Sequence[float] = ORIGIN) -> list[Scalar]:
        """Return the angle; the distance along the rack determines whole turns."""
        rolled = X.r.x * (1.0 / self.radius)
        return [rolled + wrapped(angle_about_z(X) - rolled)]

    def active_forces(self, X: Transform) -> tuple[Force, ...]:
        """Return a moment on the pinion."""
        return forces(3)
