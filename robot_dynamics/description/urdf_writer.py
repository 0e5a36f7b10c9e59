# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Writer of URDF, with a file of loop joints beside it."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Sequence
from pathlib import Path
from xml.etree import ElementTree as ET

import numpy as np

from robot_dynamics.arrays import Array
from robot_dynamics.description.description import Description, Shape
from robot_dynamics.description.diagnosis import DescriptionWarning
from robot_dynamics.description.joint_names import joint_has_axis
from robot_dynamics.description.loops import write_loops
from robot_dynamics.description.orientations import rpy_of_rotation
from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.model.elements import JointElement, LinkElement, Mechanism

# Joints of a URDF with limits, which require effort and velocity.
_LIMITED = ("revolute", "prismatic")
_ONE_DEGREE = (*_LIMITED, "continuous", "helical")
_FURTHER = ("acceleration", "deceleration", "jerk")  # of URDF 1.2
_UNLIMITED = 1e6  # stands for no limit, which a URDF cannot say


def write_urdf(
    path: str | Path, description: Description | Mechanism, loops: str | Path | None = None
) -> bool:
    """Write a description as URDF, and its loop joints, gears and drives into a file beside it.

    Return whether this second file has contents.

    `load_description(path, loops)` reads them back. Infinite limits of effort and velocity are
    written as 1e6, because URDF requires numbers, and passive joints with an effort of zero.
    Springs, and armatures of single freedoms, have no place in URDF: a `DescriptionWarning` lists
    them.

    Args:
        path: The URDF.
        description: A description or a mechanism.
        loops: The YAML file of `write_loops`; needed if there are loop joints or gears, not
            written if it would be empty.

    Raises:
        RobotDynamicsError: If `loops` is missing.
    """
    if isinstance(description, Mechanism):
        description = Description(description)
    mechanism = description.mechanism
    closing = [loop.name for loop in mechanism.loops]
    closing += [coupling.name for coupling in mechanism.couplings]
    if closing and loops is None:
        raise RobotDynamicsError(
            f"{path}: URDF has no place for {closing[0]!r}, expected a second file for loop "
            "joints and gears."
        )
    Path(path).write_text(urdf_of(mechanism, description.shapes), encoding="utf-8")
    stated = any(joint.active is not None for joint in mechanism.joints)
    beside = loops is not None and (bool(closing) or stated)
    if loops is not None and beside:
        actuated = [joint.name for joint in mechanism.joints if joint.driven]
        write_loops(loops, mechanism.loops, mechanism.couplings, actuated if stated else None)
    lost = [joint.name for joint in mechanism.joints if np.any(joint.stiffness)]
    lost += [joint.name for joint in mechanism.joints if np.ptp(joint.armature) > 0.0]
    if lost:
        named = ", ".join(repr(name) for name in lost)
        message = f"{path}: URDF has no place for springs, and for the armature of single freedoms"
        hint = "`write_model` and `write_mjcf` keep them"
        warnings.warn(f"{message}, of joints {named}; {hint}.", DescriptionWarning, stacklevel=2)
    return beside


def urdf_of(mechanism: Mechanism, shapes: Iterable[Shape] = (), name: str = "") -> str:
    """Return the URDF of a mechanism; armatures are the rotors of transmissions.

    Args:
        mechanism: Links and joints; URDF has no loop joints, which are omitted.
        shapes: Visual and collision shapes of its links.
        name: Name of the robot; by default the name of the mechanism.
    """
    robot = ET.Element("robot", name=name or mechanism.name)
    of_link: dict[str, list[Shape]] = {}
    for shape in shapes:
        of_link.setdefault(shape.link, []).append(shape)
    for link in mechanism.links:
        _add_link(robot, link, of_link.get(link.name, []))
    for joint in mechanism.joints:
        _add_joint(robot, joint)
    for joint in mechanism.joints:
        _add_rotor(robot, joint)
    ET.indent(robot)
    return ET.tostring(robot, encoding="unicode") + "\n"


