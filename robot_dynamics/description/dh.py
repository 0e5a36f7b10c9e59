# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Tables of Denavit and Hartenberg, in both conventions, which must be stated.

An example::

    dh: standard
    name: arm
    rows:
    - {name: shoulder, d: 0.3, alpha: 1.5708, mass: 4.0, center: [0, 0, 0.1],
       inertia: [0.02, 0.02, 0.01, 0, 0, 0]}
    - {name: rail, type: prismatic, theta: 1.5708}

*Standard* (Denavit and Hartenberg 1955): from frame i-1 to frame i turn by theta about z, move by
d along z, move by a along x, turn by alpha about x. Joint i moves about or along z of frame i-1.
*Modified* (Craig 1986): turn by alpha about x, move by a along x, turn by theta about z, move by d
along z; alpha and a are written in row i, although Craig calls them alpha_{i-1} and a_{i-1}. Joint
i moves about or along z of frame i.

For the joint's own variable the table gives an offset: theta is added to the angle of a revolute
joint, d to the displacement of a prismatic one.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from robot_dynamics.arrays import Array
from robot_dynamics.description.description import Description
from robot_dynamics.description.diagnosis import Diagnosis
from robot_dynamics.description.orientations import DEGREES_HINT, looks_like_degrees
from robot_dynamics.description.tree_checks import Places
from robot_dynamics.description.yaml_document import YamlNode, decode
from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.model.elements import JointElement, Limits, LinkElement, Mechanism, pose

DH_KEY = "dh"
Triple = tuple[float, float, float]
Convention = Literal["standard", "modified"]
_INFINITE = {"infinite": True}


@dataclass(frozen=True)
class DHRow:
    """A row of the table: a joint and the link that it carries.

    Attributes:
        name: Name of the joint; the link is called `<name>_link`, and its frame is frame i.
        type: "revolute" or "prismatic".
        theta: Angle about z [rad].
        d: Distance along z [m].
        a: Distance along x [m].
        alpha: Angle about x [rad].
        mass: Of the link [kg].
        center: Its centre of mass in frame i [m].
        inertia: ixx, iyy, izz, ixy, ixz, iyz about the centre of mass, in axes of frame i
            [kg m^2].
        lower: Lowest position [rad or m].
        upper: Highest position.
        velocity: Largest speed [rad/s or m/s].
        effort: Largest torque or force [N m or N].
        damping: Viscous friction [N m s/rad or N s/m].
        friction: Coulomb friction [N m or N].
        armature: Reflected inertia of a geared rotor [kg m^2 or kg].
    """

    name: str
    type: Literal["revolute", "prismatic"] = "revolute"
    theta: float = field(default=0.0, metadata={"unit": "rad"})
    d: float = field(default=0.0, metadata={"unit": "m"})
    a: float = field(default=0.0, metadata={"unit": "m"})
    alpha: float = field(default=0.0, metadata={"unit": "rad"})
    mass: float = field(default=0.0, metadata={"unit": "kg"})
    center: Triple = field(default=(0.0, 0.0, 0.0), metadata={"unit": "m"})
    inertia: tuple[float, float, float, float, float, float] = field(
        default=(0.0,) * 6, metadata={"unit": "kg m^2"}
    )
    lower: float = field(default=-math.inf, metadata=_INFINITE)
    upper: float = field(default=math.inf, metadata=_INFINITE)
    velocity: float = field(default=math.inf, metadata={"above": 0.0, **_INFINITE})
    effort: float = field(default=math.inf, metadata={"above": 0.0, **_INFINITE})
    damping: float = field(default=0.0, metadata={"minimum": 0.0})
    friction: float = field(default=0.0, metadata={"minimum": 0.0})
    armature: float = field(default=0.0, metadata={"minimum": 0.0})
    place: str = field(default="", metadata={"place": True})

    def __post_init__(self) -> None:
        if self.lower > self.upper:
            raise RobotDynamicsError(
                f"the lower limit is {self.lower:.10g} and the upper limit {self.upper:.10g}, "
                "expected lower below upper."
            )


