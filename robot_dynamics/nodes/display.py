# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Markers for RViz: the object and where it is to be, wrenches, surfaces, and the paths.

Everything is in the frame "world", at the newest transform there is. A wrench is drawn where it
acts, as an arrow by the arm on the object, and by the object on a surface.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from geometry_msgs.msg import Point
from numpy.typing import NDArray
from visualization_msgs.msg import Marker, MarkerArray

from robot_dynamics.description.description import Shape
from robot_dynamics.manipulation.contact_settings import SurfaceSettings
from robot_dynamics.nodes.conversions import point_of, write_pose
from robot_dynamics.nodes.markers import (
    FORCE_COLOR,
    FORCE_SCALE,
    MOMENT_COLOR,
    MOMENT_SCALE,
    arrow,
    line,
    matrix_of,
    point_arrow,
    pose_vector,
    shape_marker,
)
from robot_dynamics.nodes.surface_markers import SurfaceMarkers

Array = NDArray[np.float64]

PATH_STEP = 0.002  # [m] between points of the actual path
PATH_POINTS = 2000  # of the actual path; beyond that every second one is dropped
_GHOST_ALPHA = 0.25
_PATH, _REFERENCE = (0.1, 0.55, 0.2, 1.0), (0.4, 0.4, 0.4, 0.8)


class Display:
    """The markers of a run.

    Args:
        bodies: Shapes of each of the object's bodies, in its own frame: one, or two parts.
        grasps: Pose (4, 4) of each grasp frame: in the object, or in the part that the arm holds,
            the first arm the first one.
        reference: Positions of the object, or its first part, along its reference (N, 3).
        surfaces: What the object may touch.
    """

    def __init__(
        self,
        bodies: Sequence[Sequence[Shape]],
        grasps: Sequence[Array],
        reference: Array,
        surfaces: Sequence[SurfaceSettings] = (),
    ) -> None:
        shown = [(i, shape) for i, shapes in enumerate(bodies) for shape in _visual(shapes)]
        self._shapes = shown
        self._grasps = [np.asarray(grasp) for grasp in grasps]
        self._path: list[Point] = []
        self._last = np.full(3, np.inf)
        self._object = [shape_marker("object", n, s) for n, (_, s) in enumerate(shown)]
        self._ghost = [
            shape_marker("object_reference", n, s, alpha=_GHOST_ALPHA)
            for n, (i, s) in enumerate(shown)
            if i == 0
        ]
        self._forces = [arrow("grasp_force", i, FORCE_COLOR) for i in range(len(grasps))]
        self._moments = [arrow("grasp_moment", i, MOMENT_COLOR) for i in range(len(grasps))]
        self._surfaces = SurfaceMarkers(surfaces)
        self._reference_path = line("reference_path", _REFERENCE)
        self._reference_path.points = [point_of(p) for p in _thinned(reference)]
        self._actual_path = line("path", _PATH)
        markers = [*self._object, *self._ghost, *self._forces, *self._moments]
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
            target: Where the first one is to be (7,).
            wrenches: Grasp wrenches by the arms on the object (k, 6), angular first, in the
                grasp frames; None if nothing was measured.
            contact_force: Forces by the object on all surfaces (C,), in the order of
                `SURFACE_ROWS`; None if there are none.
        """
        frames, wanted = [matrix_of(pose) for pose in poses], matrix_of(target)
        for marker, (i, shape) in zip(self._object, self._shapes, strict=True):
            write_pose(marker.pose, pose_vector(frames[i] @ shape.pose))
        for marker, (_, shape) in zip(self._ghost, self._shapes, strict=False):
            write_pose(marker.pose, pose_vector(wanted @ shape.pose))
        self._draw_wrenches(frames, wrenches)
        self._surfaces.draw_forces(frames[0], contact_force)
        at = poses[0][:3]
        if np.linalg.norm(at - self._last) > PATH_STEP:
            self._last = at.copy()
            self._path.append(point_of(at))
            if len(self._path) > PATH_POINTS:
                del self._path[1::2]
        self._actual_path.points = self._path
        # A strip of one point is an error to RViz.
        for strip in (self._actual_path, self._reference_path):
            strip.action = Marker.ADD if len(strip.points) > 1 else Marker.DELETE
        return self._message

    def forget_path(self) -> None:
        """Begin the actual path anew."""
        self._path = []
        self._last = np.full(3, np.inf)

    def _draw_wrenches(self, bodies: Sequence[Array], wrenches: Array | None) -> None:
        for i, grasp in enumerate(self._grasps):
            frame = bodies[min(i, len(bodies) - 1)] @ grasp
            pairs = ((self._moments[i], 0, MOMENT_SCALE), (self._forces[i], 3, FORCE_SCALE))
            for marker, first, scale in pairs:
                vector = np.zeros(3) if wrenches is None else wrenches[i, first : first + 3]
                point_arrow(marker, frame[:3, 3], scale * (frame[:3, :3] @ vector))


def _visual(shapes: Sequence[Shape]) -> list[Shape]:
    """Return what of a body is shown; a ball if it has no shapes."""
    visual = [shape for shape in shapes if shape.role == "visual"] or [*shapes]
    return visual or [Shape("", "visual", "sphere", np.eye(4), (0.05,))]


def _thinned(positions: Array) -> Array:
    """Return a path without the points at which it stands still."""
    kept = [0]
    for i, position in enumerate(positions):
        if np.linalg.norm(position - positions[kept[-1]]) > PATH_STEP:
            kept.append(i)
    return positions[kept]
