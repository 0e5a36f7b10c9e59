# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Single values changed from the command line."""

from dataclasses import dataclass, field

import pytest

from robot_dynamics.app.scenario import with_overrides
from robot_dynamics.description.diagnosis import DescriptionError
from robot_dynamics.description.yaml_document import decode, parse_yaml
from robot_dynamics.errors import ArgumentError

TEXT = "{plant: {seed: 1, noise: {force: 0.0}}, arms: [{name: a}, {name: b}]}"


@dataclass(frozen=True)
class _Noise:
    """A part of what the text says."""

    force: float = 0.0


@dataclass(frozen=True)
class _Plant:
    """Another."""

    seed: int = 0
    noise: _Noise = field(default_factory=_Noise)


@dataclass(frozen=True)
class _Arm:
    """An entry of its list."""

    name: str


@dataclass(frozen=True)
class _Document:
    """All of it."""

    plant: _Plant
    arms: tuple[_Arm, ...] = ()


@pytest.mark.parametrize(
    ("overrides", "expected"),
    [
        (["plant.seed=2"], {"plant": {"seed": 2, "noise": {"force": 0.0}}}),
        (["plant.seed=2", "plant.seed=3"], {"plant": {"seed": 3, "noise": {"force": 0.0}}}),
        (["plant.noise={}"], {"plant": {"seed": 1, "noise": {}}}),
        (["arms.1.name=c"], {"arms": [{"name": "a"}, {"name": "c"}]}),
        (["arms[1].name=c"], {"arms": [{"name": "a"}, {"name": "c"}]}),
        (["new.key=[1, 2]"], {"new": {"key": [1, 2]}}),
        (["name=a=b"], {"name": "a=b"}),
    ],
)
def test_values_are_replaced(overrides, expected):
    """Keys lead into mappings and lists, values are YAML, and the last word counts."""
    base = parse_yaml(TEXT)
    before = base.plain()
    assert with_overrides(base, overrides).plain() == {**before, **expected}
    assert base.plain() == before


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("plant.seed", "--set plant.seed: expected KEY=VALUE"),
        ("=3", "--set =3: expected KEY=VALUE"),
        ("plant..seed=3", "expected KEY=VALUE"),
        ("arms.2.name=c", "arms has 2 entries, expected a number from 0 to 1"),
        ("arms.b.name=c", "arms has 2 entries, expected a number from 0 to 1"),
        ("plant.seed=[1", "is not YAML"),
    ],
)
def test_nonsense_is_refused(override, message):
    """An override without key or value, or beyond a list, is refused and named."""
    with pytest.raises(DescriptionError) as raised:
        with_overrides(parse_yaml(TEXT), [override])
    assert message in str(raised.value)


@pytest.mark.parametrize("overrides", ["plant.seed=1", [1], None])
def test_overrides_are_a_list_of_texts(overrides):
    """What is something else is refused for what it is."""
    with pytest.raises(ArgumentError, match="expected a list of"):
        with_overrides(parse_yaml(TEXT), overrides)


@pytest.mark.parametrize(
    ("override", "place"),
    [
        ("plant.seed=x", "--set plant.seed=x: plant.seed"),
        ("plant.noise={force: x}", "--set plant.noise={force: x}: plant.noise.force"),
        ("arms=[{name: a}, {name: [1]}]", "--set arms=[{name: a}, {name: [1]}]: arms[1].name"),
    ],
)
def test_places_in_overrides_are_keys(override, place):
    """What is inside of an override is named by all keys that lead there, and by no line."""
    document = with_overrides(parse_yaml(TEXT, "f.yaml"), [override])
    with pytest.raises(DescriptionError) as raised:
        decode(_Document, document)
    assert str(raised.value).startswith(place + ": expected ")


def test_what_overrides_leave_alone_keeps_its_place():
    """Its line in the file."""
    document = with_overrides(parse_yaml("plant:\n  seed: x\narms: []", "f.yaml"), ["plant.a=1"])
    assert document["plant"]["seed"].place == "f.yaml:2"
