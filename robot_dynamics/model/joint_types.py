# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Joint models: what Featherstone's `jcalc` returns for each kind of joint (Tables 4.1 and 8.1).

A joint type is stateless. Everything is expressed in the successor frame of the joint, and every
joint with an axis has it along z. As a tree joint a type answers for its transform, its motion
subspace and the motion of its position variables; as a loop joint, for its constraint-force
subspace and the residual of its constraints.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar

from robot_dynamics.errors import UnknownNameError
from robot_dynamics.scalar.functions import cos, sin, sqrt
from robot_dynamics.spatial import Force, Motion, Rotation, Scalar, Transform, Vector3

_UNITS = [[float(i == j) for j in range(6)] for i in range(6)]


class JointType(ABC):
    """What a kind of joint does, for a scalar type of any kind.

    Attributes:
        name: The name used in descriptions.
        nq: Number of position variables.
        nv: Number of velocity variables, the joint's degrees of freedom.
        motion_subspace: The columns of S in successor coordinates, constant for all types here.
        constraint_subspace: The columns of T in successor coordinates, constant as well.
    """

    name: ClassVar[str]
    nq: ClassVar[int]
    nv: ClassVar[int]
    motion_subspace: ClassVar[tuple[Motion, ...]]
    constraint_subspace: ClassVar[tuple[Force, ...]]

    def __repr__(self) -> str:
        return f"<{self.name} joint>"

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other)

    def __hash__(self) -> int:
        return hash(self.name)

    @abstractmethod
    def transform(self, q: Sequence[Scalar]) -> Transform:
        """Return X_J, from predecessor to successor coordinates, at positions `q` (nq,)."""

    @abstractmethod
    def integrate(self, q: Sequence[Scalar], step: Sequence[Scalar]) -> list[Scalar]:
        """Return the positions reached from `q` by a constant velocity times time `step` (nv,).

        The step is a rotation vector and a displacement in successor coordinates where the joint
        has those; the result's quaternion is of unit length to rounding.
        """

    def position_rate(self, q: Sequence[Scalar], qd: Sequence[Scalar]) -> list[Scalar]:
        """Return the time derivatives (nq,) of the positions, the book's `qdfn` (3.8)."""
        return list(qd)

    def normalized(self, q: Sequence[Scalar]) -> list[Scalar]:
        """Return the positions with quaternions brought back to unit length."""
        return list(q)

    @abstractmethod
    def neutral(self) -> list[float]:
        """Return the positions at which successor and predecessor frames coincide."""

    def residual(self, X: Transform) -> list[Scalar]:
        """Return the constraint errors delta of a loop joint whose frames are related by `X`.

        First-order exact near closure, in the order of `constraint_subspace` (Table 8.1).

        Raises:
            NotImplementedError: If this type cannot close a loop.
        """
        raise NotImplementedError(f"a {self.name} joint cannot close a loop yet.")

    def velocity(self, qd: Sequence[Scalar]) -> Motion:
        """Return v_J = S qd in successor coordinates."""
        total = Motion.zero()
        for column, rate in zip(self.motion_subspace, qd, strict=True):
            total = total + column * rate
        return total


class Revolute(JointType):
    """Rotation about z [rad]; `continuous` in URDF is the same joint without limits."""

    name, nq, nv = "revolute", 1, 1
    motion_subspace = (Motion.of(_UNITS[2]),)
    constraint_subspace = tuple(Force.of(_UNITS[i]) for i in (0, 1, 3, 4, 5))

    def transform(self, q: Sequence[Scalar]) -> Transform:
        """Return a rotation about z."""
        return Transform(Rotation.about_z(cos(q[0]), sin(q[0])), Vector3.zero())

    def integrate(self, q: Sequence[Scalar], step: Sequence[Scalar]) -> list[Scalar]:
        """Return the sum."""
        return [q[0] + step[0]]

    def neutral(self) -> list[float]:
        """Return the angle zero."""
        return [0.0]


class Prismatic(JointType):
    """Translation along z [m]."""

    name, nq, nv = "prismatic", 1, 1
    motion_subspace = (Motion.of(_UNITS[5]),)
    constraint_subspace = tuple(Force.of(_UNITS[i]) for i in range(5))

    def transform(self, q: Sequence[Scalar]) -> Transform:
        """Return a translation along z."""
        return Transform(Rotation.identity(), Vector3(0.0, 0.0, q[0]))

    def integrate(self, q: Sequence[Scalar], step: Sequence[Scalar]) -> list[Scalar]:
        """Return the sum."""
        return [q[0] + step[0]]

    def neutral(self) -> list[float]:
        """Return the displacement zero."""
        return [0.0]


