# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""YAML with places: scalars as YAML 1.2 reads them, limits, `extends`."""

import pytest

from robot_dynamics.description.diagnosis import DescriptionError
from robot_dynamics.description.yaml_nodes import MAX_BYTES, parse_yaml, read_yaml


def test_values_know_their_places():
    """Every value knows its file, line, column and the keys that lead to it."""
    node = parse_yaml("a:\n  b: [1,\n    2]\n", "f.yaml")
    second = node["a"]["b"][1]
    assert (second.place, second.column, second.path) == ("f.yaml:3", 5, "a.b[1]")
    assert node.plain() == {"a": {"b": [1, 2]}}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("y", "y"),
        ("off", "off"),
        ("yes", "yes"),
        ("true", True),
        ("1e-3", 1e-3),
        ("-.5", -0.5),
        ("010", 10),
        ("1:30", "1:30"),
        ("0x1F", 31),
        ("1_000", "1_000"),
        ("2024-01-01", "2024-01-01"),
        ("~", None),
        ("'1'", "1"),
        ("!!str 1", "1"),
        (".inf", float("inf")),
    ],
)
def test_scalars_follow_yaml_1_2(text, value):
    """Joints may be called `y` or `on`, and numbers with exponents need no decimal point."""
    assert parse_yaml(text).value == value
    assert type(parse_yaml(text).value) is type(value)


def test_keys_are_strings():
    """A key written y, on or 1 is the string, not a truth value or a number."""
    assert list(parse_yaml("{y: 1, on: 2, 1: 3, ~: 4}").plain()) == ["y", "on", "1", "~"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: 1\nb: [1, 2\n", r"f\.yaml:3"),
        ("a:\n\tb: 1\n", "f.yaml:2: is not YAML.*tabs"),
        ("a: 1\na: 2\n", r"f\.yaml:2.*'a'.*\b1\b"),
        ("a: !!python/object/apply:os.system [ls]\n", r"f\.yaml:1.*\btag\b"),
        ("a: *b\n", "f.yaml:1: alias \\*b"),
        ("a: 1\n---\nb: 1\n", r"f\.yaml:2.*document"),
        ("[" * 100 + "]" * 100, r"f\.yaml:1.*\b40\b"),
        ("[" * 100000, r"f\.yaml:1.*\b40\b"),
        ("a:\n" + "- " * 100000, r"f\.yaml:2.*\b40\b"),
        ("? [a]\n: 1\n", "f.yaml:1: a key must be a plain name"),
        ("a: &a [*a]\n", "f.yaml:1: alias"),
        ("a: 1\nb: \x07\n", "f.yaml:2: "),
        ("a: [}", "f.yaml:1: is not YAML"),
        ("a: 1\nb: [1, 2\nc: 3\n", r"f\.yaml:3: .*\[ of line 2"),
        ("a:\n  {b: 1\nc: 3\n", r"f\.yaml:3: .*\{ of line 2"),
        ("a: 1\nb: c: d\n", r"f\.yaml:2: .*second colon"),
        ("a: 1\nb: @c\n", r"f\.yaml:2: .*begin with @"),
        ("a: 1\nb: 'c\n", r"f\.yaml:\d: .*quote of line 2"),
        ("- 1\n- 2\nb: 2\n", r"f\.yaml:3: .*list of line 1"),
        ('a: 1\nb: "\\q"\n', r"f\.yaml:2: .*backslash"),
        ("a: [1,, 2]\n", r"f\.yaml:1: .*',' is no value"),
        ("x" * (MAX_BYTES + 1), "f.yaml: is larger"),
    ],
)
def test_text_that_is_no_document_is_refused_with_its_place(text, message):
    """Malformed, ambiguous or hostile YAML is one located sentence."""
    with pytest.raises(DescriptionError, match=message):
        parse_yaml(text, "f.yaml")


def test_alias_bombs_are_refused():
    """Nine levels of nine aliases each are refused without being expanded."""
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    for i in range(1, 10):
        lines.append(f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]")
    with pytest.raises(DescriptionError, match="aliases expanded"):
        parse_yaml("\n".join(lines), "f.yaml")


def test_extends_merges_mappings_and_keeps_places(tmp_path):
    """Mappings merge, lists are replaced, and each value keeps the place it came from."""
    (tmp_path / "base.yaml").write_text("a: {x: 1, y: 2}\nlist: [1, 2]\nkept: 3\n")
    (tmp_path / "over.yaml").write_text("extends: base.yaml\na:\n  y: 5\nlist: [9]\n")
    node = read_yaml(tmp_path / "over.yaml")
    assert node.plain() == {"a": {"x": 1, "y": 5}, "list": [9], "kept": 3}
    assert node["a"]["y"].place == f"{tmp_path / 'over.yaml'}:3"
    assert node["kept"].place == f"{tmp_path / 'base.yaml'}:3"


def test_extends_may_not_go_round_or_miss(tmp_path):
    """A circle of files, a missing file and a wrong type are refused at the key."""
    (tmp_path / "a.yaml").write_text("extends: b.yaml\n")
    (tmp_path / "b.yaml").write_text("x: 1\nextends: a.yaml\n")
    with pytest.raises(DescriptionError, match=r"b\.yaml:2.*extends"):
        read_yaml(tmp_path / "a.yaml")
    (tmp_path / "c.yaml").write_text("extends: none.yaml\n")
    with pytest.raises(DescriptionError, match=r"c\.yaml:1.*extends"):
        read_yaml(tmp_path / "c.yaml")
    (tmp_path / "d.yaml").write_text("extends: [b.yaml]\n")
    with pytest.raises(DescriptionError, match=r"d.yaml:1: extends: expected"):
        read_yaml(tmp_path / "d.yaml")


def test_the_top_must_be_a_mapping(tmp_path):
    """A list, a lone word or an empty file is no document of ours."""
    for text in ("[1]", "word", ""):
        (tmp_path / "a.yaml").write_text(text)
        with pytest.raises(DescriptionError, match=r"a\.yaml:1"):
            read_yaml(tmp_path / "a.yaml")
