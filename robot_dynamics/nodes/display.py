# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Markers for RViz: object and reference, wrenches, surfaces, and paths.

All markers are in the frame "world", at the newest transform. A wrench is an arrow at its point of
action, by the arm on the object or by the object on a surface.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from builtin_interfaces.msg import Time
from geometry_msgs.msg import Point
from std_msgs.msg import ColorRGBA
from visualization_msgs.msg import Marker, MarkerArray

from robot_dynamics.app.pictures.shapes import (
    FORCE_COLOR,
    FORCE_SCALE,
    GHOST_ALPHA,
    MOMENT_COLOR,
    MOMENT_SCALE,
    WOOD,
    SurfacePush,
    surface_shape,
    visual_shapes,
)
from robot_dynamics.app.recordings.topic_names import WORLD
from robot_dynamics.arrays import Array
from robot_dynamics.description.description import Shape
from robot_dynamics.description.orientations import matrix_of_pose, vector_of_pose
from robot_dynamics.manipulation.contact_settings import SurfaceSettings
from robot_dynamics.nodes.conversions import point_of, write_pose

PATH_STEP = 0.002  # [m] between points of the actual path
PATH_POINTS = 2000  # largest number of points of the actual path; then every second is dropped
_PATH, _REFERENCE = (0.1, 0.55, 0.2, 1.0), (0.4, 0.4, 0.4, 0.8)


class Display:
    """The markers of a run.

    Args:
        bodies: Shapes of each of the object's bodies, one or two parts, in the body's frame.
        grasps: Pose (4, 4) of each grasp frame in the object or the part that the arm holds.
        reference: Positions of the object, or its first part, along its reference (N, 3).
        surfaces: The surfaces that the object can touch.
    """

    def __init__(
        self,
        bodies: Sequence[Sequence[Shape]],
        grasps: Sequence[Array],
        reference: Array,
        surfaces: Sequence[SurfaceSettings] = (),
    ) -> None:
        shown = [(i, shape) for i, shapes in enumerate(bodies) for shape in visual_shapes(shapes)]
        self._shapes = shown
        self._grasps = [np.asarray(grasp) for grasp in grasps]
        self._path: list[Point] = []
        self._last = np.full(3, np.inf)
        self._object = [shape_marker("object", n, s) for n, (_, s) in enumerate(shown)]
        self._ghost = [
            shape_marker("object_reference", n, s, alpha=GHOST_ALPHA)
            for n, (i, s) in enumerate(shown)
            if i == 0
        ]
        self._wrenches = WrenchArrows("grasp", len(grasps))
        self._surfaces = SurfaceMarkers(surfaces)
        self._reference_path = line("reference_path", _REFERENCE)
        self._reference_path.points = [point_of(p) for p in _thinned(reference)]
        self._actual_path = line("path", _PATH)
        markers = [*self._object, *self._ghost, *self._wrenches.markers]
        markers += [*self._surfaces.markers, self._reference_path, self._actual_path]
        self._message = MarkerArray(markers=markers)

    def fill(
        self,
        poses: Sequence[Array],
        target: Array,
        wrenches: Array | None,
        contact_force: Array | None = None,
    ) -> MarkerArray:
        """Return the markers of an instant; the same object every time.

        Args:
            poses: Pose of each of the object's bodies, x y z qx qy qz qw (7,).
            target: Reference pose of the first body (7,).
            wrenches: Grasp wrenches by the arms on the object (k, 6), angular first, in the
                grasp frames; None if they are not measured.
            contact_force: Forces by the object on all surfaces (C,), in the order of
                `SURFACE_ROWS`; None if there are none.
        """
        frames, wanted = [matrix_of_pose(pose) for pose in poses], matrix_of_pose(target)
        for marker, (i, shape) in zip(self._object, self._shapes, strict=True):
            write_pose(marker.pose, vector_of_pose(frames[i] @ shape.pose))
        for marker, (_, shape) in zip(self._ghost, self._shapes, strict=False):
            write_pose(marker.pose, vector_of_pose(wanted @ shape.pose))
        self._draw_wrenches(frames, wrenches)
        self._surfaces.draw_forces(frames[0], contact_force)
        at = poses[0][:3]
        if np.linalg.norm(at - self._last) > PATH_STEP:
            self._last = at.copy()
            self._path.append(point_of(at))
            if len(self._path) > PATH_POINTS:
                del self._path[1::2]
        self._actual_path.points = self._path
        # RViz rejects a strip of one point.
        for strip in (self._actual_path, self._reference_path):
            strip.action = Marker.ADD if len(strip.points) > 1 else Marker.DELETE
        return self._message

    def reset_path(self) -> None:
        """Start the actual path anew."""
        self._path = []
        self._last = np.full(3, np.inf)

    def _draw_wrenches(self, bodies: Sequence[Array], wrenches: Array | None) -> None:
        for i, grasp in enumerate(self._grasps):
            frame = bodies[min(i, len(bodies) - 1)] @ grasp
            wrench = np.zeros((2, 3)) if wrenches is None else wrenches[i].reshape(2, 3)
            self._wrenches.draw(i, frame[:3, 3], wrench @ frame[:3, :3].T)


def _thinned(positions: Array) -> Array:
    """Return a path without points that are closer together than `PATH_STEP`."""
    kept = [0]
    for i, position in enumerate(positions):
        if np.linalg.norm(position - positions[kept[-1]]) > PATH_STEP:
            kept.append(i)
    return positions[kept]


