# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Settings of a work cell are decoded and checked, and have defaults."""

from __future__ import annotations

import pytest

from robot_dynamics.description.diagnosis import DescriptionError
from robot_dynamics.description.yaml_document import decode, parse_yaml
from robot_dynamics.manipulation.settings import CellSettings

CELL = """
robots:
  - {urdf: a.urdf, prefix: left_, xyz: [0, 0.5, 0]}
arms:
  - {name: left, tool: left_tool, posture: [0, 1, 2], grasp: {xyz: [0, 0.1, 0]}}
object: {urdf: box.urdf, xyz: [0.5, 0, 0.4]}
"""


def decoded(text):
    return decode(CellSettings, parse_yaml(text, "cell.yaml"))


def test_a_cell_is_read_with_its_defaults():
    """Names, numbers and poses as written; gravity, share, rotations and mass by default."""
    cell = decoded(CELL)
    (robot,), (arm,) = cell.robots, cell.arms
    assert (robot.prefix, robot.xyz, robot.rpy, robot.locked) == (
        "left_", (0.0, 0.5, 0.0), (0.0, 0.0, 0.0), {},
    )  # fmt: skip
    assert (arm.tool, arm.posture, arm.load_share) == ("left_tool", (0.0, 1.0, 2.0), 0.5)
    assert (arm.grasp.xyz, arm.grasp.rpy) == ((0.0, 0.1, 0.0), (0.0, 0.0, 0.0))
    assert (cell.object.mass, cell.gravity) == (None, (0.0, 0.0, -9.81))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("tool: left_tool", "tol: left_tool", "did you mean 'tool'"),
        ("posture: [0, 1, 2]", "posture: [0, x, 2]", "cell.yaml:5"),
        ("xyz: [0.5, 0, 0.4]", "xyz: [0.5, 0]", "cell.yaml:6"),
        ("urdf: box.urdf, ", "", "urdf"),
        ("posture:", "load_share: 1.5, posture:", "load_share"),
        ("urdf: box.urdf", "mass: -1.0, urdf: box.urdf", "mass"),
    ],
)
def test_mistakes_are_placed(old, new, message):
    """A wrong key or value is refused with its line, or its name, and the expected value."""
    with pytest.raises(DescriptionError, match=message):
        decoded(CELL.replace(old, new))
