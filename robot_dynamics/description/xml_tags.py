# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""XML elements whose attributes are checked, every problem noted with its line."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import Any, TypeVar

from robot_dynamics.description.diagnosis import Diagnosis
from robot_dynamics.wording import shortened

# Decimal numbers only: float() would also take 1_000, nan and infinity.
_NUMBER = re.compile(r"[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?")
_NOT_FINITE = re.compile(r"[-+]?(nan|inf(inity)?)", re.IGNORECASE)
_XACRO = re.compile(r"\$[{(]")
_MOST_ATTRIBUTES = 50  # of a tag that are checked for misspellings
_LINES_BACK = 100  # lines above its end that are searched for the start of a tag

T = TypeVar("T")


@dataclass(frozen=True)
class Tag:
    """An XML element, the file it belongs to and the list of its problems.

    Attributes:
        element: The lxml element.
        file: The file's name.
        lines: The file's lines.
        diagnosis: Receives the problems.
        owner: Element concerned, for instance "joint 'elbow'".
    """

    element: Any
    file: str
    lines: list[str]
    diagnosis: Diagnosis
    owner: str = ""

    @property
    def name(self) -> str:
        """The tag, without its namespace."""
        return str(self.element.tag.rpartition("}")[2].rpartition(":")[2])

    @property
    def place(self) -> str:
        """Start of the tag, as "file:line"."""
        end: int = self.element.sourceline or 1
        # libxml2 gives the line on which a start tag ends.
        for line in range(end, max(end - _LINES_BACK, 0), -1):
            if line <= len(self.lines) and f"<{self.name}" in self.lines[line - 1]:
                return f"{self.file}:{line}"
        return f"{self.file}:{end}"

    def owned(self, owner: str) -> Tag:
        """Return the same tag, whose problems are reported for `owner`."""
        return Tag(self.element, self.file, self.lines, self.diagnosis, owner)

    def error(self, message: str, hint: str = "") -> None:
        """Note an error at this tag."""
        self.diagnosis.error(self.place, self.owner, message, hint)

    def warning(self, message: str, hint: str = "") -> None:
        """Note a warning at this tag."""
        self.diagnosis.warning(self.place, self.owner, message, hint)

    def children(self, *names: str) -> Iterator[Tag]:
        """Yield the child tags with one of the names (by default all), of the tag's namespace.

        Tags of other namespaces belong to other programs and are ignored.
        """
        own, _, _ = self.element.tag.rpartition("}")  # "{namespace" or nothing
        for child in self.element:
            if not isinstance(child.tag, str):
                continue  # an entity reference
            namespace, _, name = child.tag.rpartition("}")
            # A name with an undeclared prefix is read as a name with a colon.
            if namespace == own and ":" not in name and (not names or name in names):
                yield Tag(child, self.file, self.lines, self.diagnosis, self.owner)

    def descendants(self, *names: str) -> Iterator[Tag]:
        """Yield the tags inside this one with one of the names, of any namespace."""
        for element in self.element.iterdescendants():
            if isinstance(element.tag, str) and element.tag.rpartition("}")[2] in names:
                yield Tag(element, self.file, self.lines, self.diagnosis, self.owner)

    def inner_text(self, name: str) -> str:
        """Return the text of the first child of a name; empty without one."""
        for found in self.children(name):
            return str(found.element.text or "").strip()
        return ""

    def child(self, name: str) -> Tag | None:
        """Return the only child of a name, or None; a second, different one is an error."""
        found = list(self.children(name))
        for extra in found[1:]:
            message = f"<{name}> is given twice in one <{self.name}>"
            if _alike(found[0].element, extra.element):
                extra.warning(f"{message}, both alike")
            else:
                extra.error(message)
        return found[0] if found else None

    def tolerant(self, read: Callable[[Tag], T], otherwise: str) -> T | None:
        """Return the result of reading this tag; None with errors, reported as warnings.

        For data that the equations of motion do not depend on.

        Args:
            read: Reads the tag.
            otherwise: Consequence of an error, for the warning: "it is left out".
        """
        found = Diagnosis()
        result = read(replace(self, diagnosis=found))
        for problem in found.problems:
            more = f"; {otherwise}" if problem.severity == "error" else ""
            self.diagnosis.warning(
                problem.place, problem.element, problem.message + more, problem.hint
            )
        return None if found.error_count else result

    def text(self, attribute: str) -> str | None:
        """Return an attribute, or None after reporting that it is missing or empty."""
        value = self.element.get(attribute)
        if value is None or not value.strip():
            self.error(f"<{self.name}> has no {attribute}")
            return None
        return str(value).strip()

    def flag(self, attribute: str) -> bool:
        """Return an attribute that is true or false, in any case, or 1 or 0; false if missing."""
        text = self.element.get(attribute)
        if text is None:
            return False
        word = text.strip().lower()
        if word not in ("true", "false", "1", "0"):
            self.error(f"{attribute} has {short(text)}, expected true or false")
        return word in ("true", "1")

    def numbers(
        self, attribute: str, count: int, default: Iterable[float] | None = None
    ) -> list[float]:
        """Return the numbers of an attribute.

        Args:
            attribute: Its name.
            count: Required number of numbers.
            default: Value of a missing attribute; None if it is required. It is also returned
                after an error, or zeros without a default.
        """
        fallback = [0.0] * count if default is None else list(default)
        text = self.element.get(attribute)
        if text is None:
            if default is None:
                self.error(f"<{self.name}> has no {attribute}")
            return fallback
        words = text.split()
        for word in words[: count + 1]:
            if not self._is_number(attribute, word):
                return fallback
        if len(words) != count:
            noun = "number" if count == 1 else "numbers"
            self.error(f"{attribute} expects {count} {noun}, found {len(words)}: {short(text)}")
            return fallback
        return [float(word) for word in words]

    def number(self, attribute: str, default: float | None = None) -> float:
        """Return the number of an attribute, as `numbers` does."""
        return self.numbers(attribute, 1, None if default is None else [default])[0]

    def check_attributes(self, *known: str) -> None:
        """Warn of attributes that look like misspelt known ones."""
        for name in self.element.keys()[:_MOST_ATTRIBUTES]:
            close = _meant(name, known)
            if close and close not in self.element.attrib:
                self.warning(
                    f"<{self.name}> has no attribute {name!r}, it is ignored",
                    f"did you mean {close!r}?",
                )

    def check_children(self, *known: str) -> None:
        """Warn of child tags that look like misspelt known ones."""
        for child in self.children():
            close = _meant(child.name, known)
            if close:
                child.warning(
                    f"<{child.name}> is not known and is ignored", f"did you mean <{close}>?"
                )

    def only_children(self, *known: str, unused: Sequence[str] = ()) -> None:
        """Refuse child tags that are not known: no part of a geometry may be ignored.

        Args:
            known: Names of children that are read.
            unused: Names of children that are understood and not used; they are warned of.
        """
        for child in self.children():
            if child.name in unused:
                child.warning(f"<{child.name}> of a <{self.name}> is not used")
            elif child.name not in known:
                names = ", ".join(f"<{name}>" for name in known) or "no child"
                child.error(f"<{child.name}> is not known in <{self.name}>", f"expected {names}")

    def _is_number(self, attribute: str, word: str) -> bool:
        if _NUMBER.fullmatch(word) and math.isfinite(float(word)):
            return True
        hint = ""
        if _XACRO.search(word):
            hint = "this is xacro, expand it first: xacro FILE > robot.urdf"
        elif "," in word:
            hint = "numbers are separated by spaces and have decimal points"
        if _NUMBER.fullmatch(word) or _NOT_FINITE.fullmatch(word):
            self.error(f"{attribute} has the number {short(word)}, expected a finite one", hint)
        else:
            self.error(f"{attribute} has {short(word)}, expected a number", hint)
        return False


def _alike(one: Any, other: Any) -> bool:
    """Return whether two elements have the same attributes and children."""
    return (
        one.tag == other.tag
        and dict(one.attrib) == dict(other.attrib)
        and (one.text or "").strip() == (other.text or "").strip()
        and len(one) == len(other)
        and all(map(_alike, one, other))
    )


def _meant(name: str, known: Sequence[str]) -> str:
    """Return the known name that was probably meant; empty if `name` is known or unlike others.

    Extensions such as `gear_velocity` contain a known name and are not misspelt.
    """
    if name in known:
        return ""
    close = get_close_matches(name, known, n=1, cutoff=0.65)
    return close[0] if close and close[0] not in name else ""


def short(text: str) -> str:
    """Return a text in quotes, its end left out if it is long."""
    return repr(shortened(text, 40))
