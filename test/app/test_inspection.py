# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What is in a description."""

import json

import pytest

from robot_dynamics.app.inspection import inspect_file
from robot_dynamics.resources import share_directory

ARM = """<robot name="arm">
  <link name="base"/>
  <link name="tip"><inertial><mass value="2"/>
    <inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="turn" type="revolute"><parent link="base"/><child link="tip"/>
    <axis xyz="0 0 1"/><limit lower="-1" upper="2" effort="30" velocity="4"/></joint>
</robot>
"""


@pytest.fixture
def arm(tmp_path):
    """Return the file of an arm with one joint."""
    path = tmp_path / "arm.urdf"
    path.write_text(ARM)
    return path


def test_tree(arm):
    """The tree names links with their masses and joints with their limits."""
    lines = list(inspect_file(arm).lines())
    assert lines[0].endswith("'arm', 2 links, 1 movable joints, 2 kg")
    assert lines[1] == "  base  [no mass]"
    assert lines[2] == "    tip  [2 kg]  <- turn (revolute) -1 to 2, at most 30 and 4/s"


def test_json(arm):
    """Everything is there as JSON too."""
    found = json.loads(json.dumps(inspect_file(arm).as_json(), allow_nan=False))
    assert found["ok"] is True
    assert found["mass_kg"] == 2.0
    assert found["joints"][0]["effort"] == 30.0


def test_a_refused_file(arm):
    """A file that is refused has all its problems, each with its line, and no tree."""
    arm.write_text(ARM.replace('mass value="2"', 'mass value="-2"').replace("0 0 1", "0 0 0"))
    inspection = inspect_file(arm)
    assert list(inspection.lines()) == []
    assert inspection.as_json()["ok"] is False
    places = {error.split(": ")[0] for error in inspection.errors}
    assert places == {"arm.urdf:3", "arm.urdf:6"}


def test_strict(arm):
    """A file with a warning is refused only if that was asked for."""
    arm.write_text(ARM.replace(' effort="30"', ""))
    lenient, strict = inspect_file(arm), inspect_file(arm, strict=True)
    assert lenient.description is not None
    assert lenient.warnings
    assert strict.description is None
    assert strict.warnings == lenient.warnings


def test_shipped_descriptions():
    """The shipped robot and its box are clean even when warnings count."""
    for name in ("dual_arm.urdf", "box.urdf"):
        inspection = inspect_file(share_directory() / "urdf" / name, strict=True)
        assert (inspection.errors, inspection.warnings) == ((), ())
