# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Touched surfaces: motion of the object along them, forces on them, and friction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from robot_dynamics.manipulation.hybrid.decoupling_law import ObjectTerms
from robot_dynamics.manipulation.hybrid.grasp_kinematics import Matrix
from robot_dynamics.scalar.functions import sqrt
from robot_dynamics.scalar.linear_algebra import dot, factor, times, transposed_times
from robot_dynamics.spatial import Scalar, Vector3

_SLOW = 1e-3  # speed v0 of smooth friction, at which it is 71 % of sliding friction [m/s]
_AXES = (Vector3(1.0, 0.0, 0.0), Vector3(0.0, 1.0, 0.0), Vector3(0.0, 0.0, 1.0))


class Sliding(NamedTuple):
    """Friction of a surface that the object slides on.

    Attributes:
        friction: Coulomb's coefficient.
        point: The touching point of the object (3,) [m].
    """

    friction: float
    point: tuple[float, float, float]


class Guided(NamedTuple):
    """A hinge or a line with an unknown resistance to the motion that it leaves free.

    Its place is at the first of its functions, which are lengths along the axes x, y and, for a
    hinge, z of its frame.

    Attributes:
        point: The point of the object that a line guides (3,) [m]; None for a hinge.
    """

    point: tuple[float, float, float] | None = None

    def resisted(self, center: Vector3, gradients: Sequence[Sequence[Scalar]]) -> list[Scalar]:
        """Return the unit wrench (6,) of its resistance; see `SurfaceFriction.of`.

        Args:
            center: The object's centre of mass, in the object.
            gradients: Gradients of its functions, in the object's axes.
        """
        x, y = (Vector3.of(gradient[3:]) for gradient in gradients[:2])
        axis = x.cross(y)
        if self.point is None:
            return [*axis, 0.0, 0.0, 0.0]
        return [*(Vector3.of(self.point) - center).cross(axis), *axis]


def drag(
    friction: float, arm: Vector3, gradient: Sequence[Scalar], twist: Sequence[Scalar]
) -> list[Scalar]:
    """Return the friction wrench (6,) by a sliding object on a surface, for a surface force of 1.

    It is about the object's centre of mass; all vectors are in the same axes. Friction is
    mu v / sqrt(v^2 + v0^2), smooth about rest, where Coulomb friction has no direction.

    Args:
        friction: Coulomb's coefficient.
        arm: From the centre of mass to the touching point.
        gradient: Gradient of the surface function over the twist (6,). Its length is the normal
            force for a surface force of 1.
        twist: Angular velocity, velocity of the centre of mass (6,).
    """
    v, normal = Vector3.of(twist[3:]) + Vector3.of(twist[:3]).cross(arm), Vector3.of(gradient[3:])
    along = _across(v, normal)
    force = along * (friction * sqrt(normal.dot(normal) / (along.dot(along) + _SLOW * _SLOW)))
    return [*arm.cross(force), *force]


def _across(vector: Vector3, normal: Vector3) -> Vector3:
    """Return the component of a vector perpendicular to a normal of any length."""
    return vector - normal * (normal.dot(vector) / normal.dot(normal))


@dataclass(frozen=True)
class SurfaceFriction:
    """Friction wrenches by the object on surfaces, about its centre of mass, in its axes.

    Attributes:
        drag: Wrenches of the planned sliding for surface forces of 1 (C, 6); zero for surfaces
            without friction.
        sideways: Wrenches of unit forces perpendicular to the normal at the touching point, by the
            index of a surface with friction: three (3, 6), of which two are independent. For a
            hinge or a line with resistance, its unit wrench (1, 6).
    """

    drag: list[list[Scalar]]
    sideways: dict[int, list[list[Scalar]]]

    @classmethod
    def of(
        cls,
        sliding: Sequence[Sliding | Guided | None],
        center: Vector3,
        gradients: Sequence[Sequence[Scalar]],
        twist: Sequence[Scalar],
    ) -> SurfaceFriction:
        """Return the friction of an object that moves at a twist.

        Args:
            sliding: Friction or resistance of each surface function; None without (C,).
            center: The object's centre of mass, in the object.
            gradients: Gradients of the surface functions (C, 6), in the object's axes.
            twist: Twist of the object (6,), in the object's axes.
        """
        rows: list[list[Scalar]] = [[0.0] * 6 for _ in gradients]
        sideways = {}
        for i, (one, gradient) in enumerate(zip(sliding, gradients, strict=True)):
            if isinstance(one, Guided):
                sideways[i] = [one.resisted(center, gradients[i:])]
            elif one is not None:
                arm, normal = Vector3.of(one.point) - center, Vector3.of(gradient[3:])
                rows[i] = drag(one.friction, arm, gradient, twist)
                forces = [_across(axis, normal) for axis in _AXES]
                sideways[i] = [[*arm.cross(force), *force] for force in forces]
        return cls(rows, sideways)


# Weight of the unknown forces x relative to the object's mobility. Forces that the wrench
# determines are estimated with this relative error; others are zero. The moment of a hinge's
# resistance counts like a force at a lever of 1 m. With levers of some 0.2 m it would show as
# newtons in the hinge's forces (`lid`, 1 N m in its hinge: 0.98 N at rest instead of 0.39 N).
_LOOSE = 0.01
_NO_GRAVITY = 1e-12  # keeps the direction of zero gravity finite [m^2/s^4]


