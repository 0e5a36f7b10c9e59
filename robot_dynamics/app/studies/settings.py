# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Settings of a study: a scenario, distributions of its values, recorded figures."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from robot_dynamics.description.diagnosis import DescriptionError, Problem
from robot_dynamics.description.files import refused
from robot_dynamics.description.yaml_document import decode, read_yaml
from robot_dynamics.errors import ArgumentError, UnknownNameError
from robot_dynamics.resources import share_directory

Plan = Literal["plain", "latin_hypercube", "sobol", "saltelli", "grid"]

MOST_SAMPLES = 1_000_000
_KINDS = ("uniform", "normal", "log_uniform", "integer", "choice")


@dataclass(frozen=True)
class DistributionSettings:
    """Distribution of the values of a key; exactly one of the first five keys is given.

    Attributes:
        uniform: Least and largest value of a uniform distribution.
        normal: Mean and standard deviation of a normal distribution.
        log_uniform: Least and largest value, whose logarithm is uniform.
        integer: Least and largest whole number, all equally likely.
        choice: Values, all equally likely; as for `--set`.
        size: Number of independently drawn numbers of the value, such as 3 for a position; by
            default the value is a single number.
    """

    uniform: tuple[float, float] | None = None
    normal: tuple[float, float] | None = None
    log_uniform: tuple[float, float] | None = None
    integer: tuple[int, int] | None = None
    choice: tuple[Any, ...] | None = None
    size: int | None = field(default=None, metadata={"unit": "", "minimum": 1, "maximum": 100})

    def __post_init__(self) -> None:
        given = [kind for kind in _KINDS if getattr(self, kind) is not None]
        if len(given) != 1:
            raise ArgumentError(
                f"has {' and '.join(given) or 'no distribution'}; expected one of "
                f"{', '.join(_KINDS)}."
            )
        low, high = getattr(self, given[0])[:2] if given[0] != "choice" else (0, 0)
        if given[0] == "choice" and not self.choice:
            raise ArgumentError("choice is empty; expected values.")
        if given[0] in ("uniform", "log_uniform", "integer") and not low <= high:
            raise ArgumentError(f"{given[0]} is from {low:g} to {high:g}; expected a range.")
        if given[0] == "log_uniform" and not low > 0.0:
            raise ArgumentError(f"log_uniform begins at {low:g}; expected more than 0.")
        if given[0] == "normal" and not high >= 0.0:
            raise ArgumentError(f"normal has the standard deviation {high:g}; expected 0 or more.")

    @property
    def kind(self) -> str:
        """Kind of the distribution: its key."""
        return next(kind for kind in _KINDS if getattr(self, kind) is not None)


@dataclass(frozen=True)
class StudySettings:
    """A study: many runs of a scenario with different values.

    Attributes:
        scenario: The scenario: a file, relative to this one, or the name of a shipped one.
        vary: Distributions of varied values, by key as for `--set`. Keys below `plant` are
            differences of the plant from the controller's model.
        name: Name of the study; by default the file's name.
        description: Purpose of the study, for people.
        samples: Number of runs; for a grid the number of combinations of its values.
        sampling: "plain" for independent random numbers, "latin_hypercube", "sobol" for a
            scrambled Sobol sequence, "saltelli" for its blocks from which Sobol indices
            follow, "grid" for all combinations of values that are all choices.
        seed: Seed of all random numbers.
        fixed: Changes of the scenario in all runs, by key as for `--set`.
        figures: Names of recorded figures of the report of a run; by default those with thresholds
            in the scenario.
        duration_s: Simulated time of each run [s]; by default the scenario's.
        places: Places of its keys in the file, by their paths ("vary.plant.seed"); not a key.
    """

    scenario: str
    vary: dict[str, DistributionSettings]
    name: str = ""
    description: str = ""
    samples: int = field(default=256, metadata={"unit": "", "minimum": 1, "maximum": MOST_SAMPLES})
    sampling: Plan = "sobol"
    seed: int = field(default=0, metadata={"unit": "", "minimum": 0})
    fixed: dict[str, Any] = field(default_factory=dict)
    figures: tuple[str, ...] = ()
    duration_s: float | None = field(default=None, metadata={"unit": "s", "above": 0.0})
    places: dict[str, str] = field(default_factory=dict, metadata={"place": True}, compare=False)

    def __post_init__(self) -> None:
        if not self.vary:
            raise self.refused("vary", "is empty; expected keys, each with a distribution")
        both = [key for key in self.vary if key in self.fixed]
        if both:
            raise self.refused(
                f"fixed.{both[0]}", "is both in vary and in fixed; expected it in one"
            )
        if self.sampling == "grid":
            for key, drawn in self.vary.items():
                if drawn.kind != "choice" or drawn.size is not None:
                    raise self.refused(
                        f"vary.{key}",
                        "is no single choice, which a grid is made of; expected choice: [...] "
                        "alone, or another sampling",
                    )

    def place(self, key: str) -> str:
        """Return the place of a key, or of the key above it if it is not in the file."""
        while key and key not in self.places:
            key = key.rpartition(".")[0]
        return self.places.get(key, "")

    def refused(self, key: str, message: str) -> DescriptionError:
        """Return the error of a study with a single problem of a key."""
        return DescriptionError([Problem("error", self.place(key), key, message)])


def shipped_studies() -> dict[str, Path]:
    """Return the studies that come with the package, by name."""
    folder = share_directory() / "config" / "studies"
    return {path.stem: path for path in sorted(folder.glob("*.yaml"))}


def load_study(name: str | Path) -> StudySettings:
    """Return the study of a file, or a shipped one by its name.

    Its scenario is found from every working directory.

    Raises:
        DescriptionError: If the file is refused; with every problem and its place.
        UnknownNameError: If there is neither such a file nor a shipped study of this name.
    """
    path = Path(name)
    if path.is_dir():
        raise refused(path, "is a folder, expected a study as YAML")
    if not path.exists() and not path.suffix and path.name == str(name):
        shipped = shipped_studies()
        if path.name not in shipped:
            raise UnknownNameError("study", path.name, [*shipped, "FILE.yaml"])
        path = shipped[path.name]
    study = decode(StudySettings, read_yaml(path))
    beside = path.parent / study.scenario
    scenario = str(beside.resolve()) if study.scenario and beside.exists() else study.scenario
    return replace(study, scenario=scenario, name=study.name or path.stem)
