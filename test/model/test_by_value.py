# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Elements and models are equal if all their numbers are."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from model.mechanisms import arm, grasp

from robot_dynamics.model import JointElement, LinkElement, build, pose


def test_mechanisms_are_equal_by_value():
    """Two built alike are equal and have one hash; a changed number makes a difference."""
    one, other = arm().with_loops([grasp()]), arm().with_loops([grasp()])
    assert one == other
    assert hash(one) == hash(other)
    moved = replace(grasp(), successor_pose=pose((0.2, 0.0, 1e-9)))
    assert one != arm().with_loops([moved])
    assert one != arm()
    assert len({one, other, arm()}) == 2


def test_elements_are_equal_by_value():
    """Arrays and mappings count by their contents, in any order; other types differ."""
    screw = JointElement("s", "helical", "a", "b", parameters={"pitch": 0.1, "other": 1.0})
    same = replace(screw, placement=np.eye(4), parameters={"other": 1.0, "pitch": 0.1})
    assert screw == same
    assert hash(screw) == hash(same)
    assert screw != replace(screw, parameters={"pitch": 0.1})
    assert screw != replace(screw, axis=(0.0, 1.0, 0.0))
    assert LinkElement("a", inertia=np.eye(3)) != LinkElement("a")
    assert LinkElement("a", inertia=np.zeros((3, 3))) == LinkElement("a")
    assert screw != "s"
    assert grasp() != screw


def test_models_are_equal_by_value():
    """So are the models of equal mechanisms."""
    one, other = build(arm().with_loops([grasp()])), build(arm().with_loops([grasp()]))
    assert one == other
    assert hash(one) == hash(other)
    assert one != one.replace(gravity=(0.0, 0.0, -1.6))
