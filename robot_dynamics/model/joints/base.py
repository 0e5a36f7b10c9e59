# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Base class of joint types: Featherstone's `jcalc` (Tables 4.1 and 8.1)."""

from __future__ import annotations

import dataclasses
import hashlib
import inspect
import os
from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import cache

from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.spatial import Force, Motion, Scalar, Transform

#: Coordinates of a placement whose frames coincide; longer than any joint needs.
ORIGIN = (0.0,) * 6

_UNITS = [[float(i == j) for j in range(6)] for i in range(6)]
_DIRECTIONS = ("rx", "ry", "rz", "x", "y", "z")


def motions(*axes: int) -> tuple[Motion, ...]:
    """Return the unit motions e_i, numbered 1 to 6 as in the book: angular x, y, z, linear."""
    return tuple(Motion.of(_UNITS[i - 1]) for i in axes)


def forces(*axes: int) -> tuple[Force, ...]:
    """Return the unit forces e_i, numbered 1 to 6 as in the book: moment x, y, z, force."""
    return tuple(Force.of(_UNITS[i - 1]) for i in axes)


def combined(columns: Sequence[Motion], rates: Sequence[Scalar]) -> Motion:
    """Return the sum of motions times rates, S qd."""
    total = Motion.zero()
    for column, rate in zip(columns, rates, strict=True):
        total = total + column * rate
    return total


@dataclasses.dataclass(frozen=True)
class ConstraintRow:
    """Direction and kind of one constraint of a loop joint.

    Attributes:
        direction: Blocked motion: "rx", "ry", "rz" for rotations, "x", "y", "z" for translations.
            Along "z" every contact has its normal.
        holonomic: False if it constrains the velocity alone: such a row has no position error and
            is never projected.
    """

    direction: str
    holonomic: bool = True

    @property
    def rotational(self) -> bool:
        """Whether its force is a moment."""
        return self.direction.startswith("r")


