# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Studies by name: a function that runs the study, and its outcome."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from math import isfinite
from pathlib import Path
from typing import Any

import numpy as np

from robot_dynamics.app.pictures.figures import write_figure
from robot_dynamics.errors import UnknownNameError
from robot_dynamics.wording import apart

#: Called with the completed share of a study (from 0 to 1), and its current step.
Tell = Callable[[float, str], None]


def largest(*values: float) -> float:
    """Return the largest of some numbers, and NaN if one is NaN, which Python's `max` may drop."""
    return float(np.max(values))


@dataclass(frozen=True)
class Check:
    """A number that a study measures, with its limit.

    Attributes:
        claim: Meaning of the number, with its unit.
        value: Measured value.
        limit: Largest value for which the claim holds.
    """

    claim: str
    value: float
    limit: float

    @property
    def ok(self) -> bool:
        """Whether the claim holds; it does not for NaN."""
        return bool(self.value <= self.limit)

    def __str__(self) -> str:
        sign = "at most" if self.ok else "NOT at most"
        value, limit = apart(self.value, self.limit)
        return f"{self.claim}: {value} ({sign} {limit})"


@dataclass(frozen=True)
class StudyOutcome:
    """Outcome of a study.

    Attributes:
        figures: Numbers by name, which contains their units (JSON values).
        checks: Claims with measured values.
        draw: Fills an empty figure of matplotlib.
        size: Width and height of the figure [inch].
    """

    figures: dict[str, Any]
    checks: tuple[Check, ...]
    draw: Callable[[Any], None]
    size: tuple[float, float] = (11.0, 7.0)

    @property
    def ok(self) -> bool:
        """Whether all claims hold."""
        return all(check.ok for check in self.checks)

    def as_json(self) -> dict[str, Any]:
        """Return figures and claims as JSON values; numbers that are not finite become null."""
        checks = [
            {"claim": c.claim, "value": float(c.value), "limit": c.limit, "ok": c.ok}
            for c in self.checks
        ]
        return {"ok": self.ok, "figures": _finite(self.figures), "checks": _finite(checks)}

    def plot(self, path: str | Path) -> Path:
        """Write the figure, and return its path.

        Raises:
            PlotError: If matplotlib is missing, or the file cannot be written.
        """
        return write_figure(path, self.size, self.draw)


def _finite(value: Any) -> Any:
    """Return a value with None instead of numbers that are not finite."""
    if isinstance(value, dict):
        return {name: _finite(entry) for name, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(entry) for entry in value]
    return None if isinstance(value, float) and not isfinite(value) else value


@dataclass(frozen=True)
class Sampling:
    """Sampling of a study.

    Attributes:
        count: Number of samples; None for the study's own number.
        jobs: Number of processes; None for one for each core.
        results: File of results; None for one in the folder `runs`.
    """

    count: int | None = None
    jobs: int | None = None
    results: Path | None = None


@dataclass(frozen=True)
class Study:
    """A study by name.

    Attributes:
        name: Its name in commands.
        summary: Its result, in one line.
        module: Its module in this folder.
        function: Its function there: `(quick, tell) -> StudyOutcome`.
        sampled: Whether it draws samples: its function takes a `Sampling` after the others.
        laws: Control laws that it compares; its function takes one of them, or None, after the
            others.
    """

    name: str
    summary: str
    module: str
    function: str = "run"
    sampled: bool = False
    laws: tuple[str, ...] = ()

    def run(
        self,
        tell: Tell,
        *,
        quick: bool = False,
        sampling: Sampling | None = None,
        law: str | None = None,
    ) -> StudyOutcome:
        """Run it.

        Args:
            tell: Called with the progress.
            quick: Whether to run a short version.
            sampling: Sampling, for a study that draws samples.
            law: The only control law to run, for a study that compares several.
        """
        module = import_module(f"robot_dynamics.reproductions.{self.module}")
        more: tuple[Any, ...] = (sampling or Sampling(),) if self.sampled else ()
        if self.laws:
            more = (*more, law)
        outcome: StudyOutcome = getattr(module, self.function)(quick, tell, *more)
        return outcome


STUDIES = (
    Study(
        "space-robot",
        "two arms on a free-floating base catch a satellite and turn it",
        "space_robot",
    ),
    Study(
        "space-robot-thrusters",
        "the same with thrusters that hold the base",
        "space_robot",
        "run_with_thrusters",
    ),
    Study(
        "mobile-manipulator",
        "two arms on a vehicle carry a box while it drives",
        "mobile_manipulator",
    ),
    Study(
        "flexible-base",
        "two arms on springs and dampers, which ring when they move",
        "flexible_base",
    ),
    Study("unseren", "two arms with a jointed object: Unseren's architecture", "unseren"),
    Study(
        "unseren-monte-carlo",
        "the same with hundreds of wrong models and disturbances, on all cores",
        "unseren_monte_carlo",
        sampled=True,
    ),
    Study("fold", "two arms of seven joints fold rods and pliers", "fold"),
    Study(
        "flexible-link",
        "an arm whose link bends, slewed with and without shaping",
        "flexible_link",
    ),
    Study(
        "separability", "active and passive joints apart, beside the unified model", "separability"
    ),
    Study(
        "yoshikawa-zheng",
        "two planar robots move a bar, press it on a wall and squeeze it, all at once",
        "yoshikawa_zheng.study",
        laws=("literal", "damped", "integral"),
    ),
)


def study_called(name: str) -> Study:
    """Return the study of a name.

    Raises:
        UnknownNameError: If there is none; with the existing names.
    """
    for study in STUDIES:
        if study.name == name:
            return study
    raise UnknownNameError("study", name, [study.name for study in STUDIES])
