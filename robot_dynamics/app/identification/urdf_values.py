# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Identified values in the text of a URDF; everything else stays, comments included."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from robot_dynamics.app.output_files import whole_file
from robot_dynamics.arrays import Array
from robot_dynamics.description.files import locate
from robot_dynamics.description.xacro_files import SUFFIX, expand_xacro
from robot_dynamics.identification.payload import about_center
from robot_dynamics.identification.signals import IdentificationError

#: Entries of an inertia in a URDF, in the order of standard parameters.
INERTIA = ("ixx", "ixy", "iyy", "ixz", "iyz", "izz")


class JointValues(NamedTuple):
    """Identified values of a joint.

    Attributes:
        damping: Viscous friction.
        friction: Coulomb friction.
        armature: Reflected inertia of its rotor; None if it was not identified.
    """

    damping: float
    friction: float
    armature: float | None


class UrdfText:
    """The text of a URDF whose values change.

    Attributes:
        file: The file.

    Args:
        path: The file, or a `package://` address; a xacro file is expanded.

    Raises:
        IdentificationError: If it is no URDF.
    """

    def __init__(self, path: str | Path) -> None:
        from lxml import etree

        self.file = file = locate(path)
        expanded = file.suffix == SUFFIX
        self._original = expand_xacro(path) if expanded else file.read_text(encoding="utf-8")
        try:
            self.root = etree.fromstring(self._original.encode())
        except etree.XMLSyntaxError:
            self.root = None
        if self.root is None or self.root.tag != "robot":
            raise IdentificationError(
                f"{file}: is not a URDF, expected one to write identified values into."
            )
        self._element = etree.SubElement
        self._text = etree.tostring

    def write(self, place: Path) -> None:
        """Write the text with the values that were set; relative paths of meshes follow."""
        for mesh in self.root.iter("mesh"):
            name = mesh.get("filename", "")
            if name and ":" not in name:
                there = (self.file.parent / name).resolve()
                mesh.set("filename", os.path.relpath(there, place.resolve().parent))
        before = reversed([*self.root.itersiblings(preceding=True)])
        parts = [*before, self.root, *self.root.itersiblings()]  # comments around it as well
        texts = [self._text(one, encoding="unicode", with_tail=False) for one in parts]
        declaration = re.match(r"\s*<\?xml\s.*?\?>", self._original)
        if declaration:
            texts.insert(0, declaration[0])
        with whole_file(place) as part:
            part.write_text("\n".join(texts) + "\n", encoding="utf-8")

    def set_inertia(self, link: str, parameters: Array) -> None:
        """Give a link the standard parameters (10,) of the body of which it is a part.

        Links that are fixed to it lose theirs.
        """
        m, *rest = about_center(parameters).tolist()
        inertial = self._child(self._named("link", link), "inertial")
        origin = self._child(inertial, "origin")
        origin.set("xyz", " ".join(f"{x:.9g}" for x in rest[:3]))
        origin.set("rpy", "0 0 0")
        self._child(inertial, "mass").set("value", f"{m:.9g}")
        for name, value in zip(INERTIA, rest[3:], strict=True):
            self._child(inertial, "inertia").set(name, f"{value:.9g}")
        for name in self._fixed_to(link):
            other = self._named("link", name)
            for one in other.findall("inertial"):
                other.remove(one)

    def set_joints(self, joints: Mapping[str, JointValues]) -> None:
        """Give joints other friction and armatures."""
        for name, values in joints.items():
            dynamics = self._child(self._named("joint", name), "dynamics")
            dynamics.set("damping", f"{values.damping:.6g}")
            dynamics.set("friction", f"{values.friction:.6g}")
            if values.armature is not None:
                self._set_armature(name, values.armature)

    def _set_armature(self, joint: str, armature: float) -> None:
        """Give a joint one transmission without a reduction, with a rotor."""
        for one in self.root.findall("transmission"):
            if any(each.get("name") == joint for each in one.findall("joint")):
                self.root.remove(one)
        transmission = self._element(self.root, "transmission", name=f"{joint}_transmission")
        kind = "transmission_interface/SimpleTransmission"
        self._element(transmission, "type").text = kind
        self._element(transmission, "joint", name=joint)
        actuator = self._element(transmission, "actuator", name=f"{joint}_motor")
        self._element(actuator, "mechanicalReduction").text = "1"
        self._element(actuator, "rotorInertia").text = f"{armature:.6g}"

    def _named(self, tag: str, name: str) -> Any:
        return next(one for one in self.root.findall(tag) if one.get("name") == name)

    def _child(self, parent: Any, name: str) -> Any:
        found = parent.find(name)
        return self._element(parent, name) if found is None else found

    def _fixed_to(self, link: str) -> Iterator[str]:
        """Yield the names of the links on fixed joints below a link."""
        for joint in self.root.findall("joint"):
            if joint.get("type") == "fixed" and joint.find("parent").get("link") == link:
                child = joint.find("child").get("link")
                yield child
                yield from self._fixed_to(child)
