# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Markers in the frame "world": shapes, arrows, lines, and poses as they have them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from builtin_interfaces.msg import Time
from numpy.typing import NDArray
from std_msgs.msg import ColorRGBA
from visualization_msgs.msg import Marker

from robot_dynamics.app.topic_names import WORLD
from robot_dynamics.description.description import Shape
from robot_dynamics.description.orientations import quaternion_of_rotation
from robot_dynamics.nodes.conversions import point_of, rotation_of

Array = NDArray[np.float64]

FORCE_SCALE = 0.003  # [m/N]
MOMENT_SCALE = 0.03  # [m/(N m)]
FORCE_COLOR, MOMENT_COLOR = (0.85, 0.2, 0.15, 1.0), (0.2, 0.35, 0.85, 1.0)
_ARROW = (0.012, 0.024, 0.0)  # diameters of shaft and head, length of the head (0: by RViz) [m]
_SHORTEST = 1e-3  # [m]; RViz complains of an arrow of no length
_WOOD = (0.82, 0.66, 0.44, 1.0)

_KINDS = {
    "box": Marker.CUBE,
    "sphere": Marker.SPHERE,
    "cylinder": Marker.CYLINDER,
    "capsule": Marker.CYLINDER,
    "mesh": Marker.MESH_RESOURCE,
}


def shape_marker(namespace: str, number: int, shape: Shape, alpha: float = 1.0) -> Marker:
    """Return a shape in its colour, its opacity times `alpha`; its pose is left to be written."""
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


def arrow(namespace: str, number: int, color: Sequence[float]) -> Marker:
    """Return an arrow that `point_arrow` is to draw."""
    marker = _marker(namespace, number, Marker.ARROW)
    marker.scale.x, marker.scale.y, marker.scale.z = _ARROW
    marker.color = _color(color)
    return marker


def point_arrow(marker: Marker, tip: Array, along: Array) -> None:
    """Let an arrow end at a point (3,), where what it shows acts, and hide it if it is short.

    Args:
        marker: The arrow.
        tip: Where it ends [m].
        along: From its tail to its tip [m].
    """
    visible = bool(np.linalg.norm(along) > _SHORTEST)
    marker.action = Marker.ADD if visible else Marker.DELETE
    # A force points at what it acts on from outside, as a push is drawn.
    marker.points = [point_of(tip - along), point_of(tip)]


def line(namespace: str, color: Sequence[float]) -> Marker:
    """Return a line whose points are to be set."""
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


def matrix_of(pose: Array) -> Array:
    """Return the homogeneous matrix (4, 4) of a pose x y z qx qy qz qw (7,)."""
    matrix = np.eye(4)
    matrix[:3, :3] = rotation_of(pose[3:])
    matrix[:3, 3] = pose[:3]
    return matrix


def pose_vector(matrix: Array) -> Array:
    """Return the pose x y z qx qy qz qw (7,) of a homogeneous matrix (4, 4)."""
    return np.concatenate([matrix[:3, 3], quaternion_of_rotation(matrix[:3, :3])])
