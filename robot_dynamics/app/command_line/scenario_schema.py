# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The keys of scenario and study files, as JSON schemas for editors and as documentation.

Both are made from the settings classes: types, defaults and bounds from the fields, meanings from
the section `Attributes` of the docstrings.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
import json
import math
import re
import types
import typing
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from robot_dynamics.app.scenarios.scenario import Scenario
from robot_dynamics.app.studies.settings import StudySettings

EXTENDS = "The file that this one changes: mappings are merged, lists and values replaced."
_PAGE_HEAD = """\
# Scenario files: every key

% Written by `robot_dynamics schema --format markdown`; a test compares this page with the code.

A scenario is a YAML file with the keys below. Keys that have a default may be left out. Units are
SI, angles are radians unless the key's name ends in `deg` or `degrees`, and orientations are
roll, pitch, yaw about fixed axes, as in URDF. `true` and `false` are the only booleans. `.inf` is
infinity, where it is allowed. One value is changed for a single run by its path,
`--set KEY=VALUE`; a number in a path counts the items of a list from 0:
`--set cell.arms.0.load_share=0.6`.

`extends: other.yaml` at the top takes everything from another file that is not stated here.
Mappings are merged key by key; lists and single values are replaced.

Editors complete and check these keys with the
[JSON schema](demonstrations.md#completion-in-editors) of the same source.
[Demonstrations](demonstrations.md), [hybrid control](hybrid_control.md),
[jointed objects](jointed_objects.md) and [simulation](simulation.md) describe the keys in use.
"""

_STUDY_HEAD = """\
# Study files: every key

% Written by `robot_dynamics schema --of study --format markdown`; a test compares this page
% with the code.

A study is a YAML file with the keys below; [studies](studies.md) describes what they do. The keys
below `vary` and `fixed` are paths of the [scenario](scenario_reference.md), as `--set` takes them.
`extends: other.yaml` takes everything from another file that is not stated here.
"""
_HEADS = {Scenario: _PAGE_HEAD, StudySettings: _STUDY_HEAD}
_TITLES = {Scenario: "Scenario of robot_dynamics", StudySettings: "Study of robot_dynamics"}


@dataclass(frozen=True)
class Key:
    """A key of a settings class.

    Attributes:
        name: The key.
        kind: Type of its value.
        unit: Unit of its numbers, "1" for pure numbers; empty for other values.
        meaning: Its meaning, from the docstring of its class.
        default: Its default; `dataclasses.MISSING` if it is required.
        bounds: `minimum`, `maximum`, `above`, `below` and `infinite`, see
            `description.yaml_document`.
    """

    name: str
    kind: Any
    unit: str
    meaning: str
    default: Any
    bounds: Mapping[str, Any]


@functools.cache
def keys_of(cls: type) -> tuple[Key, ...]:
    """Return the keys of a settings class, in the order of its arguments."""
    meanings, kinds = _attributes(cls), typing.get_type_hints(cls)
    keys = []
    for field in sorted(dataclasses.fields(cls), key=lambda one: bool(one.kw_only)):
        if field.metadata.get("place"):
            continue
        default = field.default
        if field.default_factory is not dataclasses.MISSING:
            default = None if is_mapping(kinds[field.name]) else field.default_factory()
        meaning = meanings[field.name]
        # Of "Position [m]" the unit; what metadata say of it is the same, or more exact.
        stated = "; ".join(re.findall(r"\[([^\[\]]*)\]", meaning))
        unit = (field.metadata["unit"] or "1") if "unit" in field.metadata else stated
        keys.append(
            Key(field.name, kinds[field.name], unit, meaning, default, dict(field.metadata))
        )
    return tuple(keys)


def key_paths(cls: type = Scenario, prefix: str = "") -> Iterator[str]:
    """Yield the paths of all keys that have one value, as `--set` takes them.

    Args:
        cls: The settings class.
        prefix: The path that leads to it, with a dot at its end.
    """
    for key in keys_of(cls):
        inner = _plain_kind(key.kind)
        if dataclasses.is_dataclass(inner):
            yield from key_paths(typing.cast(type, inner), f"{prefix}{key.name}.")
        else:
            yield f"{prefix}{key.name}"


def is_mapping(kind: Any) -> bool:
    """Return whether a key of this type is a mapping with keys of its own, which may be none."""
    return dataclasses.is_dataclass(_plain_kind(kind))


def json_schema(cls: type = Scenario) -> dict[str, Any]:
    """Return the JSON schema (draft 7) of scenario files, or of study files.

    A file that extends another one can omit required keys. The schema does not contain rules about
    several keys; `load_scenario` and `load_study` check them.

    Args:
        cls: `Scenario` or `StudySettings`.
    """
    definitions: dict[str, Any] = {}
    top = _object_schema(cls, definitions, whole=False)
    top["properties"] = {
        "extends": {"type": "string", "description": EXTENDS},
        **top["properties"],
    }
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": _TITLES[cls],
        **top,
        "if": {"not": {"required": ["extends"]}},
        "then": _requirements(cls),
        "definitions": dict(sorted(definitions.items())),
    }


