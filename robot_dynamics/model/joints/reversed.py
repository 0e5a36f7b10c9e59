# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Joints with predecessor and successor exchanged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from robot_dynamics.model.joints.base import ORIGIN, ConstraintRow, JointType
from robot_dynamics.spatial import Force, Motion, Scalar, Transform


@dataclass(frozen=True, eq=False, repr=False)
class Reversed(JointType):
    """A joint whose successor carries its predecessor (Table 4.2).

    Its variables are the position and velocity variables of the joint: their meaning does not
    depend on the choice of the parent.

    Attributes:
        joint: The type of the joint as it is built, from its own predecessor to its successor.
    """

    joint: JointType

    varying = True

    def __post_init__(self) -> None:
        own = {
            "name": f"reversed {self.joint.name}",
            "nq": self.joint.nq,
            "nv": self.joint.nv,
            "has_axis": self.joint.has_axis,
            "carries": self.joint.carries,
        }
        for name, value in own.items():
            object.__setattr__(self, name, value)

    def transform(self, q: Sequence[Scalar]) -> Transform:
        """Return pX_s."""
        return self.joint.transform(q).inverse()

    def subspace(self, q: Sequence[Scalar]) -> tuple[Motion, ...]:
        """Return -pX_s S."""
        X = self.joint.transform(q)
        return tuple(-X.inverse_times(s) for s in self.joint.subspace(q))

    def velocity_product(self, q: Sequence[Scalar], qd: Sequence[Scalar]) -> Motion:
        """Return -pX_s c_J; the rate of pX_s does not contribute, since v_J x v_J = 0."""
        return -self.joint.transform(q).inverse_times(self.joint.velocity_product(q, qd))

    def position_rate(self, q: Sequence[Scalar], qd: Sequence[Scalar]) -> list[Scalar]:
        """Return the position rate of the joint."""
        return self.joint.position_rate(q, qd)

    def integrate(self, q: Sequence[Scalar], step: Sequence[Scalar]) -> list[Scalar]:
        """Return the joint's positions after a step."""
        return self.joint.integrate(q, step)

    def difference(self, q0: Sequence[Scalar], q1: Sequence[Scalar]) -> list[Scalar]:
        """Return the step of the joint between two positions."""
        return self.joint.difference(q0, q1)

    def normalized(self, q: Sequence[Scalar]) -> list[Scalar]:
        """Return the joint's normalized positions."""
        return self.joint.normalized(q)

    def neutral(self) -> list[float]:
        """Return the joint's neutral position."""
        return self.joint.neutral()

    def constraints(self, X: Transform) -> tuple[Force, ...]:
        """Return -pX*_s T."""
        return tuple(-(X * t) for t in self.joint.constraints(X.inverse()))

    def constraint_rates(self, X: Transform, vJ: Motion) -> tuple[Force, ...]:
        """Return the rates, including the rate of pX*_s (2.45)."""
        back = X.inverse()
        own = self.joint.constraint_rates(back, -(back * vJ))
        return tuple(
            -(X * rate) - vJ.cross_force(t)
            for rate, t in zip(own, self.constraints(X), strict=True)
        )

    @property
    def rows(self) -> tuple[ConstraintRow, ...]:
        """Return the joint's rows."""
        return self.joint.rows

    def residual(self, X: Transform) -> list[Scalar]:
        """Return the residual of the joint: T and v_J both change sign."""
        return self.joint.residual(X.inverse())

    @property
    def closes(self) -> bool:
        """Whether the joint can close a loop."""
        return self.joint.closes

    def coordinates(self, X: Transform, near: Sequence[float] = ORIGIN) -> list[Scalar]:
        """Return the joint's coordinates."""
        return self.joint.coordinates(X.inverse(), near)

    def coordinates_of(self, q: Sequence[Scalar]) -> list[Scalar]:
        """Return the joint's coordinates at a position."""
        return self.joint.coordinates_of(q)

    def told_by_placement(self, coordinates: Sequence[float]) -> tuple[float, ...]:
        """Return the joint's coordinates as placements determine them."""
        return self.joint.told_by_placement(coordinates)

    def coordinate_forces(self, X: Transform, forces: Sequence[Scalar]) -> list[Scalar]:
        """Return the joint's forces, along the same velocities."""
        return self.joint.coordinate_forces(X.inverse(), forces)

    @property
    def has_coordinates(self) -> bool:
        """Whether the joint has coordinates."""
        return self.joint.has_coordinates

    def active_forces(self, X: Transform) -> tuple[Force, ...]:
        """Return -pX*_s T_a."""
        return tuple(-(X * t) for t in self.joint.active_forces(X.inverse()))

    @property
    def parameters(self) -> dict[str, object]:
        """Parameters of the joint."""
        return self.joint.parameters

    @property
    def key(self) -> str:
        """Return the key of the joint, reversed."""
        return f"reversed {self.joint.key}"


def reverse(kind: JointType) -> JointType:
    """Return a type with its polarity reversed; twice reversed is the type itself."""
    return kind.joint if isinstance(kind, Reversed) else Reversed(kind)
