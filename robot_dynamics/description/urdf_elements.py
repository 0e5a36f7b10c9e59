# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The elements of URDF, each read from its tag: links, joints, shapes, materials."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Literal

import numpy as np

from robot_dynamics.description.description import Shape
from robot_dynamics.description.xml_tags import Tag
from robot_dynamics.model.elements import Array, JointElement, Limits, LinkElement, pose
from robot_dynamics.spatial import Rotation

Color = tuple[float, float, float, float]

JOINT_TYPES = ("fixed", "revolute", "continuous", "prismatic", "floating")
_NOT_YET = ("planar",)  # types of URDF that have no joint model yet
_JOINT_TAGS = (
    "origin", "parent", "child", "axis", "limit", "dynamics", "mimic", "calibration",
    "safety_controller",
)  # fmt: skip


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


def read_joint(tag: Tag, name: str) -> JointElement | None:
    """Return the joint of a `<joint>` tag, or None if it does not say what it connects."""
    tag.check_attributes("name", "type")
    tag.check_children(*_JOINT_TAGS)
    kind = _joint_kind(tag)
    placement = read_origin(tag)
    axis = _axis(tag, kind)
    limits = _limits(tag, kind)
    damping, friction = _friction(tag)
    ends = [_link_of(tag, end) for end in ("parent", "child")]
    parent, child = ends
    if parent is None or child is None:
        return None
    return JointElement(name, kind, parent, child, placement, axis, limits, damping, friction)


def read_mimic(tag: Tag) -> tuple[str, float, float] | None:
    """Return the joint that a joint mimics, its multiplier and offset; None if it does not."""
    mimic = tag.child("mimic")
    if mimic is None:
        return None
    mimic.check_attributes("joint", "multiplier", "offset")
    other = mimic.text("joint")
    numbers = mimic.number("multiplier", 1.0), mimic.number("offset", 0.0)
    return None if other is None else (other, *numbers)


def read_origin(tag: Tag) -> Array:
    """Return the pose (4, 4) of a tag's `<origin>`; the identity if it has none."""
    origin = tag.child("origin")
    if origin is None:
        return np.eye(4)
    origin.check_attributes("xyz", "rpy", "quat_xyzw")
    translation = origin.numbers("xyz", 3, (0.0, 0.0, 0.0))
    if origin.element.get("quat_xyzw") is None:
        return pose(translation, rotation_of_rpy(origin.numbers("rpy", 3, (0.0, 0.0, 0.0))))
    if origin.element.get("rpy") is not None:
        origin.error("<origin> has both rpy and quat_xyzw, expected one of them")
    quaternion = origin.numbers("quat_xyzw", 4, (0.0, 0.0, 0.0, 1.0))
    if abs(math.hypot(*quaternion) - 1.0) > 1e-3:
        origin.error("quat_xyzw is not of unit length")
        quaternion = [0.0, 0.0, 0.0, 1.0]
    length = math.hypot(*quaternion)
    x, y, z, w = (value / length for value in quaternion)
    return pose(translation, np.array(Rotation.from_quaternion(x, y, z, w).rows).T)


def rotation_of_rpy(rpy: list[float] | tuple[float, float, float]) -> Array:
    """Return the matrix (3, 3) of roll, pitch and yaw [rad] about the fixed axes x, y, z."""
    (sr, cr), (sp, cp), (sy, cy) = ((math.sin(angle), math.cos(angle)) for angle in rpy)
    return np.array(
        [
            [cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr],
            [sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr],
            [-sp, cp * sr, cp * cr],
        ]
    )


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


def _link_of(tag: Tag, end: str) -> str | None:
    """Return the link that a joint's `<parent>` or `<child>` names."""
    found = tag.child(end)
    if found is None:
        tag.error(f"has no <{end}>")
        return None
    return found.text("link")


def _joint_kind(tag: Tag) -> str:
    """Return the type of a joint; "fixed" after noting an error."""
    kind = tag.text("type")
    if kind is None or kind in JOINT_TYPES:
        return kind or "fixed"
    if kind in _NOT_YET:
        known = ", ".join(JOINT_TYPES)
        tag.error(f"joint type {kind!r} is not supported yet", f"supported are {known}")
    else:
        tag.diagnosis.unknown(tag.place, tag.owner, "joint type", kind, JOINT_TYPES)
    return "fixed"


def _axis(tag: Tag, kind: str) -> tuple[float, float, float]:
    """Return the unit vector of a joint's axis; x if none is stated, as URDF has it."""
    found = tag.child("axis")
    if found is None or kind in ("fixed", "floating"):
        return (1.0, 0.0, 0.0)
    found.check_attributes("xyz")
    before = tag.diagnosis.count
    vector = np.array(found.numbers("xyz", 3, None))
    length = float(np.linalg.norm(vector))
    if length < 1e-6:
        if tag.diagnosis.count == before:
            found.error("the axis is zero, expected a direction")
        return (1.0, 0.0, 0.0)
    # Files print directions with five or six digits; that much is no mistake.
    if abs(length - 1.0) > 1e-4:
        found.warning(f"the axis has length {length:.6g}, it is taken as a unit vector")
    x, y, z = (vector / length).tolist()
    return (x, y, z)


def _limits(tag: Tag, kind: str) -> Limits:
    """Return a joint's limits; what is missing or zero is unlimited, with a warning."""
    if kind in ("fixed", "floating"):
        return Limits()
    bounded = kind in ("revolute", "prismatic")
    unit = "m" if kind == "prismatic" else "rad"
    limit = tag.child("limit")
    if limit is None:
        what = "limits" if bounded else "limits of velocity and effort"
        tag.warning(f"has no <limit>, its {what} are taken as infinite")
        return Limits()
    limit.check_attributes("lower", "upper", "velocity", "effort")
    lower, upper = -math.inf, math.inf
    if bounded:
        stated = [side for side in ("lower", "upper") if limit.element.get(side) is not None]
        lower, upper = limit.number("lower", 0.0), limit.number("upper", 0.0)
        if not stated:
            limit.warning("has neither lower nor upper limit, both are taken as infinite")
            lower, upper = -math.inf, math.inf
        elif lower > upper:
            limit.warning(
                f"the lower limit {lower:g} {unit} is above the upper {upper:g} {unit}, "
                "they are taken the other way round"
            )
            lower, upper = upper, lower
        elif lower == upper:
            limit.warning(f"both limits are {lower:g} {unit}, the joint cannot move")
    return Limits(lower, upper, _bound(limit, "velocity"), _bound(limit, "effort"))


def _bound(limit: Tag, name: str) -> float:
    """Return a limit of velocity or effort; infinite, with a warning, if it is not positive."""
    if limit.element.get(name) is None:
        limit.warning(f"has no limit of {name}, it is taken as infinite")
        return math.inf
    before = limit.diagnosis.count
    value = limit.number(name)
    if value > 0.0:
        return value
    if limit.diagnosis.count == before:
        limit.warning(f"the limit of {name} is {value:g}, it is taken as infinite")
    return math.inf


def _friction(tag: Tag) -> tuple[float, float]:
    """Return a joint's viscous and Coulomb friction."""
    dynamics = tag.child("dynamics")
    if dynamics is None:
        return 0.0, 0.0
    dynamics.check_attributes("damping", "friction")
    values = []
    for name in ("damping", "friction"):
        value = dynamics.number(name, 0.0)
        if value < 0.0:
            dynamics.warning(f"{name} is {value:g}, taken as zero: it would feed energy in")
        values.append(max(value, 0.0))
    return values[0], values[1]
