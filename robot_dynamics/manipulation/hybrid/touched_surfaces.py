# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""An object on surfaces that it touches: motion along them, forces on them, and friction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from robot_dynamics.manipulation.hybrid.decoupling_law import ObjectTerms
from robot_dynamics.manipulation.hybrid.grasp_kinematics import Matrix
from robot_dynamics.scalar.functions import sqrt
from robot_dynamics.scalar.linear_algebra import dot, factor, times, transposed_times
from robot_dynamics.spatial import Scalar, Vector3

_SLOW = 1e-3  # speed [m/s] over which friction comes up to what sliding makes
_AXES = (Vector3(1.0, 0.0, 0.0), Vector3(0.0, 1.0, 0.0), Vector3(0.0, 0.0, 1.0))


class Sliding(NamedTuple):
    """Friction of a surface that the object slides on.

    Attributes:
        friction: Coulomb's coefficient.
        point: Of the object that touches (3,) [m].
    """

    friction: float
    point: tuple[float, float, float]


class Guided(NamedTuple):
    """A hinge or a line with an unknown resistance to the motion that it leaves free.

    It stands at the first of its functions, which are lengths along the axes x, y and, of a hinge,
    z of its frame.

    Attributes:
        point: Of the object that a line guides (3,) [m]; None of a hinge.
    """

    point: tuple[float, float, float] | None = None

    def resisted(self, center: Vector3, gradients: Sequence[Sequence[Scalar]]) -> list[Scalar]:
        """Return the wrench (6,) that it resists with, of size one; see `SurfaceFriction.of`.

        Args:
            center: The object's centre of mass, in the object.
            gradients: Of its functions, in the object's axes.
        """
        x, y = (Vector3.of(gradient[3:]) for gradient in gradients[:2])
        axis = x.cross(y)
        if self.point is None:
            return [*axis, 0.0, 0.0, 0.0]
        return [*(Vector3.of(self.point) - center).cross(axis), *axis]


def drag(
    friction: float, arm: Vector3, gradient: Sequence[Scalar], twist: Sequence[Scalar]
) -> list[Scalar]:
    """Return the wrench (6,) by a sliding object on its surface, for a push of 1.

    It is about the object's centre of mass, all in the same axes. Friction is smooth about rest,
    mu v / sqrt(v^2 + v0^2): it has no direction there.

    Args:
        friction: Coulomb's coefficient.
        arm: From the centre of mass to the point that touches.
        gradient: Of the surface's function over the twist (6,), of any length: the push of 1 is
            along it, and friction that of a normal force of its length.
        twist: Angular velocity, velocity of the centre of mass (6,).
    """
    v, normal = Vector3.of(twist[3:]) + Vector3.of(twist[:3]).cross(arm), Vector3.of(gradient[3:])
    along = _across(v, normal)
    force = along * (friction * sqrt(normal.dot(normal) / (along.dot(along) + _SLOW * _SLOW)))
    return [*arm.cross(force), *force]


def _across(vector: Vector3, normal: Vector3) -> Vector3:
    """Return what of a vector is across a normal of any length."""
    return vector - normal * (normal.dot(vector) / normal.dot(normal))


@dataclass(frozen=True)
class SurfaceFriction:
    """Friction of the object on surfaces: wrenches on them, about its centre of mass in its axes.

    Attributes:
        drag: Of friction for a push of 1, as the object is planned to slide (C, 6); zero where
            nothing slides.
        sideways: By the index of each surface that something slides on, of unit forces across its
            normal where it is touched: three (3, 6), of which two are independent. Of a hinge or a
            line that resists, of that (1, 6).
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
            sliding: Friction of the surfaces that have some.
            center: The object's centre of mass, in the object.
            gradients: Of the surfaces (C, 6), in the object's axes.
            twist: Of the object (6,), likewise.
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


# Weight of the unknown forces x against the object's mobility: they are estimated to within this
# part where wrenches determine them, and zero where they do not. A moment, with which a hinge
# resists, counts as a force at a lever of 1 m: with levers of some 0.2 m a moment would show as
# newtons in the hinge's forces (`lid`, 1 N m in its hinge: 0.98 N at rest instead of 0.39 N).
_LOOSE = 0.01
_NO_GRAVITY = 1e-12  # keeps its direction finite where there is none [m^2/s^4]


class Surfaces:
    """Surfaces at one state.

    Args:
        E_F: Their gradients over the object's twist (C, 6), in the object's axes.
        touched: For each 1 if it is touched, 0 if not (C,).
        terms: The object.
        friction: On them; none by default.
        separating_motions: For each surface the motion (C, 6) that changes its function by one,
            and no coordinate of the user's own, in the object's axes; None without these.
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
        """Return the motion (6,) nearest to a given one with E_F motion = rate (C,) where touched.

        Nearest in the metric of inertia; with the user's own coordinates, none of these changes.
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
        """Return the wrench (6,) by the object on touched surfaces that forces (C,) make."""
        return transposed_times(self._E, forces, 6) if self._E else [0.0] * 6

    def drag(self, forces: Sequence[Scalar]) -> list[Scalar]:
        """Return the wrench (6,) by the object on touched surfaces that it slides along.

        Args:
            forces: That they are pushed with (C,).
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

        I_B a + Q_B = F - E_F^T f, multiplied by E_F I_B^-1, so that only the acceleration normal
        to the surfaces matters. Surfaces that are not touched bear no force.

        With friction the right side is F - E_F^T f - D f_d - T^T x: D f_d is the drag of the
        desired forces, and x are further unknowns: a tangential force at the contact point, as of
        a contact that sticks, and a force along gravity, of an object heavier than its model. F
        determines them by their lines of action; where it does not, x is the least. Of the force
        along gravity only the part counts that no f could produce: on a level table, where a few
        millimetres of lever would have to separate them, the whole weight error is f. On surfaces
        with friction an error of the tangential acceleration has a small effect, like a tangential
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
        """Return the wrench (6,) along gravity less what is nearest to it on surfaces."""
        g = self._terms.gravity
        weight: list[Scalar] = [0.0, 0.0, 0.0, *(g * (1.0 / sqrt(g.dot(g) + _NO_GRAVITY)))]
        borne = self.wrench(self._G.solve(times(self._E, self._terms.solve(weight))))
        return [w - b for w, b in zip(weight, borne, strict=True)]

    def _free_acceleration(
        self, net: Sequence[Scalar], acceleration: Sequence[Scalar]
    ) -> list[Scalar]:
        """Return I_B^-1 of a net wrench less an acceleration (6,): what surfaces take away."""
        return [a - b for a, b in zip(self._terms.solve(net), acceleration, strict=True)]


def _where(touched: Sequence[Scalar], rows: Matrix) -> Matrix:
    """Return rows (C, 6) of touched surfaces, zero for others."""
    return [[c * value for value in row] for c, row in zip(touched, rows, strict=True)]


def _mobility(E: Matrix, moved: Matrix, touched: Sequence[Scalar]) -> Matrix:
    """Return E I_B^-1 E^T, its lower triangle, with ones for what is not touched."""
    G = [[dot(E[i], moved[j]) for j in range(i + 1)] for i in range(len(E))]
    for i, c in enumerate(touched):
        G[i][i] = G[i][i] + (1.0 - c)
    return G
