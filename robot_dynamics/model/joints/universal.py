# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The universal joint."""

from __future__ import annotations

from collections.abc import Sequence

from robot_dynamics.model.joints.base import ORIGIN, ConstraintRow, JointType, forces
from robot_dynamics.model.joints.displacement import angle_near, origin, predecessor_axis
from robot_dynamics.scalar.functions import cos, sin
from robot_dynamics.spatial import Force, Motion, Rotation, Scalar, Transform, Vector3

_Y = Vector3(0.0, 1.0, 0.0)


class Universal(JointType):
    """Two rotations [rad]: about x of the predecessor, then about y of the successor."""

    name, nq, nv, varying = "universal", 2, 2, True

    def transform(self, q: Sequence[Scalar]) -> Transform:
        """Return E = ry(q2) rx(q1)."""
        c1, s1, c2, s2 = cos(q[0]), sin(q[0]), cos(q[1]), sin(q[1])
        E = Rotation(((c2, s1 * s2, -c1 * s2), (0.0, c1, s1), (s2, -s1 * c2, c1 * c2)))
        return Transform(E, Vector3.zero())

    def subspace(self, q: Sequence[Scalar]) -> tuple[Motion, ...]:
        """Return the first axis in successor coordinates, and y."""
        first = Vector3(cos(q[1]), 0.0, sin(q[1]))
        return Motion(first, Vector3.zero()), Motion(_Y, Vector3.zero())

    def velocity_product(self, q: Sequence[Scalar], qd: Sequence[Scalar]) -> Motion:
        """Return the rate of the first axis times its speed."""
        turning = Vector3(-sin(q[1]), 0.0, cos(q[1])) * (qd[0] * qd[1])
        return Motion(turning, Vector3.zero())

    def constraints(self, X: Transform) -> tuple[Force, ...]:
        """Return the moment normal to both axes, and all forces."""
        first = predecessor_axis(X, 0)
        return (Force(first.cross(_Y), Vector3.zero()), *forces(4, 5, 6))

    def constraint_rates(self, X: Transform, vJ: Motion) -> tuple[Force, ...]:
        """Return the rates: the first axis is fixed in the predecessor."""
        first_rate = predecessor_axis(X, 0).cross(vJ.angular)
        still = Force.zero()
        return Force(first_rate.cross(_Y), Vector3.zero()), still, still, still

    @property
    def rows(self) -> tuple[ConstraintRow, ...]:
        """Return the twist about z, and the translations."""
        return tuple(ConstraintRow(d) for d in ("rz", "x", "y", "z"))

    def residual(self, X: Transform) -> list[Scalar]:
        """Return the axes' deviation from a right angle, and the displacement of the origin."""
        return [-X.E.rows[1][0], *origin(X)]

    def coordinates(self, X: Transform, near: Sequence[float] = ORIGIN) -> list[Scalar]:
        """Return both angles."""
        _, b, c = X.E.rows
        first, second = angle_near(b[2], b[1], near[0]), angle_near(c[0], X.E.rows[0][0], near[1])
        return [first, second]

    def active_forces(self, X: Transform) -> tuple[Force, ...]:
        """Return the moments about both axes, which are orthonormal."""
        first = predecessor_axis(X, 0)
        return Force(first, Vector3.zero()), Force(_Y, Vector3.zero())
