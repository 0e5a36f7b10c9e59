# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Markers for RViz: the object and where it is to be, the grasp wrenches, and the paths.

Everything is in the frame "world", at the newest transform there is. A wrench is drawn where it
acts, as an arrow by the arm on the object.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from builtin_interfaces.msg import Time
from geometry_msgs.msg import Point
from numpy.typing import NDArray
from std_msgs.msg import ColorRGBA
from visualization_msgs.msg import Marker, MarkerArray

from robot_dynamics.app.topic_names import WORLD
from robot_dynamics.description.description import Shape
from robot_dynamics.nodes.conversions import point_of, rotation_of, write_pose

Array = NDArray[np.float64]

FORCE_SCALE = 0.003  # [m/N]
MOMENT_SCALE = 0.03  # [m/(N m)]
ARROW = (0.012, 0.024, 0.0)  # diameters of shaft and head, length of the head (0: by RViz) [m]
PATH_STEP = 0.002  # [m] between points of the actual path
PATH_POINTS = 2000  # of the actual path; beyond that every second one is dropped
_WOOD = (0.82, 0.66, 0.44, 1.0)
_GHOST_ALPHA = 0.25
_FORCE, _MOMENT = (0.85, 0.2, 0.15, 1.0), (0.2, 0.35, 0.85, 1.0)
_PATH, _REFERENCE = (0.1, 0.55, 0.2, 1.0), (0.4, 0.4, 0.4, 0.8)

_KINDS = {
    "box": Marker.CUBE,
    "sphere": Marker.SPHERE,
    "cylinder": Marker.CYLINDER,
    "capsule": Marker.CYLINDER,
    "mesh": Marker.MESH_RESOURCE,
}


class Display:
    """The markers of a run.

    Args:
        shapes: Shapes of the object in its own frame.
        grasps: Pose (4, 4) of each grasp frame in the object.
        reference: Positions of the object along its reference (N, 3).
    """

    def __init__(self, shapes: Sequence[Shape], grasps: Sequence[Array], reference: Array) -> None:
        visual = [s for s in shapes if s.role == "visual"] or [*shapes]
        visual = visual or [Shape("", "visual", "sphere", np.eye(4), (0.05,))]
        self._shapes = visual
        self._grasps = [np.asarray(grasp) for grasp in grasps]
        self._path: list[Point] = []
        self._last = np.full(3, np.inf)
        self._object = [_shape_marker("object", i, s) for i, s in enumerate(visual)]
        self._ghost = [
            _shape_marker("object_reference", i, s, alpha=_GHOST_ALPHA)
            for i, s in enumerate(visual)
        ]
        self._forces = [_arrow("grasp_force", i, _FORCE) for i in range(len(grasps))]
        self._moments = [_arrow("grasp_moment", i, _MOMENT) for i in range(len(grasps))]
        self._reference_path = _line("reference_path", _REFERENCE)
        self._reference_path.points = [point_of(p) for p in _thinned(reference)]
        self._actual_path = _line("path", _PATH)
        markers = [*self._object, *self._ghost, *self._forces, *self._moments]
        self._message = MarkerArray(markers=[*markers, self._reference_path, self._actual_path])

    def fill(self, pose: Array, target: Array, wrenches: Array | None) -> MarkerArray:
        """Return the markers of an instant; the same object every time.

        Args:
            pose: Pose of the object, x y z qx qy qz qw (7,).
            target: Where it is to be (7,).
            wrenches: Grasp wrenches by the arms on the object (k, 6), angular first, in the
                grasp frames; None if nothing was measured.
        """
        for at, markers in ((pose, self._object), (target, self._ghost)):
            body = _matrix(at)
            for marker, shape in zip(markers, self._shapes, strict=True):
                write_pose(marker.pose, _pose(body @ shape.pose))
        self._draw_wrenches(_matrix(pose), wrenches)
        if np.linalg.norm(pose[:3] - self._last) > PATH_STEP:
            self._last = pose[:3].copy()
            self._path.append(point_of(pose[:3]))
            if len(self._path) > PATH_POINTS:
                del self._path[1::2]
        self._actual_path.points = self._path
        # A strip of one point is an error to RViz.
        for line in (self._actual_path, self._reference_path):
            line.action = Marker.ADD if len(line.points) > 1 else Marker.DELETE
        return self._message

    def forget_path(self) -> None:
        """Begin the actual path anew."""
        self._path = []
        self._last = np.full(3, np.inf)

    def _draw_wrenches(self, body: Array, wrenches: Array | None) -> None:
        for i, grasp in enumerate(self._grasps):
            frame = body @ grasp
            pairs = ((self._moments[i], 0, MOMENT_SCALE), (self._forces[i], 3, FORCE_SCALE))
            for marker, first, scale in pairs:
                vector = np.zeros(3) if wrenches is None else wrenches[i, first : first + 3]
                along = scale * (frame[:3, :3] @ vector)
                visible = bool(np.linalg.norm(along) > 1e-3)  # an arrow of no length is an error
                marker.action = Marker.ADD if visible else Marker.DELETE
                tip = frame[:3, 3]
                # Forces point at the object from outside, as a push is drawn.
                marker.points = [point_of(tip - along), point_of(tip)]


