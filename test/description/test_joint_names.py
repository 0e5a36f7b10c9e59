# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Names of joint types in files."""

import pytest

from robot_dynamics.description.diagnosis import Diagnosis
from robot_dynamics.description.joint_names import (
    ALIASES,
    PARAMETER_UNITS,
    joint_has_axis,
    known_type,
    parameter_names,
)
from robot_dynamics.model.joints import JOINT_TYPES, loop_joint_names, tree_joint_names


def looked_up(name, **parameters):
    """Return the type of a name and its errors."""
    diagnosis = Diagnosis()
    found = known_type(name, parameters, tree_joint_names(), diagnosis, "f:3", "joint 'j'")
    return found, diagnosis.problems


def test_every_alias_closes_loops():
    """Other programs' names of types stand for types of the library."""
    assert set(ALIASES.values()) <= set(loop_joint_names())


def test_types_are_found_with_their_parameters():
    """A helical joint has a pitch and an axis; reversed types are those of their names."""
    found, problems = looked_up("helical", pitch=0.5)
    assert found == JOINT_TYPES["helical"](pitch=0.5)
    assert problems == ()
    assert parameter_names("reversed helical") == ("pitch",)
    assert parameter_names("revolute") == parameter_names("none such") == ()
    assert joint_has_axis("reversed helical")
    assert not joint_has_axis("spherical")


def test_every_parameter_has_a_unit_and_is_asked_for():
    """Whatever types there are: a missing parameter is named, with its unit."""
    for name in JOINT_TYPES:
        for parameter in parameter_names(name):
            diagnosis = Diagnosis()
            assert known_type(name, {}, JOINT_TYPES, diagnosis, "f:3", "joint 'j'") is None
            (problem,) = diagnosis.problems
            assert f"{parameter!r} in {PARAMETER_UNITS[parameter]}" in problem.message


def test_a_misspelt_parameter_is_named_with_the_one_that_was_meant():
    """Both are reported: unknown and missing parameters."""
    diagnosis = Diagnosis()
    known_type("helical", {"pich": 1.0}, JOINT_TYPES, diagnosis, "f:3", "joint 'j'")
    text = " ".join(p.sentence() for p in diagnosis.problems)
    assert "has no parameter 'pich'; did you mean 'pitch'?" in text
    assert "needs the parameter 'pitch'" in text


def test_types_of_users_may_be_functions():
    """The function's message about its arguments is passed on."""
    JOINT_TYPES["test screw"] = lambda lead: JOINT_TYPES["helical"](pitch=lead)
    try:
        diagnosis = Diagnosis()
        known_type("test screw", {}, JOINT_TYPES, diagnosis, "f:3", "joint 'j'")
        assert "lead" in diagnosis.errors[0].sentence()
        assert (
            known_type("test screw", {"lead": 0.1}, JOINT_TYPES, diagnosis, "f:3", "") is not None
        )
    finally:
        del JOINT_TYPES["test screw"]


@pytest.mark.parametrize(
    ("name", "parameters", "message"),
    [
        ("helicl", {}, "did you mean 'helical'"),
        ("reversed helicl", {}, "did you mean 'helical'"),
        ("helical", {}, "joint type 'helical' needs the parameter 'pitch' in m/rad"),
        ("reversed helical", {}, "joint type 'reversed helical' needs the parameter 'pitch'"),
        ("rack_and_pinion", {}, "needs the parameter 'radius' in m."),
        ("helical", {"pitch": float("nan")}, "'pitch' in m/rad is nan, expected a finite number"),
        ("revolute", {"pitch": 1.0}, "'revolute' has no parameter 'pitch'; it takes none"),
        ("reversed planar", {"radius": 1.0}, "'reversed planar' has no parameter 'radius'"),
        ("soft_finger", {}, "unknown joint type 'soft_finger'"),
    ],
)
def test_errors_have_the_place_of_the_element(name, parameters, message):
    """One error each, at the place of the element."""
    found, (problem,) = looked_up(name, **parameters)
    assert found is None
    assert (problem.severity, problem.place) == ("error", "f:3")
    assert message in problem.sentence()
