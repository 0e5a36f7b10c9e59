# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The hybrid system of arms that are known as a `GraspSystem`."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from robot_dynamics.errors import ArgumentError
from robot_dynamics.manipulation.hybrid.contacts import Contact
from robot_dynamics.manipulation.hybrid.environment import Environment
from robot_dynamics.manipulation.hybrid.system import HybridSystem
from robot_dynamics.manipulation.system import GraspSystem
from robot_dynamics.model import LinkElement


def hybrid_system(
    system: GraspSystem,
    contacts: Sequence[Contact] | None = None,
    environment: Environment | None = None,
) -> HybridSystem:
    """Return arms, object, contacts and surfaces as one hybrid system.

    Args:
        system: Arms and object; its grasps say where the tools hold the object.
        contacts: How each arm holds it; as the system says by default.
        environment: What the object touches; nothing by default.

    Raises:
        ArgumentError: If there is not one contact for each arm.
    """
    if contacts is None:
        contacts = system.contacts
    if len(contacts) != len(system.arms):
        raise ArgumentError(
            f"{len(system.arms)} arms have {len(contacts)} contacts, expected one each."
        )
    body = system.model.bodies[system.object_body]
    mass, h = float(body.inertia.mass), np.array(list(body.inertia.h), dtype=float)
    center = h / mass
    about_origin = np.array(body.inertia.I.rows(), dtype=float)
    inertia = about_origin - mass * ((center @ center) * np.eye(3) - np.outer(center, center))
    arms = system.arms_alone
    drives: tuple[str, ...] = ()
    if system.internal_chains is not None:  # in the order of the model
        drives = tuple(name for name in arms.joint_names if name in system.joint_names)
    return HybridSystem(
        arms,
        tuple(arm.tool for arm in system.arms),
        LinkElement(body.name, mass, tuple(center.tolist()), inertia),
        tuple(contacts),
        environment or Environment(),
        drives,
        system.assembled,
    )
