# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""YAML as a tree of nodes with their places, composed within limits and merged by `extends`.

Scalars follow YAML 1.2: only `true` and `false` are booleans, so a joint may be called `y` or
`on`, and `1e-3` is a number. Keys are always strings.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import yaml

from robot_dynamics.description.diagnosis import DescriptionError, Diagnosis
from robot_dynamics.description.files import as_text, locate, read_bytes, refused

MAX_BYTES = 2**20
MAX_DEPTH = 40
MAX_NODES = 50_000  # after aliases are expanded
MAX_EXTENDS = 10
_EXPECTED = "a YAML file"

_INTEGER = re.compile(r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_INFINITE = re.compile(r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)")
_KNOWN: dict[str, bool | None] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}

# Words of libyaml, and what they mean to a user.
_PLAIN_WORDS = {
    "expected ',' or ']'": "the [ of line {line} is not closed, expected , or ] before this place",
    "expected ',' or '}'": "the {{ of line {line} is not closed, expected , or "
    "}} before this place",
    "mapping values are not allowed": "there is a second colon, or the indentation is deeper than "
    "above; expected one key on a line, or its value in quotes",
    "cannot start any token": "a value cannot begin with {sign}, expected it in quotes",
    "scanning a quoted scalar": "the quote of line {line} is not closed",
    "expected '-' indicator": "the list of line {line} ends here, expected another - of its "
    "indentation, or a key of less",
    "did not find expected key": "the indentation is none of the mapping of line {line}, expected "
    "the same, or less for a key outside of it",
    "unknown escape character": "a backslash in double quotes begins nothing that YAML knows, "
    "expected two of them, or single quotes",
    "expected node content": "{sign!r} is no value, expected one",
    "could not find expected ':'": "the key of line {line} has no colon after it",
}
# The parser of libyaml where PyYAML was built with it: thirty times as fast.
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@dataclass(frozen=True, eq=False)
class YamlNode:
    """A value of a document, with its place.

    Attributes:
        value: A mapping of strings to nodes, a list of nodes, or a scalar.
        file: The file it was read from, as the user named it.
        line: Its line, from 1.
        column: Its column, from 1.
        path: Path of keys to it, for instance "arms.left.gain"; empty at the top.
        key_lines: For a mapping, the line of each key.
        size: Number of nodes in it, with aliases expanded.
        text: For a scalar, its text in the file.
        quoted: Whether a scalar was written in quotes or as a block.
    """

    value: Any
    file: str = ""
    line: int = 0
    column: int = 0
    path: str = ""
    key_lines: dict[str, int] = field(default_factory=dict)
    size: int = 1
    text: str = ""
    quoted: bool = False

    @property
    def place(self) -> str:
        """Place of the value, as "file:line"."""
        return self.place_of(self.line)

    @property
    def is_mapping(self) -> bool:
        """Whether the value is a mapping."""
        return isinstance(self.value, dict)

    def place_of(self, line: int) -> str:
        """Return the place of a part of this value: "file:line", or a source without lines."""
        return f"{self.file}:{line}" if line else self.file

    def __getitem__(self, key: str | int) -> YamlNode:
        node: YamlNode = self.value[key]
        return node

    def __contains__(self, key: str) -> bool:
        return self.is_mapping and key in self.value

    def get(self, key: str) -> YamlNode | None:
        """Return the node of a key, or None."""
        return self.value.get(key) if self.is_mapping else None

    def items(self) -> Iterator[tuple[str, YamlNode]]:
        """Yield keys and nodes of a mapping."""
        yield from self.value.items()

    def places(self) -> dict[str, str]:
        """Return the places of the value and of each key in it, by the path of keys."""
        found = {self.path: self.place}
        for key, item in self.items() if self.is_mapping else ():
            found |= item.places()
            found[item.path] = item.place_of(self.key_lines.get(key, item.line))
        return found

    def without_lines(self, path: str = "") -> YamlNode:
        """Return the value and everything in it without line numbers.

        Args:
            path: The keys that lead to it, put before its own.
        """
        own = f"{path}.{self.path}".strip(".") if self.path[:1] != "[" else path + self.path
        value = self.value
        if self.is_mapping:
            value = {key: node.without_lines(path) for key, node in self.items()}
        elif isinstance(value, list):
            value = [node.without_lines(path) for node in value]
        return replace(self, value=value, line=0, path=own, key_lines={})

    def plain(self) -> Any:
        """Return the value as dictionaries, lists and scalars, without places."""
        if self.is_mapping:
            return {key: node.plain() for key, node in self.items()}
        if isinstance(self.value, list):
            return [node.plain() for node in self.value]
        return self.value


