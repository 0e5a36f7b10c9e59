# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Problems of a file, all together, each with its place."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Literal

from robot_dynamics.errors import RobotDynamicsError, UnknownNameError

_MANY_NAMES = 300
_MANY_WARNINGS = 3  # that a run shows of one description
_MANY_LINES = 100
_LONG_HINT = 300
#: Of joints with an effort of zero, unless another file states the drives.
NO_DRIVE = "the limit of effort is 0, the joint is taken to have no drive"
NO_LIMIT = "the limit of effort is 0, it is taken as infinite"
# A file with more errors than this is something else than it should be; the rest is not read.
MOST_ERRORS = 1000

Severity = Literal["error", "warning"]


@dataclass(frozen=True)
class Problem:
    """A problem of a file.

    Attributes:
        severity: "error" if the file is refused, "warning" if it is accepted but should be
            checked.
        place: Its place, as "file:line"; the file alone without a line.
        element: Element concerned, for instance "joint 'elbow'"; may be empty.
        message: Finding and expectation, without a full stop.
        hint: Remedy, without a full stop; may be empty.
    """

    severity: Severity
    place: str
    element: str
    message: str
    hint: str = ""

    def sentence(self) -> str:
        """Return the problem as one sentence, without its severity."""
        parts = [part for part in (self.place, self.element, self.message) if part]
        return _ended(": ".join(parts), self.hint)

    def __str__(self) -> str:
        parts = [part for part in (self.place, self.severity, self.element, self.message) if part]
        return _ended(": ".join(parts), self.hint)


class DescriptionError(RobotDynamicsError):
    """A file that was refused.

    Attributes:
        problems: All that was found, warnings included, in the order of the file.
    """

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = tuple(problems)
        if len(self.problems) == 1:
            text = self.problems[0].sentence()
        else:
            lines = [str(problem) for problem in self.problems[:_MANY_LINES]]
            left = len(self.problems) - len(lines)
            if left:
                lines.append(f"... and {left} more problems.")
            text = "\n".join(lines)
        super().__init__(text)


class DescriptionWarning(UserWarning):
    """A warning about a description that is used nevertheless, for example by `rd.load`."""


@dataclass
class Diagnosis:
    """The problems found so far in one description."""

    _problems: list[Problem] = field(default_factory=list)
    _error_count: int = field(default=0, init=False, compare=False)

    def __post_init__(self) -> None:
        self._error_count = sum(problem.severity == "error" for problem in self._problems)

    @property
    def problems(self) -> tuple[Problem, ...]:
        """All problems, ordered by file and line."""
        return tuple(sorted(self._problems, key=_position))

    @property
    def count(self) -> int:
        """Number of problems."""
        return len(self._problems)

    @property
    def error_count(self) -> int:
        """Number of errors."""
        return self._error_count

    @property
    def errors(self) -> tuple[Problem, ...]:
        """The problems for which the file is refused."""
        return tuple(problem for problem in self.problems if problem.severity == "error")

    @property
    def warnings(self) -> tuple[Problem, ...]:
        """The problems to check, for which the file is not refused."""
        return tuple(problem for problem in self.problems if problem.severity == "warning")

    def error(self, place: str, element: str, message: str, hint: str = "") -> None:
        """Note an error.

        Raises:
            DescriptionError: If there are more than `MOST_ERRORS`; with all problems so far.
        """
        self.extend([Problem("error", place, element, message, hint)])

    def warning(self, place: str, element: str, message: str, hint: str = "") -> None:
        """Note a warning."""
        self._problems.append(Problem("warning", place, element, message, hint))

    def unknown(
        self, place: str, element: str, kind: str, name: str, valid: Iterable[str]
    ) -> None:
        """Note an unknown name, with the name that was probably meant."""
        names = tuple(valid)
        if len(names) > _MANY_NAMES:
            names = ()  # looking for the closest of very many takes longer than a user waits
        message, _, hint = str(UnknownNameError(kind, name, names)).partition("; ")
        if len(hint) > _LONG_HINT:
            shown = hint[:_LONG_HINT].rpartition(", ")[0]
            hint = f"{shown} and {hint.count(', ') - shown.count(', ')} more"
        if not names:
            hint = ""
        self.error(place, element, message, hint.rstrip("."))

    def extend(self, problems: Iterable[Problem]) -> None:
        """Note problems found elsewhere.

        Raises:
            DescriptionError: If there are more than `MOST_ERRORS` errors.
        """
        for problem in problems:
            self._problems.append(problem)
            self._error_count += problem.severity == "error"
            if self._error_count > MOST_ERRORS:
                message = f"has more than {MOST_ERRORS} errors, the rest of it was not read"
                stop = Problem("error", problem.place, "", message)
                raise DescriptionError([*self.problems, stop])

    def issue_warnings(self, source: str, stacklevel: int = 1) -> None:
        """Issue the first warnings, and the number of further ones, as `DescriptionWarning`.

        Python shows each once.

        Args:
            source: Name of the description, for the number of further ones.
            stacklevel: As of `warnings.warn`: 1 for the caller.
        """
        sentences = [problem.sentence() for problem in self.warnings]
        left = len(sentences) - _MANY_WARNINGS
        if left > 0:
            sentences[_MANY_WARNINGS:] = [
                f"{source}: and {left} more; `robot_dynamics inspect` lists all of them."
            ]
        for sentence in sentences:
            warnings.warn(sentence, DescriptionWarning, stacklevel + 1)

    def with_drives(self, actuated: Iterable[str]) -> Diagnosis:
        """Return the diagnosis if another file states the drives, instead of efforts of zero."""
        driven = {f"joint {name!r}" for name in actuated}
        kept = [
            replace(problem, message=NO_LIMIT) if problem.message == NO_DRIVE else problem
            for problem in self._problems
            if problem.message != NO_DRIVE or problem.element in driven
        ]
        return Diagnosis(kept)

    def raise_if_refused(self, *, strict: bool = False) -> None:
        """Raise if there is an error, or with `strict` if there is any problem.

        Raises:
            DescriptionError: With all problems, warnings included.
        """
        if self._error_count or (strict and self._problems):
            raise DescriptionError(self.problems)


def _ended(text: str, hint: str) -> str:
    text = f"{text}; {hint}" if hint else text
    return text if text.endswith("?") else f"{text}."


def _position(problem: Problem) -> tuple[str, int]:
    """Return a key that sorts by file and line; problems without a line come first."""
    file, _, line = problem.place.rpartition(":")
    return (file, int(line)) if line.isdigit() else (problem.place, 0)
