# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Joint types by name."""

import re
from pathlib import Path

import pytest

from robot_dynamics.errors import RobotDynamicsError, UnknownNameError
from robot_dynamics.model.joints import (
    JOINT_TYPES,
    Helical,
    PointOnLine,
    Reversed,
    Revolute,
    joint_type,
    loop_joint_names,
    register,
    tree_joint_names,
    verify,
)

DOCUMENT = Path(__file__).parents[3] / "docs" / "joint_types.md"


@pytest.fixture(autouse=True)
def registry(monkeypatch):
    """Leave the names as they were."""
    monkeypatch.setattr("robot_dynamics.model.joints.registry.JOINT_TYPES", dict(JOINT_TYPES))


def test_names_and_parameters_make_a_type():
    """Synonyms are equal types, and parameters go to the type."""
    assert joint_type("continuous") == joint_type("revolute") == Revolute()
    assert joint_type("sphere_in_cylinder") == PointOnLine()
    assert joint_type("helical", pitch=0.1) == Helical(0.1)
    assert joint_type("reversed revolute") == Reversed(Revolute())


def test_errors_of_type_names_suggest_a_name_and_state_the_place():
    """A misspelt type gets the nearest name, also behind `reversed`, and its place."""
    with pytest.raises(UnknownNameError, match=r"arm\.urdf:3.*'revolute'"):
        joint_type("revolut", "arm.urdf:3")
    with pytest.raises(UnknownNameError, match="'prismatic'"):
        joint_type("reversed prismatik")


@pytest.mark.parametrize(
    ("name", "parameters", "message"),
    [
        ("helical", {}, "joint type 'helical': .*'pitch'"),
        ("revolute", {"pitch": 1.0}, "joint type 'revolute': .*argument"),
        ("helical", {"pitch": float("inf")}, "joint type 'helical': the pitch .* is inf"),
        ("rack_and_pinion", {"radius": 0.0}, "joint type 'rack_and_pinion': the radius"),
    ],
)
def test_parameters_are_checked(name, parameters, message):
    """Missing, unknown and senseless parameters are refused with the place and the type."""
    with pytest.raises(RobotDynamicsError, match="joint 'j': " + message):
        joint_type(name, "joint 'j'", **parameters)


def test_contacts_only_close_loops_and_free_joints_only_carry():
    """Contacts close loops but carry nothing; a free joint carries but closes nothing."""
    carrying, closing = tree_joint_names(), loop_joint_names()
    assert "floating" in carrying
    assert "floating" not in closing
    assert "soft_finger" in closing
    assert "soft_finger" not in carrying
    assert {"revolute", "fixed", "rack_and_pinion", "universal"} <= {*carrying} & {*closing}
    assert {*carrying} | {*closing} == {*JOINT_TYPES}


def test_users_add_types():
    """A registered class is found by its name, and no name is taken twice or by surprise."""

    class Mine(Revolute):
        name = "mine"

    register("mine", Mine)
    register("mine", Mine)
    assert type(joint_type("mine")) is Mine
    with pytest.raises(RobotDynamicsError, match="'mine'"):
        register("mine", Revolute)
    for bad in ("", "  ", "reversed mine"):
        with pytest.raises(RobotDynamicsError, match="joint type name"):
            register(bad, Mine)


def test_the_documented_example_works():
    """The worked example runs as printed and verifies."""
    text = DOCUMENT.read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)
    assert blocks
    names: dict = {"__name__": "worked_example"}
    for block in blocks:
        exec(compile(block, "joint_types.md", "exec"), names)
    assert verify(names["CircularTranslation"](0.3)) == []


def test_every_type_is_documented():
    """Each name stands in the document's tables."""
    text = DOCUMENT.read_text(encoding="utf-8")
    assert [name for name in JOINT_TYPES if f"`{name}`" not in text] == []
