# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Freedoms of loop joints in files."""

from __future__ import annotations

from dataclasses import replace

import pytest

from robot_dynamics.description.diagnosis import Diagnosis
from robot_dynamics.description.freedoms import check_freedoms, freedoms_as_yaml, loop_types
from robot_dynamics.model import Limits, LoopElement, joint_type

PLAIN = LoopElement("l", "cylindrical", "a", "b")


class Entry:
    """A loop joint of a file, with its place."""

    place = "f:1"

    def __init__(self, loop):
        self.__dict__.update(vars(loop))


def problems(loop, kind):
    diagnosis = Diagnosis()
    check_freedoms(Entry(loop), kind, diagnosis, "loop joint 'l'")
    return [problem.message for problem in diagnosis.problems]


def test_a_floating_joint_is_a_type_with_a_force_alone():
    """Whatever acts makes it one: a spring, a damper, a drive, a limit of position."""
    assert "floating" not in loop_types(PLAIN)
    assert "floating" not in loop_types(replace(PLAIN, rest=1.0, friction=1.0))
    assert "floating" not in loop_types(replace(PLAIN, limits=Limits(effort=1.0)))
    limit = {"limits": (Limits(), Limits(upper=1.0))}
    for force in ({"stiffness": (0.0, 1.0)}, {"damping": 1.0}, {"active": True}, limit):
        assert "floating" in loop_types(replace(PLAIN, **force))


@pytest.mark.parametrize("name", ["damping", "friction", "stiffness", "rest", "active", "limits"])
def test_values_are_counted(name):
    """A list has as many values as the joint has freedoms."""
    kind = joint_type("cylindrical")
    assert problems(replace(PLAIN, **{name: (1.0, 1.0)}), kind) == []
    (message,) = problems(replace(PLAIN, **{name: (1.0,)}), kind)
    assert message.startswith(f"{name} has 1 values, expected 2: a cylindrical joint")


def test_nothing_acts_in_a_weld():
    """Forces without a freedom are mistakes; friction and limits of a weld say nothing."""
    weld = joint_type("fixed")
    assert problems(replace(PLAIN, stiffness=1.0), weld) == [
        "stiffness is given, expected none: a fixed joint does not move"
    ]
    assert problems(replace(PLAIN, friction=1.0), weld) == []
    assert problems(replace(PLAIN, stiffness=1.0), None) == []


def test_only_what_is_said_is_written():
    """Defaults and infinite limits are left out."""
    assert freedoms_as_yaml(PLAIN) == {}
    loop = replace(PLAIN, active=(True, False), limits=Limits(-1.0), damping=2)
    assert freedoms_as_yaml(loop) == {
        "limits": {"lower": -1.0}, "damping": 2.0, "active": [True, False],
    }  # fmt: skip
