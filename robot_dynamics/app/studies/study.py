# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A study of a scenario: runs of its samples, and the table of their results."""

from __future__ import annotations

import hashlib
import shlex
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robot_dynamics.app.batches.batch_figures import LARGEST, LEAST
from robot_dynamics.app.batches.batch_simulation import BatchSimulation, why_separate
from robot_dynamics.app.runs.report import OF_COMPUTER, figures_of
from robot_dynamics.app.runs.run import Preparation, simulate
from robot_dynamics.app.scenarios.acceptance import failures, lower_thresholds, more_is_better
from robot_dynamics.app.scenarios.laws import control_loop
from robot_dynamics.app.scenarios.scenario import (
    OPTION,
    Scenario,
    find_scenario,
    load_scenario,
    shipped_scenarios,
)
from robot_dynamics.app.studies.design import EXTENSIBLE, Design, design_of, override
from robot_dynamics.app.studies.samples import Results, Tell, run_samples
from robot_dynamics.app.studies.settings import StudySettings
from robot_dynamics.arrays import Array
from robot_dynamics.description.diagnosis import DescriptionError, Diagnosis, Problem
from robot_dynamics.errors import ArgumentError, RobotDynamicsError, UnknownNameError
from robot_dynamics.simulation.engine import SimulationError
from robot_dynamics.version import find_version

#: Outcomes of a run. A run is good if `robot_dynamics simulate` would end with status 0.
GOOD = "good"
OUTCOMES = {
    GOOD: "kept all thresholds",
    "threshold": "missed a threshold of the scenario",
    "ended": "the task ended early, in the safe end of a phase",
    "stopped": "the controller stopped",
    "refused": "the start, or the scenario with these values, was refused",
    "diverged": "grew without bound, or has numbers that are not finite",
    "error": "ended in an unexpected error",
    "lost": "its process was ended each time",
}
_DEFAULT = "object_position_error_max_m"
#: Number of samples from which functions for many of them are worth their compilation.
FEWEST_AT_ONCE = 32
_PROBED = 8  # samples by which is seen whether that is possible
_kept = threading.local()  # of this thread: a law serves one run at a time


@dataclass(frozen=True)
class Task:
    """Inputs shared by all samples of a study.

    Attributes:
        scenario: Scenario with the changes of all samples.
        figures: Names of the recorded figures.
        duration: Simulated time [s]; by default the scenario's.
        allow_code: Whether code that the scenario names may be imported.
        version: Version of the package in the calling process.
    """

    scenario: Scenario
    figures: tuple[str, ...]
    duration: float | None
    allow_code: bool
    version: str


