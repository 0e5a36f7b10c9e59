# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The prismatic joint."""

from __future__ import annotations

from collections.abc import Sequence

from robot_dynamics.model.joints.base import ORIGIN, JointType, forces, motions
from robot_dynamics.model.joints.displacement import off_axis, turning
from robot_dynamics.spatial import Rotation, Scalar, Transform, Vector3


class Prismatic(JointType):
    """Translation along z [m]."""

    name, nq, nv, has_axis = "prismatic", 1, 1, True
    motion_subspace = motions(6)
    constraint_subspace = forces(1, 2, 3, 4, 5)

    def transform(self, q: Sequence[Scalar]) -> Transform:
        """Return a translation along z."""
        return Transform(Rotation.identity(), Vector3(0.0, 0.0, q[0]))

    def residual(self, X: Transform) -> list[Scalar]:
        """Return d1 to d5 (Table 8.1)."""
        return [*turning(X), *off_axis(X)]

    def coordinates(self, X: Transform, near: Sequence[float] = ORIGIN) -> list[Scalar]:
        """Return the distance along the predecessor's axis."""
        return [X.r.z]
