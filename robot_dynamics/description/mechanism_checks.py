# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Checks of joints, loop joints and couplings that apply to every file format."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace

from robot_dynamics.description.diagnosis import Diagnosis
from robot_dynamics.description.joint_names import joint_has_axis
from robot_dynamics.description.tree_checks import Places
from robot_dynamics.model.element_checks import coupling_faults, joint_faults, loop_faults
from robot_dynamics.model.elements import JointElement, LoopElement, Mechanism

_UNIT = 1e-4  # by which files that print few digits miss the length of a direction


def check_closures(
    mechanism: Mechanism,
    places: Places,
    diagnosis: Diagnosis,
    loops: Iterable[LoopElement] | None = None,
) -> None:
    """Report loop joints with a tree joint's name, or with a meaningless `unilateral`.

    Args:
        mechanism: The mechanism.
        places: Places of its elements.
        diagnosis: Receives the problems.
        loops: Checked loop joints; all by default.
    """
    joints = {joint.name for joint in mechanism.joints}
    for loop in mechanism.loops if loops is None else loops:
        place, element = places.loop(loop.name), f"loop joint {loop.name!r}"
        if loop.name in joints:
            message = f"the name is already taken by the joint at {places.joint(loop.name)}"
            diagnosis.error(place, element, message)
        if loop.unilateral and joint_has_axis(loop.type):
            diagnosis.warning(
                place,
                element,
                f"unilateral lets a {loop.type} joint come apart along z alone, it still holds in "
                "all other directions",
                "expected a contact such as point_on_plane",
            )


def check_numbers(mechanism: Mechanism, places: Places, diagnosis: Diagnosis) -> None:
    """Report impossible joints, loop joints and couplings, and springs of negative stiffness.

    Args:
        mechanism: The mechanism; its links are not checked.
        places: Places of its elements.
        diagnosis: Receives the problems.
    """
    for joint in mechanism.joints:
        place, element = places.joint(joint.name), f"joint {joint.name!r}"
        _note(list(joint_faults(joint)), joint, place, element, diagnosis)
    for loop in mechanism.loops:
        place, element = places.loop(loop.name), f"loop joint {loop.name!r}"
        _note(list(loop_faults(loop)), loop, place, element, diagnosis)
    for coupling in mechanism.couplings:
        for fault in coupling_faults(coupling):
            diagnosis.error(places.loop(coupling.name), f"coupling {coupling.name!r}", fault)


def with_unit_axes(mechanism: Mechanism, places: Places, diagnosis: Diagnosis) -> Mechanism:
    """Return a mechanism whose axes have unit length, after noting those that had not."""
    joints = []
    for joint in mechanism.joints:
        place, element = places.joint(joint.name), f"joint {joint.name!r}"
        length = math.hypot(*joint.axis)
        if joint_has_axis(joint.type) and length < 1e-6:
            diagnosis.error(place, element, "the axis is zero, expected a direction")
        elif joint_has_axis(joint.type) and not math.isfinite(length):
            diagnosis.error(place, element, "the axis is too long, expected a unit vector")
        elif joint_has_axis(joint.type) and abs(length - 1.0) > _UNIT:
            message = f"the axis has length {length:.6g}, it is taken as a unit vector"
            diagnosis.warning(place, element, message)
            x, y, z = (component / length for component in joint.axis)
            joint = replace(joint, axis=(x, y, z))
        joints.append(joint)
    return replace(mechanism, joints=tuple(joints))


def _note(
    faults: list[str],
    joint: JointElement | LoopElement,
    place: str,
    element: str,
    diagnosis: Diagnosis,
) -> None:
    for fault in faults:
        diagnosis.error(place, element, fault)
    for value in joint.stiffness if isinstance(joint.stiffness, tuple) else (joint.stiffness,):
        if value < 0.0 and not faults:
            message = f"stiffness is {value:g}, such a spring pushes away from its rest"
            diagnosis.warning(place, element, message)
