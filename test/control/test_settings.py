# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Settings of control as they come from a YAML file."""

from __future__ import annotations

from dataclasses import fields, is_dataclass

import pytest

from robot_dynamics.control.settings import (
    ControlSettings,
    ReferenceSettings,
    SafetySettings,
    SegmentSettings,
)
from robot_dynamics.description.diagnosis import DescriptionError
from robot_dynamics.description.yaml_document import decode, parse_yaml

REFERENCE = """
segments:
- {duration_s: 2.0, move: [0, 0, 0.4]}
- {duration_s: 1.5, rotate: {axis: [0, 0, 1], degrees: 90}}
- {duration_s: 1.5, rotate: {axis: [1, 0, 0], degrees: -90, about: object}}
- {duration_s: 0.5}
force:
- {time_s: 0.0, squeeze_n: 60}
- {time_s: 3.0, squeeze_n: 20, duration_s: 1.0}
"""


def problems(cls: type, text: str) -> str:
    """Return the message about a document."""
    with pytest.raises(DescriptionError) as caught:
        decode(cls, parse_yaml(text, "settings.yaml"))
    return str(caught.value)


def numbers_of(settings):
    """Return all numbers of settings, and of settings in them, with the texts of their fields."""
    for f in fields(settings):
        value = getattr(settings, f.name)
        if is_dataclass(value):
            yield from numbers_of(value)
        elif isinstance(value, float) and f.metadata:
            yield f.metadata, value


@pytest.mark.parametrize("cls", [ControlSettings, SafetySettings])
def test_every_default_is_in_its_bounds(cls):
    """Numbers say their unit; defaults are between the bounds that a file is held to."""
    for metadata, value in numbers_of(cls()):
        assert "unit" in metadata
        assert value >= metadata.get("minimum", metadata.get("above", value))
        assert value <= metadata.get("maximum", metadata.get("below", value))


@pytest.mark.parametrize("law", ["jointed", "gravity"])
def test_laws_that_take_no_pose_from_a_sensor_refuse_one(law):
    """A setting that would have no effect is told, not ignored."""
    assert "expected object_pose 'joints'" in problems(
        ControlSettings, f"{{law: {law}, object_pose: sensor}}"
    )


@pytest.mark.parametrize("cls", [ControlSettings, ReferenceSettings, SafetySettings])
def test_everything_has_a_default(cls):
    """An empty mapping is a complete document."""
    assert decode(cls, parse_yaml("{}", "settings.yaml")) == cls()


def test_a_reference_is_short():
    """The shipped kind of reference decodes into the stated values."""
    reference = decode(ReferenceSettings, parse_yaml(REFERENCE, "settings.yaml"))
    assert reference.segments[0] == SegmentSettings(2.0, move=(0.0, 0.0, 0.4))
    assert reference.segments[2].rotate.about == "object"
    assert [step.squeeze_n for step in reference.force] == [60.0, 20.0]
    assert reference.time_law == "quintic"


def test_nested_settings_and_the_period():
    """Servos are given by bandwidth; the period follows from the rate."""
    text = "rate_hz: 250\nobject: {bandwidth: 20, integral: 0}\n"
    settings = decode(ControlSettings, parse_yaml(text, "settings.yaml"))
    assert settings.object.bandwidth == 20.0
    assert settings.object.damping_ratio == 1.0
    assert settings.period == 0.004


@pytest.mark.parametrize(
    ("cls", "text", "expected"),
    [
        (ControlSettings, "object: {bandwith: 3}", "bandwidth"),
        (ControlSettings, "rate_hz: 0", "Hz"),
        (ControlSettings, "command_delay_periods: 0.5", "whole number"),
        (ControlSettings, "internal_force: {basis: mixed}", "transmitted"),
        (SafetySettings, "fallback: holt", "hold"),
        (SafetySettings, "effort_fraction: 1.2", "at most 1"),
        (SafetySettings, "closure_warning_m: 0.1", "above closure_limit_m"),
        (SafetySettings, "tracking_limit_rad: 10", "3.1416 rad, not 10; 10 degrees are 0.174533"),
        (SafetySettings, "{closure_limit_rad: 3.15}", "at most 3.1416 rad"),
        (ControlSettings, "start: {rotation_tolerance_rad: 3.15}", "at most 3.1416 rad"),
        (ReferenceSettings, "segments: [{duration_s: -1}]", "more than 0 s"),
        (
            ReferenceSettings,
            "segments: [{duration_s: 1, rotate: {axis: [0, 0, 0], degrees: 9}}]",
            "axis of a rotation is zero",
        ),
        (
            ReferenceSettings,
            "segments: [{duration_s: 1, move: [0, 0, 1], move_to: [0, 0, 1]}]",
            "both 'move' and 'move_to'",
        ),
        (ReferenceSettings, "force: [{time_s: 1}]", "either 'squeeze_n' or 'wrench'"),
    ],
)
def test_a_mistake_is_named_with_its_line(cls, text, expected):
    """Each mistake gives one sentence with the place and the expected value."""
    message = problems(cls, text)
    assert "settings.yaml:1" in message
    assert expected in message