class Floating(JointType):
    """Six degrees of freedom.

    Positions: x, y, z of the successor's origin in *predecessor* coordinates [m], then the unit
    quaternion (x, y, z, w) of its orientation. Velocities: angular, then linear, in successor
    coordinates. The printed Table 4.1 stores the translation in successor coordinates and is not
    consistent with a constant S; see the notes on conventions in the documentation.
    """

    name, nq, nv = "floating", 7, 6
    motion_subspace = tuple(Motion.of(row) for row in _UNITS)
    constraint_subspace = ()

    def transform(self, q: Sequence[Scalar]) -> Transform:
        """Return the transform of position and quaternion."""
        return Transform(Rotation.from_quaternion(*q[3:]), Vector3.of(q[:3]))

    def integrate(self, q: Sequence[Scalar], step: Sequence[Scalar]) -> list[Scalar]:
        """Turn by the rotation vector `step[:3]` and move by `step[3:]`, along the turned path.

        The displacement is turned by half of the rotation, which makes a step of constant body
        velocity exact to third order; the integrators above build their own order on it.
        """
        half = turn(q[3:], [0.5 * s for s in step[:3]])
        moved = Vector3.of(q[:3]) + Rotation.from_quaternion(*half).inverse_times(
            Vector3.of(step[3:])
        )
        return [*moved, *turn(q[3:], step[:3])]

    def position_rate(self, q: Sequence[Scalar], qd: Sequence[Scalar]) -> list[Scalar]:
        """Return the velocity of the origin in predecessor coordinates and (4.13)."""
        x, y, z, w = q[3:]
        wx, wy, wz = qd[:3]
        moving = Rotation.from_quaternion(x, y, z, w).inverse_times(Vector3.of(qd[3:]))
        return [
            *moving,
            0.5 * (w * wx - z * wy + y * wz),
            0.5 * (z * wx + w * wy - x * wz),
            0.5 * (-y * wx + x * wy + w * wz),
            -0.5 * (x * wx + y * wy + z * wz),
        ]

    def normalized(self, q: Sequence[Scalar]) -> list[Scalar]:
        """Return the pose with a unit quaternion."""
        return [*q[:3], *_unit(q[3:])]

    def neutral(self) -> list[float]:
        """Return the identity pose."""
        return [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0]


class Fixed(JointType):
    """No freedom. As a tree joint it is merged away; as a loop joint it is a weld, or a grasp."""

    name, nq, nv = "fixed", 0, 0
    motion_subspace = ()
    constraint_subspace = tuple(Force.of(row) for row in _UNITS)

    def transform(self, q: Sequence[Scalar]) -> Transform:
        """Return the identity."""
        return Transform.identity()

    def integrate(self, q: Sequence[Scalar], step: Sequence[Scalar]) -> list[Scalar]:
        """Return no positions."""
        return []

    def neutral(self) -> list[float]:
        """Return no positions."""
        return []

    def residual(self, X: Transform) -> list[Scalar]:
        """Return the small displacement from where the successor should be to where it is."""
        a, b, c = X.E.rows
        # ½ [X53 - X62, X61 - X43, X42 - X51] of the block -E r x is ½ (tr E - E^T) r.
        linear = (X.r * (a[0] + b[1] + c[2]) - X.E.inverse_times(X.r)) * 0.5
        return [0.5 * (b[2] - c[1]), 0.5 * (c[0] - a[2]), 0.5 * (a[1] - b[0]), *linear]


def turn(quaternion: Sequence[Scalar], step: Sequence[Scalar]) -> list[Scalar]:
    """Return the quaternion (x, y, z, w) after a rotation vector `step` [rad] in its own frame.

    The half-angle series is used up to the tenth order: below one radian per step, where every
    integrator must stay anyway, its error is under 1e-13; the result is normalised.
    """
    x, y, z, w = quaternion
    squared = 0.25 * (step[0] * step[0] + step[1] * step[1] + step[2] * step[2])
    # sin(a)/a and cos(a) of the half angle a, from a^2
    sinc = _series(squared, (1.0, -1 / 6, 1 / 120, -1 / 5040, 1 / 362880, -1 / 39916800))
    cosine = _series(squared, (1.0, -1 / 2, 1 / 24, -1 / 720, 1 / 40320, -1 / 3628800))
    sx, sy, sz = (0.5 * sinc * s for s in step)
    turned = [
        w * sx + x * cosine + y * sz - z * sy,
        w * sy + y * cosine + z * sx - x * sz,
        w * sz + z * cosine + x * sy - y * sx,
        w * cosine - x * sx - y * sy - z * sz,
    ]
    return _unit(turned)


def _unit(values: Sequence[Scalar]) -> list[Scalar]:
    x, y, z, w = values
    scale = 1.0 / sqrt(x * x + y * y + z * z + w * w)
    return [x * scale, y * scale, z * scale, w * scale]


def _series(x: Scalar, coefficients: Sequence[float]) -> Scalar:
    total: Scalar = coefficients[-1]
    for coefficient in reversed(coefficients[:-1]):
        total = total * x + coefficient
    return total


JOINT_TYPES: dict[str, JointType] = {
    "revolute": Revolute(),
    "continuous": Revolute(),
    "prismatic": Prismatic(),
    "floating": Floating(),
    "fixed": Fixed(),
}


def joint_type(name: str, place: str = "") -> JointType:
    """Return the joint type of a name.

    Raises:
        UnknownNameError: If there is none; the message lists the names there are.
    """
    if name not in JOINT_TYPES:
        raise UnknownNameError("joint type", name, JOINT_TYPES, place)
    return JOINT_TYPES[name]
