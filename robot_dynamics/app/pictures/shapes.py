# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Shapes to draw: bodies, as triangles by trimesh; surfaces; and lengths of arrows."""

from __future__ import annotations

import functools
import importlib.util
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from robot_dynamics.app.pictures.figures import GREEN, VERMILION
from robot_dynamics.app.scenarios.cell import pose_matrix
from robot_dynamics.app.scenarios.surfaces import PLANE_SIZE_M
from robot_dynamics.arrays import Array
from robot_dynamics.description.description import Shape
from robot_dynamics.description.meshes import Color, MeshPart, locate_mesh, read_mesh
from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.manipulation.contact_settings import SurfaceSettings
from robot_dynamics.manipulation.hybrid.environment import ObjectPose, surface_functions
from robot_dynamics.model import pose
from robot_dynamics.scalar.derivatives import jacobian
from robot_dynamics.spatial import Rotation, Scalar, Vector3


def rgba(color: str) -> Color:
    """Return red, green, blue and alpha in [0, 1] of an opaque colour such as "#0072B2"."""
    r, g, b = (int(color[i : i + 2], 16) / 255.0 for i in (1, 3, 5))
    return r, g, b, 1.0


FORCE_SCALE = 0.003  # length of an arrow [m/N]
MOMENT_SCALE = 0.03  # [m/(N m)]
# Arrows: stronger than the colours of curves, to stand out from robots and wood.
FORCE_COLOR, MOMENT_COLOR, PUSH_COLOR = rgba("#D93326"), rgba("#3359D9"), rgba("#8E24AA")
SAFE_COLOR, USED_COLOR = rgba(GREEN), rgba(VERMILION)  # friction cones, bars
SHORTEST_ARROW = 0.005  # shorter arrows are not drawn [m]
TILE = 0.5  # side of a floor tile [m]
GHOST_ALPHA = 0.25
WOOD: Color = (0.82, 0.66, 0.44, 1.0)  # objects without a colour
_METAL: Color = (0.7, 0.72, 0.75, 1.0)  # robots without one
SURFACE_COLOR: Color = (0.55, 0.62, 0.7, 0.5)
_THICKNESS = 0.002  # of a plane, below it [m]
_AXIS = 0.003  # radius of lines and hinges [m]


class VisualError(RobotDynamicsError):
    """A picture that cannot be made."""


class Mesh(NamedTuple):
    """A mesh of one colour.

    Attributes:
        vertices: (n, 3) in the frame of its body [m].
        faces: Vertices of each triangle (m, 3), counterclockwise from outside.
        normals: Outward normals at the vertices (n, 3); edges are sharp.
        color: Red, green, blue, alpha in [0, 1].
    """

    vertices: Array
    faces: NDArray[np.int64]
    normals: Array
    color: Color


def visual_shapes(shapes: Sequence[Shape]) -> list[Shape]:
    """Return the shapes of an object that are displayed; a ball if it has none."""
    visual = [shape for shape in shapes if shape.role == "visual"] or [*shapes]
    return visual or [Shape("", "visual", "sphere", np.eye(4), (0.05,))]


def require(module: str, package: str, what: str) -> None:
    """Check that a package of the extra `view` is installed; it is not imported.

    Args:
        module: Name of the module.
        package: Name of the package for pip.
        what: The feature that needs it, in the plural.

    Raises:
        VisualError: If it is missing; says how to install it.
    """
    try:
        found = importlib.util.find_spec(module)
    except ValueError:  # a module set to None
        found = None
    if found is None:
        raise VisualError(
            f"{what} need {package}, which is not installed; "
            "expected `pip install 'robot_dynamics[view]'`."
        )


def require_trimesh() -> Any:
    """Return trimesh, or raise VisualError."""
    require("trimesh", "trimesh", "pictures")
    return importlib.import_module("trimesh")


def meshes_of(shape: Shape, folder: str = "", default: Color = _METAL) -> list[Mesh]:
    """Return the triangles of a shape, a mesh for each of its colours.

    Args:
        shape: The shape.
        folder: Folder that the address of its mesh refers to, if it does not say itself.
        default: The colour if neither the shape nor its file has one.

    Raises:
        VisualError: If trimesh or its reader of .dae files is missing.
        DescriptionError: If the file cannot be read as a mesh.
        ResourceNotFoundError: If there is no such file.
    """
    require_trimesh()
    if shape.kind != "mesh":
        mesh = _primitive(shape.kind, tuple(shape.size))
        turn, place = shape.pose[:3, :3], shape.pose[:3, 3]
        vertices, normals = mesh.vertices @ turn.T + place, mesh.normals @ turn.T
        return [Mesh(vertices, mesh.faces, normals, shape.color or default)]
    found = []
    for part in _read(locate_mesh(shape.mesh, shape.folder or folder)):
        placed = part.mesh.copy()
        placed.apply_transform(shape.pose @ np.diag([*shape.size, 1.0]))
        found.append(shaded(placed, shape.color or part.color or default))
    return found


