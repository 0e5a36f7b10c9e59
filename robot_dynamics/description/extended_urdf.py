# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The YAML file of Extended URDF (Batto, de Matteis and Mansard, arXiv 2504.04767).

    closed_loop: [[frame_A, frame_B], ...] type: ['6d', '3d', ...]           # 6d: the frames
    coincide; 3d: their origins do name_mot: [joint, ...]            # or a text that is part of
    the names of the motors joint_name: [joint, ...]          # joints of the URDF whose true type
    is another one joint_type: [SPHERICAL, CARDAN, FIXED, ...]

Frames are names of links, or of joints for the links that they carry. In addition to '6d' and
'3d', any type of the joint library is accepted.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

from robot_dynamics.description.diagnosis import Diagnosis
from robot_dynamics.description.frames import rigid_piece
from robot_dynamics.description.joint_names import ALIASES, known_type
from robot_dynamics.description.yaml_document import YamlNode, decode
from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.model.elements import LoopElement, Mechanism
from robot_dynamics.model.joints import loop_joint_names

#: The replacements of joint types; CARDAN is a rotation about x and then about y.
REPLACEMENTS = {"SPHERICAL": "spherical", "CARDAN": "universal", "FIXED": "fixed"}


@dataclass(frozen=True)
class ExtendedDocument:
    """Contents of the file."""

    closed_loop: tuple[tuple[str, str], ...] = ()
    type: tuple[str, ...] = ()
    name_mot: tuple[str, ...] | str | None = None
    joint_name: tuple[str, ...] = ()
    joint_type: tuple[str, ...] = ()
    place: str = field(default="", metadata={"place": True})

    def __post_init__(self) -> None:
        if self.type and len(self.type) != len(self.closed_loop):
            raise RobotDynamicsError(
                f"type has {len(self.type)} entries, expected one for each of the "
                f"{len(self.closed_loop)} of closed_loop."
            )
        if len(self.joint_type) != len(self.joint_name):
            raise RobotDynamicsError(
                f"joint_type has {len(self.joint_type)} entries, expected one for each of the "
                f"{len(self.joint_name)} of joint_name."
            )


def extended(mechanism: Mechanism, node: YamlNode) -> tuple[Mechanism, tuple[str, ...] | None]:
    """Return a mechanism with the additions of an Extended-URDF document, and the actuated joints.

    Args:
        mechanism: The tree of the URDF.
        node: The document.

    Raises:
        DescriptionError: With every problem: keys, frames, types, joints.
    """
    document = decode(ExtendedDocument, node)
    diagnosis = Diagnosis()
    mechanism = _retyped(mechanism, document, diagnosis)
    loops = _loops(mechanism, document, diagnosis)
    movable = mechanism.movable_joints
    actuated: tuple[str, ...] | None = None
    if isinstance(document.name_mot, str):
        actuated = tuple(name for name in movable if document.name_mot in name)
        if not actuated:
            diagnosis.error(
                document.place, "name_mot", f"no joint has {document.name_mot!r} in its name"
            )
    elif document.name_mot is not None:
        actuated = document.name_mot
        for name in actuated:
            if name not in movable:
                diagnosis.unknown(document.place, "name_mot", "joint", name, movable)
    diagnosis.raise_if_refused()
    return mechanism.with_loops(loops), actuated


def _retyped(mechanism: Mechanism, document: ExtendedDocument, diagnosis: Diagnosis) -> Mechanism:
    names = [joint.name for joint in mechanism.joints]
    types: dict[str, str] = {}
    for name, kind in zip(document.joint_name, document.joint_type, strict=True):
        if name not in names:
            diagnosis.unknown(document.place, "joint_name", "joint", name, names)
        elif kind.upper() not in REPLACEMENTS:
            diagnosis.unknown(document.place, "joint_type", "type", kind, REPLACEMENTS)
        else:
            types[name] = REPLACEMENTS[kind.upper()]
    joints = tuple(
        # Limits of position are those of the one angle that the joint had.
        replace(
            joint,
            type=types[joint.name],
            limits=replace(joint.limits_of_each[0], lower=-math.inf, upper=math.inf),
        )
        if joint.name in types
        else joint
        for joint in mechanism.joints
    )
    return replace(mechanism, joints=joints)


def _loops(
    mechanism: Mechanism, document: ExtendedDocument, diagnosis: Diagnosis
) -> list[LoopElement]:
    links = [link.name for link in mechanism.links]
    carrier = {joint.child: joint for joint in mechanism.joints}
    carried = {joint.name: joint.child for joint in mechanism.joints}
    found: list[LoopElement] = []
    types = document.type or ("6d",) * len(document.closed_loop)
    for (first, second), stated in zip(document.closed_loop, types, strict=True):
        element = f"closed loop {first!r} to {second!r}"
        kind = ALIASES.get(stated.lower(), stated)
        valid, what = loop_joint_names(), "loop joint type"
        sound = known_type(kind, {}, valid, diagnosis, document.place, element, what)
        ends = []
        for frame in (first, second):
            if frame in links or frame in carried:
                ends.append(frame if frame in links else carried[frame])
            else:
                diagnosis.unknown(document.place, element, "link", frame, links)
        if len(ends) == 2 and rigid_piece(ends[0], carrier) == rigid_piece(ends[1], carrier):
            diagnosis.error(document.place, element, "both frames are fixed to each other already")
        elif len(ends) == 2 and sound is not None:
            found.append(LoopElement(f"{first}_to_{second}", kind, ends[0], ends[1]))
    names = [loop.name for loop in found]
    for name in sorted({name for name in names if names.count(name) > 1}):
        diagnosis.error(document.place, "closed_loop", f"{name!r} is stated twice")
    return found
