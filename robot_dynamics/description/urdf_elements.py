# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The elements of URDF, each read from its tag: links, poses, shapes, materials."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Literal

import numpy as np

from robot_dynamics.arrays import Array
from robot_dynamics.description.description import Shape
from robot_dynamics.description.meshes import Color
from robot_dynamics.description.orientations import (
    DEGREES_HINT,
    is_unit,
    looks_like_degrees,
    rotation_of_quaternion,
    rotation_of_rpy,
)
from robot_dynamics.description.xml_tags import Tag
from robot_dynamics.model.elements import LinkElement, pose


def read_link(tag: Tag, name: str) -> LinkElement:
    """Return the link of a `<link>` tag; its inertia is turned into link axes."""
    tag.check_attributes("name")
    tag.check_children("inertial", "visual", "collision")
    inertial = tag.child("inertial")
    if inertial is None:
        return LinkElement(name)
    inertial.check_children("origin", "mass", "inertia")
    origin = read_origin(inertial)
    mass_tag, inertia_tag = inertial.child("mass"), inertial.child("inertia")
    for found, missing in ((mass_tag, "mass"), (inertia_tag, "inertia")):
        if found is None:
            inertial.error(f"<inertial> has no <{missing}>")
    mass = mass_tag.number("value") if mass_tag else 0.0
    inertia = np.zeros((3, 3))
    if inertia_tag:
        xx, yy, zz = (inertia_tag.number(name) for name in ("ixx", "iyy", "izz"))
        xy, xz, yz = (_product(inertia_tag, name) for name in ("ixy", "ixz", "iyz"))
        inertia = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    turned = origin[:3, :3] @ inertia @ origin[:3, :3].T
    x, y, z = origin[:3, 3].tolist()
    return LinkElement(name, mass, (x, y, z), 0.5 * (turned + turned.T))


def _product(tag: Tag, name: str) -> float:
    """Return a product of inertia; zero, with a warning, if it is not stated."""
    if tag.element.get(name) is None:
        tag.warning(f"<inertia> has no {name}, it is taken as zero")
        return 0.0
    return tag.number(name)


def read_origin(tag: Tag) -> Array:
    """Return the pose (4, 4) of a tag's `<origin>`; the identity if it has none."""
    origin = tag.child("origin")
    return np.eye(4) if origin is None else read_pose(origin)


def read_pose(origin: Tag) -> Array:
    """Return the pose (4, 4) that the attributes xyz and rpy, or quat_xyzw, of a tag state."""
    origin.check_attributes("xyz", "rpy", "quat_xyzw", "link")
    translation = origin.numbers("xyz", 3, (0.0, 0.0, 0.0))
    if origin.element.get("quat_xyzw") is None:
        angles = origin.numbers("rpy", 3, (0.0, 0.0, 0.0))
        odd = looks_like_degrees(angles)
        if odd:
            origin.warning(f"rpy of <{origin.name}>: {odd}", DEGREES_HINT)
        return pose(translation, rotation_of_rpy(angles))
    if origin.element.get("rpy") is not None:
        origin.error(f"<{origin.name}> has both rpy and quat_xyzw, expected one of them")
    quaternion = origin.numbers("quat_xyzw", 4, (0.0, 0.0, 0.0, 1.0))
    if not is_unit(quaternion):
        origin.error(f"quat_xyzw has length {math.hypot(*quaternion):.10g}, expected 1")
        quaternion = [0.0, 0.0, 0.0, 1.0]
    return pose(translation, rotation_of_quaternion(quaternion))


def read_material(tag: Tag) -> Color | None:
    """Return the colour of a `<material>` tag, or None if it has no readable one."""
    return tag.tolerant(_color, "it has no colour")


def _color(tag: Tag) -> Color | None:
    color = tag.child("color")
    if color is None:
        return None
    red, green, blue, alpha = color.numbers("rgba", 4, (0.5, 0.5, 0.5, 1.0))
    return red, green, blue, alpha


def read_shapes(tag: Tag, link: str, materials: Mapping[str, Color | None]) -> list[Shape]:
    """Return the visual and collision shapes of a `<link>` tag.

    Unreadable shapes are omitted with a warning: the dynamics do not need them.
    """
    shapes = []
    for piece in tag.children("visual", "collision"):
        role: Literal["visual", "collision"] = "visual" if piece.name == "visual" else "collision"
        color = None
        for number, material in enumerate(piece.children("material")):
            if number:
                material.warning(
                    f"<material> is given twice in one <{piece.name}>, the first is used"
                )
                break
            color = read_material(material) or materials.get(material.element.get("name", ""))
        shape = piece.tolerant(
            lambda piece, role=role, color=color: _shape(piece, link, role, color),  # type: ignore[misc]
            f"the <{piece.name}> is left out",
        )
        if shape is not None:
            shapes.append(shape)
    return shapes


def _shape(
    piece: Tag, link: str, role: Literal["visual", "collision"], color: Color | None
) -> Shape | None:
    geometry = piece.child("geometry")
    if geometry is None:
        piece.error(f"<{piece.name}> has no <geometry>")
        return None
    return _solid(geometry, link, role, read_origin(piece), color)


def _solid(
    geometry: Tag,
    link: str,
    role: Literal["visual", "collision"],
    at: Array,
    color: Color | None,
) -> Shape | None:
    for solid in geometry.children():
        if solid.name == "box":
            return Shape(link, role, "box", at, _sizes(solid, "size", 3), "", color)
        if solid.name == "sphere":
            return Shape(link, role, "sphere", at, _sizes(solid, "radius"), "", color)
        if solid.name == "cylinder":
            size = _sizes(solid, "radius") + _sizes(solid, "length")
            return Shape(link, role, "cylinder", at, size, "", color)
        if solid.name == "capsule":
            size = _sizes(solid, "radius") + _sizes(solid, "length")
            return Shape(link, role, "capsule", at, size, "", color)
        if solid.name == "mesh":
            return Shape(
                link, role, "mesh", at, _scale(solid), solid.text("filename") or "", color
            )
    geometry.error("<geometry> is empty, expected box, cylinder, capsule, sphere or mesh")
    return None


def _scale(mesh: Tag) -> tuple[float, ...]:
    """Return the scale factors of a mesh; one number is taken for all, of four the first three."""
    count = len(mesh.element.get("scale", "1 1 1").split())
    if count not in (1, 4):
        return tuple(mesh.numbers("scale", 3, (1.0, 1.0, 1.0)))
    taken = "the one is taken for all" if count == 1 else "the first three are taken"
    mesh.warning(f"scale expects 3 numbers, found {count}; {taken}")
    values = mesh.numbers("scale", count)
    return tuple(values * 3 if count == 1 else values[:3])


def _sizes(tag: Tag, attribute: str, count: int = 1) -> tuple[float, ...]:
    values = tuple(tag.numbers(attribute, count, None))
    if any(value < 0.0 for value in values):
        tag.error(f"{attribute} of a <{tag.name}> is negative")
    return values
