# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Planes, spheres, cylinders, lines, holes and hinges as hypersurfaces of the object's pose (17).

A surface is given by its frame in the world, what touches it by a frame in the object. Where the
object can only push, the first function is the distance, negative in free space, and its force is
the push; functions of orientation have moments for forces. All are traceable.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from robot_dynamics.manipulation.contact_settings import SurfaceSettings
from robot_dynamics.manipulation.hybrid.environment import ObjectPose, PoseFunction
from robot_dynamics.scalar.functions import sqrt
from robot_dynamics.spatial import Scalar, Vector3

Array = NDArray[np.float64]

#: Kinds on which the object pushes; the others hold it, and their forces have both signs.
PUSHED = ("plane", "sphere", "cylinder")
_TINY = 1e-30  # keeps the gradient at a centre finite [m^2]


def surface_functions(
    surface: SurfaceSettings, frame: Array, part: Array, center: Array
) -> tuple[PoseFunction, ...]:
    """Return the functions of a surface, one for each force that it exerts.

    Args:
        surface: Its kind and size, and the kind of what touches it.
        frame: Pose (4, 4) of the surface in the world.
        part: Pose (4, 4) of what touches it, in the object; its z axis points out of the object.
        center: The object's centre of mass (3,), in the object [m].
    """
    at = _Parts(frame, part, np.asarray(center, dtype=float))
    return _KINDS[surface.kind](at, surface)


class _Parts:
    """Frames of surface and object, and how far they are apart, traceable."""

    def __init__(self, frame: Array, part: Array, center: Array) -> None:
        self.axes = [Vector3.of(column) for column in frame[:3, :3].T.tolist()]
        self._origin = Vector3.of(frame[:3, 3].tolist())
        self._point = (part[:3, 3] - center).tolist()
        self._part_axes = part[:3, :3].T.tolist()

    def along(self, axis: int) -> PoseFunction:
        """Return how far the part's origin is along an axis of the surface [m]."""
        return lambda pose: self.axes[axis].dot(self.place(pose))

    def tilt(self, axis: int, of: int) -> PoseFunction:
        """Return the cosine between an axis of the surface and one of the part."""
        return lambda pose: self.axes[axis].dot(pose.direction(self._part_axes[of]))

    def place(self, pose: ObjectPose) -> Vector3:
        """Return the part's origin from the surface's, in world axes."""
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
    """Return radius less distance, or the opposite within."""
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
