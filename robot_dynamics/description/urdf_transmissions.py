# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The transmissions of URDF: reductions and rotors between actuators and joints.

It reads ROS 1 `<transmission>` tags with children or an attribute for the type, tags of the PR2
with the reduction beside the actuator, and rotors inside the actuator, as in Drake
(`<drake:rotor_inertia value>`, `<drake:gear_ratio value>`) or other programs (`<rotorInertia>`).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from robot_dynamics.description.description import Transmission
from robot_dynamics.description.xml_tags import Tag, short
from robot_dynamics.model.elements import JointElement

_REDUCTION = ("mechanicalReduction", "mechanical_reduction", "gear_ratio")
_ROTOR = ("rotorInertia", "rotor_inertia")


def read_transmission(tag: Tag, joints: Collection[str]) -> Transmission | None:
    """Return the transmission of a tag, or None if it names no joint of the robot.

    Problems are warnings: only reflected inertia depends on a transmission.

    Args:
        tag: The tag.
        joints: Names of the existing joints.
    """
    name = tag.element.get("name", "").strip()
    tag = tag.owned(f"transmission {name!r}")
    kind = tag.element.get("type") or tag.inner_text("type")
    driven = _names(tag, "joint")
    for joint in driven:
        if joint not in joints:
            tag.warning(f"there is no joint {joint!r}, the transmission is left out")
            return None
    if not driven:
        return None  # grippers and the like of other programs
    actuators = list(tag.children("actuator"))
    # The PR2 states reductions beside actuators, in their order; the rest of the world inside.
    beside = [_number(found, 1.0) for found in tag.children(*_REDUCTION[:2])]
    reductions = [_inside(actuator, _REDUCTION, 1.0) for actuator in actuators]
    for i, value in enumerate(beside[: len(reductions)]):
        reductions[i] = value
    for i, value in enumerate(reductions):
        if value == 0.0:
            tag.warning("the reduction is 0, it is taken as 1")
            reductions[i] = 1.0
    rotors = [_inside(actuator, _ROTOR, 0.0) for actuator in actuators]
    for actuator, rotor in zip(actuators, rotors, strict=True):
        if rotor < 0.0:
            actuator.warning(f"the rotor inertia is {rotor:g} kg m^2, taken as zero")
    return Transmission(
        name,
        kind,
        tuple(driven),
        tuple(_names(tag, "actuator")),
        tuple(reductions),
        tuple(max(rotor, 0.0) for rotor in rotors),
    )


def with_armatures(
    joints: Sequence[JointElement], transmissions: Sequence[Transmission]
) -> tuple[JointElement, ...]:
    """Return the joints with the rotors of their transmissions; several on one joint add up."""
    total: dict[str, float] = {}
    for transmission in transmissions:
        if transmission.armature:
            joint = transmission.joints[0]
            total[joint] = total.get(joint, 0.0) + transmission.armature
    return tuple(
        replace(joint, armature=total[joint.name]) if joint.name in total else joint
        for joint in joints
    )


def _names(tag: Tag, kind: str) -> list[str]:
    return [found.element.get("name", "").strip() for found in tag.children(kind)]


def _inside(actuator: Tag, names: Sequence[str], default: float) -> float:
    """Return the number in the first child of one of the names, of whatever namespace."""
    for child in actuator.descendants(*names):
        return _number(child, default)
    return default


def _number(tag: Tag, default: float) -> float:
    """Return the number of a tag: its attribute `value`, or its text."""
    text = tag.element.get("value") or (tag.element.text or "")
    try:
        number = float(text)
    except ValueError:
        number = float("nan")
    if not abs(number) < float("inf"):
        shown = short(text.strip())
        tag.warning(f"<{tag.name}> has {shown}, expected a finite number; it is ignored")
        return default
    return number