@functools.lru_cache(maxsize=256)
def _primitive(kind: str, size: tuple[float, ...]) -> Mesh:
    """Return a shape that is no mesh, in its own frame; both arms of a cell have most of them."""
    make = require_trimesh().creation
    made = {
        "box": lambda: make.box(extents=size),
        "sphere": lambda: make.icosphere(subdivisions=3, radius=size[0]),
        "cylinder": lambda: make.cylinder(radius=size[0], height=size[1], sections=48),
        "capsule": lambda: make.capsule(radius=size[0], height=size[1], count=(24, 24)),
    }[kind]()
    return shaded(made, _METAL)


def shaded(part: Any, color: Color) -> Mesh:
    """Return a mesh of trimesh with sharp edges where faces meet at more than 30 degrees."""
    smooth = require_trimesh().graph.smooth_shade(part, angle=np.radians(30.0))
    return Mesh(
        np.asarray(smooth.vertices, float),
        np.asarray(smooth.faces, np.int64),
        np.asarray(smooth.vertex_normals, float),
        color,
    )


@functools.lru_cache(maxsize=256)
def _read(path: Path) -> list[MeshPart]:
    """Return the parts of a mesh file, in metres."""
    require_trimesh()
    if path.suffix.lower() == ".dae":
        # Without it trimesh ignores .dae files.
        require("collada", "pycollada", f"{path}: .dae files")
    return read_mesh(path)


def surface_shape(surface: SurfaceSettings) -> Shape:
    """Return a surface as a translucent shape, its pose in the world."""
    radius, depth = surface.radius or 0.0, surface.depth or 0.0
    kind: Literal["box", "sphere", "cylinder"]
    kind, size, height = {  # type: ignore[assignment]
        "plane": ("box", (PLANE_SIZE_M, PLANE_SIZE_M, _THICKNESS), -0.5 * _THICKNESS),
        "sphere": ("sphere", (radius,), 0.0),
        "cylinder": ("cylinder", (radius, PLANE_SIZE_M), 0.0),
        "line": ("cylinder", (_AXIS, PLANE_SIZE_M), 0.0),
        "hole": ("cylinder", (radius, depth), -0.5 * depth),
        "hinge": ("cylinder", (_AXIS, 0.5 * PLANE_SIZE_M), 0.0),
    }[surface.kind]
    at = pose_matrix(surface) @ pose((0.0, 0.0, height))
    return Shape("", "visual", kind, at, size, color=SURFACE_COLOR)


class SurfacePush:
    """The wrench of a surface's forces at the part of the object that touches it.

    Attributes:
        part: Pose of that part in the object (4, 4).
        functions: The surface's functions, one for each of its forces.
    """

    def __init__(self, surface: SurfaceSettings) -> None:
        self.part = pose_matrix(surface.part)
        # With the part's origin in place of the centre of mass, gradients are about it.
        origin = self.part[:3, 3]
        self.functions = surface_functions(surface, pose_matrix(surface), self.part, origin)

    def wrench(self, body: Array, force: Array) -> Array:
        """Return the wrench (6,) on the surface, at the part's origin in world axes.

        Args:
            body: Pose (4, 4) of the object.
            force: Its forces on the surface, one for each function.
        """
        if not force.any():
            return np.zeros(6)  # most of the time there is no contact
        x, columns = (body @ self.part)[:3, 3].tolist(), body[:3, :3].T.tolist()

        def moved(small: Sequence[Scalar]) -> list[Scalar]:
            """The surface's functions after a small rotation and displacement, to first order."""
            turn, step = Vector3.of(small[:3]), Vector3.of(small[3:])
            turned = [[*(c + turn.cross(c))] for c in map(Vector3.of, columns)]
            at = ObjectPose(Vector3.of(x) + step, Rotation.of(turned).transpose())
            return [function(at) for function in self.functions]

        # Work of the forces along a motion: they push in the direction of growing functions.
        return np.asarray(jacobian(moved, [0.0] * 6), dtype=float).T @ force