def read_yaml(path: str | Path) -> YamlNode:
    """Return the document of a file, merged over the file that its key `extends` names.

    `extends: other.yaml` at the top is relative to the file that contains it, or a `package://`
    address, as `path` may be. Mappings are merged key by key; lists and scalars are replaced.

    Raises:
        DescriptionError: If a file is missing or not a YAML mapping; with all its problems.
    """
    return _read_extended(locate(path), ())


def parse_yaml(text: str, name: str = "<text>") -> YamlNode:
    """Return the document of a text; `extends` is not followed.

    Raises:
        DescriptionError: If it is not one YAML document within the limits.
    """
    return _Composer(text, name).document()


def merged(base: YamlNode, over: YamlNode) -> YamlNode:
    """Return `base` with the values of `over`: mappings merged by key, all else replaced."""
    if not (base.is_mapping and over.is_mapping):
        return over
    value = dict(base.value)
    for key, node in over.items():
        value[key] = merged(value[key], node) if key in value else node
    return replace(over, value=value, key_lines={**base.key_lines, **over.key_lines})


def _read_extended(path: Path, chain: tuple[Path, ...]) -> YamlNode:
    data = read_bytes(path, expected=_EXPECTED, limit=MAX_BYTES)
    node = parse_yaml(as_text(data, path), str(path))
    if not node.is_mapping:
        raise refused(node.place, "expected a mapping (key: value) at the top")
    extends = node.get("extends")
    if extends is None:
        return node
    if not isinstance(extends.value, str) or not extends.value:
        raise refused(extends.place, "extends: expected the name of a YAML file")
    name = extends.value
    base = locate(name, path.parent, extends.place)
    chain = (*chain, path.resolve())
    if base.resolve() in chain:
        raise refused(extends.place, f"extends: {name!r} leads back to this file")
    if len(chain) > MAX_EXTENDS:
        raise refused(extends.place, f"extends: more than {MAX_EXTENDS} files extend each other")
    if not base.is_file():
        raise refused(extends.place, f"extends: there is no file {str(base)!r}")
    own = {key: value for key, value in node.items() if key != "extends"}
    return merged(_read_extended(base, chain), replace(node, value=own))


