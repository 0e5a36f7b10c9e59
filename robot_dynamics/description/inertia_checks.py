# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Checks of masses, inertias and lengths: whether they are physically plausible."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from robot_dynamics.description.description import Shape
from robot_dynamics.description.diagnosis import Diagnosis
from robot_dynamics.description.orientations import DEGREES_HINT
from robot_dynamics.description.tree_checks import Places
from robot_dynamics.model.element_checks import FARTHEST, link_faults
from robot_dynamics.model.elements import JointElement, LinkElement, LoopElement, Mechanism

_TRIANGLE = 1e-3  # part of the largest moment by which it may exceed the sum of the others
_HEAVY = 1000.0  # kg: more is more likely grams
_LONG = 20.0  # m: more is more likely millimetres
_WIDE = 4.0 * math.pi  # rad: limits beyond are more likely degrees
_SMALL_LINK = 0.1  # m: size of a link if nothing in the file states it
_LIGHTEST = 500.0  # kg/m^3: density by which the size of a compact link follows from its mass
_LARGE_RADIUS = 2.5  # in sizes of the link
_MILLIMETRES = "were millimetres meant? the unit is m"
_TINY = 1e-3  # kg: below, points of mass stand for sensors and the like
_DENSEST = 22_600.0  # kg/m^3, osmium


def check_links(mechanism: Mechanism, places: Places, diagnosis: Diagnosis) -> None:
    """Note impossible masses and inertias: errors if negative, else warnings."""
    massless = []
    # Unreadable values are zero here; they already have an error, and are not checked further.
    misread = {problem.element for problem in diagnosis.errors}
    for link in mechanism.links:
        place, element = places.link(link.name), f"link {link.name!r}"
        faults = list(link_faults(link))
        for fault in faults:
            diagnosis.error(place, element, fault)
        if faults:
            continue
        moments = np.linalg.eigvalsh(link.inertia)
        largest = float(np.abs(moments).max())
        if moments[0] < -1e-9 * largest - 1e-15:
            diagnosis.warning(
                place,
                element,
                f"the inertia has a principal moment just below zero, {moments[0]:.2g} kg m^2",
            )
        elif moments[2] - moments[0] - moments[1] > _TRIANGLE * moments[2]:
            listed = ", ".join(f"{moment:.4g}" for moment in moments)
            diagnosis.warning(
                place,
                element,
                f"no body has the principal moments {listed} kg m^2: one is larger than the "
                "sum of the others",
            )
        if element in misread:
            continue
        if link.mass == 0.0 and largest > 0.0:
            diagnosis.warning(place, element, "has rotational inertia but no mass")
        elif link.mass == 0.0:
            massless.append(link.name)
    _summarise_massless(mechanism, massless, places, diagnosis)


def check_units(
    mechanism: Mechanism, shapes: Sequence[Shape], places: Places, diagnosis: Diagnosis
) -> None:
    """Warn of numbers that look like grams, millimetres or degrees."""
    sizes = _sizes(mechanism, shapes)
    for link in mechanism.links:
        place, element = places.link(link.name), f"link {link.name!r}"
        if link.mass > _HEAVY:
            diagnosis.warning(
                place, element, f"mass is {link.mass:g} kg", "were grams meant? the unit is kg"
            )
        distance = float(np.linalg.norm(link.center))
        if distance > _LONG:
            diagnosis.warning(
                place,
                element,
                f"the centre of mass is {distance:g} m from the link's origin",
                _MILLIMETRES,
            )
        elif link.mass > 0.0:
            _check_radius(link, sizes[link.name], place, diagnosis)
    for joint in mechanism.joints:
        _check_joint_units(joint, places.joint(joint.name), diagnosis)
    check_loop_units(mechanism.loops, places, diagnosis)


def check_loop_units(loops: Iterable[LoopElement], places: Places, diagnosis: Diagnosis) -> None:
    """Warn of frames and limits of loop joints in millimetres or degrees, by their size."""
    for loop in loops:
        ends = ((loop.predecessor, loop.predecessor_pose), (loop.successor, loop.successor_pose))
        for link, frame in ends:
            distance = math.hypot(*frame[:3, 3])
            if _LONG < distance <= FARTHEST:
                diagnosis.warning(
                    places.loop(loop.name),
                    f"loop joint {loop.name!r}",
                    f"its origin is {distance:g} m from link {link!r}",
                    _MILLIMETRES,
                )
        _check_limit_units(loop, places.loop(loop.name), f"loop joint {loop.name!r}", diagnosis)


