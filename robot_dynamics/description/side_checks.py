# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Comparison of left and right: links and joints whose names differ only in the side."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator

import numpy as np

from robot_dynamics.description.diagnosis import Diagnosis
from robot_dynamics.description.tree_checks import Places
from robot_dynamics.model.elements import JointElement, LinkElement, Mechanism
from robot_dynamics.wording import EFFORT_UNITS, counted

_ALIKE = 0.2  # relative difference that is still the same on both sides
_NOTHING = 1e-9  # kg, m, kg m^2: smaller numbers count as zero
_LEFT = re.compile(r"(?<![a-z])(?:left|Left|LEFT)(?![a-z])|(?<![A-Za-z])[lL](?=_)|(?<=_)[lL]$")
_RIGHT = {"left": "right", "Left": "Right", "LEFT": "RIGHT", "l": "r", "L": "R"}

#: Name of a quantity, its unit, and its values on the left and on the right.
_Pair = tuple[str, str, float, float]


def check_sides(mechanism: Mechanism, places: Places, diagnosis: Diagnosis) -> None:
    """Warn once of links and movable joints that differ between left and right.

    Mirrored sides have equal masses, lengths and efforts, and moments of inertia of equal sum;
    positions may have the opposite sign.
    """
    links = {link.name: link for link in mechanism.links}
    joints = {joint.name: joint for joint in mechanism.joints if joint.type != "fixed"}
    found = [
        (places.link(right), f"link {right!r}", pair, left)
        for left, right in _sides(links)
        for pair in _different(_of_links(links[left], links[right]))
    ]
    found += [
        (places.joint(right), f"joint {right!r}", pair, left)
        for left, right in _sides(joints)
        for pair in _different(_of_joints(joints[left], joints[right]))
    ]
    if not found:
        return
    place, element, (quantity, unit, on_left, on_right), other = found[0]
    more = f"; and {counted(len(found) - 1, 'further difference')} of left and right"
    diagnosis.warning(
        place,
        element,
        f"its {quantity} is {on_right:.4g} {unit}, but that of {other!r} {on_left:.4g} {unit}, "
        f"expected equal sides{more if len(found) > 1 else ''}",
    )


def _sides(names: dict[str, LinkElement] | dict[str, JointElement]) -> Iterator[tuple[str, str]]:
    """Yield the names of the left that have a counterpart on the right, with the counterpart."""
    for name in names:
        other = _LEFT.sub(lambda found: _RIGHT[found.group()], name)
        if other != name and other in names:
            yield name, other


def _different(pairs: Iterator[_Pair]) -> Iterator[_Pair]:
    for pair in pairs:
        left, right = pair[2:]
        if math.isfinite(left) and math.isfinite(right):
            largest = max(abs(left), abs(right))
            if largest > _NOTHING and abs(left - right) > _ALIKE * largest:
                yield pair


def _of_links(left: LinkElement, right: LinkElement) -> Iterator[_Pair]:
    yield "mass", "kg", left.mass, right.mass
    yield (
        "sum of principal moments",
        "kg m^2",
        float(np.trace(left.inertia)),
        float(np.trace(right.inertia)),
    )
    yield (
        "distance of the centre of mass",
        "m",
        float(np.linalg.norm(left.center)),
        float(np.linalg.norm(right.center)),
    )


def _of_joints(left: JointElement, right: JointElement) -> Iterator[_Pair]:
    unit = "m" if left.type == "prismatic" else "rad"
    one, other = left.limits_of_each[0], right.limits_of_each[0]
    yield (
        "distance from the parent",
        "m",
        float(np.linalg.norm(left.placement[:3, 3])),
        float(np.linalg.norm(right.placement[:3, 3])),
    )
    yield "limit of effort", EFFORT_UNITS[unit], one.effort, other.effort
    yield "limit of velocity", f"{unit}/s", one.velocity, other.velocity
    yield "range", unit, one.upper - one.lower, other.upper - other.lower
