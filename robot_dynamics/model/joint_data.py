# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Tree joints and loop joints of a model: type, and properties of each freedom."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeVar

from robot_dynamics.errors import RobotDynamicsError, require_length
from robot_dynamics.model.elements import Limits, bounded
from robot_dynamics.model.joints import JointType
from robot_dynamics.spatial import Transform

Freedoms = TypeVar("Freedoms")


class _Freedoms:
    """Base of tree joints and loop joints: values of all degrees of freedom, or of each."""

    name: str
    type: JointType
    limits: Limits | tuple[Limits, ...]
    damping: float | tuple[float, ...]
    friction: float | tuple[float, ...]
    active: bool | tuple[bool, ...]
    stiffness: float | tuple[float, ...]
    rest: float | tuple[float, ...]

    def __post_init__(self) -> None:
        for name in ("limits", "damping", "friction", "active", "armature", "stiffness", "rest"):
            values = getattr(self, name, 0.0)
            if isinstance(values, tuple):
                what = f"{name} of joint {self.name!r}"
                require_length(what, values, self.type.nv, "one for each degree of freedom")
        if self.elastic and not self.type.has_coordinates:
            raise RobotDynamicsError(
                f"joint {self.name!r}: a {self.type.name} joint has no coordinates for a "
                "spring, expected no stiffness."
            )

    def of_each_freedom(self, values: Freedoms | tuple[Freedoms, ...]) -> tuple[Freedoms, ...]:
        """Return one value for each degree of freedom."""
        return values if isinstance(values, tuple) else (values,) * self.type.nv

    @property
    def freedom_names(self) -> tuple[str, ...]:
        """A name for each degree of freedom: the joint's, with the direction if it has several."""
        labels = self.type.freedoms
        return tuple(f"{self.name}.{label}" if label else self.name for label in labels)

    @property
    def elastic(self) -> bool:
        """Whether there is a spring in one of its freedoms."""
        return any(self.of_each_freedom(self.stiffness))

    @property
    def damped(self) -> bool:
        """Whether one of its freedoms has viscous friction."""
        return any(self.of_each_freedom(self.damping))

    @property
    def bounded(self) -> bool:
        """Whether one of its freedoms has a position limit."""
        return self.type.nv > 0 and bounded(self.limits)

    @property
    def driven(self) -> bool:
        """Whether a drive acts on one of its freedoms."""
        return any(self.of_each_freedom(self.active))


@dataclass(frozen=True)
class Joint(_Freedoms):
    """A tree joint: its type and the properties of its degrees of freedom.

    Attributes:
        name: Its name.
        type: Its joint type.
        limits: Limits, one for all degrees of freedom or a tuple with one each.
        damping: Viscous friction of each freedom [N m s/rad or N s/m].
        friction: Coulomb friction of each freedom [N m or N].
        active: Whether a drive can act on each freedom; a joint may have active and passive
            freedoms.
        armature: Reflected inertia of a geared rotor in each freedom [kg m^2 or kg].
        stiffness: Stiffness of the spring of each freedom [N m/rad or N/m].
        rest: Coordinate of each freedom at which its spring is relaxed [rad or m].
    """

    name: str
    type: JointType
    limits: Limits | tuple[Limits, ...] = field(default_factory=Limits)
    damping: float | tuple[float, ...] = 0.0
    friction: float | tuple[float, ...] = 0.0
    active: bool | tuple[bool, ...] = True
    armature: float | tuple[float, ...] = 0.0
    stiffness: float | tuple[float, ...] = 0.0
    rest: float | tuple[float, ...] = 0.0


@dataclass(frozen=True)
class LoopJoint(_Freedoms):
    """A joint that closes a kinematic loop, or a spring and damper between any two bodies.

    Attributes:
        name: Its name.
        type: Its joint type; a floating one has no constraints.
        predecessor: Index of its predecessor body; `WORLD` for the fixed base.
        successor: Index of its successor body, on which constraint forces act.
        predecessor_placement: X_P, from the predecessor's body frame to the loop joint's frame.
        successor_placement: X_S, from the successor's body frame to the loop joint's frame.
        unilateral: Whether it can only push, along z: the multiplier of that row is not negative.
        limits: Limits, one for all degrees of freedom or a tuple with one each.
        damping: Viscous friction of each freedom [N m s/rad or N s/m].
        friction: Coulomb friction of each freedom [N m or N]; the dynamics leave it out.
        active: Whether a drive can act on each freedom.
        stiffness: Stiffness of the spring of each freedom [N m/rad or N/m].
        rest: Coordinate of each freedom at which its spring is relaxed [rad or m].
    """

    name: str
    type: JointType
    predecessor: int
    successor: int
    predecessor_placement: Transform
    successor_placement: Transform
    unilateral: bool = False
    limits: Limits | tuple[Limits, ...] = field(default_factory=Limits)
    damping: float | tuple[float, ...] = 0.0
    friction: float | tuple[float, ...] = 0.0
    active: bool | tuple[bool, ...] = False
    stiffness: float | tuple[float, ...] = 0.0
    rest: float | tuple[float, ...] = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.bounded and not self.type.has_coordinates:
            raise RobotDynamicsError(
                f"loop joint {self.name!r}: a {self.type.name} joint has no coordinates for a "
                "position limit, expected none."
            )