def run_sample(task: Task, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return outcome, reason and figures of a run; figures that are not finite are None.

    The result of a task has the `phase` besides in which it failed.

    Args:
        task: Shared inputs.
        values: Values of this sample by key.

    Raises:
        ArgumentError: If this process has another version of the package.
    """
    version = find_version()
    if version != task.version:
        raise ArgumentError(
            f"a worker has robot_dynamics {version}; expected {task.version}, as the study has."
        )
    figures: dict[str, float | None] = dict.fromkeys(task.figures)
    try:
        report = simulate(
            task.scenario,
            overrides=_changes(values),
            duration=task.duration,
            allow_code=task.allow_code,
            preparation=_preparation(),
        ).report
    except SimulationError as error:
        return {"outcome": "diverged", "reason": str(error), "figures": figures}
    except RobotDynamicsError as error:
        return {"outcome": "refused", "reason": str(error), "figures": figures}
    except Exception as error:  # a study goes on, whatever one of its runs comes to
        reason = f"{type(error).__name__}: {error}"
        return {"outcome": "error", "reason": reason, "figures": figures}
    for name in figures:
        value = report.get(name)
        figures[name] = value if is_finite(value) else None
    outcome, reason = outcome_of(report)
    result = {"outcome": outcome, "reason": reason, "figures": figures}
    if report.get("failed_phase"):
        result["phase"] = report["failed_phase"]
    return result


def _preparation() -> Preparation:
    """Return the system and law shared by the runs of this thread."""
    if not hasattr(_kept, "preparation"):
        _kept.preparation = Preparation()
    preparation: Preparation = _kept.preparation
    return preparation


def _changes(values: Mapping[str, Any]) -> list[str]:
    return [override(key, value) for key, value in values.items()]


def run_block(given: Sequence[tuple[Task, Mapping[str, Any]]]) -> list[dict[str, Any]]:
    """Return the results of `run_sample` for samples that are advanced together.

    Samples whose start is refused, that end early, or that lack a figure run again by
    `run_sample`: batches do not simulate the fallback.

    Args:
        given: Task and values of each; all have the same task.
    """
    task = given[0][0]
    try:
        batch = _batch(task.scenario, [values for _, values in given])
        good = _accepted(task.scenario, given, batch)
        run = batch.run(task.duration)
    except Exception:  # of one sample, that will say so by itself
        return [run_sample(*one) for one in given]
    thresholds = task.scenario.acceptance.thresholds(task.scenario.plant.engine)
    needed = _needed(task.scenario, task.figures)
    found = []
    for cell, one in enumerate(given):
        figures = {name: float(values[cell]) for name, values in run.figures.items()}
        known = all(is_finite(figures[name]) for name in needed)
        if cell in run.endings or not good[cell] or not known:
            found.append(run_sample(*one))
            continue
        outcome, reason = outcome_of({"failures": failures(figures, thresholds)})
        own = {name: figures[name] for name in task.figures}
        found.append({"outcome": outcome, "reason": reason, "figures": own})
    return found


def _batch(scenario: Scenario, values: Sequence[Mapping[str, Any]]) -> BatchSimulation:
    parameters = {key: [one[key] for one in values] for key in values[0]}
    parameters.setdefault("plant.seed", [scenario.plant.seed] * len(values))
    return BatchSimulation(scenario, len(values), parameters, threads=1)


def _accepted(
    scenario: Scenario, given: Sequence[tuple[Task, Mapping[str, Any]]], batch: BatchSimulation
) -> list[bool]:
    """Return for each sample whether a single run would start; a batch checks one path only."""
    shared, start = _preparation(), batch.observation
    known: dict[Any, bool] = {}
    accepted = []
    for (_, values), q, qd in zip(given, start.q, start.qd, strict=True):
        try:
            own = scenario.changed(_changes(values))
            key = (q.tobytes(), qd.tobytes(), repr(own.control))
            if key not in known:
                known[key] = False
                control_loop(own, shared.system(own), law=shared.law(own)).check(q, qd)
                known[key] = True
            accepted.append(known[key])
        except RobotDynamicsError:
            accepted.append(False)
    return accepted


def _needed(scenario: Scenario, figures: Sequence[str]) -> list[str]:
    """Return the figures of a sample's verdict, and those that are recorded."""
    needed = [*figures]
    for name in scenario.acceptance.thresholds(scenario.plant.engine):
        stem = name.removesuffix("_least")
        # As `failures` looks for them.
        needed.append(stem if stem == name or stem in LEAST else f"{stem}_max")
    return needed


def why_single(task: Task, first: Sequence[Mapping[str, Any]], nominal: Mapping[str, Any]) -> str:
    """Return why samples cannot be advanced together; empty if they can.

    Args:
        task: Shared inputs.
        first: Values of some samples, for which the shared functions are compiled.
        nominal: Report of a run without variations.
    """
    name = task.scenario.name
    for figure in _needed(task.scenario, task.figures):
        if figure not in (*LARGEST, *LEAST) or not is_finite(nominal.get(figure)):
            return f"{name}: a batch of cells does not have the figure {figure!r}."
    control = task.scenario.control
    if control.law != control.base_law:
        return f"{name}: a batch of cells has no controller of one's own."
    if task.scenario.acceptance.stop:
        return f"{name}: the controller is to stop, which ends a cell of a batch."
    if "plant.link_mass_scale" in first[0]:
        return f"{name}: with other link masses a batch of cells agrees to rounding alone."
    try:
        separate = why_separate(task.scenario)
        if separate:
            return separate
        _batch(task.scenario, first).reference_rows  # noqa: B018 - makes the law
    except (RobotDynamicsError, ValueError) as error:
        return str(error)
    return ""


def outcome_of(report: dict[str, Any]) -> tuple[str, str]:
    """Return the outcome of a run by its report, and its reason."""
    problems = report["failures"]
    if not problems:
        return GOOD, ""
    first = problems[0]
    if first.startswith("the task ended early"):
        return "ended", first
    if first.startswith("the controller "):
        return "stopped", first
    if any("not finite" in problem for problem in problems):
        return "diverged", next(problem for problem in problems if "not finite" in problem)
    return "threshold", first


def is_finite(value: Any) -> bool:
    """Return whether a value of a report is a finite number."""
    return (
        isinstance(value, (int, float))
        and not isinstance(value, bool)
        and bool(np.isfinite(value))
    )


@dataclass(frozen=True)
class StudyResult:
    """A study that has been run.

    Attributes:
        study: Its settings.
        scenario: Scenario with the changes of all samples.
        design: Its samples.
        figures: Names of the recorded figures.
        nominal: Outcome, reason and figures of the scenario without variations.
        samples: The same of each sample, in their order.
        version: Version of the package.
        allow_code: Whether code that the scenario names was imported.
        singly: Why samples ran one by one; empty if blocks of them were advanced together.
    """

    study: StudySettings
    scenario: Scenario
    design: Design
    figures: tuple[str, ...]
    nominal: dict[str, Any]
    samples: Sequence[dict[str, Any]]
    version: str
    allow_code: bool = False
    singly: str = ""

    @property
    def failed(self) -> NDArray[np.bool_]:
        """Which samples failed (N,)."""
        return np.array([sample["outcome"] != GOOD for sample in self.samples])

    def values(self, figure: str) -> Array:
        """Return a figure of all samples (N,), NaN for missing values."""
        found = [sample["figures"].get(figure) for sample in self.samples]
        return np.array([np.nan if value is None else value for value in found], dtype=float)

    def threshold(self, figure: str) -> tuple[float, bool] | None:
        """Return the threshold of a figure, and whether it is a lower bound; None without."""
        known = self.scenario.acceptance.thresholds(self.scenario.plant.engine)
        for name in (figure, *lower_thresholds(figure)):
            if name in known:
                return known[name], name.endswith("_least")
        return None

    def worst(self, figure: str) -> int | None:
        """Return the sample with the worst value of a figure; None if none has a value."""
        values = self.values(figure) * (-1.0 if more_is_better(figure) else 1.0)
        return None if np.isnan(values).all() else int(np.nanargmax(values))

    def command(self, sample: int | None) -> str:
        """Return the command that runs a sample again; for None the run without variations."""
        changes = _changes(self.study.fixed)
        changes += [] if sample is None else self.design.overrides(sample)
        words = ["robot_dynamics", "simulate", _shown_path(self.study.scenario)]
        for change in changes:
            words += ["--set", change]
        if self.study.duration_s is not None:
            words += ["--duration", repr(self.study.duration_s)]
        words += ["--allow-code"] if self.allow_code else []
        return shlex.join(words)


def _shown_path(scenario: str) -> str:
    """Return the name of a shipped scenario; or the path of a file from here, if it is below."""
    path = Path(scenario)
    if shipped_scenarios().get(path.stem) == path:
        return path.stem
    here = Path.cwd()
    return str(path.relative_to(here)) if path.is_absolute() and here in path.parents else scenario


def run_study(
    study: StudySettings,
    journal: Path,
    tell: Tell,
    *,
    jobs: int | None = None,
    scheduler: str | None = None,
    allow_code: bool = False,
) -> StudyResult:
    """Run the samples of a study that are not known yet.

    Args:
        study: Its settings.
        journal: File of results, line by line, from which an interrupted study continues.
        tell: Called with the progress.
        jobs: Number of processes; by default one for each core.
        scheduler: Address of a scheduler of Dask, whose workers run the samples.
        allow_code: Whether code that the scenario names may be imported.

    Raises:
        DescriptionError: If the scenario refuses a key or a possible value.
        UnknownNameError: If there is no such figure.
        RobotDynamicsError: If anything else is refused.
    """
    design = design_of(study)
    scenario = checked_scenario(study, design)
    # Open the file first: another process may have it.
    with closing(Results(journal)) as results:
        tell(0.0, "the scenario without variations")
        # Run it first, in this process: it compiles shared functions, and gives the existing
        # figures.
        nominal, figures, report = run_nominal(study, scenario, allow_code=allow_code)
        version = find_version()
        task = Task(scenario, figures, study.duration_s, allow_code, version)
        subject = {
            "study": study.name,
            "seed": study.seed,
            "sampling": study.sampling,
            **({} if study.sampling in EXTENSIBLE else {"samples": design.count}),
            "vary": {key: _given(drawn) for key, drawn in study.vary.items()},
            "duration_s": study.duration_s,
            "figures": list(figures),
            "version": version,
            "scenario": hashlib.sha256(_text_anywhere(scenario).encode()).hexdigest(),
            "files": _files_digest(scenario),
        }
        results.take_up(subject)
        left = [number for number in range(design.count) if number not in results.known]
        singly = ""
        if len(left) >= FEWEST_AT_ONCE:
            tell(0.0, "whether samples can be advanced at once")
            singly = why_single(task, [design.values(number) for number in left[:_PROBED]], report)

        def told(done: float, doing: str) -> None:
            failed = sum(
                one["outcome"] != GOOD
                for number, one in results.known.items()
                if number < design.count  # there may be more, of an earlier and larger study
            )
            tell(done, f"{doing}, {failed} failed")

        samples = run_samples(
            run_sample,
            design.count,
            results,
            told,
            given=partial(_task_and_values, task, design),
            block=None if singly or len(left) < FEWEST_AT_ONCE else run_block,
            lost=lambda sentence: {
                "outcome": "lost",
                "reason": sentence,
                "figures": dict.fromkeys(figures),
            },
            jobs=jobs,
            scheduler=scheduler,
        )
    return StudyResult(
        study, scenario, design, figures, nominal, samples, version, allow_code, singly
    )


def _named_files(scenario: Scenario) -> list[str]:
    """Return the files that a scenario names: robots, object, and own code."""
    held = scenario.cell.object
    law = scenario.control.law.rpartition(":")[0]
    named = [
        *(robot.urdf for robot in scenario.cell.robots),
        held.urdf,
        held.joint.urdf if held.joint else "",
        law if law.endswith(".py") else "",
    ]
    return [path for path in named if path]


def _text_anywhere(scenario: Scenario) -> str:
    """Return the text of a scenario without the folders of its files: other checkouts go on."""
    text = scenario.text()
    for path in sorted(_named_files(scenario), key=len, reverse=True):
        text = text.replace(path, Path(path).name)
    return text


def _files_digest(scenario: Scenario) -> str:
    """Return the digest of the contents of the files that a scenario names."""
    digest = hashlib.sha256()
    for path in _named_files(scenario):
        digest.update(hashlib.sha256(Path(path).read_bytes()).digest())
    return digest.hexdigest()


def _task_and_values(task: Task, design: Design, number: int) -> tuple[Task, dict[str, Any]]:
    return task, design.values(number)


def _given(drawn: Any) -> dict[str, Any]:
    """Return the given keys of a distribution, as JSON values."""
    return {
        name: list(value) if isinstance(value, tuple) else value
        for name, value in vars(drawn).items()
        if value is not None
    }


def checked_scenario(study: StudySettings, design: Design) -> Scenario:
    """Return the scenario with the changes that all samples have.

    Raises:
        DescriptionError: If it does not take every key, with the least and the largest value
            drawn; the messages name all such keys and their places.
        RobotDynamicsError: If there is no such scenario.
    """
    first = design.values(0)
    changes = {f"fixed.{key}": override(key, value) for key, value in study.fixed.items()}
    changes |= {f"vary.{key}": override(key, value) for key, value in first.items()}
    try:
        find_scenario(study.scenario)
    except (ArgumentError, UnknownNameError) as error:
        raise study.refused("scenario", str(error).rstrip(".")) from error
    # Check all keys together: some are valid only with others.
    with _at_keys(study, changes):
        load_scenario(study.scenario, changes.values())
    scenario = load_scenario(study.scenario, _changes(study.fixed))
    column = 0
    for key, drawn in design.vary.items():
        width = drawn.size or 1
        points = design.points[:, column : column + width].mean(axis=1)
        column += width
        for sample in {int(np.argmin(points)), int(np.argmax(points))}:
            values = {**first, key: design.values(sample)[key]}
            with _at_keys(study, {f"vary.{key}": override(key, values[key])}, f"vary.{key}"):
                scenario.changed(_changes(values))
    return scenario


@contextmanager
def _at_keys(
    study: StudySettings, changes: Mapping[str, str], otherwise: str = ""
) -> Iterator[None]:
    """Report problems with changes of a scenario at the keys of the study.

    Args:
        study: The study.
        changes: Changes by key of the study, as for `--set`.
        otherwise: Key of problems that name no change, if they are due to one.

    Raises:
        DescriptionError: With the problems.
    """
    keys = {f"{OPTION} {change}": key for key, change in changes.items()}

    def at_key(problem: Problem) -> Problem:
        key = keys.get(problem.place, otherwise)
        if not key:
            return problem
        inside = "" if key.endswith(f".{problem.element}") else problem.element
        element = ": ".join(filter(None, (key, inside)))
        return replace(problem, place=study.place(key), element=element)

    try:
        yield
    except DescriptionError as error:
        found = Diagnosis([at_key(problem) for problem in error.problems])
        raise DescriptionError(found.problems) from error


def run_nominal(
    study: StudySettings, scenario: Scenario, *, allow_code: bool
) -> tuple[dict[str, Any], tuple[str, ...], dict[str, Any]]:
    """Return outcome, reason and figures without variations, the names of these, and the report.

    Raises:
        UnknownNameError: If there is no figure that the study names.
        DescriptionError: If a figure is a time of the computer and not of the run.
        RobotDynamicsError: If the run is refused: then no other run would be accepted.
    """
    run = simulate(scenario, duration=study.duration_s, allow_code=allow_code)
    known = list(figures_of(run.report))
    for name in study.figures:
        if name in OF_COMPUTER:
            raise study.refused(
                "figures",
                f"{name!r} is a time of the computer that differs from run to run; expected "
                "figures of the run itself",
            )
        if name not in known:
            raise UnknownNameError("figure", name, known, f"{study.place('figures')}: figures")
    asked = scenario.acceptance.thresholds(scenario.plant.engine)
    bounded = [name for name in known if name in asked or f"{name}_least" in asked]
    figures = study.figures or tuple(bounded) or (_DEFAULT,)
    outcome, reason = outcome_of(run.report)
    values = {name: run.report.get(name) for name in figures}
    nominal = {"outcome": outcome, "reason": reason, "figures": values}
    return nominal, tuple(figures), run.report
