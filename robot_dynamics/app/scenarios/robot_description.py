# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""One URDF of all robots of a scenario, as RViz and `robot_state_publisher` want it.

`python -m robot_dynamics.app.scenarios.robot_description SCENARIO` prints it, for launch files.
Locked joints are fixed in it; the held object is not part of it, because joint states cannot carry
a floating joint: it is shown by markers.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from xml.etree import ElementTree as ET

import numpy as np

from robot_dynamics.app.scenarios.cell import placed_robots
from robot_dynamics.app.scenarios.scenario import load_scenario
from robot_dynamics.arrays import Array
from robot_dynamics.description.description import Shape
from robot_dynamics.description.orientations import rpy_of_rotation
from robot_dynamics.description.world import place
from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.manipulation.settings import CellSettings
from robot_dynamics.model.elements import JointElement, LinkElement, Mechanism

# Joints of a URDF with limits, which require effort and velocity.
_LIMITED = ("revolute", "prismatic")
_UNLIMITED = 1e6  # stands for no limit, which a URDF cannot say


def robot_description(cell: CellSettings, name: str = "cell") -> str:
    """Return the URDF of all robots of a cell, standing in the link "world".

    Raises:
        DescriptionError: If a robot's description is refused.
    """
    world = place(placed_robots(cell))
    return write_urdf(world.mechanism, world.shapes, name)


def write_urdf(mechanism: Mechanism, shapes: Iterable[Shape] = (), name: str = "") -> str:
    """Return the URDF of a mechanism with fixed joints and joints of one degree of freedom.

    Args:
        mechanism: Links and joints; URDF has no loop joints, which are omitted.
        shapes: Visual and collision shapes of its links.
        name: Name of the robot; by default of the mechanism.
    """
    robot = ET.Element("robot", name=name or mechanism.name)
    of_link: dict[str, list[Shape]] = {}
    for shape in shapes:
        of_link.setdefault(shape.link, []).append(shape)
    for link in mechanism.links:
        _add_link(robot, link, of_link.get(link.name, []))
    for joint in mechanism.joints:
        _add_joint(robot, joint)
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
    tag = ET.SubElement(robot, "joint", name=joint.name, type=joint.type)
    ET.SubElement(tag, "parent", link=joint.parent)
    ET.SubElement(tag, "child", link=joint.child)
    _add_origin(tag, joint.placement)
    if joint.type in ("fixed", "floating"):
        return
    ET.SubElement(tag, "axis", xyz=_numbers(joint.axis))
    limits = joint.limits_of_each[0]
    bounds = {"effort": limits.effort, "velocity": limits.velocity}
    if joint.type in _LIMITED:
        bounds |= {"lower": limits.lower, "upper": limits.upper}
    finite = {k: _number(float(np.clip(v, -_UNLIMITED, _UNLIMITED))) for k, v in bounds.items()}
    ET.SubElement(tag, "limit", finite)
    damping, friction = (
        v[0] if isinstance(v, tuple) else v for v in (joint.damping, joint.friction)
    )
    if damping or friction:
        numbers = {"damping": _number(damping), "friction": _number(friction)}
        ET.SubElement(tag, "dynamics", numbers)


def _add_origin(tag: ET.Element, pose: Array) -> None:
    xyz, rpy = pose[:3, 3].tolist(), rpy_of_rotation(pose[:3, :3])
    ET.SubElement(tag, "origin", xyz=_numbers(xyz), rpy=_numbers(rpy))


def _numbers(values: Iterable[float]) -> str:
    return " ".join(_number(value) for value in values)


def _number(value: float) -> str:
    """Return a number so that it is read back to the last bit; whole ones without a point."""
    return repr(float(value)) if value != round(value) else str(round(value))


def main() -> None:
    """Print the URDF of the scenario that the command line names."""
    if len(sys.argv) != 2:
        print("robot_description: expected one argument, the scenario.", file=sys.stderr)
        sys.exit(2)
    try:
        scenario = load_scenario(sys.argv[1])
        print(robot_description(scenario.cell, scenario.name), end="")
    except RobotDynamicsError as error:
        print(f"robot_description: {error}", file=sys.stderr)
        sys.exit(2)


if __name__ == "__main__":
    main()