def schema_text(cls: type = Scenario) -> str:
    """Return the JSON schema as text."""
    return json.dumps(json_schema(cls), indent=2) + "\n"


def reference_page(cls: type = Scenario) -> str:
    """Return the page of the documentation with every key, as Markdown."""
    sections: list[tuple[str, type]] = []
    _collect_sections(cls, "", sections)
    first = {inner: path for path, inner in reversed(sections)}
    parts = [_HEADS[cls]]
    for path, inner in sections:
        if first[inner] != path:
            continue
        places = [other for other, one in sections if one is inner and other != path]
        title = f"`{path}`" if path else "Top level"
        parts.append(f"\n## {title}\n\n{_summary(inner)}\n")
        if places:
            also = ", ".join(f"`{place}`" for place in places)
            parts.append(f"\nThe same keys: {also}.\n")
        parts.append("\n| key | value | default | unit | meaning |\n|---|---|---|---|---|\n")
        for key in keys_of(inner):
            parts.append(_row(key, path, first))
    return "".join(parts)


def _row(key: Key, path: str, first: Mapping[type, str]) -> str:
    inner = _section_class(key.kind)
    place = f"{path}.{key.name}".lstrip(".")
    meaning = key.meaning
    if inner is not None:
        section = first[inner]
        meaning += f" Keys: [{section}](#{_anchor(section)})."
    cells = [
        f"`{key.name}`",
        _value_words(key, place),
        _default_words(key),
        key.unit,
        meaning,
    ]
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |\n"


def _collect_sections(cls: type, path: str, found: list[tuple[str, type]]) -> None:
    """Add a class and those inside it with the paths that lead to them, `[]` for items."""
    found.append((path, cls))
    for key in keys_of(cls):
        inner = _section_class(key.kind)
        if inner is not None:
            place = f"{path}.{key.name}".lstrip(".")
            plain = _plain_kind(key.kind)
            suffix = {tuple: "[]", dict: ".<name>"}.get(typing.get_origin(plain) or plain, "")
            _collect_sections(inner, place + suffix, found)


def _section_class(kind: Any) -> type | None:
    """Return the settings class of a value, of its items, or None."""
    kind = _plain_kind(kind)
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin is tuple:
        kind = arguments[0]
    elif origin is dict:
        kind = arguments[1]
    return kind if dataclasses.is_dataclass(kind) and isinstance(kind, type) else None


def _value_words(key: Key, place: str) -> str:
    words = _kind_words(_plain_kind(key.kind))
    low, high = key.bounds.get("minimum"), key.bounds.get("maximum")
    above, below = key.bounds.get("above"), key.bounds.get("below")
    limits = []
    if low is not None:
        limits.append(f"at least {low:g}")
    if above is not None:
        limits.append(f"more than {above:g}")
    if high is not None:
        limits.append(f"at most {high:g}")
    if below is not None:
        limits.append(f"less than {below:g}")
    if key.bounds.get("infinite"):
        limits.append("may be `.inf`")
    return ", ".join([words, *limits])


def _kind_words(kind: Any) -> str:
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin in (typing.Union, types.UnionType):
        return " or ".join(_kind_words(one) for one in arguments)
    if origin is typing.Literal:
        return " or ".join(f"`{one}`" for one in arguments)
    if origin is tuple:
        if arguments[-1] is Ellipsis:
            return f"list of {_plural(arguments[0])}"
        return f"{len(arguments)} {_plural(arguments[0])}"
    if origin is dict:
        return f"mapping from names to {_plural(arguments[1])}"
    if dataclasses.is_dataclass(kind):
        return "mapping"
    words = {float: "number", int: "whole number", bool: "`true` or `false`", Any: "value"}
    return words.get(kind, "text")


def _plural(kind: Any) -> str:
    if typing.get_origin(kind) is tuple:
        return f"lists of {_kind_words(kind)}"
    return f"{_kind_words(kind)}s"


def _default_words(key: Key) -> str:
    if key.default is dataclasses.MISSING:
        return "must be given"
    if is_mapping(key.kind):
        return "none" if type(None) in typing.get_args(key.kind) else "defaults of its keys"
    if key.default is None or key.default == "":
        return "none"
    if key.default in ((), {}):
        return "empty"
    return f"`{_yaml(key.default)}`"


def _yaml(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, tuple):
        return "[" + ", ".join(map(_yaml, value)) + "]"
    if isinstance(value, float):
        return ".inf" if math.isinf(value) else f"{value:g}"
    return str(value)


