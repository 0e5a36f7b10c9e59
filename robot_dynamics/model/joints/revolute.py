# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The revolute joint."""

from __future__ import annotations

from collections.abc import Sequence

from robot_dynamics.model.joints.base import ORIGIN, JointType, forces, motions
from robot_dynamics.model.joints.displacement import angle_near, off_axis, tilt
from robot_dynamics.scalar.functions import cos, sin
from robot_dynamics.spatial import Rotation, Scalar, Transform, Vector3


class Revolute(JointType):
    """Rotation about z [rad]; `continuous` in URDF is the same joint without limits."""

    name, nq, nv, has_axis = "revolute", 1, 1, True
    motion_subspace = motions(3)
    constraint_subspace = forces(1, 2, 4, 5, 6)

    def transform(self, q: Sequence[Scalar]) -> Transform:
        """Return a rotation about z."""
        return Transform(Rotation.about_z(cos(q[0]), sin(q[0])), Vector3.zero())

    def residual(self, X: Transform) -> list[Scalar]:
        """Return d1, d2, d4, d5, d6 (Table 8.1)."""
        (a, b, _), r = X.E.rows, X.r
        # X41 X21 + X42 X22
        along = r.z * (a[0] * b[1] - a[1] * b[0]) + a[2] * (r.y * b[0] - r.x * b[1])
        return [*tilt(X), *off_axis(X), along]

    def coordinates(self, X: Transform, near: Sequence[float] = ORIGIN) -> list[Scalar]:
        """Return the angle."""
        a, _, _ = X.E.rows
        return [angle_near(a[1], a[0], near[0])]
