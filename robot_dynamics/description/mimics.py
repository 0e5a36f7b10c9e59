# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Mimic joints of URDF as gears between joints."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from robot_dynamics.description.description import Transmission
from robot_dynamics.description.diagnosis import Diagnosis
from robot_dynamics.description.tree_checks import Places
from robot_dynamics.model.couplings import CouplingElement
from robot_dynamics.model.elements import JointElement

_ONE_DEGREE = ("revolute", "continuous", "prismatic")


def mimic_couplings(
    mimics: Mapping[str, tuple[str, float, float]],
    joints: Mapping[str, JointElement],
    places: Places,
    diagnosis: Diagnosis,
) -> tuple[CouplingElement, ...]:
    """Return a gear for each mimic joint, with the joint's name.

    Errors are unknown joints, and joints that mimic themselves or each other in a circle. Joints
    without exactly one degree of freedom give a warning, and no gear.

    Args:
        mimics: For each mimic joint the other's name, multiplier and offset [rad or m].
        joints: The joints that could be read.
        places: Their places.
        diagnosis: Receives the problems.
    """
    couplings, circles = [], _in_circles(mimics)
    for name, (other, multiplier, offset) in mimics.items():
        place, element = places.joint(name), f"joint {name!r}"
        if other not in places.joints:
            diagnosis.unknown(place, element, "joint", other, places.joints)
        elif other == name:
            diagnosis.error(place, element, "mimics itself")
        elif name in circles:
            diagnosis.error(place, element, f"mimics {other!r}, which in turn mimics this joint")
        elif name in joints and other in joints:
            fixed = [j for j in (name, other) if joints[j].type not in _ONE_DEGREE]
            if fixed:
                diagnosis.warning(
                    place,
                    element,
                    f"mimics {other!r}, but joint {fixed[0]!r} is {joints[fixed[0]].type}, "
                    "expected joints with one degree of freedom: the mimic is ignored",
                )
            else:
                if multiplier == 0.0:
                    diagnosis.warning(place, element, *idle_gear("multiplier", name, offset))
                couplings.append(CouplingElement.gear(name, name, other, multiplier, offset))
    return tuple(couplings)


def moved_by_others(
    joints: Sequence[JointElement],
    gears: Sequence[CouplingElement],
    transmissions: Sequence[Transmission],
) -> tuple[JointElement, ...]:
    """Return the joints; mimic joints have drives only if a transmission drives them.

    Args:
        joints: All joints.
        gears: Gears of mimic joints, see `mimic_couplings`.
        transmissions: Transmissions of the file.
    """
    moved = {gear.name for gear in gears}
    moved -= {name for transmission in transmissions for name in transmission.joints}
    return tuple(replace(one, active=False) if one.name in moved else one for one in joints)


def idle_gear(what: str, joint: str, offset: float) -> tuple[str, str]:
    """Return the message and the hint for a gear whose ratio is zero.

    Args:
        what: Name of the ratio in the file.
        joint: Name of the driven joint.
        offset: Constant position of that joint [rad or m].
    """
    return (
        f"the {what} is 0, so that joint {joint!r} is held at {offset:g}",
        "leave it out for a ratio of 1, or make the joint fixed",
    )


def _in_circles(mimics: Mapping[str, tuple[str, float, float]]) -> set[str]:
    """Return the joints in circles of mimics."""
    found: set[str] = set()
    settled: set[str] = set()
    for start in mimics:
        trail: list[str] = []
        name = start
        while name in mimics and name not in settled:
            settled.add(name)
            trail.append(name)
            name = mimics[name][0]
        if name in trail:
            found.update(trail[trail.index(name) :])
    return found
