# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Bodies for tests of contact: a floating ball or box, a block on a slope, corners."""

from __future__ import annotations

import itertools

import numpy as np

from robot_dynamics.contact.material import Material
from robot_dynamics.contact.points import PointContact, vertices
from robot_dynamics.model import JointElement, LinkElement, Mechanism
from robot_dynamics.robot import Robot


def floating(mass: float = 2.0, inertia=(0.004, 0.006, 0.007), center=(0.0, 0.0, 0.0)) -> Robot:
    """Return one free body with the link "body"."""
    links = (LinkElement("world"), LinkElement("body", mass, center, np.diag(inertia)))
    joint = JointElement("free", "floating", "world", "body")
    return Robot.from_mechanism(Mechanism("free body", links, (joint,)))


def at(*place: float) -> np.ndarray:
    """Return positions of a free body that is not turned."""
    return np.array([*place, 0.0, 0.0, 0.0, 1.0])


def corners(half, material: Material | None = None, more=(), **how) -> tuple[PointContact, ...]:
    """Return contacts of a box's lower corners with the floor, and of more points."""
    x, y, z = half
    points = [(a * x, b * y, -z) for a, b in itertools.product((-1.0, 1.0), repeat=2)]
    one = PointContact("corner", "body", material=material or Material(), **how)
    return vertices(one, [*points, *more])
