# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""YAML documents decoded into frozen dataclasses, with every problem located.

    @dataclass(frozen=True)
    class Squeeze:
        force: float = field(metadata={"unit": "N", "minimum": 0.0})
        axis: tuple[float, float, float] = (0.0, 0.0, 1.0)

    squeeze = decode(Squeeze, read_yaml("squeeze.yaml"))

Metadata of a field:

- `unit`: named in messages; `units`: units of the keys of a dictionary.
- `minimum`, `maximum`: inclusive bounds of each number in the value.
- `above`, `below`: exclusive bounds.
- `infinite`: True if infinite numbers (`.inf`) are allowed; nan never is.
- `path`: True for the name of a file: relative to the file that contains it (or resolved, for a
  `package://` address), so that a file can be extended from another folder.
- `place`: True for a `str` field that is not a key: it receives the mapping's place, "file:line",
  for messages of later checks. A `dict[str, str]` field receives the places of the mapping and of
  all keys in it, by the path of keys ("" for the mapping itself).
"""

from __future__ import annotations

import dataclasses
import functools
import math
import types
import typing
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar, cast

from robot_dynamics.description.diagnosis import DescriptionError, Diagnosis
from robot_dynamics.description.files import locate
from robot_dynamics.description.yaml_nodes import YamlNode, merged, parse_yaml, read_yaml
from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.wording import shortened

__all__ = ["YamlNode", "decode", "merged", "parse_yaml", "read_yaml"]

Decoded = TypeVar("Decoded")
_FAILED: Any = object()  # stands for a value whose problem has been noted
_NO_METADATA: Mapping[str, Any] = {}
_WORDS_FOR_BOOLEANS = ("y", "n", "yes", "no", "on", "off")


def decode(cls: type[Decoded], document: YamlNode) -> Decoded:
    """Return an instance of a dataclass with the values of a mapping.

    Types of fields can be float (whole numbers are accepted), int, bool, str, `Literal`, nested
    dataclasses, `tuple[X, Y]` of fixed length, `tuple[X, ...]`, `dict[str, X]`, `Any` (the plain
    value), `YamlNode`, and unions of these with each other and None. A field without a default is
    required. An error of `__post_init__` becomes a problem of the mapping.

    Args:
        cls: The dataclass.
        document: The mapping, from `read_yaml` or `parse_yaml`.

    Raises:
        DescriptionError: With all problems: unknown and missing keys, values of the wrong type,
            outside their bounds or not finite; each with its place.
    """
    decoder = _Decoder()
    value = decoder.value(cls, document, _NO_METADATA)
    decoder.diagnosis.raise_if_refused()
    return cast(Decoded, value)


class _Decoder:
    """Decodes one document and collects its problems."""

    def __init__(self) -> None:
        self.diagnosis = Diagnosis()

    def value(self, kind: Any, node: YamlNode, metadata: Mapping[str, Any]) -> Any:
        """Return the value of a node as `kind`, or `_FAILED` after noting why not."""
        origin, arguments = typing.get_origin(kind), typing.get_args(kind)
        if kind is YamlNode:
            return node
        if kind is Any:
            return node.plain()
        if origin is typing.Union or origin is types.UnionType:
            return self._union(arguments, node, metadata)
        if origin is typing.Literal:
            return self._choice(arguments, node)
        if dataclasses.is_dataclass(kind):
            return self._dataclass(cast(type, kind), node)
        if origin is tuple:
            return self._tuple(arguments, node, metadata)
        if origin is dict:
            return self._dictionary(arguments[1], node, metadata)
        if kind in (float, int):
            return self._number(kind, node, metadata)
        if kind is bool:
            return self._boolean(node)
        if kind in (str, Path):
            return self._string(node, metadata)
        if kind is type(None):
            return None if node.value is None else self._wrong("nothing", node)
        raise TypeError(f"a YAML document cannot be decoded into {kind!r}.")

    def _dataclass(self, cls: type, node: YamlNode) -> Any:
        if not node.is_mapping:
            return self._wrong("a mapping (key: value)", node)
        kinds = _kinds(cls)
        fields = {f.name: f for f in dataclasses.fields(cls) if f.init}
        places = [name for name, f in fields.items() if f.metadata.get("place")]
        keys = [name for name in fields if name not in places]
        values: dict[str, Any] = {
            name: node.place if kinds[name] is str else node.places() for name in places
        }
        complete = True
        for key, item in node.items():
            if key in keys:
                values[key] = self.value(kinds[key], item, fields[key].metadata)
                complete = complete and values[key] is not _FAILED
            else:
                place = item.place_of(node.key_lines.get(key, item.line))
                self.diagnosis.unknown(place, node.path, "key", key, keys)
                complete = False
        missing = [key for key in keys if key not in node and _is_required(fields[key])]
        if missing:
            words = ", ".join(repr(key) for key in missing)
            noun = "keys" if len(missing) > 1 else "key"
            self.diagnosis.error(node.place, node.path, f"{noun} {words} must be given")
        if missing or not complete:
            return _FAILED
        try:
            return cls(**values)
        except DescriptionError as error:  # has its own places
            self.diagnosis.extend(error.problems)
            return _FAILED
        except (RobotDynamicsError, ValueError) as error:
            self.diagnosis.error(node.place, node.path, str(error).rstrip("."))
            return _FAILED

    def _union(self, kinds: tuple[Any, ...], node: YamlNode, metadata: Mapping[str, Any]) -> Any:
        if type(None) in kinds and node.value is None:
            return None
        kinds = tuple(kind for kind in kinds if kind is not type(None))
        # Problems are those of the member that fits the shape of the value.
        fitting = [kind for kind in kinds if _has_shape(kind, node)]
        if len(fitting) == 1 or len(kinds) == 1:
            return self.value((fitting or kinds)[0], node, metadata)
        outer, attempts = self.diagnosis, []
        for kind in fitting:
            self.diagnosis = Diagnosis()
            value, attempt = self.value(kind, node, metadata), self.diagnosis
            self.diagnosis = outer
            if value is not _FAILED:
                return value
            attempts.append(attempt)
        if attempts:
            outer.extend(min(attempts, key=lambda a: len(a.problems)).problems)
            return _FAILED
        return self._wrong(" or ".join(_words(kind, metadata) for kind in kinds), node)

    def _choice(self, choices: tuple[Any, ...], node: YamlNode) -> Any:
        for choice in choices:
            if type(choice) is type(node.value) and choice == node.value:
                return choice
            if isinstance(choice, str) and not node.quoted and choice == node.text:
                return choice
        if isinstance(node.value, str):
            self.diagnosis.unknown(node.place, node.path, "value", node.value, map(str, choices))
            return _FAILED
        return self._wrong("one of " + ", ".join(map(str, choices)), node)

    def _tuple(self, kinds: tuple[Any, ...], node: YamlNode, metadata: Mapping[str, Any]) -> Any:
        many = len(kinds) == 2 and kinds[1] is Ellipsis
        if not isinstance(node.value, list):
            if many:
                return self._wrong("a list", node)
            return self._wrong(f"a list of {len(kinds)} values", node)
        if not many and len(kinds) != len(node.value):
            message = f"expected {len(kinds)} values, found {len(node.value)}"
            self.diagnosis.error(node.place, node.path, message)
            return _FAILED
        wanted = [kinds[0]] * len(node.value) if many else kinds
        values = tuple(
            self.value(kind, item, metadata) for kind, item in zip(wanted, node.value, strict=True)
        )
        return _FAILED if any(value is _FAILED for value in values) else values

    def _dictionary(self, kind: Any, node: YamlNode, metadata: Mapping[str, Any]) -> Any:
        if not node.is_mapping:
            return self._wrong("a mapping (name: value)", node)
        units = metadata.get("units", {})
        values = {
            key: self.value(kind, item, {**metadata, "unit": units.get(key, metadata.get("unit"))})
            for key, item in node.items()
        }
        return _FAILED if any(value is _FAILED for value in values.values()) else values

    def _number(self, kind: type, node: YamlNode, metadata: Mapping[str, Any]) -> Any:
        value = node.value
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            return self._wrong(_words(kind, metadata), node)
        if kind is int and not isinstance(value, int):
            return self._wrong(_words(kind, metadata), node)
        if kind is float:
            too_large = isinstance(value, int) and abs(value) > 10**308
            value = math.inf if too_large else float(value)
        unit = f" {_unit(metadata)}" if _unit(metadata) else ""
        problem, shown = "", shortened(node.text)
        if value != value or (math.isinf(value) and not metadata.get("infinite")):
            problem = f"expected a finite number, not {shown}"
        elif "minimum" in metadata and value < metadata["minimum"]:
            problem = f"expected at least {metadata['minimum']:g}{unit}, not {shown}"
        elif "above" in metadata and value <= metadata["above"]:
            problem = f"expected more than {metadata['above']:g}{unit}, not {shown}"
        elif "maximum" in metadata and value > metadata["maximum"]:
            problem = f"expected at most {metadata['maximum']:g}{unit}, not {shown}"
        elif "below" in metadata and value >= metadata["below"]:
            problem = f"expected less than {metadata['below']:g}{unit}, not {shown}"
        if problem:
            degrees = metadata.get("unit") == "rad" and "maximum" in metadata and abs(value) < 1e4
            hint = f"{value:g} degrees are {math.radians(value):.6g} rad" if degrees else ""
            self.diagnosis.error(node.place, node.path, problem, hint)
            return _FAILED
        return value

    def _boolean(self, node: YamlNode) -> Any:
        if isinstance(node.value, bool):
            return node.value
        meant = isinstance(node.value, str) and node.value.lower() in _WORDS_FOR_BOOLEANS
        return self._wrong("true or false", node, "write true or false" if meant else "")

    def _string(self, node: YamlNode, metadata: Mapping[str, Any]) -> Any:
        if not isinstance(node.value, str):
            scalar = not isinstance(node.value, (dict, list)) and node.value is not None
            hint = f'put it in quotes: "{node.text}"' if scalar else ""
            return self._wrong("a text", node, hint)
        if not metadata.get("path"):
            return node.value
        try:
            # Paths that were not read from a file are relative to the working directory.
            file = Path(node.file)
            return str(locate(node.value, file.parent if file.is_file() else "", node.place))
        except DescriptionError as error:
            self.diagnosis.extend(error.problems)
            return _FAILED

    def _wrong(self, expected: str, node: YamlNode, hint: str = "") -> Any:
        number = isinstance(node.value, str) and node.quoted and expected.startswith("a number")
        if number and not hint:
            hint = "numbers are written without quotes"
        message = f"expected {expected}, not {_found(node)}"
        self.diagnosis.error(node.place, node.path, message, hint)
        return _FAILED


@functools.cache  # a file may have ten thousand entries of a class
def _kinds(cls: type) -> dict[str, Any]:
    return typing.get_type_hints(cls)


def _is_required(field: dataclasses.Field[Any]) -> bool:
    missing = dataclasses.MISSING
    return field.default is missing and field.default_factory is missing


def _has_shape(kind: Any, node: YamlNode) -> bool:
    """Return whether a value of this kind is written like `node`: mapping, list or scalar."""
    origin = typing.get_origin(kind)
    if kind in (Any, YamlNode):
        return True
    if dataclasses.is_dataclass(kind) or origin is dict:
        return node.is_mapping
    if origin is tuple:
        return isinstance(node.value, list)
    if kind is bool:
        return isinstance(node.value, bool)
    if kind in (float, int):
        return isinstance(node.value, (int, float)) and not isinstance(node.value, bool)
    return isinstance(node.value, str) or (origin is typing.Literal and node.text != "")


def _unit(metadata: Mapping[str, Any]) -> str:
    """Return the unit of a number; empty if it depends on the joint, as rad or m."""
    unit: str = metadata.get("unit") or ""
    return "" if " or " in unit else unit


def _words(kind: Any, metadata: Mapping[str, Any]) -> str:
    """Return words for a value of this kind."""
    unit = f" in {_unit(metadata)}" if _unit(metadata) else ""
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if kind is float:
        return f"a number{unit}"
    if kind is int:
        return f"a whole number{unit}"
    if kind is bool:
        return "true or false"
    if origin is typing.Literal:
        return "one of " + ", ".join(map(str, arguments))
    if origin is tuple:
        many = arguments[-1] is Ellipsis
        return "a list" if many else f"a list of {len(arguments)} values"
    if dataclasses.is_dataclass(kind) or origin is dict:
        return "a mapping (key: value)"
    return "a text"


def _found(node: YamlNode) -> str:
    if node.is_mapping:
        return "a mapping"
    if isinstance(node.value, list):
        return "a list"
    if node.value is None:
        return "nothing"
    return repr(shortened(node.text))
