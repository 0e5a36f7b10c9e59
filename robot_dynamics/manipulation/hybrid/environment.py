# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Environment of the object: surfaces p_i = 0 in the space of its poses, coordinates along them.

Surfaces and coordinates are plain functions of the object's position and orientation; their
derivatives (17) to (22) are exact. The object's velocity is its twist [omega; v] in world axes,
with v of its centre of mass: the paper's T is the identity, and no orientation is singular.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from robot_dynamics.arrays import Array
from robot_dynamics.compile import compile_program, trace
from robot_dynamics.errors import ArgumentError, RobotDynamicsError
from robot_dynamics.manipulation.contact_settings import CoordinateSettings, SurfaceSettings
from robot_dynamics.manipulation.hybrid.touched_surfaces import Guided, Sliding
from robot_dynamics.scalar.derivatives import directional_derivative, jacobian
from robot_dynamics.scalar.functions import asin, atan2, cos, sin, sqrt
from robot_dynamics.spatial import Rotation, Scalar, Vector3

_INDEPENDENT = 1e-9  # relative tolerance of ranks


@dataclass(frozen=True)
class ObjectPose:
    """Pose of the object, traceable.

    Attributes:
        x: Its centre of mass in the world [m].
        R: Its orientation: columns are the object's axes in the world.
    """

    x: Vector3
    R: Rotation

    def point(self, at: Sequence[float]) -> Vector3:
        """Return the world position of a point given relative to the centre of mass."""
        return self.x + self.R * Vector3.of(list(at))

    def direction(self, along: Sequence[float]) -> Vector3:
        """Return the world direction of a direction in the object."""
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


#: A function of the object's pose: zero on a surface, negative in free space.
PoseFunction = Callable[[ObjectPose], Scalar]


@dataclass(frozen=True)
class Turned:
    """A function of the object's pose that is an angle [rad], modulo a full turn.

    Attributes:
        function: The angle, such as a value of `atan2`.
    """

    function: PoseFunction

    def __call__(self, at: ObjectPose) -> Scalar:
        """Return the angle at a pose."""
        return self.function(at)


def difference(function: PoseFunction, a: Scalar, b: Scalar) -> Scalar:
    """Return a - b of two values of a function; for angles in [-pi, pi]."""
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
        """Return the object's acceleration (6,) on the surfaces with s accelerating at u1 (35).

        Raises:
            RobotDynamicsError: If surfaces and coordinates are dependent at this pose.
        """
        E = np.vstack([self.E_P, self.E_F])
        sizes = np.linalg.norm(E, axis=1, keepdims=True)
        if E.shape != (6, 6) or np.linalg.matrix_rank(E / sizes, tol=_INDEPENDENT) < 6:
            raise RobotDynamicsError(
                f"{len(self.E_F)} surface functions and {len(self.E_P)} coordinates are dependent "
                "at this pose; expected six that determine the object's motion."
            )
        right = np.concatenate([u1 - self.E_P_dot_v, -self.E_F_dot_v])
        return np.asarray(np.linalg.solve(E, right))


