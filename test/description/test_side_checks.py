# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Left and right are compared where names differ in the side alone."""

from __future__ import annotations

import re

import pytest

from robot_dynamics.description.urdf import read_urdf
from robot_dynamics.resources import share_directory

TEXT = (share_directory() / "urdf" / "dual_arm.urdf").read_text()


def changed(element, attribute, factor, count=1):
    """Return the two arms with numbers of an element of the right multiplied."""
    begin = TEXT.index(f'name="{element}"')
    kind = "joint" if "joint" in element else "link"
    end = TEXT.index(f"</{kind}>", begin)
    part, found = re.subn(
        rf'\b{attribute}="([^"]+)"',
        lambda number: f'{number[0].partition("=")[0]}="{factor * float(number[1]):.9g}"',
        TEXT[begin:end],
    )
    assert found == count
    return TEXT[:begin] + part + TEXT[end:]


def test_equal_sides_are_silent():
    """The two arms of the shipped description are mirrored."""
    assert read_urdf(TEXT).diagnosis.warnings == ()


@pytest.mark.parametrize(
    ("element", "attribute", "count", "quantity"),
    [
        ("right_joint3", "effort", 1, r"limit of effort .* N m"),
        ("right_joint3", "velocity", 1, r"limit of velocity .* rad/s"),
        ("right_link4", "i[xyz]{2}", 6, "sum of principal moments .* kg m"),
    ],
)
@pytest.mark.parametrize(("factor", "warned"), [(1.19, False), (1.26, True), (0.81, False)])
def test_both_sides_of_what_is_alike(element, attribute, count, quantity, factor, warned):
    """A fifth is alike, more is named with its place; larger by 19 % is less than a fifth."""
    found = read_urdf(changed(element, attribute, factor, count), source="two.urdf")
    sentences = [problem.sentence() for problem in found.diagnosis.warnings]
    line = TEXT[: TEXT.index(f'name="{element}"')].count("\n") + 1
    expected = (
        rf"two.urdf:{line}: \w+ '{element}': its {quantity}.*'{element.replace('right', 'left')}'"
    )
    assert bool(warned) == any(re.match(expected, sentence) for sentence in sentences)


def test_the_first_difference_and_their_number():
    """An arm whose drives are all halved is one warning."""
    begin = TEXT.index('<joint name="right_joint1"')
    halved = TEXT[:begin] + re.sub(
        r'effort="(\d+)"', lambda found: f'effort="{0.5 * float(found[1]):g}"', TEXT[begin:]
    )
    (warning,) = read_urdf(halved).diagnosis.warnings
    assert warning.element == "joint 'right_joint1'"
    assert "; and 6 further differences" in warning.message


@pytest.mark.parametrize(
    ("left", "right", "counted"),
    [
        ("l_arm", "r_arm", True),
        ("arm_L", "arm_R", True),
        ("LeftArm", "RightArm", True),
        ("arm_left_2", "arm_right_2", True),
        ("cleft", "cright", False),  # within a word
        ("small", "smarl", False),
    ],
)
def test_names_of_sides(left, right, counted):
    """Whole words and single letters between underscores are sides, parts of words are not."""
    link = (
        '<link name="{0}"><inertial><mass value="{1}"/><inertia ixx="0.01" iyy="0.01" izz="0.01" '
        'ixy="0" ixz="0" iyz="0"/></inertial></link><joint name="of_{0}" type="continuous">'
        '<parent link="base"/><child link="{0}"/></joint>'
    )
    text = (
        f'<robot name="x"><link name="base"/>{link.format(left, 1)}{link.format(right, 3)}</robot>'
    )
    said = any("equal sides" in one.message for one in read_urdf(text).diagnosis.warnings)
    assert said is counted
