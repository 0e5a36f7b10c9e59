# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""When and how hard a surface is touched, as it comes from a YAML file."""

import pytest

from robot_dynamics.control.touch_settings import TouchSettings
from robot_dynamics.description.diagnosis import DescriptionError
from robot_dynamics.description.yaml_document import decode, parse_yaml


def test_a_touch_is_read():
    """Times and forces as written; without an end it lasts."""
    text = "{surface: wall, from_s: 1, force_n: 10, changes: [{time_s: 2, force_n: 20}]}"
    touch = decode(TouchSettings, parse_yaml(text))
    assert (touch.surface, touch.from_s, touch.force_n) == ("wall", 1.0, 10.0)
    assert touch.until_s >= 3600.0
    assert (touch.changes[0].time_s, touch.changes[0].force_n) == (2.0, 20.0)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{surface: a, from_s: 2, until_s: 1}", "expected an end after the beginning"),
        (
            "{surface: a, changes: [{time_s: 1}, {time_s: 1.2}]}",
            r"change 2 .* expected at least 1\.5 s",
        ),
        ("{surface: a, from_s: 1, changes: [{time_s: 0.5}]}", "expected at least 1 s"),
        ("{force_n: 1}", "'surface' must be given"),
    ],
)
def test_mistakes_are_named(text, message):
    """Wrong times are refused: changes do not overlap."""
    with pytest.raises(DescriptionError, match=message):
        decode(TouchSettings, parse_yaml(text))
