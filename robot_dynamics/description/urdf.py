# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""URDF reader: a description, or the list of all problems of the file."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from robot_dynamics.description.coupling_checks import check_couplings
from robot_dynamics.description.description import Description, Shape, Transmission
from robot_dynamics.description.diagnosis import NO_DRIVE, NO_LIMIT, Diagnosis
from robot_dynamics.description.files import locate, read_bytes, refused
from robot_dynamics.description.inertia_checks import check_links, check_units
from robot_dynamics.description.mechanism_checks import check_closures, check_numbers
from robot_dynamics.description.meshes import Color
from robot_dynamics.description.mimics import mimic_couplings, moved_by_others
from robot_dynamics.description.motion_checks import check_motion
from robot_dynamics.description.side_checks import check_sides
from robot_dynamics.description.tree_checks import Places, check_tree
from robot_dynamics.description.urdf_elements import (
    read_link,
    read_material,
    read_shapes,
)
from robot_dynamics.description.urdf_joints import read_joint, read_mimic, stated_as_effortless
from robot_dynamics.description.urdf_loops import (
    COUPLING_TAG,
    LOOP_TAGS,
    read_coupling,
    read_loop,
)
from robot_dynamics.description.urdf_transmissions import read_transmission, with_armatures
from robot_dynamics.description.xml_source import parse_xml
from robot_dynamics.description.xml_tags import Tag
from robot_dynamics.errors import RobotDynamicsError, UnknownNameError
from robot_dynamics.model.couplings import CouplingElement
from robot_dynamics.model.elements import JointElement, LinkElement, LoopElement, Mechanism

MAX_BYTES = 8 * 2**20
MAX_NAME = 1000  # characters
MAX_ELEMENTS = 20_000  # XML elements; the largest robots known have some thousands
_TEXT = "<text>"
_CLOSING = (*LOOP_TAGS, COUPLING_TAG)
_TREE = ("link", "joint", *_CLOSING)
_INCLUSIONS = ("{http://www.w3.org/2001/XInclude}*", "{http://www.w3.org/2003/XInclude}*")
_TOP = ("link", "joint", "material", "transmission", "gazebo", "ros2_control", "sensor", *_CLOSING)


def read_urdf(
    path_or_text: str | Path,
    *,
    strict: bool = False,
    locked: Mapping[str, float] | None = None,
    source: str = "",
) -> Description:
    """Return the description in a URDF file or text.

    Tags of other programs (Gazebo, ros2_control, sensors) are ignored. A mimic joint is a separate
    joint that a coupling gears to the other.

    Args:
        path_or_text: A path, a `package://` address, or the XML itself (anything with a `<`).
        strict: Whether to refuse files with warnings.
        locked: Fixed joints, and their positions [rad or m]. Links that only they move need no
            inertia.
        source: Name of a text in messages, if it has one.

    Raises:
        DescriptionError: If the file is refused; with every problem found and its line.
        UnknownNameError: If a joint in `locked` does not exist or cannot move.
    """
    if isinstance(path_or_text, str) and "<" in path_or_text:
        data, source = path_or_text.encode("utf-8", "surrogatepass"), source or _TEXT
        if len(data) > MAX_BYTES:
            raise refused(source, f"is larger than {MAX_BYTES / 2**20:g} MiB, expected a URDF")
        return _Reader(data, source, source, "").description(strict, locked or {})
    path = locate(path_or_text)
    data = read_bytes(path, expected="a URDF or MJCF file", limit=MAX_BYTES)
    reader = _Reader(data, str(path_or_text), path.name, str(path.parent))
    return reader.description(strict, locked or {})


def locked_mechanism(mechanism: Mechanism, positions: Mapping[str, float]) -> Mechanism:
    """Return a mechanism with joints locked at `positions` [rad or m].

    Raises:
        UnknownNameError: If there is no such joint that moves.
    """
    names = mechanism.movable_joints
    for name in positions:
        if name not in names:
            raise UnknownNameError("joint", name, names, mechanism.name)
    return mechanism.locked(dict(positions))


