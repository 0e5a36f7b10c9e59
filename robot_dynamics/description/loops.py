# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Loop joints and gears in a YAML file beside an untouched URDF, read and written back.

An example::

    loops:
    - name: left_grasp
      type: fixed
      predecessor: {link: left_tool, xyz: [0, 0, 0.1], rpy: [0, 0, 0]}
      successor: {link: box, xyz: [-0.2, 0, 0]}
    couplings:
    - {name: grip, joint: finger_2, driver: finger_1, ratio: -1.0}
    - {name: wrist, terms: {motor_1: 1.0, motor_2: 1.0, tilt: -40.0}}

The pose of the joint's frame is given in each link; `rpy` are angles about fixed axes, as in URDF,
and `quat_xyzw` can replace them. Constraint forces act on the successor. A loop joint may have
springs (`stiffness`, `rest`), `damping`, `friction`, `limits` and `active` drives, one value for
all of its freedoms or a list with one for each; with one of these forces its type can be
`floating`. The keys of Extended URDF (`closed_loop`, `type`, `name_mot`, `joint_name`,
`joint_type`) are read as well; see `extended_urdf.py`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import yaml

from robot_dynamics.arrays import Array
from robot_dynamics.description.description import Description
from robot_dynamics.description.diagnosis import Diagnosis
from robot_dynamics.description.freedoms import (
    OF_FREEDOMS,
    UNLIMITED,
    check_freedoms,
    freedoms_as_yaml,
    loop_types,
)
from robot_dynamics.description.joint_names import ALIASES, PARAMETER_UNITS, known_type
from robot_dynamics.description.mimics import idle_gear
from robot_dynamics.description.orientations import (
    DEGREES_HINT,
    Quadruple,
    Triple,
    is_unit,
    looks_like_degrees,
    quaternion_of_rotation,
    rotation_of_quaternion,
    rotation_of_rpy,
    rpy_of_rotation,
)
from robot_dynamics.description.yaml_document import YamlNode, decode, read_yaml
from robot_dynamics.errors import ArgumentError, RobotDynamicsError
from robot_dynamics.model.couplings import CouplingElement
from robot_dynamics.model.elements import Limits, LoopElement, Mechanism, pose

# Characters that PyYAML writes unchanged and reads as line breaks, or refuses.
_BREAKING = re.compile("[\x7f-\x9f\u2028\u2029\ufeff]")
_EXTENDED = ("closed_loop", "name_mot", "joint_name", "joint_type")


@dataclass(frozen=True)
class LoopEnd:
    """One side of a loop joint as a file states it: pose of the joint's frame in a link.

    Attributes:
        link: Name of the link.
        xyz: Origin [m].
        rpy: Roll, pitch, yaw about fixed axes [rad].
        quat_xyzw: The orientation as a unit quaternion, instead of `rpy`.
    """

    link: str
    xyz: Triple = field(default=(0.0, 0.0, 0.0), metadata={"unit": "m"})
    rpy: Triple | None = field(default=None, metadata={"unit": "rad"})
    quat_xyzw: Quadruple | None = None
    place: str = field(default="", metadata={"place": True})

    def __post_init__(self) -> None:
        if self.rpy is not None and self.quat_xyzw is not None:
            raise RobotDynamicsError("has both rpy and quat_xyzw, expected one of them.")
        if self.quat_xyzw is not None and not is_unit(self.quat_xyzw):
            raise RobotDynamicsError(
                f"quat_xyzw has length {math.hypot(*self.quat_xyzw):.10g}, expected 1."
            )

    def pose(self) -> Array:
        """Return the pose (4, 4) of the joint's frame in the link."""
        if self.quat_xyzw is not None:
            return pose(self.xyz, rotation_of_quaternion(self.quat_xyzw))
        return pose(self.xyz, rotation_of_rpy(self.rpy or (0.0, 0.0, 0.0)))


@dataclass(frozen=True)
class LoopEntry:
    """A loop joint as a file states it."""

    name: str
    type: str
    predecessor: LoopEnd
    successor: LoopEnd
    parameters: dict[str, float] = field(default_factory=dict, metadata={"units": PARAMETER_UNITS})
    unilateral: bool = False
    limits: Limits | tuple[Limits, ...] = UNLIMITED
    damping: float | tuple[float, ...] = field(default=0.0, metadata={"minimum": 0.0})
    friction: float | tuple[float, ...] = field(default=0.0, metadata={"minimum": 0.0})
    active: bool | tuple[bool, ...] = False
    stiffness: float | tuple[float, ...] = 0.0
    rest: float | tuple[float, ...] = 0.0
    place: str = field(default="", metadata={"place": True})

    def element(self) -> LoopElement:
        """Return the loop joint as an element of a mechanism."""
        return LoopElement(
            self.name,
            ALIASES.get(self.type.lower(), self.type),
            self.predecessor.link,
            self.successor.link,
            self.predecessor.pose(),
            self.successor.pose(),
            parameters=dict(self.parameters),
            unilateral=self.unilateral,
            **{name: getattr(self, name) for name in OF_FREEDOMS},
        )


