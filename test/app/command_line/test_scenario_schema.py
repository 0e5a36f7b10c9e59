# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The reference of scenario files and their JSON schema agree with the decoder."""

import copy
import dataclasses
import math
import typing
from pathlib import Path

import jsonschema
import pytest
import yaml

from robot_dynamics.app.command_line.scenario_schema import (
    _plain_kind,
    json_schema,
    key_paths,
    keys_of,
    reference_page,
)
from robot_dynamics.app.scenarios.robot_folder import SCENARIO, shipped_robots
from robot_dynamics.app.scenarios.scenario import Scenario, shipped_scenarios
from robot_dynamics.description.diagnosis import DescriptionError
from robot_dynamics.description.yaml_document import decode, parse_yaml, read_yaml

ROOT = Path(__file__).resolve().parents[3]
SCHEMA = json_schema()
FILES = [
    *shipped_scenarios().values(),
    *(folder / SCENARIO for folder in shipped_robots().values()),
    *sorted((ROOT / "examples").rglob("*.yaml")),
]


def settings_classes(cls: type = Scenario) -> dict[type, None]:
    """Return the class, and every settings class inside it."""
    found: dict[type, None] = {cls: None}
    ahead = [_plain_kind(kind) for kind in typing.get_type_hints(cls).values()]
    while ahead:
        kind = ahead.pop()
        if dataclasses.is_dataclass(kind):
            found.update(settings_classes(kind))
        ahead += [one for one in typing.get_args(kind) if one is not Ellipsis]
    return found


CLASSES = list(settings_classes())


def has_numbers(kind: object) -> bool:
    """Return whether a value of this type holds numbers of its own."""
    if dataclasses.is_dataclass(kind) or typing.get_origin(kind) is typing.Literal:
        return False
    return kind in (int, float) or any(map(has_numbers, typing.get_args(kind)))


def accepted_by_schema(document: object) -> bool:
    """Return whether the JSON schema accepts a document."""
    return jsonschema.Draft7Validator(SCHEMA).is_valid(document)


def test_the_schema_is_one():
    """The schema keeps the rules of JSON schemas."""
    jsonschema.Draft7Validator.check_schema(SCHEMA)


@pytest.mark.parametrize("file", FILES, ids=lambda file: f"{file.parent.name}/{file.stem}")
def test_shipped_files(file):
    """Every shipped file is accepted as it is written, and with the file it extends."""
    written = parse_yaml(file.read_text(encoding="utf-8"), str(file)).plain()
    for document in (written, read_yaml(file).plain()):
        problems = jsonschema.Draft7Validator(SCHEMA).iter_errors(document)
        assert [f"{list(one.path)}: {one.message}" for one in problems] == []


@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
def test_every_key_has_a_meaning_and_numbers_a_unit(cls):
    """The docstring of each settings class explains every key, and no others."""
    for key in keys_of(cls):
        assert key.meaning.endswith("."), key
        assert not has_numbers(key.kind) or key.unit, f"{key.name}: a number without a unit"


@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
def test_defaults_keep_their_bounds(cls):
    """A default is a value that a file may state: within bounds, of the key's type."""
    for key in keys_of(cls):
        if isinstance(key.default, (int, float)) and not isinstance(key.default, bool):
            assert key.default >= key.bounds.get("minimum", -math.inf), key
            assert key.default > key.bounds.get("above", -math.inf), key
            assert key.default <= key.bounds.get("maximum", math.inf), key


LIFT_BOX = read_yaml(shipped_scenarios()["lift_box"]).plain()

# A path, and a value there that is refused; `None` for the path's last key left out.
MISTAKES = [
    ("plant.engin", "mujoco"),
    ("plant.engine", "bullet"),
    ("plant.object_mass_scale", 0.0),
    ("plant.object_mass_scale", "heavy"),
    ("plant.sensors.sample_periods", {"left": 0}),
    ("control.object.damping_ratio", 0.1),
    ("control.safe_pivot", 1.0),
    ("control.ahead", "yes"),
    ("control.command_delay_periods", 0.5),
    ("cell.gravity", [0.0, -9.81]),
    ("cell.object.urdf", ...),
    ("cell.object", ...),
    ("cell.arms.0.tool", ...),
    ("cell.arms.0.grasp.xyz", [0.0, 0.0, "a"]),
    ("cell.arms", {"left": {}}),
    ("cell", ...),
    ("reference.segments.0.duration_s", -1.0),
    ("reference.force.0.squeeze_n", "much"),
    ("acceptance.engine.closure_error_max", -1e-9),
]


def with_mistake(path: str, value: object) -> dict:
    """Return the scenario lift_box with one value replaced; `...` leaves it out."""
    document = copy.deepcopy(LIFT_BOX)
    *outer, last = path.split(".")
    inner = document
    for word in outer:
        inner = inner[int(word)] if word.isdigit() else inner.setdefault(word, {})
    if value is ...:
        del inner[last]
    else:
        inner[last] = value
    return document


@pytest.mark.parametrize(("path", "value"), MISTAKES)
def test_the_schema_refuses_what_the_decoder_refuses(path, value):
    """Schema and decoder refuse the same: kinds, bounds, unknown keys, missing keys."""
    document = with_mistake(path, value)
    assert accepted_by_schema(LIFT_BOX)
    assert not accepted_by_schema(document)
    with pytest.raises(DescriptionError):
        decode(Scenario, parse_yaml(yaml.safe_dump(document)))


def test_a_file_that_extends_another_may_leave_keys_out():
    """Required keys may be missing beside `extends`; in items of lists, which replace, not."""
    assert accepted_by_schema({"extends": "other.yaml"})
    assert accepted_by_schema({"extends": "other.yaml", "cell": {"object": {"mass": 3.0}}})
    assert not accepted_by_schema({"extends": "other.yaml", "cell": {"arms": [{"name": "left"}]}})
    assert not accepted_by_schema({"cell": {"object": {"mass": 3.0}}})


def test_key_paths():
    """Paths lead to single values, as `--set` takes them."""
    paths = set(key_paths())
    assert {"plant.engine", "control.object.bandwidth", "cell.object.mass", "name"} <= paths
    assert not {"plant", "control.object", "source"} & paths


def test_the_reference_is_current():
    """The page of the documentation equals the generated one."""
    page = ROOT / "docs" / "scenario_reference.md"
    current = page.read_text(encoding="utf-8") == reference_page()
    assert current, "run: robot_dynamics schema --format markdown > docs/scenario_reference.md"
