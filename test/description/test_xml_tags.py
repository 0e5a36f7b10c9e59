# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Attributes read strictly, with the line of their tag."""

import pytest

from robot_dynamics.description.diagnosis import Diagnosis
from robot_dynamics.description.xml_source import parse_xml
from robot_dynamics.description.xml_tags import Tag


def tag_of(text):
    """Return the tag of a document."""
    root, lines = parse_xml(f"<robot>{text}</robot>".encode(), "f.urdf", Diagnosis())
    return Tag(root[0], "f.urdf", lines, Diagnosis(), "joint 'a'")


def problem_of(tag):
    """Return the only sentence that was noted."""
    (problem,) = tag.diagnosis.problems
    return problem.sentence()


def test_numbers_are_read():
    """Numbers are separated by any white space and may have exponents."""
    assert tag_of('<origin xyz="1 -2.5e-3\n .5"/>').numbers("xyz", 3) == [1.0, -0.0025, 0.5]
    assert tag_of("<origin/>").numbers("xyz", 3, (0, 0, 1)) == [0, 0, 1]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1 2", "xyz expects 3 numbers, found 2: '1 2'"),
        ("1 2 3 4", "xyz expects 3 numbers, found 4"),
        ("1 2 x", "xyz has 'x', expected a number"),
        ("1 2 nan", "xyz has the number 'nan', expected a finite one"),
        ("1 2 -inf", "xyz has the number '-inf', expected a finite one"),
        ("1 2 1e999", "xyz has the number '1e999', expected a finite one"),
        ("1_0 2 3", "xyz has '1_0', expected a number"),
        ("1,0 2 3", "xyz has '1,0', expected a number; numbers are separated by spaces"),
        ("${a} 2 3", "xyz has '\\${a}', expected a number; this is xacro"),
        ("", "xyz expects 3 numbers, found 0"),
        ("٣ 2 3", "xyz has '٣', expected a number"),
    ],
)
def test_bad_numbers_are_noted(text, message):
    """Wrong counts, words, and numbers that are not finite are errors; the reading goes on."""
    tag = tag_of(f'<origin\n  xyz="{text}"/>')
    assert tag.numbers("xyz", 3) == [0.0, 0.0, 0.0]
    import re

    assert re.match(f"f.urdf:1: joint 'a': {message}", problem_of(tag))


def test_missing_things_are_noted():
    """A missing attribute and a second copy of a single tag are errors."""
    tag = tag_of("<origin/>")
    tag.text("link")
    assert problem_of(tag) == "f.urdf:1: joint 'a': <origin> has no link."
    tag = tag_of("<origin>\n<a/>\n<a b='1'/></origin>")
    assert tag.child("a") is not None
    assert problem_of(tag) == "f.urdf:3: joint 'a': <a> is given twice in one <origin>."
    assert tag.diagnosis.error_count == 1
    tag = tag_of("<origin>\n<a b='1'/>\n<a b='1'/></origin>")
    assert tag.child("a") is not None
    assert "<a> is given twice in one <origin>, both alike" in problem_of(tag)
    assert tag.diagnosis.error_count == 0


def test_misspelt_names_are_noted():
    """Attributes and tags close to a known name are warned of; others are left alone."""
    tag = tag_of('<origin rpi="0 0 0" mine="1"><orign/><other/></origin>')
    tag.check_attributes("rpy", "xyz")
    tag.check_children("origin")
    first, second = tag.diagnosis.warnings
    assert "no attribute 'rpi', it is ignored; did you mean 'rpy'?" in first.sentence()
    assert "<orign> is not known and is ignored; did you mean <origin>?" in second.sentence()


def test_tags_of_other_namespaces_are_left_out():
    """Children in a foreign namespace belong to other programs."""
    tag = tag_of('<origin xmlns:x="urn:x"><x:a/><a/></origin>')
    assert [child.name for child in tag.children()] == ["a"]