@dataclass(frozen=True)
class CouplingEntry:
    """A gear as a file states it: `joint`, `driver` and `ratio`, or `terms` for any relation."""

    name: str
    joint: str = ""
    driver: str = ""
    ratio: float = 1.0
    terms: dict[str, float] = field(default_factory=dict)
    offset: float = 0.0
    place: str = field(default="", metadata={"place": True})

    def __post_init__(self) -> None:
        if bool(self.terms) == bool(self.joint or self.driver):
            found = "both `terms` and" if self.terms else "neither `terms` nor"
            raise RobotDynamicsError(f"has {found} `joint` and `driver`, expected one of them.")
        if not self.terms and not (self.joint and self.driver):
            found = "joint" if self.joint else "driver"
            raise RobotDynamicsError(f"has only `{found}`, expected both `joint` and `driver`.")

    def element(self) -> CouplingElement:
        """Return the relation as an element of a mechanism."""
        if self.terms:
            return CouplingElement(self.name, tuple(self.terms.items()), self.offset)
        return CouplingElement.gear(self.name, self.joint, self.driver, self.ratio, self.offset)


@dataclass(frozen=True)
class LoopDocument:
    """A file of loop joints and gears.

    Attributes:
        loops: The loop joints.
        couplings: The gears.
        actuated: Names of the driven joints; None if the file does not say.
    """

    loops: tuple[LoopEntry, ...] = ()
    couplings: tuple[CouplingEntry, ...] = ()
    actuated: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        if not self.loops and not self.couplings and self.actuated is None:
            raise RobotDynamicsError(
                "is empty, expected at least one of `loops`, `couplings` and `actuated`."
            )


def is_extended(document: YamlNode) -> bool:
    """Return whether a document has keys of Extended URDF."""
    return any(key in document for key in _EXTENDED)


class LoopFile(NamedTuple):
    """Contents of a file of loop joints.

    Attributes:
        loops: The loop joints.
        couplings: The gears.
        actuated: Names of the joints of the tree that are driven; None if the file does not say.
    """

    loops: tuple[LoopElement, ...] = ()
    couplings: tuple[CouplingElement, ...] = ()
    actuated: tuple[str, ...] | None = None


def read_loops(path: str | Path, of: Mechanism | Description | None = None) -> LoopFile:
    """Return the loop joints, gears and drives of a YAML file with the project's own keys.

    `load_description(description, loops=path)` puts them into a description.

    Args:
        path: The file, or a `package://` address.
        of: Mechanism or description of the links and joints in the file; None to skip the check of
            names.

    Raises:
        DescriptionError: With every problem: keys, types, names of links and joints, names used
            twice.
        ArgumentError: If `of` has another type.
    """
    mechanism = of.mechanism if isinstance(of, Description) else of
    if mechanism is None:
        return checked_loops(read_yaml(path))
    if not isinstance(mechanism, Mechanism):
        raise ArgumentError(
            f"{path}: `of` is a {type(of).__name__}, expected a mechanism or a description."
        )
    links = [link.name for link in mechanism.links]
    return checked_loops(read_yaml(path), links, mechanism.movable_joints)


