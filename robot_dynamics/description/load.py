# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Descriptions from files of any supported format."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from robot_dynamics.description.coupling_checks import check_couplings
from robot_dynamics.description.description import Description
from robot_dynamics.description.dh import DH_KEY, read_dh
from robot_dynamics.description.diagnosis import Diagnosis
from robot_dynamics.description.extended_urdf import extended
from robot_dynamics.description.files import locate, refused
from robot_dynamics.description.frames import rigid_piece
from robot_dynamics.description.inertia_checks import check_links, check_loop_units, check_units
from robot_dynamics.description.loops import checked_loops, is_extended
from robot_dynamics.description.mechanism_checks import (
    check_closures,
    check_numbers,
    with_unit_axes,
)
from robot_dynamics.description.mjcf import read_mjcf
from robot_dynamics.description.mjcf_source import is_mjcf
from robot_dynamics.description.model_file import SavedModel, read_model_node
from robot_dynamics.description.motion_checks import check_motion
from robot_dynamics.description.robot_names import ROBOTS
from robot_dynamics.description.side_checks import check_sides
from robot_dynamics.description.tree_checks import Places
from robot_dynamics.description.urdf import locked_mechanism, read_urdf
from robot_dynamics.description.urdf_objects import read_urdf_object
from robot_dynamics.description.xacro_files import SUFFIX, expand_xacro
from robot_dynamics.description.xml_source import CONVERTERS
from robot_dynamics.description.yaml_document import YamlNode, read_yaml
from robot_dynamics.model.couplings import CouplingElement
from robot_dynamics.model.elements import LoopElement, Mechanism

# Formats that are not supported, with hints.
_NOT_READ = {
    **dict.fromkeys((".sdf", ".world"), CONVERTERS["SDF"]),
    ".mjb": "name the XML that it was compiled from",
    **dict.fromkeys((".usd", ".usda", ".usdc", ".usdz"), CONVERTERS["USD"]),
    ".mcap": "`robot_dynamics view` shows recordings",
    ".npz": "`robot_dynamics view` shows recordings",
}
# Other files of this package by their unique keys, with hints.
_OTHERS = {
    "vary": ("study", "run it with `robot_dynamics study`"),
    "cell": ("scenario", "run it with `robot_dynamics simulate`"),
}
_YAML = (".yaml", ".yml", ".json")


def is_robot(what: str | Path) -> bool:
    """Return whether a name is the name of a robot's description: URDF, MJCF or xacro."""
    return str(what).startswith(ROBOTS) or (Path(what).suffix.lower() in (".urdf", SUFFIX, ".xml"))


def load_description(
    path: str | Path | Any,
    loops: str | Path | None = None,
    *,
    strict: bool = False,
    locked: Mapping[str, float] | None = None,
    arguments: Mapping[str, object] | None = None,
) -> Description:
    """Return the description in a file, with the loop joints of a YAML file beside it.

    Args:
        path: A path or `package://` address of a URDF, an MJCF, a xacro file, a model file or a
            DH table (.yaml, .json), the text of a URDF or an MJCF, `robot_descriptions:` and the
            name of a robot, an object of urdfpy, urchin or yourdfpy; or a description, a saved
            model or a mechanism of this package.
        loops: The file of loop joints and gears, in the project's own keys or in those of Extended
            URDF; None for only those in the URDF.
        strict: Whether to refuse descriptions with warnings.
        locked: Fixed joints, and their positions [rad or m].
        arguments: Values of the arguments of a xacro file.

    Raises:
        DescriptionError: If a file is missing or refused; with every problem found.
        RobotDynamicsError: If an object is not a robot, or a joint in `locked` is unknown.
    """
    saved = load_saved(path, loops, strict=strict, locked=locked, arguments=arguments)
    return saved.description


def load_object(path: str | Path) -> Description:
    """Return the description of a carried object, whose root is a body of the object.

    In MJCF the body is in a world; if the world contains nothing else, it is left out.

    Args:
        path: As for `load_description`.

    Raises:
        DescriptionError: If the file is missing or refused.
    """
    description = load_description(path)
    mechanism = description.mechanism
    root = mechanism.root
    carrying = [joint for joint in mechanism.joints if joint.parent == root]
    if (
        root != "world"
        or len(carrying) != 1
        or carrying[0].type not in ("fixed", "floating")
        or any(shape.link == root for shape in description.shapes)
    ):
        return description
    return replace(
        description,
        mechanism=replace(
            mechanism,
            links=tuple(link for link in mechanism.links if link.name != root),
            joints=tuple(joint for joint in mechanism.joints if joint is not carrying[0]),
        ),
    )


