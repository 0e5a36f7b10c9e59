# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Writer of MJCF: a mechanism with its loops as equality constraints.

A link without mass between two joints becomes a body with both joints, because MuJoCo requires
inertia in every body that moves. A frame at the end of a tree becomes a site.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from xml.etree import ElementTree as ET

import numpy as np

from robot_dynamics.arrays import Array
from robot_dynamics.description.description import Description, Shape
from robot_dynamics.description.diagnosis import DescriptionWarning
from robot_dynamics.description.mjcf_source import listed, unused
from robot_dynamics.description.model_file import GRAVITY
from robot_dynamics.description.orientations import quaternion_of_rotation
from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.model.couplings import CouplingElement
from robot_dynamics.model.elements import (
    JointElement,
    LinkElement,
    LoopElement,
    Mechanism,
    inverse_pose,
    pose,
)
from robot_dynamics.resources import ResourceNotFoundError
from robot_dynamics.wording import exact

_KINDS = {
    "revolute": "hinge",
    "continuous": "hinge",
    "prismatic": "slide",
    "spherical": "ball",
    "floating": "free",
}
_WORLD = "world"
_READ_MESHES = (".stl", ".obj", ".msh")  # by MuJoCo
_APART = 0.05  # of the two points of a hinge that closes a loop from its middle [m]
_VISUAL, _COLLISION = "2", "3"  # groups of geoms: the first is shown, the second is not
# Points of a loop joint's frame that are connected; None for a weld.
_POINTS: dict[str, list[tuple[float, float, float]] | None] = {
    "fixed": None,
    "spherical": [(0.0, 0.0, 0.0)],
    "revolute": [(0.0, 0.0, -_APART), (0.0, 0.0, _APART)],
}


def write_mjcf(
    path: str | Path,
    description: Description | Mechanism,
    *,
    gravity: Iterable[float] = GRAVITY,
) -> None:
    """Write a description as MJCF, with loops and gears as equality constraints.

    Hinges that close a loop are written as `connect` at two points of their axis, gears of more
    than two joints as equalities of tendons. A floating joint has no placement in MJCF: there its
    positions are relative to the world. Limits of velocity and names of fixed joints have no
    place. A mechanism without drives is read back with one in every joint. Other parts that are
    left out are listed by a `DescriptionWarning`.

    Args:
        path: The file.
        description: A description or a mechanism, whose joints form a tree.
        gravity: Acceleration of gravity [m/s^2].

    Raises:
        RobotDynamicsError: If MJCF does not support a joint, or does not support it in this place.
    """
    if isinstance(description, Mechanism):
        description = Description(description)
    writer = _Writer(str(path), description, tuple(gravity))
    Path(path).write_text(writer.text(), encoding="utf-8")
    for message in writer.left_out():
        warnings.warn(f"{path}: {message}.", DescriptionWarning, stacklevel=2)


@dataclass(frozen=True)
class _Moved:
    """A joint of a body, and the pose of the body's frame in the joint's at zero (4, 4)."""

    joint: JointElement
    body: Array


