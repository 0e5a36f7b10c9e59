# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A complete model in one file, YAML or JSON; floats are restored to the last bit.

    format: "robot_dynamics model"
    version: 1
    name: "arm"
    gravity: [0.0, 0.0, -9.81]
    links:
    - {"name": "base"}
    - {"name": "upper", "mass": 2.0, "center": [0.0, 0.0, 0.1], "inertia": [[...], [...], [...]]}
    joints:
    - {"name": "shoulder", "type": "revolute", "parent": "base", "child": "upper", ...}

Joints need not form a tree: the spanning tree is chosen when the model is built. Poses are the
first three rows of their matrices. Default values are omitted, so that infinite limits are never
written. Files with the suffix .json are JSON; both contain the same keys.
"""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np

from robot_dynamics.description.description import Description, Shape, Transmission
from robot_dynamics.description.diagnosis import Diagnosis, Problem
from robot_dynamics.description.freedoms import UNLIMITED, check_freedoms, loop_types
from robot_dynamics.description.joint_names import PARAMETER_UNITS, known_type
from robot_dynamics.description.tree_checks import Places, check_tree
from robot_dynamics.description.yaml_document import YamlNode, decode, read_yaml
from robot_dynamics.errors import ArgumentError, RobotDynamicsError
from robot_dynamics.model.builder import build
from robot_dynamics.model.couplings import CouplingElement
from robot_dynamics.model.elements import (
    JointElement,
    Limits,
    LinkElement,
    LoopElement,
    Mechanism,
    SafetyController,
)
from robot_dynamics.model.joints import tree_joint_names
from robot_dynamics.model.model import Model

FORMAT = "robot_dynamics model"
VERSION = 1
GRAVITY = (0.0, 0.0, -9.81)

Triple = tuple[float, float, float]
Matrix = tuple[Triple, Triple, Triple]
Row = tuple[float, float, float, float]
Pose = tuple[Row, Row, Row]

_IDENTITY: Pose = ((1.0, 0.0, 0.0, 0.0), (0.0, 1.0, 0.0, 0.0), (0.0, 0.0, 1.0, 0.0))
_ZERO: Matrix = ((0.0, 0.0, 0.0),) * 3
# Characters that JSON does not escape and YAML does.
_SPECIAL = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")
_PLACE = {"place": True}


@dataclass(frozen=True)
class SavedModel:
    """Contents of a model file.

    Attributes:
        description: The mechanism, its shapes and all other data of the description.
        gravity: Acceleration of gravity [m/s^2].
        variable: Names of bodies and loop joints that are parameters of compiled code.
    """

    description: Description
    gravity: Triple = GRAVITY
    variable: tuple[str, ...] = ()

    def model(self) -> Model:
        """Return the model, built from the mechanism."""
        return build(self.description.mechanism, gravity=self.gravity, variable=self.variable)


@dataclass(frozen=True)
class _Link:
    name: str
    mass: float = 0.0
    center: Triple = (0.0, 0.0, 0.0)
    inertia: Matrix = _ZERO
    place: str = field(default="", metadata=_PLACE)


@dataclass(frozen=True)
class _Joint:
    name: str
    type: str
    parent: str
    child: str
    placement: Pose = _IDENTITY
    axis: Triple = (0.0, 0.0, 1.0)
    limits: Limits | tuple[Limits, ...] = UNLIMITED
    damping: float | tuple[float, ...] = 0.0
    friction: float | tuple[float, ...] = 0.0
    active: bool | tuple[bool, ...] | None = None
    parameters: dict[str, float] = field(default_factory=dict, metadata={"units": PARAMETER_UNITS})
    armature: float | tuple[float, ...] = 0.0
    safety: SafetyController | None = None
    stiffness: float | tuple[float, ...] = 0.0
    rest: float | tuple[float, ...] = 0.0
    place: str = field(default="", metadata=_PLACE)


@dataclass(frozen=True)
class _Loop:
    name: str
    type: str
    predecessor: str
    successor: str
    predecessor_pose: Pose = _IDENTITY
    successor_pose: Pose = _IDENTITY
    parameters: dict[str, float] = field(default_factory=dict, metadata={"units": PARAMETER_UNITS})
    unilateral: bool = False
    limits: Limits | tuple[Limits, ...] = UNLIMITED
    damping: float | tuple[float, ...] = 0.0
    friction: float | tuple[float, ...] = 0.0
    active: bool | tuple[bool, ...] = False
    stiffness: float | tuple[float, ...] = 0.0
    rest: float | tuple[float, ...] = 0.0
    place: str = field(default="", metadata=_PLACE)


@dataclass(frozen=True)
class _Coupling:
    name: str
    terms: tuple[tuple[str, float], ...]
    offset: float = 0.0
    place: str = field(default="", metadata=_PLACE)


@dataclass(frozen=True)
class _Shape:
    link: str
    role: Literal["visual", "collision"]
    kind: Literal["box", "cylinder", "capsule", "sphere", "mesh"]
    size: tuple[float, ...]
    pose: Pose = _IDENTITY
    mesh: str = ""
    color: Row | None = None
    folder: str = ""
    place: str = field(default="", metadata=_PLACE)


@dataclass(frozen=True)
class _Document:
    format: Literal["robot_dynamics model"]
    version: int
    name: str
    links: tuple[_Link, ...]
    joints: tuple[_Joint, ...] = ()
    loops: tuple[_Loop, ...] = ()
    couplings: tuple[_Coupling, ...] = ()
    gravity: Triple = GRAVITY
    variable: tuple[str, ...] = ()
    shapes: tuple[_Shape, ...] = ()
    transmissions: tuple[Transmission, ...] = ()
    mimics: dict[str, tuple[str, float, float]] = field(default_factory=dict)
    independent: tuple[str, ...] = ()
    actuated: tuple[str, ...] | None = None
    source: str = "<text>"
    folder: str = ""
    problems: tuple[Problem, ...] = ()
    place: str = field(default="", metadata=_PLACE)

    def __post_init__(self) -> None:
        if self.version != VERSION:
            raise RobotDynamicsError(
                f"version is {self.version}, expected {VERSION}: write the file again with this "
                "release."
            )


def write_model(
    path: str | Path,
    description: Description | Mechanism,
    *,
    gravity: Iterable[float] = GRAVITY,
    variable: Iterable[str] = (),
) -> None:
    """Write a description, and the other data of its model, into one file.

    Args:
        path: The file; JSON if its suffix is .json, YAML otherwise.
        description: A description, or a mechanism alone; loops and couplings are part of it.
        gravity: Acceleration of gravity [m/s^2].
        variable: Names of bodies and loop joints that are parameters of compiled code.

    Raises:
        RobotDynamicsError: If a number is not finite that must be.
        ArgumentError: If it is neither a description nor a mechanism.
    """
    if isinstance(description, Mechanism):
        description = Description(description, source=f"<mechanism {description.name}>")
    elif not isinstance(description, Description):
        raise ArgumentError(
            f"{path}: {description!r:.60} cannot be written, expected a description, as "
            "rd.load_description returns it, or a mechanism."
        )
    content = _content(SavedModel(description, tuple(gravity), tuple(variable)))  # type: ignore[arg-type]
    try:
        if Path(path).suffix.lower() == ".json":
            text = _json(content, indent=1) + "\n"
        else:
            text = "".join(_lines(content))
    except ValueError as error:
        raise RobotDynamicsError(
            f"{path}: a number of the model is not finite ({error}), expected finite numbers."
        ) from error
    Path(path).write_text(text, encoding="utf-8")


def read_model(path: str | Path) -> SavedModel:
    """Return the model in a file of `write_model`.

    Raises:
        DescriptionError: If the file is missing or refused; with every problem found.
    """
    return read_model_node(read_yaml(path))


def read_model_node(node: YamlNode) -> SavedModel:
    """Return the model of a YAML document.

    Raises:
        DescriptionError: With every problem found.
    """
    document = decode(_Document, node)
    links = tuple(
        LinkElement(link.name, link.mass, link.center, np.array(link.inertia))
        for link in document.links
    )
    joints = tuple(JointElement(**_arguments(joint)) for joint in document.joints)
    loops = tuple(LoopElement(**_arguments(loop)) for loop in document.loops)
    couplings = tuple(CouplingElement(**_arguments(coupling)) for coupling in document.couplings)
    diagnosis = Diagnosis()
    places = _check(document, links, joints, diagnosis)
    diagnosis.raise_if_refused()
    description = Description(
        Mechanism(document.name, links, joints, loops, couplings),
        tuple(Shape(**_arguments(shape)) for shape in document.shapes),
        Diagnosis(list(document.problems)),
        document.source,
        dict(document.mimics),
        document.transmissions,
        document.independent,
        document.actuated,
        document.folder,
        places,
    )
    return SavedModel(description, document.gravity, document.variable)


def _check(
    document: _Document,
    links: tuple[LinkElement, ...],
    joints: tuple[JointElement, ...],
    diagnosis: Diagnosis,
) -> Places:
    places = Places(
        document.place,
        {link.name: link.place for link in document.links},
        {joint.name: joint.place for joint in document.joints},
        {
            **{coupling.name: coupling.place for coupling in document.couplings},
            **{loop.name: loop.place for loop in document.loops},
        },
        {link.name for link in document.links if link.mass or np.any(link.inertia)},
    )
    groups: tuple[tuple[str, Iterable[Any]], ...] = (
        ("link", document.links),
        ("joint", document.joints),
        ("loop joint", document.loops),
        ("coupling", document.couplings),
    )
    for kind, entries in groups:
        seen: dict[str, str] = {}
        for entry in entries:
            if entry.name in seen:
                diagnosis.error(
                    entry.place,
                    f"{kind} {entry.name!r}",
                    f"the name is already taken at {seen[entry.name]}",
                )
            seen.setdefault(entry.name, entry.place)
    for joint in document.joints:
        element, valid = f"joint {joint.name!r}", tree_joint_names()
        known_type(joint.type, joint.parameters, valid, diagnosis, joint.place, element)
    for loop in document.loops:
        element = f"loop joint {loop.name!r}"
        known = known_type(
            loop.type, loop.parameters, loop_types(loop), diagnosis, loop.place, element
        )
        check_freedoms(loop, known, diagnosis, element)
        for end in (loop.predecessor, loop.successor):
            if end not in places.links:
                diagnosis.unknown(loop.place, element, "link", end, places.links)
    for shape in document.shapes:
        if shape.link not in places.links:
            diagnosis.unknown(shape.place, "shape", "link", shape.link, places.links)
    for coupling in document.couplings:
        for name, _ in coupling.terms:
            if name not in places.joints:
                element = f"coupling {coupling.name!r}"
                diagnosis.unknown(coupling.place, element, "joint", name, places.joints)
    for what, place, rows in _poses(document):
        rotation = np.array(rows)[:, :3]
        if np.abs(rotation @ rotation.T - np.eye(3)).max() > 1e-6 or np.linalg.det(rotation) < 0:
            diagnosis.error(place, what, "its pose is no rotation and translation")
    if not diagnosis.error_count:
        check_tree(links, joints, places, diagnosis, graph=True)
    return places


def _poses(document: _Document) -> Iterable[tuple[str, str, Pose]]:
    for joint in document.joints:
        yield f"joint {joint.name!r}", joint.place, joint.placement
    for loop in document.loops:
        for frame in (loop.predecessor_pose, loop.successor_pose):
            yield f"loop joint {loop.name!r}", loop.place, frame
    for shape in document.shapes:
        yield f"shape of {shape.link!r}", shape.place, shape.pose


def _arguments(entry: Any) -> dict[str, Any]:
    """Return the fields of an entry as arguments of its element, poses as matrices."""
    values = {f.name: getattr(entry, f.name) for f in dataclasses.fields(entry)}
    del values["place"]
    for name in ("placement", "pose", "predecessor_pose", "successor_pose"):
        if name in values:
            values[name] = np.array([*values[name], (0.0, 0.0, 0.0, 1.0)])
    return values


def _content(saved: SavedModel) -> dict[str, Any]:
    """Return a file's content as dictionaries and lists, in the order of `_Document`."""
    description, mechanism = saved.description, saved.description.mechanism
    values: dict[str, Any] = {
        "format": FORMAT,
        "version": VERSION,
        "name": mechanism.name,
        "gravity": saved.gravity,
        "variable": saved.variable,
        "links": [_entry(_Link, link) for link in mechanism.links],
        "joints": [_entry(_Joint, joint) for joint in mechanism.joints],
        "loops": [_entry(_Loop, loop) for loop in mechanism.loops],
        "couplings": [_plain(coupling) for coupling in mechanism.couplings],
        "shapes": [_entry(_Shape, shape) for shape in description.shapes],
        "transmissions": [_plain(one) for one in description.transmissions],
        "mimics": {name: list(values) for name, values in description.mimics.items()},
        "independent": description.independent,
        "actuated": description.actuated,
        "source": description.source,
        "folder": description.folder,
        "problems": [_plain(problem) for problem in description.diagnosis.problems],
    }
    needed = ("format", "version", "name", "gravity", "links", "joints")
    return {
        key: _plain(value)
        for key, value in values.items()
        if key in needed or value or (key == "actuated" and value is not None)
    }