def load_saved(
    path: str | Path | Any,
    loops: str | Path | None = None,
    *,
    strict: bool = False,
    locked: Mapping[str, float] | None = None,
    arguments: Mapping[str, object] | None = None,
) -> SavedModel:
    """Return a description with the gravity of an MJCF or model file, and its variable parts.

    Arguments and errors are as in `load_description`; other files contain neither.
    """
    if isinstance(path, (SavedModel, Description, Mechanism)):
        return _closed_saved(_own(path, locked), loops, strict)
    if not isinstance(path, (str, Path)):
        return _with_loops(read_urdf_object(path, locked=locked), loops, strict)
    if str(path).startswith(ROBOTS):
        path = locate(path)
    suffix = "" if "<" in str(path) else Path(path).suffix.lower()
    if suffix in _NOT_READ:
        message = f"{suffix} is not read, expected a URDF or MJCF file"
        raise refused(path, message, _NOT_READ[suffix])
    if arguments and suffix != SUFFIX:
        raise refused(path, f"only {SUFFIX} files take arguments")
    if suffix == SUFFIX:
        text = expand_xacro(path, arguments)
        file = locate(path)
        name = f"{file.name} (expanded)"
        description = replace(
            read_urdf(text, locked=locked, source=name),
            source=str(path),
            folder=str(file.parent),
        )
    elif suffix in _YAML:
        return _closed_saved(_from_yaml(read_yaml(path), locked), loops, strict)
    elif is_mjcf(path):
        read = read_mjcf(path)
        checked = replace(read, description=_checked(read.description, locked or {}))
        return _closed_saved(checked, loops, strict)
    else:
        description = read_urdf(path, locked=locked)
    return _with_loops(description, loops, strict)


def _with_loops(description: Description, loops: str | Path | None, strict: bool) -> SavedModel:
    if loops is not None:
        description = _closed(description, read_yaml(loops))
    description.diagnosis.raise_if_refused(strict=strict)
    return SavedModel(description)


def _closed_saved(saved: SavedModel, loops: str | Path | None, strict: bool) -> SavedModel:
    return replace(saved, description=_with_loops(saved.description, loops, strict).description)


def _own(
    given: SavedModel | Description | Mechanism, locked: Mapping[str, float] | None
) -> SavedModel:
    """Return the description in an object of this package, with joints locked."""
    if isinstance(given, Mechanism):
        given = Description(given, source=f"<mechanism {given.name}>", places=Places(given.name))
    saved = given if isinstance(given, SavedModel) else SavedModel(given)
    description = saved.description
    description.diagnosis.raise_if_refused()
    mechanism = locked_mechanism(description.mechanism, locked or {})
    return replace(saved, description=replace(description, mechanism=mechanism))


def _from_yaml(node: YamlNode, locked: Mapping[str, float] | None) -> SavedModel:
    if "rows" in node and DH_KEY not in node:
        message = (
            "is a DH table that does not say its convention, expected dh: standard or modified"
        )
        raise refused(node.place, "rows: " + message)
    if "format" not in node and ("loops" in node or is_extended(node)):
        hint = "name the robot first, and this file after --loops (in Python loops=...)"
        raise refused(node.place, "this is a file of loop joints, expected a robot", hint)
    for key, (kind, hint) in _OTHERS.items():
        if "format" not in node and key in node:
            raise refused(node.place, f"this is a {kind}, expected a robot", hint)
    saved = SavedModel(read_dh(node)) if DH_KEY in node else read_model_node(node)
    return replace(saved, description=_checked(saved.description, locked or {}))


