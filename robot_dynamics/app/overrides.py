# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Single values of a document changed from the command line: `plant.object_mass_scale=1.2`."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace

from robot_dynamics.description.diagnosis import DescriptionError
from robot_dynamics.description.files import refused
from robot_dynamics.description.yaml_document import Node, parse_yaml
from robot_dynamics.errors import ArgumentError

_OPTION = "--set"
_INDEX = re.compile(r"\[(\d+)\]")


def with_overrides(document: Node, overrides: Iterable[str]) -> Node:
    """Return a document with some values replaced.

    Each override is `KEY=VALUE`: keys joined by dots, numbers for the entries of lists (from 0),
    as "cell.surfaces.0.xyz" or, as problems are reported, "cell.surfaces[0].xyz"; and a YAML
    value, which is checked like one in the file. Keys that the file leaves out may be given.

    Args:
        document: The document, a mapping.
        overrides: The overrides; later ones win.

    Raises:
        DescriptionError: If an override has no key or no value, or names an entry that a list
            does not have.
        ArgumentError: If they are anything else than a list of texts.
    """
    if isinstance(overrides, str):
        raise ArgumentError(
            f"overrides are the text {overrides!r}; expected a list of such texts."
        )
    texts = list(overrides) if isinstance(overrides, Iterable) else None
    if texts is None or not all(isinstance(text, str) for text in texts):
        raise ArgumentError(
            f"overrides are {overrides!r}; expected a list of texts as "
            "'plant.object_mass_scale=1.2'."
        )
    for override in texts:
        key, equals, text = override.partition("=")
        place = f"{_OPTION} {override}"
        keys = _INDEX.sub(r".\1", key.strip()).split(".")
        if not equals or not all(keys):
            raise refused(place, "expected KEY=VALUE", "for instance plant.object_mass_scale=1.2")
        try:
            value = parse_yaml(text, place).without_lines(key.strip())
        except DescriptionError as error:
            # The override is one line: its number says nothing.
            raise DescriptionError([replace(one, place=place) for one in error.problems]) from None
        document = _replaced(document, keys, value, place)
    return document


def _replaced(node: Node, keys: list[str], value: Node, place: str) -> Node:
    if not keys:
        return value
    first, rest = keys[0], keys[1:]
    if isinstance(node.value, list):
        if not (first.isdigit() and int(first) < len(node.value)):
            count = len(node.value)
            raise refused(
                place, f"{node.path} has {count} entries, expected a number from 0 to {count - 1}"
            )
        items = list(node.value)
        items[int(first)] = _replaced(items[int(first)], rest, value, place)
        return replace(node, value=items)
    entries = dict(node.value) if node.is_mapping else {}
    path = f"{node.path}.{first}" if node.path else first
    child = entries.get(first, Node(None, place, 0, 0, path))
    entries[first] = _replaced(child, rest, value, place)
    lines = {name: line for name, line in node.key_lines.items() if name != first}
    if node.is_mapping:
        return replace(node, value=entries, key_lines=lines)
    return Node(entries, place, 0, 0, node.path)