def _object_schema(cls: type, definitions: dict[str, Any], whole: bool) -> dict[str, Any]:
    """Return the schema of a mapping.

    Args:
        cls: Its settings class.
        definitions: Receives the schemas of nested classes.
        whole: Whether it is in a list or below a name, so that no other file completes it.
    """
    required = [key.name for key in keys_of(cls) if key.default is dataclasses.MISSING]
    schema: dict[str, Any] = {
        "type": "object",
        "description": _summary(cls),
        "additionalProperties": False,
        "properties": {key.name: _key_schema(key, definitions, whole) for key in keys_of(cls)},
    }
    if required and whole:
        schema["required"] = required
    return schema


def _key_schema(key: Key, definitions: dict[str, Any], whole: bool) -> dict[str, Any]:
    schema = _value_schema(key.kind, key.bounds, definitions, whole)
    default = key.default
    shown = default is not dataclasses.MISSING and not is_mapping(key.kind)
    if shown and default is not None and default != math.inf:
        # Draft 7 ignores keys beside a reference, so that the reference is wrapped.
        schema = {**schema, "default": list(default) if isinstance(default, tuple) else default}
    stated = key.unit in ("", "1") or f"[{key.unit}]" in key.meaning
    unit = "" if stated else f" Unit: {key.unit}."
    if "$ref" in schema:
        schema = {"allOf": [schema]}
    return {"description": key.meaning + unit, **schema}


def _value_schema(
    kind: Any, bounds: Mapping[str, Any], definitions: dict[str, Any], whole: bool
) -> dict[str, Any]:
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin in (typing.Union, types.UnionType):
        return {"anyOf": [_value_schema(one, bounds, definitions, whole) for one in arguments]}
    if origin is typing.Literal:
        return {"enum": list(arguments)}
    if origin is tuple:
        items = _value_schema(arguments[0], bounds, definitions, whole=True)
        if arguments[-1] is Ellipsis:
            return {"type": "array", "items": items}
        size = len(arguments)
        return {"type": "array", "items": items, "minItems": size, "maxItems": size}
    if origin is dict:
        inner = _value_schema(arguments[1], bounds, definitions, whole=True)
        return {"type": "object", "additionalProperties": inner}
    if dataclasses.is_dataclass(kind):
        cls = typing.cast(type, kind)
        name = cls.__name__.removesuffix("Settings")
        # A mapping that another file can complete has no required keys.
        requires = any(key.default is dataclasses.MISSING for key in keys_of(cls))
        name += "" if whole or not requires else "_extended"
        if name not in definitions:
            definitions[name] = {}  # a class inside itself would not end
            definitions[name] = _object_schema(cls, definitions, whole)
        return {"$ref": f"#/definitions/{name}"}
    if kind in (float, int):
        words = {
            "minimum": "minimum",
            "maximum": "maximum",
            "above": "exclusiveMinimum",
            "below": "exclusiveMaximum",
        }
        limits = {word: bounds[ours] for ours, word in words.items() if ours in bounds}
        return {"type": "number" if kind is float else "integer", **limits}
    if kind is type(None):
        return {"type": "null"}
    if kind is Any:
        return {}
    return {"type": {bool: "boolean", str: "string", Path: "string"}[kind]}


def _requirements(cls: type) -> dict[str, Any]:
    """Return which keys a file that extends no other one must give, mappings inside included."""
    needed = [key.name for key in keys_of(cls) if key.default is dataclasses.MISSING]
    inner = {
        key.name: _requirements(typing.cast(type, _plain_kind(key.kind)))
        for key in keys_of(cls)
        if is_mapping(key.kind)
    }
    inner = {name: one for name, one in inner.items() if one}
    return {
        **({"required": needed} if needed else {}),
        **({"properties": inner} if inner else {}),
    }


def _plain_kind(kind: Any) -> Any:
    """Return a type without its alternative None."""
    if typing.get_origin(kind) not in (typing.Union, types.UnionType):
        return kind
    kinds = [one for one in typing.get_args(kind) if one is not type(None)]
    return kinds[0] if len(kinds) == 1 else typing.Union[tuple(kinds)]  # noqa: UP007 - a tuple


def _summary(cls: type) -> str:
    """Return the text of a class docstring before its sections."""
    text = inspect.getdoc(cls) or ""
    return text.split("\nAttributes:\n")[0].strip()


def _attributes(cls: type) -> dict[str, str]:
    """Return the meanings of fields, by `Attributes` of a class' docstring and of its bases."""
    found: dict[str, str] = {}
    for base in cls.__bases__:
        found |= _attributes(base) if dataclasses.is_dataclass(base) else {}
    text, name = (inspect.getdoc(cls) or "").partition("\nAttributes:\n")[2], ""
    for line in text.splitlines():
        start = re.match(r"    (\w+): (.*)", line)
        if start:
            name, found[start[1]] = start[1], start[2]
        elif line.startswith("        "):
            found[name] += " " + line.strip()
        elif line.strip():
            break
    return found


def _anchor(path: str) -> str:
    """Return the anchor of a section's heading, as GitHub and MyST make it."""
    return re.sub(r"[^\w\- ]", "", path.lower()).replace(" ", "-") or "top-level"
