# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Robots loaded by another URDF library: urdfpy, urchin, yourdfpy, urdf_parser_py.

Such an object is written as URDF and read by the strict reader, so that it has the same checks as
a file. It is recognised by its attributes; the libraries are not imported.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from lxml import etree

from robot_dynamics.description.description import Description
from robot_dynamics.description.orientations import quaternion_of_rotation
from robot_dynamics.description.urdf import read_urdf
from robot_dynamics.errors import RobotDynamicsError

_LIMITS = ("lower", "upper", "velocity", "effort", "acceleration", "deceleration", "jerk")
_SAFETY = ("soft_lower_limit", "soft_upper_limit", "k_position", "k_velocity")
_SOLIDS = {
    "box": ("size",),
    "sphere": ("radius",),
    "cylinder": ("radius", "length"),
    "capsule": ("radius", "length"),
    "mesh": ("filename", "scale"),
}
_INERTIA = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
_PLACES = ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2))


def read_urdf_object(
    robot: Any, *, strict: bool = False, locked: Mapping[str, float] | None = None
) -> Description:
    """Return the description of a robot loaded by another library.

    Args:
        robot: An object with `links` and `joints`, or whose attribute `robot` has them.
        strict: Whether to refuse descriptions with warnings.
        locked: Fixed joints, and their positions [rad or m].

    Raises:
        RobotDynamicsError: If it is not such an object.
        DescriptionError: If the description is refused. Lines refer to `urdf_text`.
    """
    module = type(robot).__module__.partition(".")[0]
    name = f"<{module} object>"
    return replace(
        read_urdf(urdf_text(robot), strict=strict, locked=locked, source=name), source=name
    )


def urdf_text(robot: Any) -> str:
    """Return the URDF of a robot that another library has loaded.

    Raises:
        RobotDynamicsError: If it has no links and joints.
    """
    inner = getattr(robot, "robot", None)
    if hasattr(inner, "links") and hasattr(inner, "joints"):
        robot = inner
    if not (hasattr(robot, "links") and hasattr(robot, "joints")):
        raise RobotDynamicsError(
            f"an object of type {type(robot).__name__} cannot be read as a robot, expected a "
            "path, the text of a URDF, an object of urdfpy, urchin or yourdfpy with links and "
            "joints, or a description or mechanism of this package."
        )
    root = etree.Element("robot", name=str(getattr(robot, "name", None) or "robot"))
    for link in _several(robot, "links"):
        _link(root, link)
    for joint in _several(robot, "joints"):
        _joint(root, joint)
    for transmission in _several(robot, "transmissions"):
        _transmission(root, transmission)
    return etree.tostring(root, pretty_print=True, encoding="unicode")


def _link(root: Any, link: Any) -> None:
    tag = _tag(root, "link", name=link.name)
    inertial = getattr(link, "inertial", None)
    if inertial is not None and not _is_invented(link, inertial):
        of_body = _tag(tag, "inertial")
        _origin(of_body, getattr(inertial, "origin", None))
        if getattr(inertial, "mass", None) is not None:
            _tag(of_body, "mass", value=inertial.mass)
        matrix = getattr(inertial, "inertia", None)
        if matrix is not None:
            values = [
                getattr(matrix, name) if hasattr(matrix, name) else np.asarray(matrix)[place]
                for name, place in zip(_INERTIA, _PLACES, strict=True)
            ]
            _tag(of_body, "inertia", **dict(zip(_INERTIA, values, strict=True)))
    for role in ("visual", "collision"):
        for shape in _several(link, role + "s"):
            _shape(tag, role, shape)


def _is_invented(link: Any, inertial: Any) -> bool:
    """Return whether an inertia is the default of urdfpy and urchin for links without one.

    Their default is a kilogram with moments of 1 kg m^2, which no real link has.
    """
    invents = type(link).__module__.partition(".")[0] in ("urdfpy", "urchin")
    return invents and inertial.mass == 1.0 and np.array_equal(inertial.inertia, np.eye(3))