def _entry(kind: Any, element: Any) -> dict[str, Any]:
    """Return the fields of an element that are not at their defaults."""
    result = {}
    for f in dataclasses.fields(kind):
        if f.name == "place":
            continue
        value = getattr(element, f.name)
        default = f.default
        if f.default_factory is not dataclasses.MISSING:
            default = f.default_factory()
        plain = _plain(value[:3] if _is_pose(value) else value)
        # Compare by their texts: minus zero differs from zero here.
        if default is dataclasses.MISSING or repr(plain) != repr(_plain(default)):
            result[f.name] = plain
    return result


def _is_pose(value: Any) -> bool:
    return isinstance(value, np.ndarray) and value.shape == (4, 4)


def _plain(value: Any) -> Any:
    """Return a value in the form of JSON, dataclasses without fields at their defaults."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        found = {}
        for f in dataclasses.fields(value):
            item = getattr(value, f.name)
            if f.default is dataclasses.MISSING or repr(item) != repr(f.default):
                found[f.name] = _plain(item)
        return found
    if isinstance(value, dict) or hasattr(value, "items"):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, np.ndarray):
        return _plain(value.tolist())
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, np.bool_):
        return bool(value)
    if isinstance(value, (bool, int, str)) or value is None:
        return value
    return float(value)


def _lines(content: dict[str, Any]) -> Iterable[str]:
    """Yield the lines of a YAML file, one line of JSON for each item of a list."""
    for key, value in content.items():
        if isinstance(value, list) and value and isinstance(value[0], dict):
            yield f"{key}:\n"
            for item in value:
                yield f"- {_json(item)}\n"
        else:
            yield f"{key}: {_json(value)}\n"


def _json(value: Any, indent: int | None = None) -> str:
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, indent=indent)
    return _SPECIAL.sub(lambda found: f"\\u{ord(found.group()):04x}", text)
