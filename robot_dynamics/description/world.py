# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Several descriptions in one world: arms on their stands, an object that floats."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from robot_dynamics.description.description import Description, Shape
from robot_dynamics.description.motion_checks import joints_without_inertia
from robot_dynamics.description.orientations import rotation_of_rpy
from robot_dynamics.description.urdf import locked_mechanism
from robot_dynamics.errors import RobotDynamicsError, UnknownNameError
from robot_dynamics.model.builder import build
from robot_dynamics.model.elements import JointElement, Mechanism, joined, pose

Triple = tuple[float, float, float]


@dataclass(frozen=True)
class Part:
    """A description and where it stands in the world.

    Attributes:
        description: What is placed.
        prefix: Put before the name of every link, joint and loop joint.
        xyz: Origin of its root link in the world [m].
        rpy: Roll, pitch, yaw of its root link about the world's axes [rad].
        carrier: "fixed" to the world, "floating" in it, or "planar" for a mobile base, which moves
            in the plane normal to its root's z axis. Positions of floating and planar parts are
            relative to the pose given here.
        locked: Joints that are fixed, and where [rad or m]; names without the prefix.
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


@dataclass(frozen=True)
class World:
    """What `place` returns.

    Attributes:
        mechanism: All parts in one mechanism.
        shapes: The shapes of all parts; their links have their prefixes.
    """

    mechanism: Mechanism
    shapes: tuple[Shape, ...] = ()


def place(parts: Iterable[Part], name: str = "world") -> World:
    """Return several descriptions placed in one world, whose root link is called "world".

    Raises:
        RobotDynamicsError: If names collide, a name is unknown, a joint neither leads to the tool
            nor is locked, or a part that can move has no inertia.
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
    _require_inertia(whole)
    shapes = [
        replace(shape, link=part.prefix + shape.link)
        for part in parts
        for shape in part.description.shapes
    ]
    return World(whole, tuple(shapes))


def joints_between(mechanism: Mechanism, tip: str, base: str = "") -> tuple[str, ...]:
    """Return the names of the movable joints from a base link out to a tip link, in that order.

    Args:
        mechanism: The mechanism.
        tip: The outer link.
        base: The inner link; empty for the root.

    Raises:
        UnknownNameError: If there is no such link.
        RobotDynamicsError: If the way from the tip to the root does not pass the base.
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
            f"{mechanism.name}: link {tip!r} does not hang on {base!r}, expected a link beyond it."
        )
    return tuple(reversed(chain))


def _mechanism(part: Part) -> Mechanism:
    """Return a part's mechanism with its joints locked and its prefix."""
    mechanism = part.description.mechanism
    mechanism = locked_mechanism(mechanism, part.locked)
    if part.keep_to:
        kept = joints_between(mechanism, part.keep_to)
        movable = [joint.name for joint in mechanism.joints if joint.type != "fixed"]
        others = [name for name in movable if name not in kept]
        if others:
            listed = ", ".join(repr(name) for name in others)
            noun = "joints" if len(others) > 1 else "joint"
            raise RobotDynamicsError(
                f"{mechanism.name}: {noun} {listed} can move but do not lead to "
                f"{part.keep_to!r}; lock them at a position, for instance "
                f"locked: {{{others[0]}: 0.0}}."
            )
    return mechanism.prefixed(part.prefix)


def _require_inertia(mechanism: Mechanism) -> None:
    model = build(mechanism)
    for index in joints_without_inertia(model):
        body = model.bodies[index]
        raise RobotDynamicsError(
            f"{mechanism.name}: nothing that joint {body.joint.name!r} moves has inertia, "
            f"expected mass on link {body.name!r} or beyond it."
        )