class JointType(ABC):
    """A joint type, over any scalar type.

    A type is immutable; its parameters, such as the pitch of a screw, are fields of a frozen
    dataclass. All quantities are in the successor frame F_s of the joint, whose z is the joint's
    axis. As a tree joint a type defines its transform X_J, its motion subspace S, the velocity
    product c_J and the rates of its positions; as a loop joint, its constraint-force subspace T,
    the rate of T and the residual of its constraints. These depend on the relative placement
    X = sXp of the joint's frames, which need not satisfy the joint exactly.

    A type with constant S or T sets `motion_subspace` or `constraint_subspace`; the others
    override `subspace` and `velocity_product`, or `constraints`, `constraint_rates` and `rows`.

    Attributes:
        name: The name used in descriptions.
        nq: Number of position variables.
        nv: Number of velocity variables, the joint's degrees of freedom.
        motion_subspace: The columns of S, if constant.
        constraint_subspace: The columns of T, if constant.
        has_axis: Whether a description gives an axis, which becomes z.
        varying: Whether S depends on the positions.
        carries: Whether it can be a tree joint; contacts can only close loops.
    """

    name: str
    nq: int
    nv: int
    motion_subspace: tuple[Motion, ...]
    constraint_subspace: tuple[Force, ...]
    has_axis: bool = False
    varying: bool = False
    carries: bool = True

    # As a tree joint.

    @abstractmethod
    def transform(self, q: Sequence[Scalar]) -> Transform:
        """Return X_J, from predecessor to successor coordinates, at positions `q` (nq,)."""

    def subspace(self, q: Sequence[Scalar]) -> tuple[Motion, ...]:
        """Return the nv columns of S(q)."""
        return self.motion_subspace

    def velocity(self, q: Sequence[Scalar], qd: Sequence[Scalar]) -> Motion:
        """Return v_J = S qd."""
        return combined(self.subspace(q), qd)

    def velocity_product(self, q: Sequence[Scalar], qd: Sequence[Scalar]) -> Motion:
        """Return c_J, the rate of the components of S times qd (3.41)."""
        return Motion.zero()

    def position_rate(self, q: Sequence[Scalar], qd: Sequence[Scalar]) -> list[Scalar]:
        """Return the time derivatives (nq,) of the positions, the book's `qdfn` (3.8)."""
        return list(qd)

    def integrate(self, q: Sequence[Scalar], step: Sequence[Scalar]) -> list[Scalar]:
        """Return the positions reached from `q` by a constant velocity times time `step` (nv,).

        Quaternions of the result have unit length to rounding.
        """
        return [position + change for position, change in zip(q, step, strict=True)]

    def coast(
        self, q: Sequence[Scalar], qd: Sequence[Scalar], time: Scalar, center: Sequence[float]
    ) -> tuple[list[Scalar], list[Scalar]]:
        """Return positions and velocities after a time [s] of steady motion.

        Velocities are constant by default. If the successor can move straight while it turns, its
        point `center` (3,) [m] does.
        """
        return self.integrate(q, [time * x for x in qd]), list(qd)

    def coasting_rate(self, qd: Sequence[Scalar], center: Sequence[float]) -> list[Scalar]:
        """Return the time derivatives of the velocities (nv,) in the motion of `coast`."""
        return [0.0] * self.nv

    def difference(self, q0: Sequence[Scalar], q1: Sequence[Scalar]) -> list[Scalar]:
        """Return the step (nv,) from `q0` to `q1`, the inverse of `integrate`."""
        return [end - start for start, end in zip(q0, q1, strict=True)]

    def normalized(self, q: Sequence[Scalar]) -> list[Scalar]:
        """Return the positions with quaternions brought back to unit length."""
        return list(q)

    def neutral(self) -> list[float]:
        """Return the positions at which successor and predecessor frames coincide."""
        return [0.0] * self.nq

    # As a loop joint; X = sXp goes from predecessor to successor coordinates.

    def constraints(self, X: Transform) -> tuple[Force, ...]:
        """Return the columns of T: the forces on the successor that do no work on S."""
        return self.constraint_subspace

    def constraint_rates(self, X: Transform, vJ: Motion) -> tuple[Force, ...]:
        """Return the rates of the components of T while the successor moves at `vJ`."""
        return tuple(Force.zero() for _ in self.rows)

    def residual(self, X: Transform) -> list[Scalar]:
        """Return the constraint errors delta, in the order of T (Table 8.1).

        They are the small displacement of the successor from its closed placement, in the
        directions of T: exact to first order near closure, and 0.0 for velocity-only rows.

        Raises:
            NotImplementedError: If this type cannot close a loop.
        """
        raise NotImplementedError(
            f"a {self.name} joint cannot close a loop: it defines no `residual`."
        )

    @property
    def rows(self) -> tuple[ConstraintRow, ...]:
        """Direction and kind of each constraint, in the order of T."""
        return tuple(
            ConstraintRow(next(d for d, c in zip(_DIRECTIONS, f.components(), strict=True) if c))
            for f in self.constraint_subspace
        )

    @property
    def closes(self) -> bool:
        """Whether it can be a loop joint."""
        return type(self).residual is not JointType.residual

    # As a tree joint or a loop joint.

    def active_forces(self, X: Transform) -> tuple[Force, ...]:
        """Return the columns of T_a: forces on the successor with T_a^T S = 1 (3.37).

        The choice affects the bearing's force, not the motion.
        """
        return tuple(Force(s.angular, s.linear) for s in self.motion_subspace)

    def coordinates(self, X: Transform, near: Sequence[float] = ORIGIN) -> list[Scalar]:
        """Return the coordinates (nv,) of the joint's freedoms at a placement X = sXp [rad or m].

        They are the inverse of `transform`, in the order of the velocities, and equal
        `coordinates_of` the positions. Rotations of a spherical or floating joint are a rotation
        vector, translations are in predecessor coordinates. X does not determine whole turns:
        they are chosen so that angles are within half a turn of `near`.

        Args:
            X: The placement; in an open loop it can deviate a little from the joint's freedoms.
            near: Coordinates (nv,), as numbers.

        Raises:
            NotImplementedError: If the type has no coordinates; it cannot have springs.
        """
        if self.nv:
            raise NotImplementedError(f"a {self.name} joint defines no `coordinates`.")
        return []

    def coordinates_of(self, q: Sequence[Scalar]) -> list[Scalar]:
        """Return the coordinates (nv,) of positions `q` (nq,), whole turns included."""
        return list(q)

    def told_by_placement(self, coordinates: Sequence[float]) -> tuple[float, ...]:
        """Return the coordinates (nv,) of the same placement in the range of `coordinates`.

        They differ from the argument if several coordinates, apart from whole turns, give one
        placement. Springs pull towards all of them alike.
        """
        return tuple(coordinates)

    def coordinate_forces(self, X: Transform, forces: Sequence[Scalar]) -> list[Scalar]:
        """Return the forces (nv,) along the velocities for forces along the coordinates.

        The power is the same, so that a spring's force is the gradient of its energy.

        Args:
            X: The placement of the frames.
            forces: One force for each coordinate (nv,).
        """
        return list(forces)

    @property
    def has_coordinates(self) -> bool:
        """Whether `coordinates` is defined."""
        return self.nv == 0 or type(self).coordinates is not JointType.coordinates

    @property
    def freedoms(self) -> tuple[str, ...]:
        """A name for each freedom (nv,): "" for a single one, a direction, otherwise a number."""
        if self.nv == 1:
            return ("",)
        columns = [list(column.components()) for column in self.subspace(self.neutral())]
        plain = not self.varying and all(sorted(c) == [0.0] * 5 + [1.0] for c in columns)
        if plain:
            return tuple(_DIRECTIONS[column.index(1.0)] for column in columns)
        return tuple(str(number) for number in range(1, self.nv + 1))

    @property
    def turning(self) -> tuple[bool, ...]:
        """Whether each freedom (nv,) turns the successor."""
        columns = self.subspace(self.neutral())
        return tuple(any(float(x) != 0.0 for x in c.angular) for c in columns)

    @property
    def parameters(self) -> dict[str, object]:
        """Parameters of the type, by name."""
        if not dataclasses.is_dataclass(self):
            return {}
        return {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}

    @property
    def key(self) -> str:
        """Text that is equal for two types exactly if they can share compiled code."""
        return f"{type(self).__qualname__}{_code_of(type(self))}{self!r}"

    def __repr__(self) -> str:
        values = "".join(f", {name} {value!r}" for name, value in self.parameters.items())
        return f"<{self.name} joint{values}>"

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and vars(self) == vars(other)

    def __hash__(self) -> int:
        return hash((type(self), repr(self)))


class LoopOnly(JointType):
    """A joint that can close a loop but not carry a body: it has constraints and no positions."""

    nq, nv, carries = 0, 0, False
    motion_subspace = ()

    def transform(self, q: Sequence[Scalar]) -> Transform:
        """Raise an error: the joint has no positions.

        Raises:
            RobotDynamicsError: Always.
        """
        raise RobotDynamicsError(f"a {self.name} joint can only close a loop, not carry a body.")


@cache
def _code_of(kind: type[JointType]) -> str:
    """Return a fingerprint of a user's code, empty for code of this package."""
    if kind.__module__.startswith(__package__ or ""):
        return ""
    try:
        source = inspect.getsource(inspect.getmodule(kind) or kind)
    except (OSError, TypeError):  # typed in at a prompt: of this process alone
        return os.urandom(16).hex()
    return hashlib.sha256(source.encode()).hexdigest()
