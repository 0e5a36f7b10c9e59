# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Mimic joints as gears."""

import pytest

from robot_dynamics.description.description import Transmission
from robot_dynamics.description.diagnosis import Diagnosis
from robot_dynamics.description.mimics import mimic_couplings, moved_by_others
from robot_dynamics.description.tree_checks import Places
from robot_dynamics.model import CouplingElement, JointElement


def gears(mimics, types):
    """Return the couplings of mimic joints, and their errors."""
    joints = {name: JointElement(name, kind, "a", "b") for name, kind in types.items()}
    places = Places("f:1", joints={name: f"f:{i}" for i, name in enumerate(types, 2)})
    diagnosis = Diagnosis()
    return mimic_couplings(mimics, joints, places, diagnosis), diagnosis.problems


def test_multiplier_and_offset_are_those_of_the_gear():
    """A chain of mimics is a chain of gears; a finger may mimic a slider."""
    mimics = {"b": ("a", -1.0, 0.5), "c": ("b", 2.0, 0.0)}
    couplings, problems = gears(mimics, {"a": "revolute", "b": "continuous", "c": "prismatic"})
    assert problems == ()
    assert couplings == (
        CouplingElement.gear("b", "b", "a", -1.0, 0.5),
        CouplingElement.gear("c", "c", "b", 2.0),
    )


def test_mimic_joints_have_no_drive():
    """One actuator moves both fingers; a transmission on the second says that it has its own."""
    joints = [JointElement(name, "revolute", "a", "b") for name in "abc"]
    gears = [CouplingElement.gear(name, name, "a", 1.0) for name in "bc"]
    own = Transmission("", "SimpleTransmission", ("c",), ("motor",), (1.0,), (0.0,))
    assert [one.active for one in moved_by_others(joints, gears, [own])] == [None, False, None]


def test_a_multiplier_of_zero_is_doubted():
    """It holds the joint at the offset: hardly intended, but a mechanism."""
    couplings, (problem,) = gears({"b": ("a", 0.0, 0.5)}, {"a": "revolute", "b": "revolute"})
    assert couplings == (CouplingElement.gear("b", "b", "a", 0.0, 0.5),)
    assert (problem.severity, problem.place) == ("warning", "f:3")
    assert "the multiplier is 0, so that joint 'b' is held at 0.5" in problem.message


@pytest.mark.parametrize(
    ("mimics", "severity", "message"),
    [
        ({"b": ("nix", 1.0, 0.0)}, "error", "unknown joint 'nix'"),
        ({"b": ("b", 1.0, 0.0)}, "error", "mimics itself"),
        ({"b": ("a", 1.0, 0.0), "a": ("b", 1.0, 1.0)}, "error", "which in turn mimics"),
        ({"b": ("f", 1.0, 0.0)}, "warning", "joint 'f' is fixed"),
        ({"f": ("b", 1.0, 0.0)}, "warning", "joint 'f' is fixed"),
    ],
)
def test_mimics_that_mean_nothing_are_noted(mimics, severity, message):
    """Each has its place and gives no coupling."""
    couplings, problems = gears(mimics, {"a": "revolute", "b": "revolute", "f": "fixed"})
    assert couplings == ()
    assert {problem.severity for problem in problems} == {severity}
    assert message in problems[0].sentence()
    assert problems[0].place in ("f:2", "f:3", "f:4")


def test_circles_are_told_from_what_hangs_on_them():
    """Joints that mimic a joint of a circle are not part of it, however long the chain."""
    mimics = {f"c{i}": (f"c{i + 1}", 1.0, 0.0) for i in range(3000)}
    mimics["c3000"] = ("c2999", 1.0, 0.0)
    _, problems = gears(mimics, dict.fromkeys([*mimics], "revolute"))
    found = {p.element for p in problems if "in turn mimics" in p.message}
    assert found == {"joint 'c2999'", "joint 'c3000'"}