def _shape_marker(namespace: str, number: int, shape: Shape, alpha: float = 1.0) -> Marker:
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
    *rgb, own = shape.color or _WOOD
    marker.color = _color((*rgb, own * alpha))
    return marker


def _arrow(namespace: str, number: int, color: Sequence[float]) -> Marker:
    marker = _marker(namespace, number, Marker.ARROW)
    marker.scale.x, marker.scale.y, marker.scale.z = ARROW
    marker.color = _color(color)
    return marker


def _line(namespace: str, color: Sequence[float]) -> Marker:
    marker = _marker(namespace, 0, Marker.LINE_STRIP)
    marker.scale.x = 0.004  # width [m]
    marker.color = _color(color)
    return marker


def _marker(namespace: str, number: int, kind: int) -> Marker:
    marker = Marker(ns=namespace, id=number, type=kind, action=Marker.ADD)
    marker.header.frame_id = WORLD
    marker.header.stamp = Time()  # the newest transform there is
    marker.pose.orientation.w = 1.0
    return marker


def _color(rgba: Sequence[float]) -> ColorRGBA:
    r, g, b, a = (float(value) for value in rgba)
    return ColorRGBA(r=r, g=g, b=b, a=a)


def _matrix(pose: Array) -> Array:
    """Return the homogeneous matrix (4, 4) of a pose x y z qx qy qz qw (7,)."""
    matrix = np.eye(4)
    matrix[:3, :3] = rotation_of(pose[3:])
    matrix[:3, 3] = pose[:3]
    return matrix


def _pose(matrix: Array) -> Array:
    """Return the pose x y z qx qy qz qw (7,) of a homogeneous matrix (4, 4)."""
    return np.concatenate([matrix[:3, 3], quaternion_of(matrix[:3, :3])])


def quaternion_of(R: Array) -> Array:
    """Return the quaternion qx qy qz qw (4,) of a matrix (3, 3) with body axes as columns."""
    # The eigenvector of the largest eigenvalue (Bar-Itzhack): no cases, no lost digits.
    xx, xy, xz, yx, yy, yz, zx, zy, zz = R.ravel()
    K = np.array(
        [
            [xx - yy - zz, yx + xy, zx + xz, zy - yz],
            [yx + xy, yy - xx - zz, zy + yz, xz - zx],
            [zx + xz, zy + yz, zz - xx - yy, yx - xy],
            [zy - yz, xz - zx, yx - xy, xx + yy + zz],
        ]
    )
    return np.asarray(np.linalg.eigh(K)[1][:, -1])


def _thinned(positions: Array) -> Array:
    """Return a path without the points at which it stands still."""
    kept = [0]
    for i, position in enumerate(positions):
        if np.linalg.norm(position - positions[kept[-1]]) > PATH_STEP:
            kept.append(i)
    return positions[kept]