def checked_loops(
    node: YamlNode,
    links: Collection[str] | None = None,
    joints: Collection[str] | None = None,
    diagnosis: Diagnosis | None = None,
) -> LoopFile:
    """Return the loop joints, gears and actuated joints of a document with the project's own keys.

    Args:
        node: The document.
        links: Names of the existing links; None to skip this check.
        joints: Names of the movable joints; None to skip this check.
        diagnosis: Receives the problems, for callers that need the warnings.

    Raises:
        DescriptionError: With every problem found.
    """
    document = decode(LoopDocument, node)
    diagnosis = Diagnosis() if diagnosis is None else diagnosis
    seen: dict[str, str] = {}
    for loop in document.loops:
        element = f"loop joint {loop.name!r}"
        _note_twice(loop.name, loop.place, element, seen, diagnosis)
        kind = ALIASES.get(loop.type.lower(), loop.type)
        valid, what = loop_types(loop), "loop joint type"
        known = known_type(kind, loop.parameters, valid, diagnosis, loop.place, element, what)
        check_freedoms(loop, known, diagnosis, element)
        if loop.predecessor.link == loop.successor.link:
            diagnosis.error(
                loop.place, element, f"both its ends are on link {loop.successor.link!r}"
            )
        for end in (loop.predecessor, loop.successor):
            if links is not None and end.link not in links:
                diagnosis.unknown(end.place, element, "link", end.link, links)
            odd = looks_like_degrees(end.rpy or ())
            if odd:
                diagnosis.warning(
                    end.place, element, f"rpy in link {end.link!r}: {odd}", DEGREES_HINT
                )
    for coupling in document.couplings:
        element = f"coupling {coupling.name!r}"
        _note_twice(coupling.name, coupling.place, element, seen, diagnosis)
        for name, _ in coupling.element().terms:
            if joints is not None and name not in joints:
                diagnosis.unknown(coupling.place, element, "joint", name, joints)
        if coupling.driver and coupling.ratio == 0.0:
            diagnosis.warning(
                coupling.place, element, *idle_gear("ratio", coupling.joint, coupling.offset)
            )
        if coupling.joint and coupling.joint == coupling.driver:
            diagnosis.error(coupling.place, element, f"joint {coupling.joint!r} drives itself")
    for name in document.actuated or ():
        if joints is not None and name not in joints:
            diagnosis.unknown(node["actuated"].place, "actuated", "joint", name, joints)
    diagnosis.raise_if_refused()
    return LoopFile(
        tuple(loop.element() for loop in document.loops),
        tuple(coupling.element() for coupling in document.couplings),
        document.actuated,
    )


def write_loops(
    path: str | Path,
    loops: Iterable[LoopElement],
    couplings: Iterable[CouplingElement] = (),
    actuated: Iterable[str] | None = None,
) -> None:
    """Write loop joints and gears in the form that `read_loops` takes.

    `write_loops(path, *found)` writes the result of `read_loops`.

    Poses are restored to rounding: numbers are printed with all digits, and orientations near a
    pitch of 90 degrees as quaternions.

    Args:
        path: The file.
        loops: The loop joints.
        couplings: The gears.
        actuated: Names of the driven joints; None to omit them.
    """
    document: dict[str, object] = {"loops": [_loop(loop) for loop in loops]}
    gears = [_coupling(coupling) for coupling in couplings]
    if gears:
        document["couplings"] = gears
    if actuated is not None:
        document["actuated"] = list(actuated)
    if not document["loops"] and len(document) > 1:
        del document["loops"]
    text = _dumped(document, allow_unicode=True)
    if _BREAKING.search(text):
        text = _dumped(document, allow_unicode=False)
    Path(path).write_text(text, encoding="utf-8")


def _dumped(document: dict[str, object], *, allow_unicode: bool) -> str:
    options: dict[str, Any] = {"sort_keys": False, "default_flow_style": None}
    return str(yaml.safe_dump(document, allow_unicode=allow_unicode, **options))


def _note_twice(
    name: str, place: str, element: str, seen: dict[str, str], diagnosis: Diagnosis
) -> None:
    if name in seen:
        diagnosis.error(place, element, f"the name is already taken at {seen[name]}")
    seen.setdefault(name, place)


def _loop(loop: LoopElement) -> dict[str, object]:
    entry: dict[str, object] = {
        "name": loop.name,
        "type": loop.type,
        "predecessor": _end(loop.predecessor, loop.predecessor_pose),
        "successor": _end(loop.successor, loop.successor_pose),
    }
    if loop.parameters:
        entry["parameters"] = {key: float(value) for key, value in loop.parameters.items()}
    if loop.unilateral:
        entry["unilateral"] = True
    return entry | freedoms_as_yaml(loop)


def _end(link: str, frame: Array) -> dict[str, object]:
    xyz = [float(x) for x in frame[:3, 3]]
    rpy = rpy_of_rotation(frame[:3, :3])
    if np.abs(rotation_of_rpy(rpy) - frame[:3, :3]).max() < 1e-15:
        return {"link": link, "xyz": xyz, "rpy": list(rpy)}
    return {"link": link, "xyz": xyz, "quat_xyzw": list(quaternion_of_rotation(frame[:3, :3]))}


def _coupling(coupling: CouplingElement) -> dict[str, object]:
    return {
        "name": coupling.name,
        "terms": {name: float(factor) for name, factor in coupling.terms},
        "offset": float(coupling.offset),
    }
