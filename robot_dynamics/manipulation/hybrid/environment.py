# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What the object touches: hypersurfaces p_i = 0 of its pose, and coordinates along them.

Surfaces and coordinates are plain functions of the object's position and orientation; their
derivatives are exact (17) to (22). The object's velocity is its twist [omega; v] in world axes, v
that of its centre of mass: the paper's T is the identity, and there is no singular orientation.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robot_dynamics.compile import compile_program, trace
from robot_dynamics.errors import ArgumentError, RobotDynamicsError
from robot_dynamics.manipulation.hybrid.sliding import Guided, Sliding
from robot_dynamics.scalar.derivatives import directional_derivative, jacobian
from robot_dynamics.scalar.functions import asin, atan2, cos, sin, sqrt
from robot_dynamics.spatial import Rotation, Scalar, Vector3

Array = NDArray[np.float64]

# A direction counts as free if it is larger than this part of the largest.
_INDEPENDENT = 1e-9


@dataclass(frozen=True)
class ObjectPose:
    """Where the object is, traceable.

    Attributes:
        x: Its centre of mass in the world [m].
        R: Its orientation: columns are the object's axes in the world.
    """

    x: Vector3
    R: Rotation

    def point(self, at: Sequence[float]) -> Vector3:
        """Return a point of the object in the world, given from its centre of mass."""
        return self.x + self.R * Vector3.of(list(at))

    def direction(self, along: Sequence[float]) -> Vector3:
        """Return a direction of the object in the world."""
        return self.R * Vector3.of(list(along))

    def roll_pitch_yaw(self) -> tuple[Scalar, Scalar, Scalar]:
        """Return fixed-axes angles [rad], R = Rz(yaw) Ry(pitch) Rx(roll)."""
        a, b, c = self.R.rows
        return atan2(c[1], c[2]), asin(-c[0]), atan2(b[0], a[0])

    def zyz(self) -> tuple[Scalar, Scalar, Scalar]:
        """Return the paper's Euler angles [rad], R = Rz Ry Rz; singular at the identity (7)."""
        a, b, c = self.R.rows
        sine = sqrt(c[0] * c[0] + c[1] * c[1])
        return atan2(b[2], a[2]), atan2(sine, c[2]), atan2(c[1], -c[0])


#: A function of the object's pose; a surface is where it is zero, free space where it is negative.
PoseFunction = Callable[[ObjectPose], Scalar]


@dataclass(frozen=True)
class Turned:
    """A function of the object's pose that is an angle [rad]: a whole turn makes no difference.

    Attributes:
        function: The angle, as `atan2` has it.
    """

    function: PoseFunction

    def __call__(self, at: ObjectPose) -> Scalar:
        """Return the angle at a pose."""
        return self.function(at)


def difference(function: PoseFunction, a: Scalar, b: Scalar) -> Scalar:
    """Return a - b of two values of a function; of an angle the shorter way, in [-pi, pi]."""
    return atan2(sin(a - b), cos(a - b)) if isinstance(function, Turned) else a - b


@dataclass(frozen=True)
class EnvironmentTerms:
    """Surfaces and coordinates at one state.

    Attributes:
        p: Values of the surfaces (C,): distances to them, positive inside.
        E_F: Their gradient over the twist (C, 6).
        E_F_dot_v: Its rate times the twist (C,).
        s: Values of the coordinates along them (6 - C,).
        E_P: Their gradient (6 - C, 6).
        E_P_dot_v: Its rate times the twist (6 - C,).
    """

    p: Array
    E_F: Array
    E_F_dot_v: Array
    s: Array
    E_P: Array
    E_P_dot_v: Array

    def acceleration(self, u1: Array) -> Array:
        """Return the object's acceleration (6,) with s accelerating at u1, on the surfaces (35).

        Raises:
            RobotDynamicsError: If surfaces and coordinates depend on one another here.
        """
        E = np.vstack([self.E_P, self.E_F])
        sizes = np.linalg.norm(E, axis=1, keepdims=True)
        if E.shape != (6, 6) or np.linalg.matrix_rank(E / sizes, tol=_INDEPENDENT) < 6:
            raise RobotDynamicsError(
                "surfaces and coordinates depend on one another here, expected six that determine "
                "the object's motion."
            )
        wanted = np.concatenate([u1 - self.E_P_dot_v, -self.E_F_dot_v])
        return np.asarray(np.linalg.solve(E, wanted))