def _add_link(robot: ET.Element, link: LinkElement, shapes: Sequence[Shape]) -> None:
    tag = ET.SubElement(robot, "link", name=link.name)
    if link.mass > 0.0:
        inertial = ET.SubElement(tag, "inertial")
        ET.SubElement(inertial, "origin", xyz=_numbers(link.center), rpy="0 0 0")
        ET.SubElement(inertial, "mass", value=_number(link.mass))
        I = np.asarray(link.inertia)
        entries = {"ixx": I[0, 0], "ixy": I[0, 1], "ixz": I[0, 2]}
        entries |= {"iyy": I[1, 1], "iyz": I[1, 2], "izz": I[2, 2]}
        ET.SubElement(inertial, "inertia", {k: _number(v) for k, v in entries.items()})
    for shape in shapes:
        _add_shape(tag, shape)


def _add_shape(link: ET.Element, shape: Shape) -> None:
    tag = ET.SubElement(link, shape.role)
    _add_origin(tag, shape.pose)
    geometry = ET.SubElement(tag, "geometry")
    if shape.kind == "box":
        ET.SubElement(geometry, "box", size=_numbers(shape.size))
    elif shape.kind == "sphere":
        ET.SubElement(geometry, "sphere", radius=_number(shape.size[0]))
    elif shape.kind == "mesh":
        ET.SubElement(geometry, "mesh", filename=shape.mesh, scale=_numbers(shape.size))
    else:
        radius, length = (_number(value) for value in shape.size)
        ET.SubElement(geometry, shape.kind, radius=radius, length=length)
    if shape.role == "visual" and shape.color is not None:
        # An empty name keeps the colours of different robots apart.
        material = ET.SubElement(tag, "material", name="")
        ET.SubElement(material, "color", rgba=_numbers(shape.color))


def _add_joint(robot: ET.Element, joint: JointElement) -> None:
    parameters = {key: _number(value) for key, value in joint.parameters.items()}
    tag = ET.SubElement(robot, "joint", {"name": joint.name, "type": joint.type, **parameters})
    ET.SubElement(tag, "parent", link=joint.parent)
    ET.SubElement(tag, "child", link=joint.child)
    _add_origin(tag, joint.placement)
    if joint_has_axis(joint.type):
        ET.SubElement(tag, "axis", xyz=_numbers(joint.axis))
    if joint.type in _ONE_DEGREE:
        _add_limits(tag, joint)
    damping, friction = (
        v[0] if isinstance(v, tuple) else v for v in (joint.damping, joint.friction)
    )
    if damping or friction:
        numbers = {"damping": _number(damping), "friction": _number(friction)}
        ET.SubElement(tag, "dynamics", numbers)


def _add_limits(tag: ET.Element, joint: JointElement) -> None:
    limits = joint.limits_of_each[0]
    bounds = {"effort": limits.effort if joint.driven else 0.0, "velocity": limits.velocity}
    if joint.type in _LIMITED:
        bounds |= {"lower": limits.lower, "upper": limits.upper}
    finite = {k: _number(float(np.clip(v, -_UNLIMITED, _UNLIMITED))) for k, v in bounds.items()}
    further = {name: getattr(limits, name) for name in _FURTHER}
    finite |= {k: _number(v) for k, v in further.items() if math.isfinite(v)}
    ET.SubElement(tag, "limit", finite)


def _add_rotor(robot: ET.Element, joint: JointElement) -> None:
    armature = float(np.max(joint.armature))
    if not armature:
        return
    tag = ET.SubElement(robot, "transmission", name=f"{joint.name}_transmission")
    ET.SubElement(tag, "type").text = "transmission_interface/SimpleTransmission"
    ET.SubElement(tag, "joint", name=joint.name)
    actuator = ET.SubElement(tag, "actuator", name=f"{joint.name}_actuator")
    ET.SubElement(actuator, "mechanicalReduction").text = "1"
    ET.SubElement(actuator, "rotorInertia").text = _number(armature)


def _add_origin(tag: ET.Element, pose: Array) -> None:
    xyz, rpy = pose[:3, 3].tolist(), rpy_of_rotation(pose[:3, :3])
    ET.SubElement(tag, "origin", xyz=_numbers(xyz), rpy=_numbers(rpy))


def _numbers(values: Iterable[float]) -> str:
    return " ".join(_number(value) for value in values)


def _number(value: float) -> str:
    """Return a number so that it is read back to the last bit; whole ones without a point."""
    return repr(float(value)) if value != round(value) else str(round(value))
