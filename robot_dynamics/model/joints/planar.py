# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The planar joint."""

from __future__ import annotations

from collections.abc import Sequence

from robot_dynamics.model.joints.base import ORIGIN, JointType, forces, motions
from robot_dynamics.model.joints.displacement import angle_near, tilt
from robot_dynamics.scalar.functions import cos, sin
from robot_dynamics.spatial import Rotation, Scalar, Transform, Vector3


class Planar(JointType):
    """Rotation about z and translation in the plane normal to it; also a face on a plane.

    Positions: angle [rad], then x and y of the successor's origin in *predecessor* coordinates
    [m]. Velocities: about z, then along x and y of the *successor*. The printed Table 4.1 uses
    the rates of the positions as velocities, which is not consistent with a constant S.
    """

    name, nq, nv, has_axis = "planar", 3, 3, True
    motion_subspace = motions(3, 4, 5)
    constraint_subspace = forces(1, 2, 6)

    def transform(self, q: Sequence[Scalar]) -> Transform:
        """Return a rotation about z and a translation in the plane."""
        return Transform(Rotation.about_z(cos(q[0]), sin(q[0])), Vector3(q[1], q[2], 0.0))

    def position_rate(self, q: Sequence[Scalar], qd: Sequence[Scalar]) -> list[Scalar]:
        """Return the velocity of the origin in predecessor coordinates."""
        return [qd[0], *_turned(q[0], qd[1], qd[2])]

    def integrate(self, q: Sequence[Scalar], step: Sequence[Scalar]) -> list[Scalar]:
        """Turn by `step[0]` and move by `step[1:]`, turned by half of the rotation.

        A step of constant body velocity is exact to third order, as for a floating joint.
        """
        dx, dy = _turned(q[0] + 0.5 * step[0], step[1], step[2])
        return [q[0] + step[0], q[1] + dx, q[2] + dy]

    def coast(
        self, q: Sequence[Scalar], qd: Sequence[Scalar], time: Scalar, center: Sequence[float]
    ) -> tuple[list[Scalar], list[Scalar]]:
        """Return position and velocity; the center moves straight, the axes turn steadily."""
        w, (a, b, _) = qd[0], center
        x, y = _turned(q[0], qd[1] - w * b, qd[2] + w * a)
        angle = q[0] + time * w
        here, there = _turned(q[0], a, b), _turned(angle, a, b)
        vx, vy = _turned(-angle, x, y)
        moved = [
            p + time * v + c - d for p, v, c, d in zip(q[1:], (x, y), here, there, strict=True)
        ]
        return [angle, *moved], [w, vx + w * b, vy - w * a]

    def coasting_rate(self, qd: Sequence[Scalar], center: Sequence[float]) -> list[Scalar]:
        """Return the rates for a velocity of the center that does not turn with the axes."""
        w, (a, b, _) = qd[0], center
        return [0.0, w * (qd[2] + w * a), -w * (qd[1] - w * b)]

    def difference(self, q0: Sequence[Scalar], q1: Sequence[Scalar]) -> list[Scalar]:
        """Return the angle, and the displacement in axes turned by half of it."""
        dx, dy = _turned(-0.5 * (q0[0] + q1[0]), q1[1] - q0[1], q1[2] - q0[2])
        return [q1[0] - q0[0], dx, dy]

    def residual(self, X: Transform) -> list[Scalar]:
        """Return d1, d2, d6; d6 is the distance of the successor's origin from the plane."""
        return [*tilt(X), X.r.z]

    def coordinates(self, X: Transform, near: Sequence[float] = ORIGIN) -> list[Scalar]:
        """Return the angle, and x and y of the origin."""
        a, _, _ = X.E.rows
        return [angle_near(a[1], a[0], near[0]), X.r.x, X.r.y]

    def coordinate_forces(self, X: Transform, forces: Sequence[Scalar]) -> list[Scalar]:
        """Return the moment, and the force along x and y of the successor."""
        a, b, _ = X.E.rows
        moment, x, y = forces
        return [moment, a[0] * x + a[1] * y, b[0] * x + b[1] * y]


def _turned(angle: Scalar, x: Scalar, y: Scalar) -> tuple[Scalar, Scalar]:
    c, s = cos(angle), sin(angle)
    return c * x - s * y, s * x + c * y