@dataclass(frozen=True)
class Environment:
    """Surfaces that the object touches, and what is controlled along them.

    Attributes:
        surfaces: p_i, at most six.
        coordinates: s_j; 6 - C functions.
        leaders: For each surface function the index of the one whose push tells that it is
            touched, itself or another one of the same surface; -1 for one that holds the object
            whenever that is wanted. Each tells for itself by default.
        sliding: For each surface function the friction of what slides along it, or of the first
            function of a hinge or a line what resists there, or None; none by default.
        own_coordinates: Whether compiled control moves the object along `coordinates`, by the
            servo (41) in them. By default it complements the surfaces itself, and they are for
            the law in NumPy alone. Angles among them are `Turned`.
    """

    surfaces: tuple[PoseFunction, ...] = ()
    coordinates: tuple[PoseFunction, ...] = ()
    leaders: tuple[int, ...] = ()
    sliding: tuple[Sliding | Guided | None, ...] = ()
    own_coordinates: bool = False

    def __post_init__(self) -> None:
        count = len(self.surfaces)
        if count > 6:
            raise ArgumentError(f"{count} surface functions, expected at most 6.")
        if self.own_coordinates and len(self.coordinates) != 6 - count:
            raise ArgumentError(
                f"{len(self.coordinates)} coordinates of the user's own beside {count} surface "
                f"functions, expected {6 - count}: together six that determine the motion."
            )
        if not self.leaders:
            object.__setattr__(self, "leaders", tuple(range(count)))
        if not self.sliding:
            object.__setattr__(self, "sliding", (None,) * count)
        if len(self.leaders) != count or not all(
            at == -1 or (0 <= at < count and self.leaders[at] == at) for at in self.leaders
        ):
            raise ArgumentError(
                f"leaders {self.leaders} of {count} surface functions, expected for each the "
                "index of one that tells for itself, or -1."
            )
        if len(self.sliding) != count:
            raise ArgumentError(
                f"friction of {len(self.sliding)} surface functions, expected {count}."
            )

    def terms(self, x: Array, R: Array, twist: Array) -> EnvironmentTerms:
        """Return values and derivatives at a pose and a twist.

        Args:
            x: The centre of mass (3,) [m].
            R: The orientation (3, 3).
            twist: [omega; v] in world axes (6,).
        """
        values, E, E_dot_v = self._derivatives(x, R, twist)
        C = len(self.surfaces)
        return EnvironmentTerms(values[:C], E[:C], E_dot_v[:C], values[C:], E[C:], E_dot_v[C:])

    @cached_property
    def _derivatives(self) -> Callable[[Array, Array, Array], tuple[Array, Array, Array]]:
        """Values (N,), gradients (N, 6) and rates (N,) of all functions, surfaces first."""
        functions = (*self.surfaces, *self.coordinates)
        if not functions:
            return lambda x, R, twist: (np.zeros(0), np.zeros((0, 6)), np.zeros(0))

        def run(x: Any, R: Any, twist: Any, _: Any) -> dict[str, Any]:
            values, E, E_dot_v = derivatives(functions, x, R, twist)
            return {"values": values, "E": E, "E_dot_v": E_dot_v}

        program = trace(run, "environment", {"x": 3, "R": (3, 3), "twist": 6})
        function: Callable[[Array, Array, Array], tuple[Array, Array, Array]]
        function = compile_program(program, lanes=1).bind()
        return function


def derivatives(
    functions: Sequence[PoseFunction],
    x: Sequence[Scalar],
    R: Sequence[Sequence[Scalar]],
    twist: Sequence[Scalar],
) -> tuple[list[Scalar], list[list[Scalar]], list[Scalar]]:
    """Return values (N,), gradients over the twist (N, 6), and their rates times it (N,).

    Args:
        functions: Of the pose.
        x: The centre of mass (3,).
        R: The orientation, by rows (3, 3).
        twist: [omega; v] in world axes (6,).
    """

    def moved(small: Sequence[Scalar]) -> list[Scalar]:
        """The values after a small motion at a constant twist, right to second order in it."""
        w, step = Vector3.of(small[:3]), Vector3.of(small[3:])
        # Rodrigues' formula to second order: 1 + [w] + [w]^2 / 2
        columns = []
        for column in zip(*R, strict=True):
            c = Vector3.of(column)
            first = w.cross(c)
            columns.append(c + first + w.cross(first) * 0.5)
        orientation = Rotation.of([list(column) for column in columns]).transpose()
        return [f(ObjectPose(Vector3.of(x) + step, orientation)) for f in functions]

    zero = [0.0] * 6
    _, second = directional_derivative(
        lambda at: directional_derivative(moved, at, twist)[1], zero, twist
    )
    return moved(zero), jacobian(moved, zero), second
