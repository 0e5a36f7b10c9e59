# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Several descriptions in one world: arms on their stands, an object that floats.

The result is a description like any other: it can be saved, inspected, extended by a file of loop
joints, and loaded into a robot.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from robot_dynamics.description.description import Description, Shape, Transmission
from robot_dynamics.description.diagnosis import Diagnosis, Problem
from robot_dynamics.description.motion_checks import links_without_inertia
from robot_dynamics.description.orientations import rotation_of_rpy
from robot_dynamics.description.tree_checks import Places
from robot_dynamics.description.urdf import locked_mechanism
from robot_dynamics.errors import RobotDynamicsError, UnknownNameError
from robot_dynamics.model.elements import JointElement, Mechanism, joined, pose

Triple = tuple[float, float, float]


@dataclass(frozen=True)
class Part:
    """A description with its pose in the world.

    Attributes:
        description: The description.
        prefix: Prefix of the name of every link, joint and loop joint.
        xyz: Origin of its root link in the world [m].
        rpy: Roll, pitch, yaw of its root link about the world's axes [rad].
        carrier: "fixed" to the world, "floating" in it, or "planar" for a mobile base, which moves
            in the plane normal to its root's z axis. Positions of floating and planar parts are
            relative to the pose given here.
        locked: Fixed joints, and their positions [rad or m]; names without the prefix.
        keep_to: If not empty, the name of a tool link: every joint that moves must lead to it or
            be locked. Names without the prefix.
    """

    description: Description
    prefix: str = ""
    xyz: Triple = (0.0, 0.0, 0.0)
    rpy: Triple = (0.0, 0.0, 0.0)
    carrier: Literal["fixed", "floating", "planar"] = "fixed"
    locked: Mapping[str, float] = field(default_factory=dict)
    keep_to: str = ""


def place(parts: Iterable[Part], name: str = "world") -> Description:
    """Return several descriptions placed in one world, whose root link is called "world".

    The joint that carries a part is called `world_to_` followed by the name of its root link. Loop
    joints, gears, shapes, mimics, transmissions, drives, warnings and places of the parts are
    kept, with their names in the world.

    Args:
        parts: The descriptions, with their poses.
        name: Name of the result.

    Raises:
        RobotDynamicsError: If names collide, a name is unknown, a joint neither leads to the tool
            nor is locked.
    """
    parts = tuple(parts)
    mechanisms = [_mechanism(part) for part in parts]
    whole = joined(
        name,
        [
            (mechanism, pose(part.xyz, rotation_of_rpy(part.rpy)), part.carrier)
            for part, mechanism in zip(parts, mechanisms, strict=True)
        ],
    )
    described = [part.description for part in parts]
    folders = {description.folder for description in described}
    folder = folders.pop() if len(folders) == 1 else ""
    independent = [
        part.prefix + joint
        for part in parts
        for joint in part.description.independent
        if joint not in part.locked
    ]
    # Each warning once: two arms of one file have the same ones.
    problems = dict.fromkeys(problem for one in described for problem in one.diagnosis.problems)
    problems |= dict.fromkeys(_of_carriers(whole, parts))
    return Description(
        whole,
        tuple(shape for part in parts for shape in _shapes(part, folder)),
        Diagnosis(list(problems)),
        ", ".join(dict.fromkeys(description.source for description in described)),
        {
            part.prefix + joint: (part.prefix + other, multiplier, offset)
            for part in parts
            for joint, (other, multiplier, offset) in part.description.mimics.items()
        },
        tuple(
            _prefixed_transmission(one, part.prefix)
            for part in parts
            for one in part.description.transmissions
        ),
        tuple(independent),
        _actuated(parts, mechanisms),
        folder,
        _places(name, parts),
    )


def joints_between(mechanism: Mechanism, tip: str, base: str = "") -> tuple[str, ...]:
    """Return the names of the movable joints from a base link out to a tip link, in that order.

    Args:
        mechanism: The mechanism.
        tip: The outer link.
        base: The inner link; empty for the root.

    Raises:
        UnknownNameError: If there is no such link.
        RobotDynamicsError: If the path from the tip to the root does not pass the base.
    """
    chain = chain_between(mechanism, tip, base)
    return tuple(joint.name for joint in chain if joint.type != "fixed")


