# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Markers of the surfaces that the object may touch, and of what it exerts on them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from visualization_msgs.msg import Marker

from robot_dynamics.app.hybrid_cell import part_frame, surface_frame
from robot_dynamics.description.description import Shape
from robot_dynamics.manipulation.contact_settings import SurfaceSettings
from robot_dynamics.manipulation.hybrid.environment import ObjectPose
from robot_dynamics.manipulation.hybrid.surfaces import surface_functions
from robot_dynamics.model import pose
from robot_dynamics.nodes.conversions import write_pose
from robot_dynamics.nodes.markers import (
    FORCE_COLOR,
    FORCE_SCALE,
    MOMENT_COLOR,
    MOMENT_SCALE,
    arrow,
    point_arrow,
    pose_vector,
    shape_marker,
)
from robot_dynamics.scalar.derivatives import jacobian
from robot_dynamics.spatial import Rotation, Scalar, Vector3

Array = NDArray[np.float64]

_Kind = Literal["box", "sphere", "cylinder"]

_EXTENT = 0.6  # [m] of what has no end: planes, cylinders and lines
_THICKNESS = 0.002  # [m] of a plane, below it
_AXIS = 0.003  # [m], radius of lines and hinges
_COLOR = (0.55, 0.62, 0.7, 0.5)  # what is behind is to be seen


class SurfaceMarkers:
    """Markers of surfaces, and two arrows for each: force and moment by the object on it.

    Attributes:
        markers: All of them.

    Args:
        surfaces: The surfaces.
    """

    def __init__(self, surfaces: Sequence[SurfaceSettings]) -> None:
        self._pushes = [_Push(surface) for surface in surfaces]
        self._forces = [arrow("surface_force", i, FORCE_COLOR) for i in range(len(surfaces))]
        self._moments = [arrow("surface_moment", i, MOMENT_COLOR) for i in range(len(surfaces))]
        shapes = [_surface(number, surface) for number, surface in enumerate(surfaces)]
        self.markers: list[Marker] = [*shapes, *self._forces, *self._moments]

    def draw_forces(self, body: Array, contact_force: Array | None) -> None:
        """Draw what the object exerts on the surfaces.

        Args:
            body: Pose (4, 4) of the object.
            contact_force: Its forces on all surfaces (C,), in the order of `SURFACE_ROWS`; None
                if they are not known.
        """
        first = 0
        for i, push in enumerate(self._pushes):
            count = len(push.functions)
            force = None if contact_force is None else contact_force[first : first + count]
            first += count
            wrench = np.zeros(6) if force is None else push.wrench(body, force)
            tip = (body @ push.part)[:3, 3]
            point_arrow(self._moments[i], tip, MOMENT_SCALE * wrench[:3])
            point_arrow(self._forces[i], tip, FORCE_SCALE * wrench[3:])


class _Push:
    """What a surface's forces amount to where the object touches it."""

    def __init__(self, surface: SurfaceSettings) -> None:
        self.part = part_frame(surface.part)
        # With the part's origin in place of the centre of mass, gradients are about it.
        origin = self.part[:3, 3]
        self.functions = surface_functions(surface, surface_frame(surface), self.part, origin)

    def wrench(self, body: Array, force: Array) -> Array:
        """Return the wrench (6,) on the surface, at the part's origin in world axes."""
        if not force.any():
            return np.zeros(6)  # most of the time there is no contact
        x, columns = (body @ self.part)[:3, 3].tolist(), body[:3, :3].T.tolist()

        def moved(small: Sequence[Scalar]) -> list[Scalar]:
            """The surface's functions after a small rotation and displacement, to first order."""
            turn, step = Vector3.of(small[:3]), Vector3.of(small[3:])
            turned = [[*(c + turn.cross(c))] for c in map(Vector3.of, columns)]
            at = ObjectPose(Vector3.of(x) + step, Rotation.of(turned).transpose())
            return [function(at) for function in self.functions]

        # Work of the forces along a motion: they push the way in which the functions grow.
        return np.asarray(jacobian(moved, [0.0] * 6), dtype=float).T @ force


def _surface(number: int, surface: SurfaceSettings) -> Marker:
    """Return the marker of a surface, where it stays."""
    radius, depth = surface.radius or 0.0, surface.depth or 0.0
    shapes: dict[str, tuple[_Kind, tuple[float, ...], float]] = {
        "plane": ("box", (_EXTENT, _EXTENT, _THICKNESS), -0.5 * _THICKNESS),
        "sphere": ("sphere", (radius,), 0.0),
        "cylinder": ("cylinder", (radius, _EXTENT), 0.0),
        "line": ("cylinder", (_AXIS, _EXTENT), 0.0),
        "hole": ("cylinder", (radius, depth), -0.5 * depth),
        "hinge": ("cylinder", (_AXIS, 0.5 * _EXTENT), 0.0),
    }
    kind, size, height = shapes[surface.kind]
    at = surface_frame(surface) @ pose((0.0, 0.0, height))
    marker = shape_marker("surface", number, Shape("", "visual", kind, at, size, color=_COLOR))
    write_pose(marker.pose, pose_vector(at))
    return marker
