# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The spherical joint, with a quaternion."""

from __future__ import annotations

from collections.abc import Sequence

from robot_dynamics.model.joints import quaternion
from robot_dynamics.model.joints.base import ORIGIN, JointType, forces, motions
from robot_dynamics.model.joints.displacement import origin
from robot_dynamics.model.joints.rotation_coordinates import (
    rotation_coordinates,
    rotation_moment,
)
from robot_dynamics.spatial import Scalar, Transform, Vector3


class Spherical(JointType):
    """Any rotation about the common origin; also a point with friction.

    Positions: the quaternion (x, y, z, w), of unit length; another length is divided out.
    Velocities: angular, in successor coordinates.
    """

    name, nq, nv = "spherical", 4, 3
    motion_subspace = motions(1, 2, 3)
    constraint_subspace = forces(4, 5, 6)

    def transform(self, q: Sequence[Scalar]) -> Transform:
        """Return the rotation of the quaternion."""
        return Transform(quaternion.rotation(q), Vector3.zero())

    def position_rate(self, q: Sequence[Scalar], qd: Sequence[Scalar]) -> list[Scalar]:
        """Return (4.13)."""
        return quaternion.rate(q, qd)

    def integrate(self, q: Sequence[Scalar], step: Sequence[Scalar]) -> list[Scalar]:
        """Turn by the rotation vector `step`."""
        return quaternion.turn(q, step)

    def difference(self, q0: Sequence[Scalar], q1: Sequence[Scalar]) -> list[Scalar]:
        """Return the rotation vector of the shortest turn."""
        return quaternion.turn_between(q0, q1)

    def normalized(self, q: Sequence[Scalar]) -> list[Scalar]:
        """Return the unit quaternion."""
        return quaternion.unit(q)

    def neutral(self) -> list[float]:
        """Return the identity."""
        return [0.0, 0.0, 0.0, 1.0]

    def residual(self, X: Transform) -> list[Scalar]:
        """Return d4, d5, d6 (Table 8.1)."""
        return origin(X)

    def coordinates(self, X: Transform, near: Sequence[float] = ORIGIN) -> list[Scalar]:
        """Return the rotation vector."""
        return rotation_coordinates(X)

    def coordinates_of(self, q: Sequence[Scalar]) -> list[Scalar]:
        """Return the rotation vector of the quaternion."""
        return quaternion.turn_between(self.neutral(), q)

    def coordinate_forces(self, X: Transform, forces: Sequence[Scalar]) -> list[Scalar]:
        """Return the moment that does the work of a force on the rotation vector."""
        return rotation_moment(X, forces)
