# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Names of joint types in files."""

import pytest

from robot_dynamics.description.diagnosis import Diagnosis
from robot_dynamics.description.joint_names import (
    ALIASES,
    joint_has_axis,
    known_type,
    parameter_names,
)
from robot_dynamics.model.joints import JOINT_TYPES, loop_joint_names, tree_joint_names


def looked_up(name, **parameters):
    """Return the type of a name and what is wrong with it."""
    diagnosis = Diagnosis()
    found = known_type(name, parameters, tree_joint_names(), diagnosis, "f:3", "joint 'j'")
    return found, diagnosis.problems


def test_every_alias_closes_loops():
    """What other programs call types stands for types of the library."""
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


@pytest.mark.parametrize(
    ("name", "parameters", "message"),
    [
        ("helicl", {}, "did you mean 'helical'"),
        ("reversed helicl", {}, "did you mean 'helical'"),
        ("helical", {}, "pitch"),
        ("helical", {"pitch": float("nan")}, "nan"),
        ("revolute", {"pitch": 1.0}, "takes no arguments"),
        ("soft_finger", {}, "unknown joint type 'soft_finger'"),
    ],
)
def test_what_is_wrong_has_its_place(name, parameters, message):
    """One error each, at the place of the element."""
    found, (problem,) = looked_up(name, **parameters)
    assert found is None
    assert (problem.severity, problem.place) == ("error", "f:3")
    assert message in problem.sentence()
