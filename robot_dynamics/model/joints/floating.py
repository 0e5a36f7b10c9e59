# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The joint of a free body."""

from __future__ import annotations

from collections.abc import Sequence

from robot_dynamics.model.joints import quaternion
from robot_dynamics.model.joints.base import ORIGIN, JointType, motions
from robot_dynamics.model.joints.rotation_coordinates import (
    rotation_coordinates,
    rotation_moment,
)
from robot_dynamics.spatial import Rotation, Scalar, Transform, Vector3


class Floating(JointType):
    """Six degrees of freedom.

    Positions: x, y, z of the successor's origin in *predecessor* coordinates [m], then the
    quaternion (x, y, z, w) of its orientation, of unit length; another length is divided out.
    Velocities: angular, then linear, in successor coordinates. The printed Table 4.1 stores the
    translation in successor coordinates and is not consistent with a constant S.
    """

    name, nq, nv = "floating", 7, 6
    motion_subspace = motions(1, 2, 3, 4, 5, 6)
    constraint_subspace = ()

    def transform(self, q: Sequence[Scalar]) -> Transform:
        """Return the transform of position and quaternion."""
        return Transform(quaternion.rotation(q[3:]), Vector3.of(q[:3]))

    def integrate(self, q: Sequence[Scalar], step: Sequence[Scalar]) -> list[Scalar]:
        """Turn by the rotation vector `step[:3]` and move by `step[3:]`, along the turned path.

        The displacement is turned by half of the rotation, which makes a step of constant body
        velocity exact to third order; the integrators above build their own order on it.
        """
        half = quaternion.turn(q[3:], [0.5 * s for s in step[:3]])
        moved = Vector3.of(q[:3]) + Rotation.from_quaternion(*half).inverse_times(
            Vector3.of(step[3:])
        )
        return [*moved, *quaternion.turn(q[3:], step[:3])]

    def coast(
        self, q: Sequence[Scalar], qd: Sequence[Scalar], time: Scalar, center: Sequence[float]
    ) -> tuple[list[Scalar], list[Scalar]]:
        """Return position and velocity; the center moves straight, the axes turn steadily."""
        c, E = Vector3.of(center), quaternion.rotation(q[3:])
        about = Vector3.of(qd[:3]).cross(c)
        along = E.inverse_times(Vector3.of(qd[3:]) + about)
        turned = quaternion.turn(q[3:], [time * w for w in qd[:3]])
        there = Rotation.from_quaternion(*turned)
        moved = Vector3.of(q[:3]) + along * time + E.inverse_times(c) - there.inverse_times(c)
        return [*moved, *turned], [*qd[:3], *(there * along - about)]

    def coasting_rate(self, qd: Sequence[Scalar], center: Sequence[float]) -> list[Scalar]:
        """Return no angular acceleration; the center's velocity does not turn with the axes."""
        w = Vector3.of(qd[:3])
        return [0.0, 0.0, 0.0, *(Vector3.of(qd[3:]) + w.cross(Vector3.of(center))).cross(w)]

    def difference(self, q0: Sequence[Scalar], q1: Sequence[Scalar]) -> list[Scalar]:
        """Return the shortest turn, and the displacement in axes turned by half of it."""
        turned = quaternion.turn_between(q0[3:], q1[3:])
        half = quaternion.turn(q0[3:], [0.5 * s for s in turned])
        moved = Rotation.from_quaternion(*half) * (Vector3.of(q1[:3]) - Vector3.of(q0[:3]))
        return [*turned, *moved]

    def position_rate(self, q: Sequence[Scalar], qd: Sequence[Scalar]) -> list[Scalar]:
        """Return the velocity of the origin in predecessor coordinates and (4.13)."""
        moving = quaternion.rotation(q[3:]).inverse_times(Vector3.of(qd[3:]))
        return [*moving, *quaternion.rate(q[3:], qd[:3])]

    def normalized(self, q: Sequence[Scalar]) -> list[Scalar]:
        """Return the pose with a unit quaternion."""
        return [*q[:3], *quaternion.unit(q[3:])]

    def neutral(self) -> list[float]:
        """Return the identity pose."""
        return [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0]

    def residual(self, X: Transform) -> list[Scalar]:
        """Return no residuals: the joint has no constraints."""
        return []

    def coordinates(self, X: Transform, near: Sequence[float] = ORIGIN) -> list[Scalar]:
        """Return the rotation vector, and the origin in predecessor coordinates."""
        return [*rotation_coordinates(X), *X.r]

    def coordinates_of(self, q: Sequence[Scalar]) -> list[Scalar]:
        """Return the rotation vector of the quaternion, and the origin."""
        return [*quaternion.turn_between(self.neutral()[3:], q[3:]), *q[:3]]

    def coordinate_forces(self, X: Transform, forces: Sequence[Scalar]) -> list[Scalar]:
        """Return the moment and force, in successor coordinates, of the same power."""
        return [*rotation_moment(X, forces[:3]), *(X.E * Vector3.of(forces[3:]))]
