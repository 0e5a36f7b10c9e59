# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Descriptions of contacts: what they hold, what they refuse."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from support.contact_scenes import between_fingers, on_surfaces
from support.mechanisms import two_arms

from robot_dynamics.errors import ArgumentError
from robot_dynamics.manipulation.hybrid import Contact, FrictionCone
from robot_dynamics.model import pose
from robot_dynamics.simulation.contact.surfaces import plane
from robot_dynamics.simulation.scene import (
    ArmContact,
    Material,
    Scene,
    SurfaceContact,
    points_of_face,
)

FLOOR = plane((0, 0, 0), (0, 0, 1))


def test_what_holds_and_what_pushes():
    """Grasps leave the model; contacts are sorted by whether they open, arms before points."""
    system = two_arms().system
    kinds = ("rigid", "soft finger")
    contacts = tuple(
        ArmContact(Contact.of_kind(kind, grasp), Material(FrictionCone(0.4, 0.01)))
        for kind, grasp in zip(kinds, system.grasps, strict=True)
    )
    table = SurfaceContact("table", FLOOR, np.eye(3), Material(FrictionCone(0.2, 0.1)))
    scene = Scene(system, contacts, (table,))
    assert scene.model.loops == ()
    assert (scene.holding, scene.pushing) == ((0,), (1,))
    assert [name for name, _, _ in scene.touches] == ["arm1", "table", "table", "table"]
    assert [cone.torsion for _, _, cone in scene.touches] == [0.01, 0.0, 0.0, 0.0]
    assert_allclose(scene.finger_frames[0], np.eye(4), atol=1e-15)


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("frictional point", FrictionCone(0.4)),
        ("frictionless point", FrictionCone(0.0)),
        ("soft finger", FrictionCone(0.4, 0.02)),
    ],
)
def test_friction_is_that_of_the_kind(kind, expected):
    """A point has no torsion, whatever the material has; the contact's own cone comes first."""
    own = FrictionCone(0.4, 0.02)
    material = ArmContact(Contact.of_kind(kind, np.eye(4)), Material(own))
    stated = ArmContact(Contact.of_kind(kind, np.eye(4), own), Material(FrictionCone(0.9)))
    assert material.friction == stated.friction == expected


def test_corners_of_a_face():
    """The corners of a rectangle across the frame's z axis."""
    corners = points_of_face(0.2, 0.1, pose((0, 0, 1.0)))
    assert_allclose(sorted(map(tuple, np.abs(corners))), [(0.2, 0.1, 1.0)] * 4)
    assert_allclose(corners.mean(axis=0), (0, 0, 1))


@pytest.mark.parametrize(
    "make",
    [
        lambda: Material(stiffness=-1.0),
        lambda: Material(restitution=1.5),
        lambda: Material(stiffness=1e4, restitution=0.0),
        lambda: SurfaceContact("floor", FLOOR, [[0.0, 0.0]]),
        lambda: SurfaceContact("floor", FLOOR, [[0.0, 0.0, np.nan]]),
        lambda: ArmContact(Contact.of_kind("soft finger", np.eye(4)), face=(0.0, 1.0)),
        lambda: Scene(two_arms().system, (ArmContact(Contact.of_kind("rigid", np.eye(4))),)),
    ],
)
def test_what_cannot_be_is_refused(make):
    """Negative stiffness, points in the plane, arms without contacts: one sentence each."""
    with pytest.raises(ArgumentError, match="expected"):
        make()


def test_scenes_without_arms_or_surfaces():
    """Either may be missing."""
    assert on_surfaces().touches == ()
    assert len(between_fingers(Material())[0].touches) == 2