class Surfaces:
    """Surfaces at one state.

    Args:
        E_F: Gradients of the surface functions over the object's twist (C, 6), in its axes.
        touched: 1 for a touched surface, else 0 (C,).
        terms: The object's equation of motion.
        friction: Friction on the surfaces; none by default.
        separating_motions: For each surface the motion (C, 6), in the object's axes, that changes
            its function by one and no coordinate of the user; None without such coordinates.
    """

    def __init__(
        self,
        E_F: Matrix,
        touched: Sequence[Scalar],
        terms: ObjectTerms,
        friction: SurfaceFriction | None = None,
        separating_motions: Matrix | None = None,
    ) -> None:
        self.touched, self._terms, self._friction = touched, terms, friction
        self._E = _where(touched, E_F)
        self._mobility_rows = [terms.solve(row) for row in self._E]  # I_B^-1 E^T, by its columns
        self._G = factor(_mobility(self._E, self._mobility_rows, touched))
        self._separating_motions = separating_motions

    def project(self, motion: Sequence[Scalar], rate: Sequence[Scalar]) -> list[Scalar]:
        """Return the nearest motion (6,) to a given one with E_F motion = rate (C,) where touched.

        "Nearest" is by the metric of inertia; coordinates of the user do not change.
        """
        if not self._E:
            return list(motion)
        rest = [
            c * r - dot(row, motion) for c, r, row in zip(self.touched, rate, self._E, strict=True)
        ]
        if self._separating_motions is not None:
            change = transposed_times(self._separating_motions, rest, 6)
        else:
            change = transposed_times(self._mobility_rows, self._G.solve(rest), 6)
        return [a + b for a, b in zip(motion, change, strict=True)]

    def wrench(self, forces: Sequence[Scalar]) -> list[Scalar]:
        """Return the wrench (6,) by the object on touched surfaces of surface forces (C,)."""
        return transposed_times(self._E, forces, 6) if self._E else [0.0] * 6

    def drag(self, forces: Sequence[Scalar]) -> list[Scalar]:
        """Return the friction wrench (6,) by the sliding object on touched surfaces.

        Args:
            forces: Surface forces (C,).
        """
        if self._friction is None or not self._friction.sideways:
            return [0.0] * 6
        return transposed_times(_where(self.touched, self._friction.drag), forces, 6)

    def forces(
        self,
        wrench: Sequence[Scalar],
        acceleration: Sequence[Scalar],
        desired: Sequence[Scalar] = (),
    ) -> list[Scalar]:
        """Return the forces (C,) on touched surfaces, from the object's wrench and motion.

        The equation I_B a + Q_B = F - E_F^T f is multiplied by E_F I_B^-1, so that only the
        acceleration normal to the surfaces matters. Surfaces that are not touched bear no force.

        With friction the right side is F - E_F^T f - D f_d - T^T x. D f_d is the drag of the
        desired forces. The further unknowns x are a tangential force at the contact point, for a
        contact that sticks, and a force along gravity, for an object heavier than its model. F
        determines them by their lines of action, else x is the least. Only the part of the force
        along gravity that no f could produce counts: on a level table a few millimetres of lever
        would have to separate the two, so that the whole weight error is f. On surfaces with
        friction an error of the tangential acceleration has a small effect, like a tangential
        force.

        Args:
            wrench: F (6,), by the arms on the object.
            acceleration: a (6,) of the object.
            desired: f_d (C,), needed on surfaces with friction.
        """
        if not self._E:
            return []
        terms, friction = self._terms, self._friction
        net = [f - b for f, b in zip(wrench, terms.bias, strict=True)]
        if friction is None or not friction.sideways:
            return self._G.solve(times(self._E, self._free_acceleration(net, acceleration)))
        net = [f - d for f, d in zip(net, self.drag(desired), strict=True)]
        T = [(self.touched[i], row) for i, rows in friction.sideways.items() for row in rows]
        T.append((1.0, self._weight()))
        E = [*self._E, *_where([c for c, _ in T], [row for _, row in T])]
        G = _mobility(E, [terms.solve(row) for row in E], [*self.touched, *(c for c, _ in T)])
        for i in range(len(self._E), len(E)):
            G[i][i] = G[i][i] + _LOOSE / terms.mass
        forces = factor(G).solve(times(E, self._free_acceleration(net, acceleration)))
        return forces[: len(self._E)]

    def _weight(self) -> list[Scalar]:
        """Return the wrench (6,) along gravity less its part that surface forces can exert."""
        g = self._terms.gravity
        weight: list[Scalar] = [0.0, 0.0, 0.0, *(g * (1.0 / sqrt(g.dot(g) + _NO_GRAVITY)))]
        borne = self.wrench(self._G.solve(times(self._E, self._terms.solve(weight))))
        return [w - b for w, b in zip(weight, borne, strict=True)]

    def _free_acceleration(
        self, net: Sequence[Scalar], acceleration: Sequence[Scalar]
    ) -> list[Scalar]:
        """Return I_B^-1 net - acceleration (6,): the acceleration that surfaces prevent."""
        return [a - b for a, b in zip(self._terms.solve(net), acceleration, strict=True)]


def _where(touched: Sequence[Scalar], rows: Matrix) -> Matrix:
    """Return rows (C, 6) of touched surfaces, zero for others."""
    return [[c * value for value in row] for c, row in zip(touched, rows, strict=True)]


def _mobility(E: Matrix, moved: Matrix, touched: Sequence[Scalar]) -> Matrix:
    """Return the lower triangle of E I_B^-1 E^T, with a diagonal of 1 for untouched surfaces."""
    G = [[dot(E[i], moved[j]) for j in range(i + 1)] for i in range(len(E))]
    for i, c in enumerate(touched):
        G[i][i] = G[i][i] + (1.0 - c)
    return G
