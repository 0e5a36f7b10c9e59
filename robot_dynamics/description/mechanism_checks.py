# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Checks of joints, loop joints and couplings that apply to every file format."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import replace

import numpy as np

from robot_dynamics.description.diagnosis import Diagnosis
from robot_dynamics.description.joint_names import joint_has_axis
from robot_dynamics.description.tree_checks import Places
from robot_dynamics.model.couplings import CouplingElement
from robot_dynamics.model.elements import JointElement, Limits, LoopElement, Mechanism

FARTHEST = 1e6  # m: no part of a machine is so far from the next
_LARGEST = 1e15  # of forces, stiffnesses, dampings, rotors in SI units: no machine has them
_STEEPEST = 1e8  # ratio of the largest to the smallest coefficient of a gear: more is rounding
_UNIT = 1e-4  # by which files that print few digits miss the length of a direction
_AT_LEAST_ZERO = ("damping", "friction", "armature")
_AMOUNTS = (*_AT_LEAST_ZERO, "stiffness", "rest")


def check_closures(
    mechanism: Mechanism,
    places: Places,
    diagnosis: Diagnosis,
    loops: Iterable[LoopElement] | None = None,
) -> None:
    """Note loop joints that have a tree joint's name, or push only where that means little.

    Args:
        mechanism: The mechanism.
        places: Where its elements stand.
        diagnosis: Where problems are noted.
        loops: The loop joints to be checked; all by default.
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
    """Note numbers that are implausibly large or have the wrong sign.

    Args:
        mechanism: The mechanism; its links are not checked.
        places: Where its elements stand.
        diagnosis: Where problems are noted.
    """
    for joint in mechanism.joints:
        place, element = places.joint(joint.name), f"joint {joint.name!r}"
        _check_amounts(joint, place, element, diagnosis)
        _check_limits(joint, place, element, diagnosis)
    for loop in mechanism.loops:
        place, element = places.loop(loop.name), f"loop joint {loop.name!r}"
        for end, frame in (
            (loop.predecessor, loop.predecessor_pose),
            (loop.successor, loop.successor_pose),
        ):
            _check_distance(frame, f"that of link {end!r}", place, element, diagnosis)
        _check_amounts(loop, place, element, diagnosis)
        _check_limits(loop, place, element, diagnosis)
    for coupling in mechanism.couplings:
        place, element = places.loop(coupling.name), f"coupling {coupling.name!r}"
        _check_coupling(coupling, place, element, diagnosis)


def check_placements(joints: Iterable[JointElement], places: Places, diagnosis: Diagnosis) -> None:
    """Note joints farther from the parent's than any machine is large."""
    for joint in joints:
        place, element = places.joint(joint.name), f"joint {joint.name!r}"
        _check_distance(joint.placement, "the parent's", place, element, diagnosis)


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


def _check_distance(
    frame: np.ndarray, whose: str, place: str, element: str, diagnosis: Diagnosis
) -> None:
    distance = math.hypot(*frame[:3, 3])
    if not distance <= FARTHEST:
        message = f"its origin is {distance:g} m from {whose}, expected at most {FARTHEST:g}"
        diagnosis.error(place, element, message)


def _check_amounts(
    joint: JointElement | LoopElement, place: str, element: str, diagnosis: Diagnosis
) -> None:
    for name in _AMOUNTS:
        for value in _each(getattr(joint, name, 0.0)):
            if not abs(value) <= _LARGEST:
                message = f"{name} is {value:g}, expected at most {_LARGEST:g}"
                diagnosis.error(place, element, message)
            elif value < 0.0 and name in _AT_LEAST_ZERO:
                diagnosis.error(place, element, f"{name} is {value:g}, expected at least zero")
            elif value < 0.0 and name == "stiffness":
                message = f"stiffness is {value:g}, such a spring pushes away from its rest"
                diagnosis.warning(place, element, message)
    for name, value in joint.parameters.items():
        if not abs(value) <= FARTHEST:
            diagnosis.error(place, element, f"{name} is {value:g}, expected at most {FARTHEST:g}")


def _check_limits(
    joint: JointElement | LoopElement, place: str, element: str, diagnosis: Diagnosis
) -> None:
    each = (joint.limits,) if isinstance(joint.limits, Limits) else joint.limits
    for limits in each:
        if limits.lower > limits.upper:
            message = f"the lower limit {limits.lower:g} is above the upper {limits.upper:g}"
            diagnosis.error(place, element, message)
        for name in ("velocity", "effort"):
            value = getattr(limits, name)
            if not value > 0.0:
                message = f"the limit of {name} is {value:g}, expected more than zero"
                diagnosis.error(place, element, message)


def _check_coupling(
    coupling: CouplingElement, place: str, element: str, diagnosis: Diagnosis
) -> None:
    sizes = [abs(factor) for _, factor in coupling.terms if factor]
    if not sizes:
        diagnosis.error(place, element, "all its coefficients are zero, expected one that is not")
    elif not max(sizes) / _STEEPEST <= min(sizes):
        message = f"its coefficients are {min(sizes):g} and {max(sizes):g} in size"
        limit = f"expected a ratio of at most {_STEEPEST:g}"
        diagnosis.error(place, element, f"{message}, {limit}")
    elif not (max(sizes) <= _LARGEST and abs(coupling.offset) <= _LARGEST):
        worst = max(*sizes, abs(coupling.offset))
        diagnosis.error(place, element, f"has the number {worst:g}, expected at most {_LARGEST:g}")


def _each(value: float | tuple[float, ...]) -> Iterator[float]:
    yield from value if isinstance(value, tuple) else (value,)
