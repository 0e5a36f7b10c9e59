# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Corrected scenarios: files that extend a scenario and change some of its values.

The scenario that is extended stays as it is, with its comments. A list cannot be extended: one
with a changed entry is copied from the file that states it, comments included.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from robot_dynamics.app.output_files import OutputError, whole_file
from robot_dynamics.app.scenarios.scenario import Scenario, find_scenario, load_scenario
from robot_dynamics.description.files import locate
from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.resources import PACKAGE, SCHEME, share_directory


class _Dumper(yaml.SafeDumper):
    """Writes mappings in lines, and lists of numbers on one."""


_Dumper.add_representer(
    list, lambda self, values: self.represent_sequence("tag:yaml.org,2002:seq", values, True)
)


def write_corrected(
    place: Path,
    base: str | Path | None,
    scenario: Scenario,
    changes: Mapping[str, Any],
    header: str,
) -> None:
    """Write a scenario with other values.

    Args:
        place: The file.
        base: File or name of the scenario, which the new one extends; None to write all of it.
        scenario: The scenario.
        changes: Values by their keys, as in overrides: "cell.arms.0.grasp"; a mapping changes its
            own keys alone.
        header: Comment at the top, without the #.

    Raises:
        OutputError: If the file is that of `base`.
    """
    leaves = {key: value for one, of_one in changes.items() for key, value in _leaves(one, of_one)}
    if base is None:
        document = yaml.safe_load(scenario.text())
        for key, value in leaves.items():
            _set(document, key.split("."), value)
        text = yaml.safe_dump(document, sort_keys=False)
    else:
        text = _extension(extended_file(base, place), place, leaves)
    with whole_file(place) as part:
        part.write_text(f"# {header}\n{text}", encoding="utf-8")


def extended_file(base: str | Path, place: Path) -> Path:
    """Return the file of a scenario that another one at a place can extend.

    Raises:
        OutputError: If it is the same file.
    """
    file = locate(find_scenario(base))
    if file.resolve() == place.resolve():
        raise OutputError(f"{place}: is the scenario itself, expected another file.")
    return file


def _leaves(key: str, value: Any) -> Iterator[tuple[str, Any]]:
    """Yield keys and values that are no mappings."""
    if isinstance(value, Mapping):
        for name, one in value.items():
            yield from _leaves(f"{key}.{name}", one)
    else:
        yield key, value


def _extension(base: Path, place: Path, changes: Mapping[str, Any]) -> str:
    """Return the text of a scenario that extends `base` with other values."""
    document: dict[str, Any] = {"extends": _address(base, place)}
    lists: dict[str, dict[str, Any]] = {}
    for key, value in changes.items():
        of_list = re.match(r"(.*?)\.(\d+\..*)", key)
        if of_list:
            lists.setdefault(of_list[1], {})[of_list[2]] = value
            value = f"<{of_list[1]}>"
        _set(document, (of_list[1] if of_list else key).split("."), value)
    outline = yaml.dump(document, Dumper=_Dumper, sort_keys=False)
    if not lists:
        return outline
    absolute = {
        key: str(place.resolve().parent / value) if key.endswith(".urdf") else value
        for key, value in changes.items()
    }
    wanted = load_scenario(base, [f"{key}={flow(value)}" for key, value in absolute.items()])
    copied = outline
    try:
        for key, own in lists.items():
            copied = _filled(copied, key, _copied_list(base, place, key, own))
        if _means(copied, place, wanted):
            return copied
    except yaml.YAMLError:  # anchors or styles that edits of the text do not know
        pass
    plain = yaml.safe_load(wanted.text())
    for key in lists:
        values = plain
        for name in key.split("."):
            values = values[name]
        outline = _filled(outline, key, f"\n{yaml.safe_dump(values, sort_keys=False)}".rstrip())
    return outline


def _address(file: Path, place: Path) -> str:
    """Return a file as a scenario at `place` names it: of this package, independent of places."""
    file, share = file.resolve(), share_directory().resolve()
    if any(file.is_relative_to(share / folder) for folder in ("config", "urdf")):
        return f"{SCHEME}{PACKAGE}/{file.relative_to(share).as_posix()}"
    return os.path.relpath(file, place.resolve().parent)