@dataclass(frozen=True)
class Environment:
    """Surfaces that the object touches, and coordinates along them.

    Attributes:
        surfaces: p_i, at most six.
        coordinates: s_j; 6 - C functions. Angles among them are `Turned`.
        touch_rows: For each surface function the index of the function whose force decides whether
            it is touched, its own (the default) or another function of the same surface; -1 if it
            counts as touched whenever the reference touches it.
        sliding: For each surface function the friction of a sliding object, the resistance of a
            hinge or a line at its first function, or None; all None by default.
        own_coordinates: Whether the servo (41) of compiled control acts on `coordinates`. By
            default compiled control completes the surfaces itself, and only the law in NumPy uses
            `coordinates`.
    """

    surfaces: tuple[PoseFunction, ...] = ()
    coordinates: tuple[PoseFunction, ...] = ()
    touch_rows: tuple[int, ...] = ()
    sliding: tuple[Sliding | Guided | None, ...] = ()
    own_coordinates: bool = False

    def __post_init__(self) -> None:
        count = len(self.surfaces)
        if count > 6:
            raise ArgumentError(f"the environment has {count} surface functions; expected 0 to 6.")
        if self.own_coordinates and len(self.coordinates) != 6 - count:
            raise ArgumentError(
                f"the environment has {len(self.coordinates)} own coordinates and {count} surface "
                f"functions; expected {6 - count} coordinates, six functions together."
            )
        if not self.touch_rows:
            object.__setattr__(self, "touch_rows", tuple(range(count)))
        if not self.sliding:
            object.__setattr__(self, "sliding", (None,) * count)
        if len(self.touch_rows) != count or not all(
            at == -1 or (0 <= at < count and self.touch_rows[at] == at) for at in self.touch_rows
        ):
            raise ArgumentError(
                f"touch_rows of {count} surface functions is {self.touch_rows}; expected {count} "
                "entries, each -1 or the index of a function whose entry is its own index."
            )
        if len(self.sliding) != count:
            raise ArgumentError(
                f"`sliding` has {len(self.sliding)} entries; expected {count}, one for each "
                "surface function."
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
        functions: Functions of the object's pose.
        x: The centre of mass (3,).
        R: The orientation, by rows (3, 3).
        twist: [omega; v] in world axes (6,).
    """

    def moved(small: Sequence[Scalar]) -> list[Scalar]:
        """Return the values after a small motion at a constant twist, to second order in it."""
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


#: Kinds of surface that the object can only push; forces of the other kinds have both signs.
PUSHED = ("plane", "sphere", "cylinder")
_TINY = 1e-30  # keeps the gradient at a centre finite [m^2]


def surface_functions(
    surface: SurfaceSettings, frame: Array, part: Array, center: Array
) -> tuple[PoseFunction, ...]:
    """Return the functions of a surface, one for each force by it on the object.

    Args:
        surface: Kinds of surface and touching part, and sizes.
        frame: Pose (4, 4) of the surface in the world.
        part: Pose (4, 4) of the touching part in the object; its z axis points out of the object.
        center: The object's centre of mass (3,), in the object [m].
    """
    at = _Parts(frame, part, np.asarray(center, dtype=float))
    return _KINDS[surface.kind](at, surface)


class _Parts:
    """Frames of surface and touching part, and their relative position, traceable."""

    def __init__(self, frame: Array, part: Array, center: Array) -> None:
        self.axes = [Vector3.of(column) for column in frame[:3, :3].T.tolist()]
        self._origin = Vector3.of(frame[:3, 3].tolist())
        self._point = (part[:3, 3] - center).tolist()
        self._part_axes = part[:3, :3].T.tolist()

    def along(self, axis: int) -> PoseFunction:
        """Return the position of the part's origin along an axis of the surface [m]."""
        return lambda pose: self.axes[axis].dot(self.place(pose))

    def tilt(self, axis: int, of: int) -> PoseFunction:
        """Return the cosine between an axis of the surface and one of the part."""
        return lambda pose: self.axes[axis].dot(pose.direction(self._part_axes[of]))

    def place(self, pose: ObjectPose) -> Vector3:
        """Return the part's origin relative to the surface's, in world axes."""
        return pose.point(self._point) - self._origin


def _plane(at: _Parts, surface: SurfaceSettings) -> tuple[PoseFunction, ...]:
    height = at.along(2)

    def p(pose: ObjectPose) -> Scalar:
        return -height(pose)

    if surface.sticks:
        return p, at.along(0), at.along(1)
    if surface.part.kind == "edge":  # x along the plane
        return p, at.tilt(2, 0)
    if surface.part.kind == "face":
        return p, at.tilt(0, 2), at.tilt(1, 2)
    return (p,)


def _sphere(at: _Parts, surface: SurfaceSettings) -> tuple[PoseFunction, ...]:
    return (_round(surface, at.place),)


def _cylinder(at: _Parts, surface: SurfaceSettings) -> tuple[PoseFunction, ...]:
    axis = at.axes[2]

    def across(pose: ObjectPose) -> Vector3:
        arm = at.place(pose)
        return arm - axis * axis.dot(arm)

    return (_round(surface, across),)


def _line(at: _Parts, surface: SurfaceSettings) -> tuple[PoseFunction, ...]:
    return at.along(0), at.along(1)


def _hole(at: _Parts, surface: SurfaceSettings) -> tuple[PoseFunction, ...]:
    return at.along(0), at.along(1), at.tilt(0, 2), at.tilt(1, 2)


def _hinge(at: _Parts, surface: SurfaceSettings) -> tuple[PoseFunction, ...]:
    return at.along(0), at.along(1), at.along(2), at.tilt(0, 2), at.tilt(1, 2)


def _round(surface: SurfaceSettings, arm: Callable[[ObjectPose], Vector3]) -> PoseFunction:
    """Return the function radius - |arm|; its negative if the object is inside."""
    sign, radius = (-1.0 if surface.inside else 1.0), surface.radius or 0.0

    def p(pose: ObjectPose) -> Scalar:
        r = arm(pose)
        return sign * (radius - sqrt(r.dot(r) + _TINY))

    return p


_KINDS: dict[str, Callable[[_Parts, SurfaceSettings], tuple[PoseFunction, ...]]] = {
    "plane": _plane,
    "sphere": _sphere,
    "cylinder": _cylinder,
    "line": _line,
    "hole": _hole,
    "hinge": _hinge,
}


def coordinate_function(
    coordinate: CoordinateSettings, start: Array, center: Array
) -> PoseFunction:
    """Return a coordinate as a function of the object's pose.

    Args:
        coordinate: Its definition.
        start: The object's orientation (3, 3) at angle zero.
        center: The object's centre of mass (3,), in the object [m].
    """
    if coordinate.along is not None:
        point = (np.asarray(coordinate.point) - center).tolist()
        along = Vector3.of(_unit(coordinate.along).tolist())
        return lambda at: along.dot(at.point(point))
    axis = _unit(coordinate.about or ())
    # The angle of an object direction that is normal to the axis at the start.
    across = np.eye(3)[np.argmin(np.abs(axis))]
    x = _unit(across - axis * (axis @ across))
    first, second = Vector3.of(x.tolist()), Vector3.of(np.cross(axis, x).tolist())
    turned = (start.T @ x).tolist()

    def angle(at: ObjectPose) -> Scalar:
        now = at.direction(turned)
        return atan2(second.dot(now), first.dot(now))

    return Turned(angle)


def _unit(direction: object) -> Array:
    values = np.array(direction, dtype=float)
    return np.asarray(values / np.linalg.norm(values))
