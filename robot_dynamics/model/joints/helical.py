# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The helical joint: a screw."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from robot_dynamics.errors import ArgumentError
from robot_dynamics.model.joints.base import ORIGIN, ConstraintRow, JointType, forces
from robot_dynamics.model.joints.displacement import (
    angle_about_z,
    angle_near,
    off_axis,
    tilt,
    wrapped,
)
from robot_dynamics.scalar.functions import cos, sin
from robot_dynamics.spatial import Force, Motion, Rotation, Scalar, Transform, Vector3


@dataclass(frozen=True, eq=False, repr=False)
class Helical(JointType):
    """Rotation about z [rad] that moves the successor along z.

    Attributes:
        pitch: Distance per angle [m/rad]: the lead of the thread over 2 pi, negative for a
            left-handed thread, zero for a revolute joint.
    """

    pitch: float

    name, nq, nv, has_axis = "helical", 1, 1, True

    def __post_init__(self) -> None:
        if not math.isfinite(self.pitch):
            raise ArgumentError(
                f"the pitch of a helical joint is {self.pitch}, expected a finite number."
            )

    def transform(self, q: Sequence[Scalar]) -> Transform:
        """Return a rotation about z and a translation along it."""
        advance = Vector3(0.0, 0.0, self.pitch * q[0])
        return Transform(Rotation.about_z(cos(q[0]), sin(q[0])), advance)

    def subspace(self, q: Sequence[Scalar]) -> tuple[Motion, ...]:
        """Return e3 + h e6."""
        return (Motion(Vector3(0.0, 0.0, 1.0), Vector3(0.0, 0.0, self.pitch)),)

    @property
    def constraint_subspace(self) -> tuple[Force, ...]:  # type: ignore[override]
        """Return e1, e2, e4, e5, -h e3 + e6."""
        thread = Force(Vector3(0.0, 0.0, -self.pitch), Vector3(0.0, 0.0, 1.0))
        return (*forces(1, 2, 4, 5), thread)

    @property
    def motion_subspace(self) -> tuple[Motion, ...]:  # type: ignore[override]
        """Return the constant S."""
        return self.subspace(())

    @property
    def rows(self) -> tuple[ConstraintRow, ...]:
        """Return all directions but the rotation about z, which the thread couples with z."""
        return tuple(ConstraintRow(d) for d in ("rx", "ry", "x", "y", "z"))

    def residual(self, X: Transform) -> list[Scalar]:
        """Return d1, d2, d4, d5 and d6 - h d3.

        The position along the thread is determined except for whole turns, which are ignored.
        """
        advance = X.r.z
        if self.pitch != 0.0:
            advance = self.pitch * wrapped(X.r.z * (1.0 / self.pitch) - angle_about_z(X))
        return [*tilt(X), *off_axis(X), advance]

    def coordinates(self, X: Transform, near: Sequence[float] = ORIGIN) -> list[Scalar]:
        """Return the angle; the distance along the thread determines whole turns."""
        a, _, _ = X.E.rows
        if self.pitch == 0.0:
            return [angle_near(a[1], a[0], near[0])]
        advance = X.r.z * (1.0 / self.pitch)
        return [advance + wrapped(angle_about_z(X) - advance)]

    def active_forces(self, X: Transform) -> tuple[Force, ...]:
        """Return a moment about z."""
        return forces(3)