def _filled(outline: str, key: str, block: str) -> str:
    """Return an outline with the value of a list, a text from the end of its key on, column 0."""
    found = re.search(rf"^( *)\w+:( <{re.escape(key)}>)$", outline, re.MULTILINE)
    assert found is not None
    block = block.replace("\n", f"\n{found[1]}")
    return f"{outline[: found.start(2)]}{block}{outline[found.end(2) :]}"


def _means(text: str, place: Path, wanted: Scenario) -> bool:
    """Return whether a text at a place is a scenario."""
    beside = place.with_name(f".{place.stem}.{os.getpid()}.yaml")
    try:
        beside.write_text(text, encoding="utf-8")
        return load_scenario(beside) == wanted
    except RobotDynamicsError:
        return False
    finally:
        beside.unlink(missing_ok=True)


def _copied_list(base: Path, place: Path, key: str, changes: Mapping[str, Any]) -> str:
    """Return the text of a list, from the end of its key on, with other values and paths."""
    text, file = base.read_text(encoding="utf-8"), base
    names = key.split(".")
    while _pair(text, names) is None:  # a scenario has this list
        extended = yaml.safe_load(text)["extends"]
        file = locate(extended, file.parent)
        text = file.read_text(encoding="utf-8")
    pair = _pair(text, names)
    assert pair is not None
    entries = pair[1].value
    moved = {}
    for i, entry in enumerate(entries):
        for name, value in entry.value if isinstance(entry, yaml.MappingNode) else ():
            if name.value == "urdf" and ":" not in value.value:
                moved[f"{i}.urdf"] = _address(file.parent / value.value, place)
    for change, value in {**moved, **changes}.items():
        text = _with_value(text, [*names, *change.split(".")], value)
    pair = _pair(text, names)
    assert pair is not None
    start, column = pair[0].end_mark.index + 1, pair[0].start_mark.column
    block = text[start : pair[1].end_mark.index].rstrip()
    return re.sub(rf"\n {{{column}}}", "\n", block)


def _pair(text: str, names: list[str]) -> tuple[yaml.Node, yaml.Node] | None:
    """Return the nodes of a key and its value; None if a text does not state it."""
    node: yaml.Node | None = yaml.compose(text, yaml.SafeLoader)
    pair = None
    for name in names:
        if isinstance(node, yaml.SequenceNode):
            pair = (node.value[int(name)], node.value[int(name)])
        else:
            entries = node.value if isinstance(node, yaml.MappingNode) else []
            pair = next(((k, v) for k, v in entries if k.value == name), None)
        if pair is None:
            return None
        node = pair[1]
    return pair


def _with_value(text: str, names: list[str], value: Any) -> str:
    """Return the text of a file with another value, or one more, of a mapping with entries."""
    pair = _pair(text, names)
    if pair is not None:
        return f"{text[: pair[0].end_mark.index]}: {flow(value)}{text[_end(pair[1]) :]}"
    parent = _pair(text, names[:-1])
    if parent is None:
        return _with_value(text, names[:-1], {names[-1]: value})
    more, at = f"{names[-1]}: {flow(value)}", _end(parent[1].value[-1][1])
    if parent[1].flow_style:
        return f"{text[:at]}, {more}{text[at:]}"
    at = text.find("\n", at)  # after a comment
    at = len(text) if at < 0 else at
    return f"{text[:at]}\n{' ' * parent[1].start_mark.column}{more}{text[at:]}"


def _end(node: yaml.Node) -> int:
    """Return the index after a value; the mark of a block is at the next value."""
    if isinstance(node, yaml.CollectionNode) and not node.flow_style:
        last = node.value[-1]
        return _end(last[1] if isinstance(last, tuple) else last)
    return int(node.end_mark.index)


def flow(value: Any) -> str:
    """Return a value as YAML on one line, as in overrides of a scenario."""
    text = yaml.safe_dump(value, default_flow_style=True, width=10**6, sort_keys=False)
    return text.removesuffix("\n").removesuffix("\n...")


def _set(document: Any, names: list[str], value: Any) -> None:
    """Set a value in nested mappings and lists; missing mappings are made."""
    for name in names[:-1]:
        if isinstance(document, list):
            document = document[int(name)]
        else:
            if document.get(name) is None:
                document[name] = {}
            document = document[name]
    document[names[-1]] = value
