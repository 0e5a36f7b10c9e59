# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Two arms that hold a box by contacts beside a wall, and plans for them."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
from two_arms import BASE, BOX, HALF_WIDTH, MIRROR, POSTURE, arm_mechanism

from robot_dynamics.control.reference import row_columns
from robot_dynamics.manipulation.hybrid import Contact, Environment, FrictionCone, HybridSystem
from robot_dynamics.model import LinkElement, build, joined, pose

START = np.concatenate([POSTURE, POSTURE * MIRROR])
WALL = 0.15  # ahead of the box's front at the start [m]
FRONT = 0.1  # of the box, from its middle [m]
FINGER = FrictionCone(0.6, torsion=0.02)


@cache
def _arms():
    parts = [
        (arm_mechanism(name), pose((0.0, side * BASE, 0.0)), "fixed")
        for name, side in (("left", 1.0), ("right", -1.0))
    ]
    return build(joined("arms", parts))


def wall(at):
    """Distance from the box's front to the wall, positive behind it."""
    return at.point((FRONT, 0.0, 0.0)).x - float(BOX[0]) - FRONT - WALL


def floor(at):
    """Depth of the box below a floor that it never reaches."""
    return 0.1 - at.x.z


def system_of(kind="soft finger", limits=FINGER, surfaces=(wall,), mass=4.0):
    """Return the arms, the box and its contacts."""
    contacts = []
    for side in (1.0, -1.0):
        z, x = np.array([0.0, -side, 0.0]), np.array([0.0, 0.0, 1.0])
        at = pose((0.0, side * HALF_WIDTH, 0.0), np.column_stack([x, np.cross(z, x), z]))
        contacts.append(Contact.of_kind(kind, at, limits))
    held = LinkElement("box", mass, inertia=mass * np.eye(3) / 40.0)
    tools = ("left_tool", "right_tool")
    return HybridSystem(_arms(), tools, held, tuple(contacts), Environment(surfaces))


class Forward:
    """A plan: along x by a distance and back to rest, squeezing, and pressing on a wall."""

    def __init__(self, distance=0.1, squeeze=80.0, press=0.0, touching=(9.0, 9.0), surfaces=1):
        self.duration = 2.0
        self._distance, self._squeeze, self._press = distance, squeeze, press
        self._touching, self._surfaces = touching, surfaces

    def rows(self, times):
        """Return rows of the plan."""
        t = np.asarray(times, dtype=float)
        u = np.clip(t / self.duration, 0.0, 1.0)
        rows = np.zeros((len(t), 19 + 2 * self._surfaces + 2))
        rows[:, :7] = BOX
        rows[:, 0] += self._distance * (10 * u**3 - 15 * u**4 + 6 * u**5)
        rows[:, 10] = self._distance * (30 * u**2 - 60 * u**3 + 30 * u**4) / self.duration
        rows[:, 16] = self._distance * (60 * u - 180 * u**2 + 120 * u**3) / self.duration**2
        at = row_columns(self._surfaces, 1)
        on = (t >= self._touching[0]) & (t < self._touching[1])
        rows[on, at["touch"].start] = 1.0
        rows[on, at["contact"].start] = self._press
        rows[:, at["internal"].start] = self._squeeze
        return rows


def turned(system, degrees):
    """Return a system whose first contact faces elsewhere."""
    first, second = system.contacts
    angle = np.radians(degrees)
    R = np.array(
        [[np.cos(angle), 0, np.sin(angle)], [0, 1, 0], [-np.sin(angle), 0, np.cos(angle)]]
    )
    at = first.pose.copy()
    at[:3, :3] = at[:3, :3] @ R
    return replace(system, contacts=(replace(first, pose=at), second))
