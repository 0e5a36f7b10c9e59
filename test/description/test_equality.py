# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Equality of what holds arrays."""

from dataclasses import dataclass, field, replace

import numpy as np
import pytest
from description.urdf_texts import ARM

from robot_dynamics.description import read_urdf
from robot_dynamics.description.description import Shape
from robot_dynamics.description.equality import same
from robot_dynamics.model import pose

SHAPE = Shape("a", "visual", "box", pose((1.0, 2.0, 3.0)), (1.0, 1.0, 1.0))


def test_descriptions_read_twice_are_equal():
    """Equal texts give equal descriptions, wherever their elements stand."""
    one = read_urdf(ARM)
    assert one == read_urdf(ARM)
    assert one == read_urdf(ARM.replace("\n", "\n\n"))
    assert one != read_urdf(ARM.replace('xyz="0.2 0 0"', 'xyz="0.3 0 0"'))
    assert one != replace(one, actuated=("elbow",))
    assert one != 7


def test_shapes_are_compared_by_their_poses():
    """A single entry of the pose tells them apart."""
    assert replace(SHAPE, pose=SHAPE.pose.copy()) == SHAPE
    assert replace(SHAPE, pose=pose((1.0, 2.0, 3.5))) != SHAPE
    assert replace(SHAPE, link="b") != SHAPE


@dataclass
class Sample:
    """Any dataclass."""

    values: object
    note: str = field(default="", compare=False)


@pytest.mark.parametrize(
    ("one", "other", "equal"),
    [
        (np.eye(2), np.eye(2), True),
        (np.eye(2), np.eye(3), False),
        (np.eye(2), None, False),
        ((np.eye(2), 1), (np.eye(2), 1), True),
        ((1, 2), (1, 2, 3), False),
        ((1, 2), [1, 2], False),
        ({"a": np.ones(2)}, {"a": np.ones(2)}, True),
        ({"a": np.ones(2)}, {"a": np.zeros(2)}, False),
        ({"a": 1}, {"b": 1}, False),
        (Sample(np.ones(2), "x"), Sample(np.ones(2), "y"), True),
        (Sample(np.ones(2)), Sample(np.zeros(2)), False),
    ],
)
def test_values_of_all_kinds(one, other, equal):
    """Arrays wherever they are; fields that are not compared do not count."""
    assert same(one, other) is equal
    assert same(other, one) is equal