class _Writer:
    """A document under construction.

    Raises:
        RobotDynamicsError: If a part of the mechanism cannot be written.
    """

    def __init__(self, place: str, description: Description, gravity: Sequence[float]) -> None:
        self._place, self._description = place, description
        self._mechanism = mechanism = description.mechanism
        self._lost: dict[str, list[str]] = {}  # names of elements, by the part that is left out
        self._carried: dict[str, list[JointElement]] = {}
        for joint in mechanism.joints:
            self._carried.setdefault(joint.parent, []).append(joint)
        self._links = {link.name: link for link in mechanism.links}
        self._shapes: dict[str, list[Shape]] = {}
        for shape in description.shapes:
            self._shapes.setdefault(shape.link, []).append(shape)
        self._root = root = ET.Element("mujoco", model=mechanism.name)
        ET.SubElement(
            root, "compiler", angle="radian", autolimits="false", inertiafromgeom="false"
        )
        ET.SubElement(root, "option", gravity=exact(gravity))
        self._asset = ET.SubElement(root, "asset")
        self._meshes: dict[tuple[str, str], str] = {}
        self._world = ET.SubElement(root, "worldbody")
        self._tendon = ET.Element("tendon")
        self._equality = ET.Element("equality")
        self._actuator = ET.Element("actuator")
        self._sites: set[str] = set()
        #: For each link the body that has it, and the link's pose in that body (4, 4).
        self._at: dict[str, tuple[ET.Element, Array]] = {}
        self._add_tree()
        for loop in mechanism.loops:
            self._add_loop(loop)
        for coupling in mechanism.couplings:
            self._add_coupling(coupling)
        for joint in mechanism.joints:
            self._add_drive(joint)
        root.extend(part for part in (self._tendon, self._equality, self._actuator) if len(part))

    def text(self) -> str:
        """Return the document."""
        ET.indent(self._root)
        return ET.tostring(self._root, encoding="unicode") + "\n"

    def left_out(self) -> list[str]:
        """Return a sentence, without its full stop, for each kind of part that is left out."""
        return [f"{part} left out, of {listed(names)}" for part, names in self._lost.items()]

    def _lose(self, part: str, name: str) -> None:
        self._lost.setdefault(part, []).append(name)

    def _add_tree(self) -> None:
        root = self._mechanism.root
        if root == _WORLD:
            self._add_contents(self._world, root, np.eye(4))
        else:
            body = ET.SubElement(self._world, "body", name=root)
            self._add_contents(body, root, np.eye(4))
        # A stack, so that long chains need no recursion; reversed for the order of the file.
        pending = [(joint, root) for joint in reversed(self._carried.get(root, ()))]
        while pending:
            joint, parent = pending.pop()
            end = self._add_body(joint, *self._at[parent])
            pending += [(next_one, end) for next_one in reversed(self._carried.get(end, ()))]

    def _add_body(self, joint: JointElement, parent: ET.Element, frame: Array) -> str:
        """Add the body that a joint carries, and return the name of its link.

        Args:
            joint: The joint.
            parent: The element of the body that carries it.
            frame: Pose of the joint's parent link in that body (4, 4).
        """
        if self._is_frame(joint):
            at = frame @ joint.placement
            ET.SubElement(parent, "site", {"name": joint.child, **_placement(at)})
            self._sites.add(joint.child)
            self._at[joint.child] = parent, at
            return joint.child
        chain = self._chain(joint)
        end = chain[-1].child
        moving = [one.name for one in chain if one.type != "fixed"]
        if moving and not self._has_inertia(end):
            raise RobotDynamicsError(
                f"{self._place}: joint {moving[-1]!r} carries link {end!r} without inertia; "
                "expected mass, which MuJoCo wants in every body that moves."
            )
        if joint.type == "floating":
            parent, frame = self._free_place(joint)
        whole = frame
        for one in chain:
            whole = whole @ one.placement
        body = ET.SubElement(parent, "body", {"name": end, **_placement(whole)})
        rest = np.eye(4)
        moved: list[_Moved] = []
        for one in reversed(chain):
            moved.append(_Moved(one, rest))
            rest = one.placement @ rest
        for each in reversed(moved):
            self._add_joint(body, each)
        self._add_contents(body, end, np.eye(4))
        return end

    def _is_frame(self, joint: JointElement) -> bool:
        """Return whether a joint holds a link without mass, shapes and joints of its own."""
        return joint.type == "fixed" and self._is_bare(joint.child, 0)

    def _is_bare(self, link: str, carried: int) -> bool:
        """Return whether a link has no inertia and shapes, and carries this number of joints."""
        element = self._links[link]
        return (
            not element.mass
            and not np.any(element.inertia)
            and link not in self._shapes
            and len(self._carried.get(link, ())) == carried
        )

    def _has_inertia(self, link: str) -> bool:
        """Return whether a link, or a link fixed to it further out, has inertia."""
        pending = [link]
        while pending:
            element = self._links[pending.pop()]
            if element.mass and np.any(element.inertia):
                return True
            carried = self._carried.get(element.name, ())
            pending += [one.child for one in carried if one.type == "fixed"]
        return False

    def _chain(self, joint: JointElement) -> list[JointElement]:
        """Return a joint, and joints beyond it that belong to the same body of MuJoCo."""
        ends = {
            end for loop in self._mechanism.loops for end in (loop.predecessor, loop.successor)
        }
        chain = [joint]
        while (
            chain[-1].type not in ("fixed", "floating")
            and chain[-1].child not in ends
            and self._is_bare(chain[-1].child, 1)
        ):
            (beyond,) = self._carried[chain[-1].child]
            turned = not np.allclose(beyond.placement[:3, :3], np.eye(3), rtol=0.0, atol=1e-15)
            # A ball's velocities are in the axes of the body.
            balls = any(one.type == "spherical" for one in chain)
            if beyond.type == "floating" or (balls and turned):
                break
            chain.append(beyond)
        return chain

    def _free_place(self, joint: JointElement) -> tuple[ET.Element, Array]:
        """Return the world, and the pose in it of the link that carries a floating joint."""
        carrier = {one.child: one for one in self._mechanism.joints}
        link, frame = joint.parent, np.eye(4)
        while link in carrier:
            below = carrier[link]
            if below.type != "fixed":
                raise RobotDynamicsError(
                    f"{self._place}: MJCF has free joints on the world only, and joint "
                    f"{joint.name!r} is on {joint.parent!r}, which moves."
                )
            link, frame = below.parent, below.placement @ frame
        return self._world, frame

    def _add_joint(self, body: ET.Element, moved: _Moved) -> None:
        joint = moved.joint
        if joint.type == "fixed":
            return
        kind = _KINDS.get(joint.type)
        if kind is None:
            raise RobotDynamicsError(
                f"{self._place}: joint {joint.name!r} is {joint.type}, and MJCF has none like it; "
                f"expected fixed or one of {', '.join(_KINDS)}."
            )
        in_body = inverse_pose(moved.body)
        values = {"name": joint.name, "type": kind}
        if kind != "free":
            values["pos"] = exact(in_body[:3, 3])
        if kind in ("hinge", "slide"):
            axis = np.asarray(joint.axis) / np.linalg.norm(joint.axis)
            values["axis"] = exact(in_body[:3, :3] @ axis)
            values |= _range(joint)
            rest = float(np.max(joint.rest))
            if rest and np.any(joint.stiffness):
                values["springref"] = repr(float(rest))
        elif np.any(joint.rest):
            self._lose("springs at rest elsewhere than at zero are", joint.name)
            joint = replace(joint, stiffness=0.0, rest=0.0)
        for name, attribute in (
            ("damping", "damping"),
            ("friction", "frictionloss"),
            ("armature", "armature"),
            ("stiffness", "stiffness"),
        ):
            value = np.unique(getattr(joint, name))
            if len(value) > 1:
                self._lose(f"{name} that differs between freedoms is", joint.name)
            elif value[0]:
                values[attribute] = exact(value[:1])
        ET.SubElement(body, "joint", values)

    def _add_contents(self, body: ET.Element, link: str, frame: Array) -> None:
        """Add inertia and shapes of a link to its body."""
        self._at[link] = body, frame
        element = self._links[link]
        if element.mass or np.any(element.inertia):
            if body is self._world:
                self._lose("inertia of the world is", link)
            else:
                ET.SubElement(body, "inertial", _inertial(element))
        for shape in self._shapes.get(link, ()):
            self._add_shape(body, shape)

    def _add_shape(self, body: ET.Element, shape: Shape) -> None:
        visual = shape.role == "visual"
        values = {"group": _VISUAL if visual else _COLLISION, **_placement(shape.pose)}
        if visual:
            values |= {"contype": "0", "conaffinity": "0"}
            if shape.color is not None:
                values["rgba"] = exact(shape.color)
        if shape.kind == "mesh":
            mesh = self._mesh(shape)
            if mesh is None:
                self._lose("meshes that MuJoCo cannot read are", shape.mesh)
                return
            values |= {"type": "mesh", "mesh": mesh}
        else:
            half = [0.5 * size for size in shape.size]
            size = {
                "box": half,
                "sphere": [shape.size[0]],
                "cylinder": [shape.size[0], half[-1]],
                "capsule": [shape.size[0], half[-1]],
            }[shape.kind]
            values |= {"type": shape.kind, "size": exact(size)}
        ET.SubElement(body, "geom", values)

    def _mesh(self, shape: Shape) -> str | None:
        """Return the name of a mesh, added if it is new; None if MuJoCo cannot read it."""
        try:
            file = self._description.locate(shape).resolve()
        except ResourceNotFoundError:
            return None
        if file.suffix.lower() not in _READ_MESHES:
            return None
        key = str(file), exact(shape.size)
        if key not in self._meshes:
            self._meshes[key] = f"{file.stem}_{len(self._meshes)}"
            values = {"name": self._meshes[key], "file": key[0], "scale": key[1]}
            ET.SubElement(self._asset, "mesh", values)
        return self._meshes[key]

    def _add_loop(self, loop: LoopElement) -> None:
        place = f"{self._place}: loop joint {loop.name!r}"
        if loop.type not in _POINTS or loop.unilateral:
            kind = f"{'unilateral ' if loop.unilateral else ''}{loop.type}"
            raise RobotDynamicsError(
                f"{place} is {kind}, and MJCF has no such equality; expected one of "
                f"{', '.join(_POINTS)}."
            )
        if any(np.any(x) for x in (loop.stiffness, loop.damping, loop.friction, loop.active)):
            self._lose("springs, friction and drives of loop joints are", loop.name)
        points = _POINTS[loop.type]
        for number, point in enumerate(points or [(0.0, 0.0, 0.0)]):
            name = loop.name if number == 0 else f"{loop.name}_{number + 1}"
            kind = "weld" if points is None else "connect"
            one = self._site(f"{name}_predecessor", loop.predecessor, loop.predecessor_pose, point)
            two = self._site(f"{name}_successor", loop.successor, loop.successor_pose, point)
            ET.SubElement(self._equality, kind, name=name, site1=one, site2=two)

    def _site(self, name: str, link: str, frame: Array, point: Iterable[float]) -> str:
        """Add the site of an end of a loop joint, unless its link is one; return its name."""
        body, at = self._at[link]
        at = at @ frame @ pose(point)
        if link in self._sites and np.array_equal(at, self._at[link][1]):
            return link
        name = unused(name, {*self._links, *self._sites})
        self._sites.add(name)
        ET.SubElement(body, "site", {"name": name, **_placement(at)})
        return name

    def _add_coupling(self, coupling: CouplingElement) -> None:
        """Add a gear: of one or two joints as x1 = c0 + c1 x2, of more as a tendon's length."""
        (first, a), *others = coupling.terms
        if len(others) <= 1 and a:
            values = {"name": coupling.name, "joint1": first}
            slope = 0.0
            if others:
                values["joint2"] = others[0][0]
                slope = -others[0][1] / a
            values["polycoef"] = exact([coupling.offset / a, slope, 0.0, 0.0, 0.0])
            ET.SubElement(self._equality, "joint", values)
            return
        fixed = ET.SubElement(self._tendon, "fixed", name=coupling.name)
        for joint, factor in coupling.terms:
            ET.SubElement(fixed, "joint", joint=joint, coef=repr(float(factor)))
        ET.SubElement(
            self._equality,
            "tendon",
            name=coupling.name,
            tendon1=coupling.name,
            polycoef=exact([coupling.offset, 0.0, 0.0, 0.0, 0.0]),
        )

    def _add_drive(self, joint: JointElement) -> None:
        if not joint.driven:
            return
        if _KINDS[joint.type] not in ("hinge", "slide"):
            self._lose("drives of joints with several freedoms are", joint.name)
            return
        values = {"name": joint.name, "joint": joint.name}
        effort = joint.limits_of_each[0].effort
        if math.isfinite(effort):
            values |= {"forcelimited": "true", "forcerange": exact([-effort, effort])}
        ET.SubElement(self._actuator, "motor", values)


def _range(joint: JointElement) -> dict[str, str]:
    """Return the attributes of a joint's limits; an infinite one beside a finite is far away."""
    limits = joint.limits_of_each[0]
    if joint.type == "continuous" or not (
        math.isfinite(limits.lower) or math.isfinite(limits.upper)
    ):
        return {}
    ends = np.clip([limits.lower, limits.upper], -1e6, 1e6)
    return {"limited": "true", "range": exact(ends)}


def _inertial(link: LinkElement) -> dict[str, str]:
    I = np.asarray(link.inertia, dtype=float)
    entries = (I[0, 0], I[1, 1], I[2, 2], I[0, 1], I[0, 2], I[1, 2])
    return {
        "mass": repr(float(link.mass)),
        "pos": exact(link.center),
        "fullinertia": exact(entries),
    }


def _placement(frame: Array) -> dict[str, str]:
    x, y, z, w = quaternion_of_rotation(frame[:3, :3])
    return {"pos": exact(frame[:3, 3]), "quat": exact((w, x, y, z))}
