# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Whether every motion of a mechanism moves some inertia."""

from __future__ import annotations

import numpy as np

from robot_dynamics.description.diagnosis import Diagnosis
from robot_dynamics.description.tree_checks import Places
from robot_dynamics.model.builder import build
from robot_dynamics.model.elements import Mechanism
from robot_dynamics.model.moved_inertia import joints_without_inertia
from robot_dynamics.wording import counted


def check_motion(mechanism: Mechanism, places: Places, diagnosis: Diagnosis) -> None:
    """Warn of joints that move no inertia: they have kinematics, but no dynamics."""
    found = links_without_inertia(mechanism)
    if not found:
        return
    (first, link), *others = found.items()
    more = f"; and {counted(len(others), 'further joint')}" if others else ""
    diagnosis.warning(
        places.joint(first),
        f"joint {first!r}",
        f"it moves only links without inertia, expected mass on link {link!r} or beyond it{more}",
        "kinematics need none; forward dynamics do, unless joints are locked or in loops",
    )


def links_without_inertia(mechanism: Mechanism) -> dict[str, str]:
    """Return the joints that can move without moving any inertia, each with the link it carries.

    Loops are ignored.
    """
    carriers = {joint.child: joint.name for joint in mechanism.joints}
    if len(carriers) == len(mechanism.joints):
        found = joints_without_mass(mechanism)
        if found:
            return {carriers[link]: link for link in found}
    model = build(mechanism)
    bodies = [model.bodies[i] for i in joints_without_inertia(model)]
    return {body.joint.name: body.name for body in bodies}


def joints_without_mass(mechanism: Mechanism) -> tuple[str, ...]:
    """Return the links whose joint moves neither mass, nor inertia, nor a rotor.

    `joints_without_inertia` would find them too; this needs no numerical computation.
    """
    carrier = {joint.child: joint for joint in mechanism.joints}
    moved: set[str] = set()  # links that carry some inertia, or are carried by a rotor
    for link in mechanism.links:
        name = link.name
        if link.mass or link.inertia.any():
            while name not in moved:
                moved.add(name)
                if name in carrier:
                    name = carrier[name].parent
    return tuple(
        name
        for name, joint in carrier.items()
        if joint.type != "fixed" and name not in moved and not np.any(joint.armature)
    )
