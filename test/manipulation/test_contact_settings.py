# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Contacts and surfaces as they come from a YAML file."""

import pytest

from robot_dynamics.description.diagnosis import DescriptionError
from robot_dynamics.description.yaml_document import decode, parse_yaml
from robot_dynamics.errors import ArgumentError
from robot_dynamics.manipulation.contact_settings import (
    CONTACT_KINDS,
    SURFACE_ROWS,
    ContactSettings,
    SurfaceSettings,
)
from robot_dynamics.manipulation.hybrid import KINDS

SIZES = {"radius": "sphere cylinder hole", "depth": "hole"}


def test_every_kind_of_contact_can_be_stated_in_a_file():
    """A file may say each kind that the formulation knows, and nothing that it does not."""
    assert set(CONTACT_KINDS.values()) == set(KINDS)
    for kind in CONTACT_KINDS:
        assert decode(ContactSettings, parse_yaml(f"kind: {kind}")).kind == kind


def test_contacts_that_can_only_push():
    """Points and soft fingers can only push; grips can pull as well."""
    pushing = {kind for kind in CONTACT_KINDS if ContactSettings(kind).unilateral}
    assert pushing == {"soft_finger", "point", "frictionless_point"}


@pytest.mark.parametrize("kind", SURFACE_ROWS)
def test_every_kind_of_surface(kind):
    """Each is read with the part that may touch it, and says how many forces it exerts."""
    for part, rows in SURFACE_ROWS[kind].items():
        sizes = "".join(f", {key}: 0.1" for key, kinds in SIZES.items() if kind in kinds)
        text = f"{{name: a, kind: {kind}, xyz: [0, 0, 1], part: {{kind: {part}}}{sizes}}}"
        assert decode(SurfaceSettings, parse_yaml(text)).rows == rows


def test_a_point_that_sticks_is_pushed_along_as_well():
    """Friction adds the two forces along the plane."""
    text = "{name: a, kind: plane, xyz: [0, 0, 1], friction: 0.4, sticks: true}"
    assert decode(SurfaceSettings, parse_yaml(text)).rows == 3


@pytest.mark.parametrize(
    ("cls", "text", "message"),
    [
        (ContactSettings, "kind: glue", "unknown value 'glue'"),
        (ContactSettings, "friction: -0.1", "expected at least 0, not -0.1"),
        (ContactSettings, "kind: own", "0 directions"),
        (ContactSettings, "directions: [[0, 0, 0, 1, 0, 0]]", "'rigid' has 1 directions"),
        (ContactSettings, "{kind: own, directions: [[1, 0, 0]]}", "expected 6 values"),
        (SurfaceSettings, "{name: a, kind: plane}", "'xyz' must be given"),
        (SurfaceSettings, "{name: a, kind: plan, xyz: [0, 0, 0]}", "did you mean 'plane'"),
        (
            SurfaceSettings,
            "{name: a, kind: plane, xyz: [0, 0, 0], radius: 1}",
            "'a' is a plane with a radius",
        ),
        (
            SurfaceSettings,
            "{name: a, kind: hole, xyz: [0, 0, 0], radius: 1, part: {kind: axis}}",
            "without a depth",
        ),
        (
            SurfaceSettings,
            "{name: a, kind: plane, xyz: [0, 0, 0], part: {kind: axis}}",
            "a part of kind 'axis'; expected 'point' or 'edge' or 'face'",
        ),
        (
            SurfaceSettings,
            "{name: a, kind: plane, xyz: [0, 0, 0], stiffness: 0}",
            "more than 0 N/m",
        ),
        (
            SurfaceSettings,
            "{name: a, kind: plane, xyz: [0, 0, 0], part: {kind: face}, sticks: true}",
            "expected a point on a plane",
        ),
        (
            SurfaceSettings,
            "{name: a, kind: plane, xyz: [0, 0, 0], resistance: {friction: 1}}",
            "'a' is a plane with a resistance",
        ),
        (
            SurfaceSettings,
            "{name: a, kind: line, xyz: [0, 0, 0], resistance: {damping: -1}}",
            "at least 0",
        ),
    ],
)
def test_mistakes_are_named(cls, text, message):
    """A wrong kind, number or combination is refused, with the expected one."""
    with pytest.raises(DescriptionError, match=message):
        decode(cls, parse_yaml(text))


def test_only_soft_fingers_have_pads():
    """A point has no size."""
    assert ContactSettings("soft_finger", pad=(0.02, 0.03)).pad == (0.02, 0.03)
    with pytest.raises(ArgumentError, match="'point' has a pad"):
        ContactSettings("point", pad=(0.02, 0.03))


def test_torsion_needs_friction():
    """A soft finger that does not hold along its face does not hold about its normal either."""
    with pytest.raises(ArgumentError, match=r"torsional_friction 0\.01 m and friction 0"):
        ContactSettings("soft_finger", friction=0.0)
    assert ContactSettings("soft_finger", friction=0.0, torsional_friction=0.0).unilateral
    assert ContactSettings("point", friction=0.0).unilateral