def chain_between(mechanism: Mechanism, tip: str, base: str = "") -> Sequence[JointElement]:
    """Return all joints, fixed ones too, from a base link out to a tip link."""
    names = [link.name for link in mechanism.links]
    for link in filter(None, (tip, base)):
        if link not in names:
            raise UnknownNameError("link", link, names, mechanism.name)
    carrier = {joint.child: joint for joint in mechanism.joints}
    chain, link = [], tip
    while link in carrier and link != base:
        chain.append(carrier[link])
        link = carrier[link].parent
    if base and link != base:
        raise RobotDynamicsError(
            f"{mechanism.name}: link {tip!r} is not beyond link {base!r}, expected a link that "
            f"{base!r} carries."
        )
    return tuple(reversed(chain))


def _mechanism(part: Part) -> Mechanism:
    """Return a part's mechanism with its joints locked and its prefix."""
    mechanism = part.description.mechanism
    mechanism = locked_mechanism(mechanism, part.locked)
    if part.keep_to:
        kept = joints_between(mechanism, part.keep_to)
        others = [name for name in mechanism.movable_joints if name not in kept]
        if others:
            listed = ", ".join(repr(name) for name in others)
            noun = "joints" if len(others) > 1 else "joint"
            raise RobotDynamicsError(
                f"{mechanism.name}: {noun} {listed} can move but do not lead to "
                f"{part.keep_to!r}, expected locked joints, for instance "
                f"locked: {{{others[0]}: 0.0}}."
            )
    return mechanism.prefixed(part.prefix)


def _shapes(part: Part, folder: str) -> Iterable[Shape]:
    """Yield a part's shapes; meshes keep their folder if it differs from the result's."""
    own = part.description.folder
    for shape in part.description.shapes:
        apart = shape.kind == "mesh" and not shape.folder and own != folder
        yield replace(shape, link=part.prefix + shape.link, folder=own if apart else shape.folder)


def _prefixed_transmission(transmission: Transmission, prefix: str) -> Transmission:
    """Return a transmission with its names in the world; one without a name stays so."""
    return replace(
        transmission,
        name=prefix + transmission.name if transmission.name else "",
        joints=tuple(prefix + joint for joint in transmission.joints),
        actuators=tuple(prefix + actuator for actuator in transmission.actuators),
    )


def _actuated(parts: Sequence[Part], mechanisms: Sequence[Mechanism]) -> tuple[str, ...] | None:
    """Return the driven joints if a part states them; for other parts the joints with drives."""
    if all(part.description.actuated is None for part in parts):
        return None
    names: list[str] = []
    for part, mechanism in zip(parts, mechanisms, strict=True):
        stated = part.description.actuated
        if stated is None:
            names += [joint.name for joint in mechanism.joints if joint.driven]
        else:
            names += [part.prefix + joint for joint in stated if joint not in part.locked]
    return tuple(names)


def _places(name: str, parts: Iterable[Part]) -> Places:
    """Return the places of the elements of the parts, by their names in the world."""
    result = Places(name)
    for part in parts:
        places, prefix = part.description.places, part.prefix
        for of_all, of_part in (
            (result.links, places.links),
            (result.joints, places.joints),
            (result.loops, places.loops),
        ):
            of_all.update({prefix + element: at for element, at in of_part.items()})
        result.with_inertial.update(prefix + link for link in places.with_inertial)
    return result


def _of_carriers(whole: Mechanism, parts: Iterable[Part]) -> Iterator[Problem]:
    """Yield a warning for each part that can move and has no inertia."""
    found = set(links_without_inertia(whole).values())
    for part in parts:
        root = part.description.mechanism.root
        if part.carrier != "fixed" and part.prefix + root in found:
            place, message = part.description.places.link(root), "has no inertia, yet it can move"
            yield Problem("warning", place, f"link {root!r}", message)