@dataclass(frozen=True)
class DHDocument:
    """A table as a file states it; `base` is the name of the link that is frame 0."""

    dh: Convention
    rows: tuple[DHRow, ...]
    name: str = "robot"
    base: str = "base"


def dh_mechanism(
    rows: Iterable[DHRow], *, convention: Convention, name: str = "robot", base: str = "base"
) -> Mechanism:
    """Return the mechanism of a table.

    Args:
        rows: Its rows, from the base outwards.
        convention: "standard" or "modified", see the module; there is no default, because a table
            read in the other convention is another robot.
        name: The mechanism's name.
        base: Name of the link that is frame 0.

    Raises:
        RobotDynamicsError: If the convention is neither, there are no rows, or a name is used
            twice.
    """
    rows = tuple(rows)
    if convention not in ("standard", "modified"):
        raise RobotDynamicsError(
            f"the convention is {convention!r}, expected 'standard' or 'modified'."
        )
    if not rows:
        raise RobotDynamicsError(f"the table {name!r} has no rows, expected at least one.")
    names = [row.name for row in rows]
    twice = sorted({n for n in names if names.count(n) > 1})
    if twice:
        raise RobotDynamicsError(
            f"{names.count(twice[0])} rows are named {twice[0]!r}, expected different names."
        )
    links, joints = [LinkElement(base)], []
    parent = base
    for row in rows:
        link = LinkElement(f"{row.name}_link", row.mass, row.center, _matrix(row.inertia))
        about_z = _z(row.theta, row.d)
        about_x = _x(row.alpha, row.a)
        carried = link.name
        if convention == "standard":
            # The joint moves about the axis at the link's inner end; its frame is at the outer
            # end.
            carried = f"{row.name}_axis"
            placement = about_z
            links.append(LinkElement(carried))
        else:
            placement = about_x @ about_z
        joints.append(
            JointElement(
                row.name,
                row.type,
                parent,
                carried,
                placement,
                (0.0, 0.0, 1.0),
                Limits(row.lower, row.upper, row.velocity, row.effort),
                row.damping,
                row.friction,
                armature=row.armature,
            )
        )
        links.append(link)
        if convention == "standard":
            joints.append(JointElement(f"{row.name}_frame", "fixed", carried, link.name, about_x))
        parent = link.name
    return Mechanism(name, tuple(links), tuple(joints))


def read_dh(node: YamlNode) -> Description:
    """Return the description of a document with a table.

    Raises:
        DescriptionError: With every problem found.
    """
    document = decode(DHDocument, node)
    diagnosis = Diagnosis()
    try:
        mechanism = dh_mechanism(
            document.rows, convention=document.dh, name=document.name, base=document.base
        )
    except RobotDynamicsError as error:
        diagnosis.error(node["rows"].place, "rows", str(error).rstrip("."))
        diagnosis.raise_if_refused()
        raise
    names = {f"{row.name}_link": row.place for row in document.rows}
    places = Places(node.place, names, {row.name: row.place for row in document.rows})
    for row in document.rows:
        if looks_like_degrees((row.alpha, row.theta)):
            diagnosis.warning(
                row.place,
                f"row {row.name!r}",
                f"alpha is {row.alpha:g} and theta is {row.theta:g} rad",
                DEGREES_HINT,
            )
    diagnosis.raise_if_refused()
    return Description(mechanism, diagnosis=diagnosis, source=node.file, places=places)


def _z(angle: float, distance: float) -> Array:
    s, c = math.sin(angle), math.cos(angle)
    return pose((0.0, 0.0, distance), np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]]))


def _x(angle: float, distance: float) -> Array:
    s, c = math.sin(angle), math.cos(angle)
    return pose((distance, 0.0, 0.0), np.array([[1.0, 0.0, 0.0], [0.0, c, -s], [0.0, s, c]]))


def _matrix(six: tuple[float, ...]) -> Array:
    xx, yy, zz, xy, xz, yz = six
    return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