def _checked(description: Description, locked: Mapping[str, float]) -> Description:
    """Return a description with joints locked, after the checks that a URDF has while it is read.

    Raises:
        DescriptionError: With every problem found.
    """
    places, diagnosis = description.places, Diagnosis()
    mechanism = with_unit_axes(description.mechanism, places, diagnosis)
    check_links(mechanism, places, diagnosis)
    check_closures(mechanism, places, diagnosis)
    check_numbers(mechanism, places, diagnosis)
    if not diagnosis.error_count:
        check_couplings(mechanism.couplings, places, diagnosis)
    if not diagnosis.error_count:
        check_units(mechanism, description.shapes, places, diagnosis)
        check_sides(mechanism, places, diagnosis)
        mechanism = locked_mechanism(mechanism, locked)
        check_motion(mechanism, places, diagnosis)
    # Warnings that the file stores, or that its reader has given, are not repeated.
    said = {(p.element, p.message) for p in description.diagnosis.problems}
    new = [p for p in diagnosis.problems if (p.element, p.message) not in said]
    diagnosis = Diagnosis([*description.diagnosis.problems, *new])
    diagnosis.raise_if_refused()
    return replace(description, mechanism=mechanism, diagnosis=diagnosis)


def _closed(description: Description, node: YamlNode) -> Description:
    """Return a description with the loop joints, gears and drives of a YAML document."""
    mechanism, diagnosis = description.mechanism, Diagnosis()
    taken = {element.name for element in _closing(mechanism)}
    if is_extended(node):
        mechanism, actuated = extended(mechanism, node)
    else:
        links = [link.name for link in mechanism.links]
        found = checked_loops(node, links, mechanism.movable_joints, diagnosis)
        loops, couplings, actuated = found
        _check_ends(mechanism, loops, node, diagnosis)
        mechanism = mechanism.with_loops(loops).with_couplings(couplings)
    stated = {
        item["name"].value: item.place
        for key in ("loops", "couplings")
        for item in (node[key].value if key in node else ())
    }
    names = [element.name for element in _closing(mechanism)]
    stated = {name: stated.get(name, node.place) for name in names if name not in taken}
    places = replace(description.places, loops={**description.places.loops, **stated})
    added = [loop for loop in mechanism.loops if loop.name not in taken]
    geared = [gear for gear in mechanism.couplings if gear.name not in taken]
    check_closures(mechanism, places, diagnosis, added)
    numbers = replace(mechanism, joints=(), loops=tuple(added), couplings=tuple(geared))
    check_numbers(numbers, places, diagnosis)
    check_loop_units(added, places, diagnosis)
    if not diagnosis.error_count:
        check_couplings(mechanism.couplings, places, diagnosis)
    diagnosis.raise_if_refused()
    known = description.diagnosis
    if actuated is not None:
        mechanism, known = with_drives(mechanism, actuated), known.with_drives(actuated)
    return replace(
        description,
        mechanism=mechanism,
        diagnosis=Diagnosis([*known.problems, *diagnosis.problems]),
        actuated=description.actuated if actuated is None else actuated,
        places=places,
    )


def _closing(mechanism: Mechanism) -> tuple[LoopElement | CouplingElement, ...]:
    return (*mechanism.loops, *mechanism.couplings)


def with_drives(mechanism: Mechanism, actuated: tuple[str, ...]) -> Mechanism:
    """Return a mechanism in which the joints named, and no others, have drives."""
    joints = tuple(
        joint if joint.type == "fixed" else replace(joint, active=joint.name in actuated)
        for joint in mechanism.joints
    )
    return replace(mechanism, joints=joints)


def _check_ends(
    mechanism: Mechanism, loops: Iterable[LoopElement], node: YamlNode, diagnosis: Diagnosis
) -> None:
    """Note loops between links that are fixed to each other, and names used twice."""
    carrier = {joint.child: joint for joint in mechanism.joints}
    taken = {element.name for element in _closing(mechanism)}
    for key in ("loops", "couplings"):
        for item in node[key].value if key in node else ():
            name = item["name"].value
            if name in taken:
                message = "the description has a loop or gear of this name already"
                diagnosis.error(item.place, f"{key[:-1]} {name!r}", message)
    for i, loop in enumerate(loops):
        place, element = node["loops"][i].place, f"loop joint {loop.name!r}"
        if rigid_piece(loop.predecessor, carrier) == rigid_piece(loop.successor, carrier):
            diagnosis.error(
                place,
                element,
                f"links {loop.predecessor!r} and {loop.successor!r} are fixed to each other "
                "already",
            )
