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
    """Return a gear for each mimic joint, called as the joint is.

    Noted are joints that do not exist, mimic themselves or each other in a circle (errors), and
    those that have not one degree of freedom (warnings; there is nothing to couple then).

    Args:
        mimics: For each mimic joint the other's name, multiplier and offset [rad or m].
        joints: The joints that could be read.
        places: Where they stand.
        diagnosis: Where problems are noted.
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
    """Return the joints, those that mimic others without drives unless a transmission has one.

    Args:
        joints: All joints.
        gears: Those of mimic joints, see `mimic_couplings`.
        transmissions: Those of the file.
    """
    moved = {gear.name for gear in gears}
    moved -= {name for transmission in transmissions for name in transmission.joints}
    return tuple(replace(one, active=False) if one.name in moved else one for one in joints)


def idle_gear(what: str, joint: str, offset: float) -> tuple[str, str]:
    """Return the message and the hint for a gear whose ratio is zero.

    Args:
        what: What the file calls the ratio.
        joint: Name of the joint that it drives.
        offset: Where that leaves the joint [rad or m].
    """
    return (
        f"the {what} is 0, so that joint {joint!r} is held at {offset:g}",
        "leave it out for a ratio of 1, or make the joint fixed",
    )


def _in_circles(mimics: Mapping[str, tuple[str, float, float]]) -> set[str]:
    """Return the joints that following mimics leads back to."""
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
