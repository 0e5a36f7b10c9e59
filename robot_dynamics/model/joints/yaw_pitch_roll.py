# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The spherical joint, with yaw, pitch and roll."""

from __future__ import annotations

import math
from collections.abc import Sequence

from robot_dynamics.model.joints.base import ORIGIN, JointType, forces
from robot_dynamics.model.joints.displacement import angle_near, origin
from robot_dynamics.scalar.functions import atan2, cos, sin, sqrt
from robot_dynamics.spatial import Force, Motion, Rotation, Scalar, Transform, Vector3


class YawPitchRoll(JointType):
    """Rotations [rad] about z, then y, then x; the velocities are the rates of the angles.

    Singular at a pitch of +-90 degrees, where yaw and roll turn about one axis. The joint
    `spherical` has no singularity. Two triples of angles give the same placement; drives of a loop
    joint act on the triple with a pitch of less than 90 degrees.
    """

    name, nq, nv, varying = "yaw_pitch_roll", 3, 3, True
    constraint_subspace = forces(4, 5, 6)

    def transform(self, q: Sequence[Scalar]) -> Transform:
        """Return E = rx(q3) ry(q2) rz(q1) (4.7)."""
        c1, c2, c3 = (cos(angle) for angle in q)
        s1, s2, s3 = (sin(angle) for angle in q)
        E = Rotation(
            (
                (c1 * c2, s1 * c2, -s2),
                (c1 * s2 * s3 - s1 * c3, s1 * s2 * s3 + c1 * c3, c2 * s3),
                (c1 * s2 * c3 + s1 * s3, s1 * s2 * c3 - c1 * s3, c2 * c3),
            )
        )
        return Transform(E, Vector3.zero())

    def subspace(self, q: Sequence[Scalar]) -> tuple[Motion, ...]:
        """Return (4.8)."""
        c2, s2, c3, s3 = cos(q[1]), sin(q[1]), cos(q[2]), sin(q[2])
        columns = ((-s2, c2 * s3, c2 * c3), (0.0, c3, -s3), (1.0, 0.0, 0.0))
        return tuple(Motion(Vector3.of(column), Vector3.zero()) for column in columns)

    def velocity_product(self, q: Sequence[Scalar], qd: Sequence[Scalar]) -> Motion:
        """Return (4.9)."""
        c2, s2, c3, s3 = cos(q[1]), sin(q[1]), cos(q[2]), sin(q[2])
        yaw_pitch, yaw_roll, pitch_roll = qd[0] * qd[1], qd[0] * qd[2], qd[1] * qd[2]
        turning = Vector3(
            -c2 * yaw_pitch,
            -s2 * s3 * yaw_pitch + c2 * c3 * yaw_roll - s3 * pitch_roll,
            -s2 * c3 * yaw_pitch - c2 * s3 * yaw_roll - c3 * pitch_roll,
        )
        return Motion(turning, Vector3.zero())

    def residual(self, X: Transform) -> list[Scalar]:
        """Return d4, d5, d6, as for the spherical joint."""
        return origin(X)

    def coordinates(self, X: Transform, near: Sequence[float] = ORIGIN) -> list[Scalar]:
        """Return the angles with a pitch of less than 90 degrees."""
        a, b, c = X.E.rows
        pitch = atan2(-a[2], sqrt(b[2] * b[2] + c[2] * c[2]))
        return [angle_near(a[1], a[0], near[0]), pitch, angle_near(b[2], c[2], near[2])]

    def told_by_placement(self, coordinates: Sequence[float]) -> tuple[float, ...]:
        """Return the angles with a pitch of less than 90 degrees, half turns of the others added.

        Distances from either triple to angles near it are the same.
        """
        yaw, pitch, roll = coordinates
        if math.cos(pitch) < 0.0:
            yaw, pitch, roll = yaw + math.pi, math.pi - pitch, roll + math.pi
        return yaw, math.remainder(pitch, 2.0 * math.pi), roll

    def active_forces(self, X: Transform) -> tuple[Force, ...]:
        """Return the moments that do work on one angle each: the inverse of S, transposed.

        The angles are the result of `coordinates`, with a pitch of less than 90 degrees.
        """
        a, b, c = X.E.rows
        s3, c3 = b[2], c[2]  # times c2, the cosine of the pitch
        squared = s3 * s3 + c3 * c3
        yaw = Vector3(0.0, s3, c3) * (1.0 / squared)
        pitch = Vector3(0.0, c3, -s3) * (1.0 / sqrt(squared))
        roll = Vector3(1.0, 0.0, 0.0) - yaw * a[2]
        return tuple(Force(moment, Vector3.zero()) for moment in (yaw, pitch, roll))