_ARROW = (0.012, 0.024, 0.0)  # diameters of shaft and head, length of the head (0: by RViz) [m]
_SHORTEST = 1e-3  # length below which an arrow is hidden: RViz rejects zero length [m]

_KINDS = {
    "box": Marker.CUBE,
    "sphere": Marker.SPHERE,
    "cylinder": Marker.CYLINDER,
    "capsule": Marker.CYLINDER,
    "mesh": Marker.MESH_RESOURCE,
}


def shape_marker(namespace: str, number: int, shape: Shape, alpha: float = 1.0) -> Marker:
    """Return the marker of a shape without a pose; `alpha` scales its opacity."""
    marker = _marker(namespace, number, _KINDS[shape.kind])
    size = shape.size
    if shape.kind == "box":
        scale = size
    elif shape.kind == "sphere":
        scale = (2 * size[0],) * 3
    elif shape.kind == "mesh":
        scale = size
        marker.mesh_resource = shape.mesh
        marker.mesh_use_embedded_materials = shape.color is None and alpha == 1.0
    else:
        caps = 2 * size[0] if shape.kind == "capsule" else 0.0
        scale = (2 * size[0], 2 * size[0], size[1] + caps)
    marker.scale.x, marker.scale.y, marker.scale.z = (float(value) for value in scale)
    *rgb, own = shape.color or WOOD
    marker.color = _color((*rgb, own * alpha))
    return marker


def arrow(namespace: str, number: int, color: Sequence[float]) -> Marker:
    """Return an arrow without points; see `point_arrow`."""
    marker = _marker(namespace, number, Marker.ARROW)
    marker.scale.x, marker.scale.y, marker.scale.z = _ARROW
    marker.color = _color(color)
    return marker


def point_arrow(marker: Marker, tip: Array, along: Array) -> None:
    """Draw an arrow with its tip at the point of action; hide it if it is short.

    Args:
        marker: The arrow.
        tip: Position of the tip (3,) [m].
        along: Vector from tail to tip [m].
    """
    visible = bool(np.linalg.norm(along) > _SHORTEST)
    marker.action = Marker.ADD if visible else Marker.DELETE
    # A force is drawn as a push, from outside to its point of action.
    marker.points = [point_of(tip - along), point_of(tip)]


class WrenchArrows:
    """Two arrows for each of several wrenches: force and moment.

    Attributes:
        markers: All of them.

    Args:
        name: Prefix of the namespaces.
        count: Number of wrenches.
    """

    def __init__(self, name: str, count: int) -> None:
        self._forces = [arrow(f"{name}_force", i, FORCE_COLOR) for i in range(count)]
        self._moments = [arrow(f"{name}_moment", i, MOMENT_COLOR) for i in range(count)]
        self.markers: list[Marker] = [*self._forces, *self._moments]

    def draw(self, index: int, tip: Array, wrench: Array) -> None:
        """Draw a wrench: moment and force, world axes (2, 3), at a point (3,)."""
        point_arrow(self._moments[index], tip, MOMENT_SCALE * wrench[0])
        point_arrow(self._forces[index], tip, FORCE_SCALE * wrench[1])


def line(namespace: str, color: Sequence[float]) -> Marker:
    """Return a line without points."""
    marker = _marker(namespace, 0, Marker.LINE_STRIP)
    marker.scale.x = 0.004  # width [m]
    marker.color = _color(color)
    return marker


def _marker(namespace: str, number: int, kind: int) -> Marker:
    marker = Marker(ns=namespace, id=number, type=kind, action=Marker.ADD)
    marker.header.frame_id = WORLD
    marker.header.stamp = Time()  # the newest transform
    marker.pose.orientation.w = 1.0
    return marker


def _color(rgba: Sequence[float]) -> ColorRGBA:
    r, g, b, a = (float(value) for value in rgba)
    return ColorRGBA(r=r, g=g, b=b, a=a)


class SurfaceMarkers:
    """Markers of surfaces, with two arrows for each: force and moment by the object on it.

    Attributes:
        markers: All of them.

    Args:
        surfaces: The surfaces.
    """

    def __init__(self, surfaces: Sequence[SurfaceSettings]) -> None:
        self._pushes = [SurfacePush(surface) for surface in surfaces]
        self._wrenches = WrenchArrows("surface", len(surfaces))
        shapes = [_surface(number, surface) for number, surface in enumerate(surfaces)]
        self.markers: list[Marker] = [*shapes, *self._wrenches.markers]

    def draw_forces(self, body: Array, contact_force: Array | None) -> None:
        """Draw the forces and moments by the object on the surfaces.

        Args:
            body: Pose (4, 4) of the object.
            contact_force: Its forces on all surfaces (C,), in the order of `SURFACE_ROWS`; None
                if they are unknown.
        """
        first = 0
        for i, push in enumerate(self._pushes):
            count = len(push.functions)
            force = None if contact_force is None else contact_force[first : first + count]
            first += count
            wrench = np.zeros(6) if force is None else push.wrench(body, force)
            self._wrenches.draw(i, (body @ push.part)[:3, 3], wrench.reshape(2, 3))


def _surface(number: int, surface: SurfaceSettings) -> Marker:
    """Return the marker of a surface at its pose."""
    shape = surface_shape(surface)
    marker = shape_marker("surface", number, shape)
    write_pose(marker.pose, vector_of_pose(shape.pose))
    return marker