class _Reader:
    """Reads one document and collects its problems."""

    def __init__(self, data: bytes, source: str, file: str, folder: str) -> None:
        self.source, self.file, self.folder = source, file, folder
        self.diagnosis = Diagnosis()
        root, lines = parse_xml(data, self.file, self.diagnosis)
        self.root = Tag(root, self.file, lines, self.diagnosis)
        self.places = Places(self.root.place)
        self.links: dict[str, LinkElement] = {}
        self.joints: dict[str, JointElement] = {}
        self.shapes: list[Shape] = []
        self.effortless: dict[str, Tag] = {}
        self.mimics: dict[str, tuple[str, float, float]] = {}
        self.independent: list[str] = []
        self.loops: list[LoopElement] = []
        self.couplings: list[CouplingElement] = []

    def description(self, strict: bool, locked: Mapping[str, float]) -> Description:
        """Return the description in the document, or raise an error with all problems."""
        count = sum(1 for _ in self.root.element.iter())
        if count > MAX_ELEMENTS:
            raise refused(
                self.root.place, f"has {count} elements, expected at most {MAX_ELEMENTS}"
            )
        self._check_top()
        materials = self._materials()
        for tag in self.root.children("link"):
            self._link(tag, materials)
        for tag in self.root.children("joint"):
            self._joint(tag)
        transmissions = self._transmissions()
        self._closures()
        mechanism = self._checked_mechanism(transmissions, locked)
        self.diagnosis.raise_if_refused(strict=strict)
        if mechanism is None:
            raise RobotDynamicsError(f"{self.file}: has no mechanism, expected links and joints.")
        return Description(
            mechanism,
            tuple(self.shapes),
            self.diagnosis,
            self.source,
            dict(self.mimics),
            transmissions,
            tuple(self.independent),
            folder=self.folder,
            places=self.places,
        )

    def _check_top(self) -> None:
        self.root.check_children(*_TOP)
        name = self.root.element.get("name", "")
        if len(name) > MAX_NAME:
            self.root.error(f"name has {len(name)} characters, expected at most {MAX_NAME}")
        for element in self.root.element.iter(*_INCLUSIONS):
            Tag(element, self.file, self.root.lines, self.diagnosis).error(
                "inclusions of XML are never followed",
                "put the text in its place, or include it with xacro",
            )
        own, _ = _split(self.root.element)
        if own:
            self.root.warning(
                f"<robot> is in the namespace {own!r}, expected none: other programs may not "
                "read it"
            )
        without_links = next(self.root.children("link"), None) is None
        self._check_xacro(without_links)
        for element in self.root.element.iterchildren("{*}*"):
            namespace, name = _split(element)
            if _is_xacro(element) or name not in _TREE or namespace == own:
                continue
            tag = Tag(element, self.file, self.root.lines, self.diagnosis)
            message = (
                f"<{name}> is in the namespace {namespace or 'without a name'!r}, "
                f"expected that of <robot>, {own or 'none'}"
            )
            if without_links:
                tag.error(message)
                return
            tag.warning(f"{message}; it is left out")

    def _check_xacro(self, without_links: bool) -> None:
        """Report tags that xacro should have expanded: an error if there are no others."""
        hint = "expand it first: xacro FILE > robot.urdf"
        for element in self.root.element.iterdescendants("*"):
            if not _is_xacro(element) or _is_xacro(element.getparent()):
                continue
            tag = Tag(element, self.file, self.root.lines, self.diagnosis)
            if without_links:
                tag.error("this is xacro, not URDF", hint)
                return
            tag.warning(f"<xacro:{tag.name}> was not expanded and is left out", hint)

    def _materials(self) -> dict[str, Color | None]:
        found = {}
        for tag in self.root.children("material"):
            name = tag.element.get("name", "")
            found[name] = read_material(tag.owned(f"material {name!r}"))
        return found

    def _name(self, tag: Tag, known: dict[str, str]) -> str | None:
        """Return a tag's name, or None after reporting that it is missing or taken."""
        name = tag.text("name")
        if name is None:
            return None
        if len(name) > MAX_NAME:
            tag.error(f"name has {len(name)} characters, expected at most {MAX_NAME}")
            return None
        if name in known:
            first = known[name].rpartition(":")[2]
            tag.owned(f"{tag.name} {name!r}").error(f"the name is already taken by line {first}")
            return None
        known[name] = tag.place
        return name

    def _link(self, tag: Tag, materials: dict[str, Color | None]) -> None:
        name = self._name(tag, self.places.links)
        if name is None:
            return
        tag = tag.owned(f"link {name!r}")
        self.links[name] = read_link(tag, name)
        self.shapes += read_shapes(tag, name, materials)
        if any(True for _ in tag.children("inertial")):
            self.places.with_inertial.add(name)

    def _joint(self, tag: Tag) -> None:
        name = self._name(tag, self.places.joints)
        # A joint without a name is still read, to find its other problems.
        tag = tag.owned(f"joint {name!r}" if name else "joint")
        joint, mimic = read_joint(tag, name or ""), read_mimic(tag)
        if name is None:
            return
        if joint is not None:
            self.joints[name] = joint
            limit = stated_as_effortless(tag)
            if limit is not None:
                self.effortless[name] = limit
        if mimic is not None:
            self.mimics[name] = mimic
        if tag.flag("independent"):
            self.independent.append(name)

    def _closures(self) -> None:
        """Read the loop joints and couplings, which need the tree that is closed."""
        carrier = {joint.child: joint for joint in self.joints.values()}
        for tag in self.root.children(*_CLOSING):
            name = self._name(tag, self.places.loops)
            tag = tag.owned(f"<{tag.name}> {name!r}" if name else f"<{tag.name}>")
            if tag.name == COUPLING_TAG:
                coupling = read_coupling(tag, self.places.links, carrier)
                if coupling is not None and name is not None:
                    self.couplings.append(coupling)
            else:
                loop = read_loop(tag, self.places.links, carrier)
                if loop is not None and name is not None:
                    self.loops.append(loop)

    def _transmissions(self) -> tuple[Transmission, ...]:
        found = [
            read_transmission(tag, self.places.joints)
            for tag in self.root.children("transmission")
        ]
        return tuple(transmission for transmission in found if transmission is not None)

    def _checked_mechanism(
        self, transmissions: tuple[Transmission, ...], locked: Mapping[str, float]
    ) -> Mechanism | None:
        """Return the mechanism with joints locked, or None if it has errors."""
        name = (self.root.element.get("name") or "robot").strip()
        gears = mimic_couplings(self.mimics, self.joints, self.places, self.diagnosis)
        self._take_drives(transmissions)
        joints = moved_by_others(tuple(self.joints.values()), gears, transmissions)
        mechanism = Mechanism(
            name,
            tuple(self.links.values()),
            with_armatures(joints, transmissions),
            tuple(self.loops),
            (*gears, *self.couplings),
        )
        check_tree(
            mechanism.links,
            mechanism.joints,
            self.places,
            self.diagnosis,
            complete=self._is_complete(),
        )
        check_links(mechanism, self.places, self.diagnosis)
        check_closures(mechanism, self.places, self.diagnosis)
        check_numbers(mechanism, self.places, self.diagnosis)
        if not self.diagnosis.error_count:
            check_couplings(mechanism.couplings, self.places, self.diagnosis)
        if self.diagnosis.error_count:
            return None
        check_units(mechanism, self.shapes, self.places, self.diagnosis)
        check_sides(mechanism, self.places, self.diagnosis)
        mechanism = locked_mechanism(mechanism, locked)
        check_motion(mechanism, self.places, self.diagnosis)
        return mechanism

    def _take_drives(self, transmissions: Iterable[Transmission]) -> None:
        """Remove the drives of joints with an effort of zero, if other joints state an effort.

        If all efforts are zero, the exporting program did not state any.
        """
        driven = {name for transmission in transmissions for name in transmission.joints}
        stated = any(math.isfinite(j.limits_of_each[0].effort) for j in self.joints.values())
        for name, limit in self.effortless.items():
            if stated and name not in driven:
                limit.warning(NO_DRIVE)
                self.joints[name] = replace(self.joints[name], active=False)
            else:
                limit.warning(NO_LIMIT)

    def _is_complete(self) -> bool:
        """Return whether all links and joints could be read and have names of their own."""
        links = sum(1 for _ in self.root.children("link"))
        joints = sum(1 for _ in self.root.children("joint"))
        return links == len(self.links) and joints == len(self.joints)


def _split(element: Any) -> tuple[str, str]:
    """Return the namespace of an element and its name; a prefix that is not declared is one."""
    namespace, _, name = str(element.tag)[1:].rpartition("}")
    if namespace:
        return namespace, name
    prefix, _, name = str(element.tag).rpartition(":")
    return prefix, name


def _is_xacro(element: Any) -> bool:
    """Return whether a tag belongs to xacro, be its prefix declared or not."""
    return element.prefix == "xacro" or "xacro" in _split(element)[0]
