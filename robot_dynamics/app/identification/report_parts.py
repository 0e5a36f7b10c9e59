# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Common parts of reports: values with their standard deviations, quality of a fit."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from robot_dynamics.app.identification.corrected_scenario import extended_file, write_corrected
from robot_dynamics.app.identification.inputs import Cell, Input
from robot_dynamics.app.identification.urdf_values import UrdfText
from robot_dynamics.app.output_files import OutputError, write_json
from robot_dynamics.identification.least_squares import Fit

#: Residuals over noise above which a report warns, and above which nothing is identified.
LARGE_FACTOR, LARGEST_FACTOR = 2.0, 20.0


@dataclass(frozen=True)
class ScenarioCorrection:
    """Changes of files by a result.

    Attributes:
        values: Values of the scenario by their keys, as in overrides.
        urdfs: Descriptions by the file to write, beside the scenario.
    """

    values: dict[str, Any]
    urdfs: dict[Path, UrdfText] = field(default_factory=dict)


class IdentificationReport(ABC):
    """A result as text, JSON and corrected scenario.

    Attributes:
        cell: Arms and object before the correction.
        subject: What was identified, for the first line of a corrected scenario.
    """

    cell: Cell
    subject: ClassVar[str]

    @property
    @abstractmethod
    def warnings(self) -> list[str]:
        """Reasons to doubt the result, one sentence each."""

    @property
    @abstractmethod
    def json(self) -> dict[str, Any]:
        """The result as JSON values."""

    @property
    @abstractmethod
    def lines(self) -> list[str]:
        """The result as text."""

    @abstractmethod
    def plot(self, path: str | Path) -> Path:
        """Draw the residuals before and after the correction.

        Raises:
            IdentificationError: If there is nothing to draw.
            PlotError: If Matplotlib is missing or the file cannot be written.
        """

    @abstractmethod
    def correction(self, place: Path) -> ScenarioCorrection:
        """Return the changes of a scenario at a place.

        Raises:
            IdentificationError: If there is nothing to correct, or a scenario cannot correct it.
        """

    def document(self, inputs: Sequence[Input], **values: Any) -> dict[str, Any]:
        """Return `json`: values of its own, and what every report states of its samples."""
        return {
            "scenario": self.cell.scenario.name,
            "duration_s": sum(one.seconds for one in inputs),
            **values,
            "outliers": sum(one.outliers for one in inputs),
            "warnings": self.warnings,
        }

    def write_report(self, path: str | Path) -> Path:
        """Write the result as JSON."""
        return write_json(self.json, Path(path))

    def write_scenario(self, place: str | Path, base: str | Path | None) -> list[Path]:
        """Write the corrected scenario, and corrected descriptions beside it.

        Args:
            place: The scenario file.
            base: File or name of the scenario, which the new one extends, so that it stays as it
                is with its comments; None to write all of the recorded scenario.

        Returns:
            The files that were written.

        Raises:
            IdentificationError: If there is nothing to correct, or a scenario cannot correct it.
            OutputError: If a file is that of `base` or of a description that is corrected.
        """
        place = Path(place)
        found = self.correction(place)
        if base is not None:
            extended_file(base, place)
        sources = [text.file.resolve() for text in found.urdfs.values()]
        for file in found.urdfs:
            if file.resolve() in sources:
                raise OutputError(f"{file}: is the description itself, expected another name.")
        for file, text in found.urdfs.items():
            text.write(file)
        header = f"{self.subject} as identified from recordings by `robot_dynamics identify`."
        write_corrected(place, base, self.cell.scenario, found.values, header)
        return [place, *found.urdfs]


def entry(value: float, deviation: float, before: float) -> dict[str, float]:
    """Return a value, its standard deviation and the described value as JSON values."""
    return {
        "value": float(value),
        "standard_deviation": float(deviation),
        "before": float(before),
    }


def line(name: str, one: dict[str, float], unit: str, scale: float = 1.0) -> str:
    """Return an `entry` as text, in a unit that is 1 / `scale` of its own."""
    return (
        f"  {name:<22}{scale * one['value']:11.4f} "
        f"+- {scale * one['standard_deviation']:.4f} {unit}"
        f"   (before: {scale * one['before']:.4f})"
    )


def quality(fit: Fit) -> dict[str, Any]:
    """Return residuals and conditioning of a fit as JSON values."""
    return {
        "residual_over_noise": fit.factor,
        "residual_correlation": fit.correlation,
        "condition": fit.condition if np.isfinite(fit.condition) else None,
        "rejected_instants": fit.rejected,
    }


def quality_words(fit: Fit, outliers: int) -> str:
    """Return residuals and conditioning of a fit as text."""
    white = "white" if fit.white else "not white"
    return (
        f"residuals {fit.factor:.2f} times the assumed noise, {white}; condition "
        f"{fit.condition:.3g}; {fit.rejected} instants and {outliers} values left out"
    )


def not_identified(what: str, excluded: dict[str, str]) -> list[str]:
    """Return why some of the cell was not identified, one sentence each.

    Args:
        what: What they are, "arm" or "surface".
        excluded: Reason by the name.
    """
    return [f"{what} {name!r} was not identified: {why}." for name, why in excluded.items()]


def doubts(fit: Fit, what: str, causes: str) -> list[str]:
    """Return reasons to doubt a fit, one sentence each.

    Args:
        fit: The fit.
        what: Addition to the word "residuals", such as " of left"; can be empty.
        causes: Likely causes of large residuals.
    """
    found = []
    if fit.factor > LARGE_FACTOR:
        found.append(
            f"residuals{what} are {fit.factor:.1f} times the assumed noise: {causes}, or the "
            "noise differ from the assumptions; deviations are enlarged."
        )
    # Deviations of a mean under correlated noise are larger by sqrt((1 + c) / (1 - c)).
    share = (1.0 + fit.correlation) / max(1.0 - fit.correlation, 1e-9)
    if not fit.white and fit.factor**2 * share > 1.0:
        found.append(
            f"successive residuals{what} are correlated ({fit.correlation:.2f}): something acts "
            "that is not in the equations, and deviations are too small."
        )
    return found