class _Composer:
    """Builds nodes from YAML events, so that depth, aliases and tags are checked on the way."""

    def __init__(self, text: str, name: str) -> None:
        self.text, self.name = text, name
        self.anchors: dict[str, YamlNode] = {}
        self.diagnosis = Diagnosis()
        self.nodes = 0

    def document(self) -> YamlNode:
        if len(self.text) > MAX_BYTES:
            raise refused(self.name, f"is larger than {MAX_BYTES / 2**20:g} MiB")
        self.events = yaml.parse(self.text, Loader=_LOADER)
        try:
            node = self._only_document()
        except yaml.MarkedYAMLError as error:
            raise self._syntax_error(error) from None
        except yaml.reader.ReaderError as error:
            line = self.text[: error.position].count("\n") + 1
            raise self._refused(line, f"character {error.character!r} is not allowed") from None
        self.diagnosis.raise_if_refused()
        return node

    def _only_document(self) -> YamlNode:
        event = next(self.events)
        while not isinstance(event, (yaml.DocumentStartEvent, yaml.StreamEndEvent)):
            event = next(self.events)
        if isinstance(event, yaml.StreamEndEvent):
            return YamlNode(None, self.name, 1, 1)
        node = self._node(next(self.events), "", 0)
        next(self.events)  # the document's end
        after = next(self.events)
        if isinstance(after, yaml.DocumentStartEvent):
            raise self._refused(after.start_mark.line + 1, "a second document starts here")
        return node

    def _node(self, event: yaml.Event, path: str, depth: int) -> YamlNode:
        line, column = event.start_mark.line + 1, event.start_mark.column + 1
        if depth > MAX_DEPTH:
            raise self._too_deep(line)
        if isinstance(event, yaml.AliasEvent):
            if event.anchor not in self.anchors:
                raise self._refused(line, f"alias *{event.anchor} has no anchor before it")
            node = self.anchors[event.anchor]
            self._count(node.size, line)
            return node
        self._count(1, line)
        if event.tag and event.tag not in ("!", "tag:yaml.org,2002:str"):
            self.diagnosis.error(
                f"{self.name}:{line}", path, f"tag {event.tag!r} is not supported"
            )
        node = YamlNode(None, self.name, line, column, path)
        if isinstance(event, yaml.ScalarEvent):
            quoted = event.style in ("'", '"', "|", ">") or event.tag is not None
            value = event.value if quoted else _scalar(event.value)
            node = replace(node, value=value, text=event.value, quoted=quoted)
        elif isinstance(event, yaml.SequenceStartEvent):
            node = self._sequence(node, depth)
        else:
            node = self._mapping(node, depth)
        if event.anchor:
            self.anchors[event.anchor] = node
        return node

    def _sequence(self, node: YamlNode, depth: int) -> YamlNode:
        value: list[YamlNode] = []
        while not isinstance(event := next(self.events), yaml.SequenceEndEvent):
            value.append(self._node(event, f"{node.path}[{len(value)}]", depth + 1))
        return replace(node, value=value, size=1 + sum(item.size for item in value))

    def _mapping(self, node: YamlNode, depth: int) -> YamlNode:
        value: dict[str, YamlNode] = {}
        lines: dict[str, int] = {}
        while not isinstance(event := next(self.events), yaml.MappingEndEvent):
            line = event.start_mark.line + 1
            if not isinstance(event, yaml.ScalarEvent):
                raise self._refused(line, "a key must be a plain name")
            key = event.value
            if key in value:
                self.diagnosis.error(
                    f"{self.name}:{line}",
                    node.path,
                    f"key {key!r} was already given in line {lines[key]}",
                )
            path = f"{node.path}.{key}" if node.path else key
            value[key], lines[key] = self._node(next(self.events), path, depth + 1), line
        size = 1 + sum(item.size for item in value.values())
        return replace(node, value=value, key_lines=lines, size=size)

    def _count(self, nodes: int, line: int) -> None:
        self.nodes += nodes
        if self.nodes > MAX_NODES:
            raise self._refused(line, f"more than {MAX_NODES} values, aliases expanded")

    def _refused(self, line: int, message: str) -> DescriptionError:
        return refused(f"{self.name}:{line}", message)

    def _too_deep(self, line: int) -> DescriptionError:
        return self._refused(line, f"is nested deeper than {MAX_DEPTH} levels")

    def _syntax_error(self, error: yaml.MarkedYAMLError) -> DescriptionError:
        mark = error.problem_mark or error.context_mark
        if mark and "nesting depth" in (error.problem or ""):  # libyaml's own limit, a thousand
            return self._too_deep(mark.line + 1)
        lines = self.text.splitlines()
        if mark and mark.line < len(lines) and "\t" in lines[mark.line][: mark.column + 1]:
            words = "the line is indented with tabs, expected spaces"
        else:
            words = f"{error.problem or 'cannot be read'} {error.context or ''}".strip()
            begins = error.context_mark.line + 1 if error.context_mark else 1
            for part, plain in _PLAIN_WORDS.items():
                if part in words:
                    words = plain.format(line=begins, sign=_sign(self.text, mark))
        return self._refused(mark.line + 1 if mark else 1, f"is not YAML: {words}")


def _sign(text: str, mark: yaml.Mark | None) -> str:
    """Return the character at a mark."""
    return text[mark.index : mark.index + 1] if mark else ""


def _scalar(text: str) -> Any:
    """Return the value of a plain scalar by the core schema of YAML 1.2."""
    if text in _KNOWN:
        return _KNOWN[text]
    if _INTEGER.fullmatch(text) and len(text) < 300:
        return int(text, 0) if text[:2] in ("0o", "0x") else int(text)
    if _FLOAT.fullmatch(text):
        return float(text)
    if _INFINITE.fullmatch(text):
        return float(text.replace(".", ""))
    return text
