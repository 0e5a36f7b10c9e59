# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The cylindrical joint."""

from __future__ import annotations

from collections.abc import Sequence

from robot_dynamics.model.joints.base import ORIGIN, JointType, forces, motions
from robot_dynamics.model.joints.displacement import angle_near, off_axis, tilt
from robot_dynamics.scalar.functions import cos, sin
from robot_dynamics.spatial import Rotation, Scalar, Transform, Vector3


class Cylindrical(JointType):
    """Rotation about z [rad] and translation along z [m]."""

    name, nq, nv, has_axis = "cylindrical", 2, 2, True
    motion_subspace = motions(3, 6)
    constraint_subspace = forces(1, 2, 4, 5)

    def transform(self, q: Sequence[Scalar]) -> Transform:
        """Return a rotation about z and a translation along it."""
        return Transform(Rotation.about_z(cos(q[0]), sin(q[0])), Vector3(0.0, 0.0, q[1]))

    def residual(self, X: Transform) -> list[Scalar]:
        """Return d1, d2, d4, d5 (Table 8.1)."""
        return [*tilt(X), *off_axis(X)]

    def coordinates(self, X: Transform, near: Sequence[float] = ORIGIN) -> list[Scalar]:
        """Return the angle, and the distance along the predecessor's axis."""
        a, _, _ = X.E.rows
        return [angle_near(a[1], a[0], near[0]), X.r.z]
