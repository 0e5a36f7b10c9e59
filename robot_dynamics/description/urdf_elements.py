# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The elements of URDF, each read from its tag: links, poses, shapes, materials."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import numpy as np

from robot_dynamics.description.description import Shape
from robot_dynamics.description.orientations import (
    DEGREES_HINT,
    is_unit,
    looks_like_degrees,
    rotation_of_quaternion,
    rotation_of_rpy,
)
from robot_dynamics.description.xml_tags import Tag
from robot_dynamics.model.elements import Array, LinkElement, pose

Color = tuple[float, float, float, float]


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
        names = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
        xx, xy, xz, yy, yz, zz = (inertia_tag.number(name) for name in names)
        inertia = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    turned = origin[:3, :3] @ inertia @ origin[:3, :3].T
    x, y, z = origin[:3, 3].tolist()
    return LinkElement(name, mass, (x, y, z), 0.5 * (turned + turned.T))


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
        origin.error("quat_xyzw is not of unit length")
        quaternion = [0.0, 0.0, 0.0, 1.0]
    return pose(translation, rotation_of_quaternion(quaternion))


def read_color(tag: Tag) -> Color | None:
    """Return the colour of a `<material>` tag, or None if it states none."""
    color = tag.child("color")
    if color is None:
        return None
    red, green, blue, alpha = color.numbers("rgba", 4, (0.5, 0.5, 0.5, 1.0))
    return red, green, blue, alpha


def read_shapes(tag: Tag, link: str, materials: Mapping[str, Color | None]) -> list[Shape]:
    """Return the visual and collision shapes of a `<link>` tag."""
    shapes = []
    for piece in tag.children("visual", "collision"):
        role: Literal["visual", "collision"] = "visual" if piece.name == "visual" else "collision"
        geometry = piece.child("geometry")
        if geometry is None:
            piece.error(f"<{piece.name}> has no <geometry>")
            continue
        color = None
        material = piece.child("material")
        if material is not None:
            color = read_color(material) or materials.get(material.element.get("name", ""))
        shape = _shape(geometry, link, role, read_origin(piece), color)
        if shape is not None:
            shapes.append(shape)
    return shapes


def _shape(
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
            scale = tuple(solid.numbers("scale", 3, (1.0, 1.0, 1.0)))
            return Shape(link, role, "mesh", at, scale, solid.text("filename") or "", color)
    geometry.error("<geometry> is empty, expected box, cylinder, capsule, sphere or mesh")
    return None


def _sizes(tag: Tag, attribute: str, count: int = 1) -> tuple[float, ...]:
    values = tuple(tag.numbers(attribute, count, None))
    if any(value < 0.0 for value in values):
        tag.error(f"{attribute} of a <{tag.name}> is negative")
    return values