def _shape(link: Any, role: str, shape: Any) -> None:
    geometry = getattr(shape, "geometry", None)
    # urdf_parser_py has the solid itself, the others one attribute for each kind.
    solids = {kind: getattr(geometry, kind, None) for kind in _SOLIDS}
    own = type(geometry).__name__.lower()
    if own in _SOLIDS:
        solids[own] = geometry
    for kind, solid in solids.items():
        if solid is None:
            continue
        tag = _tag(link, role)
        _origin(tag, getattr(shape, "origin", None))
        values: dict[str, Any] = {key: getattr(solid, key, None) for key in _SOLIDS[kind]}
        if kind == "mesh" and np.ndim(values["scale"]) == 0 and values["scale"] is not None:
            values["scale"] = np.full(3, values["scale"])
        _tag(_tag(tag, "geometry"), kind, **values)
        color = getattr(getattr(shape, "material", None), "color", None)
        rgba = getattr(color, "rgba", color)
        if rgba is not None:
            _tag(_tag(tag, "material", name=""), "color", rgba=rgba)


def _joint(root: Any, joint: Any) -> None:
    kind = getattr(joint, "joint_type", None) or getattr(joint, "type", None)
    tag = _tag(root, "joint", name=joint.name, type=kind)
    _tag(tag, "parent", link=joint.parent)
    _tag(tag, "child", link=joint.child)
    _origin(tag, getattr(joint, "origin", None))
    if getattr(joint, "axis", None) is not None and kind not in ("fixed", "floating"):
        _tag(tag, "axis", xyz=joint.axis)
    for name, attributes in (
        ("limit", _LIMITS),
        ("dynamics", ("damping", "friction")),
        ("mimic", ("joint", "multiplier", "offset")),
        ("safety_controller", _SAFETY),
    ):
        found = getattr(joint, name, None)
        if found is not None:
            _tag(tag, name, **{key: getattr(found, key, None) for key in attributes})


def _transmission(root: Any, transmission: Any) -> None:
    if not hasattr(transmission, "joints"):
        return
    kind = getattr(transmission, "trans_type", None) or getattr(transmission, "type", None)
    tag = _tag(root, "transmission", name=transmission.name, type=kind)
    for joint in _several(transmission, "joints"):
        _tag(tag, "joint", name=joint.name)
    for actuator in _several(transmission, "actuators"):
        of_actuator = _tag(tag, "actuator", name=actuator.name)
        reduction = getattr(actuator, "mechanicalReduction", None)
        if reduction is None:
            reduction = getattr(actuator, "mechanical_reduction", None)
        if reduction is not None:
            _tag(of_actuator, "mechanicalReduction", value=reduction)


def _origin(parent: Any, origin: Any) -> None:
    """Write a pose: a matrix (4, 4), or an object with `xyz` and `rpy`."""
    if origin is None:
        return
    if hasattr(origin, "xyz") or hasattr(origin, "rpy"):
        _tag(parent, "origin", xyz=getattr(origin, "xyz", None), rpy=getattr(origin, "rpy", None))
        return
    matrix = np.asarray(origin, dtype=float)
    if matrix.shape != (4, 4):
        raise RobotDynamicsError(f"an origin has the shape {matrix.shape}, expected (4, 4).")
    attributes: dict[str, Any] = {"xyz": matrix[:3, 3]}
    if not np.array_equal(matrix[:3, :3], np.eye(3)):
        attributes["quat_xyzw"] = quaternion_of_rotation(matrix[:3, :3])
    _tag(parent, "origin", **attributes)


def _several(owner: Any, name: str) -> Iterable[Any]:
    return getattr(owner, name, None) or ()


def _tag(parent: Any, kind: str, /, **attributes: Any) -> Any:
    """Add a tag; attributes that are None are omitted."""
    tag = etree.SubElement(parent, kind)
    for key, value in attributes.items():
        if value is not None:
            tag.set(key, _text(value))
    return tag


def _text(value: Any) -> str:
    """Return numbers with all their digits, several of them separated by spaces."""
    if isinstance(value, str):
        return value
    if np.ndim(value) == 0:
        return repr(float(value)) if isinstance(value, (int, float, np.number)) else str(value)
    return " ".join(_text(item) for item in np.asarray(value).ravel().tolist())
