# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Decoding documents into dataclasses."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

import pytest

from robot_dynamics.description.diagnosis import DescriptionError
from robot_dynamics.description.yaml_document import decode, parse_yaml, read_yaml
from robot_dynamics.errors import ArgumentError


@dataclass(frozen=True)
class Grasp:
    """A nested part."""

    link: str
    xyz: tuple[float, float, float] = (0.0, 0.0, 0.0)


@dataclass(frozen=True)
class Scenario:
    """Every kind of field."""

    name: str
    mass: float = field(metadata={"unit": "kg", "above": 0.0})
    grasps: dict[str, Grasp] = field(default_factory=dict)
    mode: Literal["lockstep", "wall"] = "lockstep"
    steps: int = 10
    strict: bool = False
    knots: tuple[float, ...] = ()
    fraction: float = field(default=0.5, metadata={"minimum": 0.0, "maximum": 1.0})
    limit: float = field(default=1.0, metadata={"infinite": True})
    tool: str | None = None
    arms: tuple[Grasp, ...] = ()
    squeeze: float | tuple[float, ...] = 0.0
    extra: Any = None
    model: str = field(default="", metadata={"path": True})
    place: str = field(default="", metadata={"place": True})

    def __post_init__(self) -> None:
        if self.steps == 13:
            raise ArgumentError("13 steps are not allowed.")


GOOD = "name: lift\nmass: 8\n"


def problems(text):
    """Return the sentences that a document is refused with."""
    with pytest.raises(DescriptionError) as caught:
        decode(Scenario, parse_yaml(text, "f.yaml"))
    return [problem.sentence() for problem in caught.value.problems]


def test_a_good_document_becomes_the_dataclass():
    """All kinds of fields are decoded, defaults fill in, and the place is known."""
    text = GOOD + (
        "grasps: {y: {link: tool, xyz: [0, 1.5, -1e-3]}}\nmode: wall\nknots: [1, 2]\ntool: ~\n"
        "arms:\n- link: left\n- link: right\nsqueeze: [0, 60]\nextra: {a: [1]}\nlimit: .inf\n"
    )
    scenario = decode(Scenario, parse_yaml(text, "f.yaml"))
    assert scenario == Scenario(
        "lift",
        8.0,
        {"y": Grasp("tool", (0.0, 1.5, -0.001))},
        "wall",
        knots=(1.0, 2.0),
        arms=(Grasp("left"), Grasp("right")),
        squeeze=(0.0, 60.0),
        extra={"a": [1]},
        limit=float("inf"),
        place="f.yaml:1",
    )
    assert type(scenario.mass) is float


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("modee: wall", "f.yaml:3: unknown key 'modee'; did you mean 'mode'?"),
        ("mode: wal", "f.yaml:3: mode: unknown value 'wal'; did you mean 'wall'?"),
        ("steps: 1.5", "f.yaml:3: steps: expected a whole number, not '1.5'."),
        ("steps: true", "f.yaml:3: steps: expected a whole number, not 'true'."),
        (
            "strict: yes",
            "f.yaml:3: strict: expected true or false, not 'yes'; write true or false.",
        ),
        (
            "fraction: '1'",
            "f.yaml:3: fraction: expected a number, not '1'; numbers are written without quotes.",
        ),
        ("fraction: 1.5", "f.yaml:3: fraction: expected at most 1, not 1.5."),
        ("fraction: .nan", "f.yaml:3: fraction: expected a finite number, not .nan."),
        ("limit: .nan", "f.yaml:3: limit: expected a finite number, not .nan."),
        ("fraction: 1e999", "f.yaml:3: fraction: expected a finite number, not 1e999."),
        ("fraction:", "f.yaml:3: fraction: expected a number, not nothing."),
        ("grasps: {a: {}}", "f.yaml:3: grasps.a: key 'link' must be given."),
        (
            "grasps: {a: {link: 7}}",
            "f.yaml:3: grasps.a.link: expected a text, not '7'; put it in quotes: \"7\".",
        ),
        (
            "grasps: {a: {link: b, xyz: [1, 2]}}",
            "f.yaml:3: grasps.a.xyz: expected 3 values, found 2.",
        ),
        (
            "grasps: {a: {link: b, xyz: 1}}",
            "f.yaml:3: grasps.a.xyz: expected a list of 3 values, not '1'.",
        ),
        ("grasps: [1]", "f.yaml:3: grasps: expected a mapping (name: value), not a list."),
        ("arms: [1]", "f.yaml:3: arms[0]: expected a mapping (key: value), not '1'."),
        ("squeeze: {}", "f.yaml:3: squeeze: expected a number or a list, not a mapping."),
        ("squeeze: [a]", "f.yaml:3: squeeze[0]: expected a number, not 'a'."),
        ("steps: 13", "f.yaml:1: 13 steps are not allowed."),
        ("place: here", "f.yaml:3: unknown key 'place'; expected one of"),
        (
            "model: package://no_such/x.urdf",
            "f.yaml:3: package://no_such/x.urdf: there is no package",
        ),
    ],
)
def test_each_mistake_is_one_located_sentence(line, message):
    """The sentence names the line, the key, the value and the expected one."""
    (sentence,) = problems(GOOD + line + "\n")
    assert sentence.startswith(message)


def test_all_problems_are_reported_at_once():
    """Typos, missing keys and values out of bounds are listed together, in the file's order."""
    sentences = problems("nme: x\nmass: -1\nsteps: a\n")
    assert [sentence.split(": ")[0] for sentence in sentences] == ["f.yaml:1"] * 2 + [
        "f.yaml:2",
        "f.yaml:3",
    ]
    assert "expected more than 0 kg, not -1" in sentences[2]


def test_paths_are_relative_to_the_file_that_states_them(tmp_path):
    """A file keeps its meaning when it is extended from another folder."""
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "base.yaml").write_text(GOOD + "model: arm.urdf\n")
    (tmp_path / "over.yaml").write_text("extends: sub/base.yaml\nmass: 9\n")
    scenario = decode(Scenario, read_yaml(tmp_path / "over.yaml"))
    assert scenario.model == str(tmp_path / "sub" / "arm.urdf")
    assert scenario.mass == 9.0