def _check_joint_units(joint: JointElement, place: str, diagnosis: Diagnosis) -> None:
    element = f"joint {joint.name!r}"
    distance = float(np.linalg.norm(joint.placement[:3, 3]))
    if distance > _LONG:
        diagnosis.warning(
            place,
            element,
            f"its origin is {distance:g} m from the parent link",
            _MILLIMETRES,
        )
    _check_limit_units(joint, place, element, diagnosis)


def _check_limit_units(
    joint: JointElement | LoopElement, place: str, element: str, diagnosis: Diagnosis
) -> None:
    """Warn of position limits that look like degrees or millimetres."""
    each = joint.limits if isinstance(joint.limits, tuple) else (joint.limits,)
    ends = [x for limits in each for x in (limits.lower, limits.upper)]
    finite = [abs(x) for x in ends if math.isfinite(x)]
    widest = max(finite, default=0.0)
    if joint.type == "revolute" and widest > _WIDE * (1.0 + 1e-6):
        diagnosis.warning(place, element, f"a limit is {widest:g} rad", DEGREES_HINT)
    if joint.type == "prismatic" and widest > _LONG:
        diagnosis.warning(place, element, f"a limit is {widest:g} m", _MILLIMETRES)


def _check_radius(link: LinkElement, size: float, place: str, diagnosis: Diagnosis) -> None:
    """Warn if mass, inertia and size of a link are inconsistent."""
    element = f"link {link.name!r}"
    trace = float(np.trace(link.inertia))
    radius = math.sqrt(max(trace, 0.0) / (2.0 * link.mass))  # of gyration, about the centre
    if radius > _LARGE_RADIUS * size:
        diagnosis.warning(
            place,
            element,
            f"the inertia would put its {link.mass:g} kg at {radius:.3g} m from the centre of "
            f"mass, but the link seems no larger than {size:.2g} m",
            "check the units of mass and inertia",
        )
    # A body has at least the inertia of a solid ball of the densest metal.
    ball = (3.0 * link.mass / (4.0 * math.pi * _DENSEST)) ** (1.0 / 3.0)
    if link.mass > _TINY and trace < 3.0 * 0.4 * link.mass * ball**2:
        diagnosis.warning(
            place,
            element,
            f"the inertia has a trace of {trace:.3g} kg m^2, expected at least "
            f"{3.0 * 0.4 * link.mass * ball**2:.3g} kg m^2 for {link.mass:g} kg, as of a ball of "
            "solid metal",
            "check the units of mass and inertia",
        )


def _summarise_massless(
    mechanism: Mechanism, massless: Sequence[str], places: Places, diagnosis: Diagnosis
) -> None:
    """Warn once of links that should have mass but have none.

    A frame without `<inertial>` on a fixed joint is common practice and gives no warning. A link
    with a stated mass of zero, or carried by a movable joint, gives a warning.
    """
    carried = {joint.child for joint in mechanism.joints if joint.type != "fixed"}
    doubtful = [name for name in massless if name in carried or name in places.with_inertial]
    if not doubtful:
        return
    listed = ", ".join(repr(name) for name in doubtful[:8])
    more = f" and {len(doubtful) - 8} more" if len(doubtful) > 8 else ""
    if len(doubtful) == 1:
        message = "has no mass, it is taken as a frame"
    else:
        message = f"{len(doubtful)} links have no mass, they are taken as frames: {listed}{more}"
    diagnosis.warning(places.link(doubtful[0]), f"link {doubtful[0]!r}", message)


def _sizes(mechanism: Mechanism, shapes: Sequence[Shape]) -> Mapping[str, float]:
    """Return the estimated size of each link [m], from all that the file states."""
    sizes = {
        link.name: max(
            _SMALL_LINK,
            float(np.linalg.norm(link.center)),
            (3.0 * max(link.mass, 0.0) / (4.0 * math.pi * _LIGHTEST)) ** (1.0 / 3.0),
        )
        for link in mechanism.links
    }
    for joint in mechanism.joints:
        distance = float(np.linalg.norm(joint.placement[:3, 3]))
        sizes[joint.parent] = max(sizes[joint.parent], distance)
    for shape in shapes:
        for point in shape.points():
            sizes[shape.link] = max(sizes[shape.link], float(np.linalg.norm(point)))
    return sizes
