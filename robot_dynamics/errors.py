# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The exceptions of the package: one base class, and errors that carry data."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from difflib import get_close_matches
from typing import Any

_MOST_HINTS = 3  # names that a message suggests
_MOST_NAMES = 40  # names that a message lists; of more, the closest ones
_FEW_NAMES = 8
_LONGEST_NAME = 100  # characters of a given name that a message repeats


class RobotDynamicsError(Exception):
    """Base class of every error that this package raises on purpose."""

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]:
        """Return the function and arguments by which another process makes it again."""
        return _rebuilt, (type(self), *self.args), self.__dict__


def _rebuilt(kind: type[RobotDynamicsError], *message: object) -> RobotDynamicsError:
    return kind.__new__(kind, *message)


class UnknownNameError(RobotDynamicsError):
    """A name that is not there: it says which names would have been valid.

    Attributes:
        kind: Kind of the name, in the singular ("joint", "link", "key").
        name: The name that was given.
        valid: The names that exist.
        place: Where the name was read, for instance "lift_box.yaml:12".
    """

    def __init__(self, kind: str, name: str, valid: Iterable[str], place: str = "") -> None:
        self.kind, self.name, self.place = kind, name, place
        self.valid = tuple(valid)
        text = name if isinstance(name, str) else repr(name)
        shown = text if len(text) <= _LONGEST_NAME else f"{text[: _LONGEST_NAME - 3]}..."
        longer = [  # with a prefix, or a suffix
            each
            for each in map(str, self.valid)
            if each.endswith(f"_{shown}") or each.startswith(f"{shown}_")
        ]
        close = longer[:_MOST_HINTS] or get_close_matches(shown, self.valid, n=1)
        if isinstance(name, str):
            shown = repr(shown)
        if close:
            hint = f"did you mean {' or '.join(map(repr, close))}?"
        elif len(self.valid) > _MOST_NAMES:
            nearest = get_close_matches(shown, map(str, self.valid), n=_FEW_NAMES, cutoff=0.0)
            hint = f"expected one of {len(self.valid)} names, such as {', '.join(nearest)}."
        elif self.valid:
            hint = f"expected one of {', '.join(self.valid)}."
        else:
            hint = f"there is no {kind} at all."
        where = f"{place}: " if place else ""
        super().__init__(f"{where}unknown {kind} {shown}; {hint}")


class ArgumentError(RobotDynamicsError, ValueError):
    """An argument of the wrong shape, type or value."""


def require_length(name: str, values: Sequence[object], length: int, meaning: str) -> None:
    """Raise `ArgumentError` unless `values` has `length` entries.

    Args:
        name: The argument's name, for the message.
        values: The sequence to check.
        length: The number of entries expected.
        meaning: Meaning of an entry, for the message.
    """
    if len(values) != length:
        raise ArgumentError(f"{name} has {len(values)} entries, expected {length} ({meaning}).")


def several_names(name: str, values: Iterable[str]) -> tuple[str, ...]:
    """Return names as a tuple; a single string is not taken for a list of letters.

    Args:
        name: Kind of the names, for the message.
        values: The names.

    Raises:
        ArgumentError: If it is one string, or anything else than names.
    """
    if isinstance(values, str):
        raise ArgumentError(f"{name} is {values!r}, expected a list of names: [{values!r}].")
    names = tuple(values) if isinstance(values, Iterable) else None
    if names is None or not all(isinstance(each, str) for each in names):
        raise ArgumentError(f"{name} is {values!r:.60}, expected a list of names.")
    return names


def optional_package(
    name: str, what: str, extra: str, error: type[RobotDynamicsError] = RobotDynamicsError
) -> Any:
    """Return a package that only some features need.

    Args:
        name: The package, or a module of it that is imported, as by `import a.b`.
        what: The features, in the plural, for the message.
        extra: The extra of this package that installs it.
        error: Class of the error.

    Raises:
        RobotDynamicsError: If it is missing; the message says how to install it.
    """
    try:
        return __import__(name)
    except ImportError as cause:
        raise error(
            f"{what} need {name.partition('.')[0]}, which is not installed; "
            f"expected `pip install 'robot_dynamics[{extra}]'`."
        ) from cause


def sentence_of(error: BaseException) -> str:
    """Return the message of an error; of an unexpected one also its type."""
    if isinstance(error, RobotDynamicsError):
        return str(error)
    return f"unexpected {type(error).__name__}: {error}"
