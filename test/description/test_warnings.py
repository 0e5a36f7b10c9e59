# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Warnings of descriptions are issued wherever a robot is loaded for a computation or a run."""

from __future__ import annotations

import re
import subprocess
import sys
import warnings

import pytest

import robot_dynamics as rd
from robot_dynamics.app.scenarios.cell import build_system
from robot_dynamics.description import DescriptionWarning
from robot_dynamics.resources import share_directory

_LINK = (
    '<link name="{0}"><inertial><mass value="2"/><inertia ixx="{1}" iyy="{1}" izz="{1}" ixy="0" '
    'ixz="0" iyz="0"/></inertial></link>'
)
_JOINT = (
    '<joint name="j{0}" type="revolute"><parent link="{1}"/><child link="{2}"/>'
    '<origin xyz="0 0 0.2"/><axis xyz="0 1 0"/>'
    '<limit lower="-1" upper="1" effort="{3}" velocity="1"/></joint>'
)


def chain(inertia, efforts=(9, 9, 9, 9, 9)):
    """Return a chain of five links of 2 kg, 0.2 m long, whose inertias can be too large."""
    text = '<robot name="chain"><link name="base"/>'
    before = "base"
    for number, effort in enumerate(efforts):
        name = f"link{number}"
        text += _LINK.format(name, inertia) + _JOINT.format(number, before, name, effort)
        before = name
    return text + "</robot>"


def test_loading_issues_the_first_warnings_and_their_number():
    """Three of five links with inertias 1000 times too large, then how many more there are."""
    with pytest.warns(DescriptionWarning) as found:
        rd.load(chain(10.0))
    texts = [str(one.message) for one in found]
    assert [text.partition("'link")[2][:1] for text in texts[:3]] == ["0", "1", "2"]
    assert "and 2 more" in texts[3]
    assert len(texts) == 4
    assert {one.filename for one in found} == {__file__}


def test_good_descriptions_are_silent():
    """An inertia that fits the size warns of nothing, neither does the description itself."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        rd.load(chain(0.01))
        rd.load_description(chain(10.0))


def test_a_scenario_says_the_same_before_anything_else(tmp_path):
    """The command prints the warning of an arm's inertia once, before a refusal or the run."""
    text = (share_directory() / "urdf" / "dual_arm.urdf").read_text()
    first, after = text.split('<link name="left_link3">')
    own, rest = after.split("</link>", 1)
    large = re.sub(r' (i(?:xx|yy|zz)=")', r" \g<1>9", own)  # tens of kg m^2
    wrong = f'{first}<link name="left_link3">{large}</link>{rest}'
    (tmp_path / "big.urdf").write_text(wrong)
    override = f"cell.robots.0.urdf={tmp_path / 'big.urdf'}"
    place = f"big.urdf:{1 + first.count(chr(10))}: link 'left_link3'"
    with pytest.warns(DescriptionWarning, match=place):
        build_system(rd.load_scenario("lift_box", [override]))
    command = [sys.executable, "-m", "robot_dynamics", "simulate", "lift_box", "--set", override]
    command += ["--set", "safety.effort_fraction=0.01"]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ended.returncode != 0
    lines = [line for line in ended.stderr.splitlines() if line.startswith("robot_dynamics:")]
    assert lines[0].startswith(f"robot_dynamics: warning: {place}")
    assert sum(place in line for line in lines) == 1


def test_drives_of_another_file_replace_efforts_of_zero(tmp_path):
    """Joints with an effort of 0 are not called without a drive if `actuated` has drives."""
    text = chain(0.01, (9, 0, 0, 9, 9))
    alone = rd.load_description(text)
    assert ["no drive" in problem.message for problem in alone.diagnosis.warnings] == [True, True]
    loops = tmp_path / "loops.yaml"
    loops.write_text("actuated: [j0, j1]\n")
    driven = rd.load_description(text, loops)
    (warning,) = driven.diagnosis.warnings
    assert warning.element == "joint 'j1'"
    assert "infinite" in warning.message
    assert [joint.active for joint in driven.mechanism.joints] == [True, True, *[False] * 3]
    loops.write_text("actuated: [j0]\n")
    assert rd.load_description(text, loops, strict=True).diagnosis.warnings == ()
    with pytest.raises(rd.DescriptionError, match="no drive"):
        rd.load_description(text, strict=True)
