# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Contact of any mechanism: contact points, forces and impacts (chapter 11).

This module exports the classes that describe contacts. Forces at one instant are in
`contact.equations`, impacts in `contact.impact`.
"""

from robot_dynamics.contact.material import Material
from robot_dynamics.contact.points import (
    Contacts,
    Inequality,
    PointContact,
    cable,
    disc,
    ellipsoid,
    joint_limits,
    outline,
    vertices,
)
from robot_dynamics.contact.shapes import ShapeContact, Solid, contacts_of
from robot_dynamics.contact.surfaces import cylinder, hole, plane, sphere

__all__ = [
    "Contacts",
    "Inequality",
    "Material",
    "PointContact",
    "ShapeContact",
    "Solid",
    "cable",
    "contacts_of",
    "cylinder",
    "disc",
    "ellipsoid",
    "hole",
    "joint_limits",
    "outline",
    "plane",
    "sphere",
    "vertices",
]
