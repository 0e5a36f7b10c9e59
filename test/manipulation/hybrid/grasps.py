# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Grasps of a box, with a substitute for a system where arms do not matter."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np

from robot_dynamics.manipulation.hybrid import Contact
from robot_dynamics.manipulation.hybrid.contacts import require_force_closure, wrench_map
from robot_dynamics.model import LinkElement, pose

HALF = 0.15  # from the middle to the faces x = -0.15 and x = 0.15 [m]


def frame(normal, at):
    """Return a pose at a point, its z axis along the inward normal."""
    z = np.asarray(normal, dtype=float) / np.linalg.norm(normal)
    x = np.cross([0.0, 1.0, 0.0] if abs(z[1]) < 0.9 else [1.0, 0.0, 0.0], z)
    x /= np.linalg.norm(x)
    return pose(at, np.column_stack([x, np.cross(z, x), z]))


def facing(kind, limits=None):
    """Return two contacts on opposite faces, the first on the left."""
    return tuple(
        Contact.of_kind(kind, frame((-side, 0, 0), (side * HALF, 0.0, 0.0)), limits)
        for side in (-1.0, 1.0)
    )


def around(kind, count, limits=None, radius=0.1):
    """Return contacts on a cylinder about z, pushing inwards, at the same height."""
    angles = 2.0 * np.pi * np.arange(count) / count + 0.3
    ring = np.column_stack([np.cos(angles), np.sin(angles), np.zeros(count)])
    return tuple(Contact.of_kind(kind, frame(-out, radius * out), limits) for out in ring)


def held_by(contacts, mass=2.0, center=(0.0, 0.0, 0.0)):
    """Return the data of a system that force distributions need."""
    points = np.array([contact.pose[:3, 3] for contact in contacts])
    length = float(np.mean(np.linalg.norm(points - points.mean(axis=0), axis=1))) or 1.0
    return SimpleNamespace(
        contacts=contacts,
        tools=tuple("abcdef"[: len(contacts)]),
        held=LinkElement("box", mass, center=center, inertia=np.eye(3) * 0.02),
        length=length,
        constant_wrench_map=wrench_map(contacts, np.array(center)),
        require_force_closure=lambda: require_force_closure(contacts, length),
    )
