# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Unseren's architecture with wrong models and disturbances: a Monte Carlo study.

The report proposes it as future work. Every sample is a wrong model of the controller: inertias,
position of the object's joint, and an unknown push, each alone and all together, with feedback and
with feed-forward estimates.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from robot_dynamics.app.pictures.figures import BLUE, GREEN, GREY, INK, ORANGE, VERMILION
from robot_dynamics.app.studies.samples import Results, run_samples
from robot_dynamics.arrays import Array
from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.reproductions.jointed_control import JointedRecord, ReproductionSettings
from robot_dynamics.reproductions.jointed_systems import Setting, misplaced, scaled, worked_case
from robot_dynamics.reproductions.law_checks import jointed_law_checks
from robot_dynamics.reproductions.study import Check, Sampling, StudyOutcome, Tell
from robot_dynamics.reproductions.unseren import PERIOD, decoupling_checks, run_case
from robot_dynamics.spatial import Rotation, Transform, Vector3

_SEED = 1991
_COUNT, _QUICK_COUNT, _TICKS = 300, 4, 600
_INERTIA = 0.2  # part of every mass and inertia, uniform
_PLACE, _TURN = 1e-3, 2e-3  # [m, rad], standard deviations along and about each axis
_PUSH, _TWIST = 5.0, 0.3  # [N, N m], largest
_PUSH_PART = (0.4, 0.6)  # of the run
_KINDS = {
    "inertias": BLUE,
    "disturbance": GREEN,
    "geometry": ORANGE,
    "all, feedback": VERMILION,
    "all, feed-forward": INK,
}
_WHAT = ("position [mm]", "orientation [mrad]", "force, rms [N]")
# Limits that 95 of a hundred systems of each kind keep, in the order of `_WHAT`; no system may
# have `_LARGEST` times as much.
_LIMITS = {
    "inertias": (1.0, 1.5, 0.02),
    "disturbance": (0.7, 1.5, 0.6),
    "geometry": (0.25, 1.0, 1.5e-3),
    "all, feedback": (1.0, 2.5, 0.6),
    "all, feed-forward": (1.0, 2.5, 0.6),
}
_LARGEST = 2.0
_DIVERGED = 1e3  # of any figure: hands would be a metre off


def sample(number: int, ticks: int = _TICKS) -> dict[str, Any]:
    """Return figures of all kinds for a sample; a failed kind has its error message."""
    setting = _worked_case()
    rng = np.random.default_rng([_SEED, number])
    bodies = len(setting.system.model.bodies)
    factors = rng.uniform(1.0 - _INERTIA, 1.0 + _INERTIA, bodies + 2)
    places = [_displacement(rng) for _ in range(2)]
    push = _push(rng, PERIOD * ticks)
    lighter = scaled(setting, factors[:bodies], factors[bodies:])
    elsewhere = misplaced(setting.system, places)
    both = misplaced(lighter, places)
    forward = ReproductionSettings(estimates="feed-forward")
    runs: dict[str, Callable[[], JointedRecord]] = {
        "inertias": lambda: run_case(setting, lighter, ticks=ticks),
        "disturbance": lambda: run_case(setting, setting.system, ticks=ticks, wrench=push),
        "geometry": lambda: run_case(setting, elsewhere, ticks=ticks),
        "all, feedback": lambda: run_case(setting, both, ticks=ticks, wrench=push),
        "all, feed-forward": lambda: run_case(setting, both, forward, ticks=ticks, wrench=push),
    }
    result: dict[str, Any] = {}
    for kind, go in runs.items():
        try:
            figures = go().figures()
        except (RobotDynamicsError, np.linalg.LinAlgError) as error:
            result[kind] = {"failed": str(error)}
            continue
        result[kind] = {what: figures[what] for what in _WHAT}
        if has_failed(result[kind]):
            result[kind] = {"failed": f"diverged: {result[kind]}"}
    return result


def has_failed(figures: dict[str, Any]) -> bool:
    """Return whether a run ended in an error, without finite numbers, or beyond the bounds."""
    values = [figures.get(what, np.nan) for what in _WHAT]
    return not all(isinstance(v, (int, float)) and abs(v) <= _DIVERGED for v in values)


@lru_cache(maxsize=1)
def _worked_case() -> Setting:
    return worked_case()


def _displacement(rng: np.random.Generator) -> Transform:
    """Return the pose of a modelled frame relative to the true one."""
    x, y, z = 0.5 * _TURN * rng.normal(size=3)
    w = np.sqrt(1.0 - x * x - y * y - z * z)
    return Transform(
        Rotation.from_quaternion(x, y, z, w), Vector3.of((_PLACE * rng.normal(size=3)).tolist())
    )


def _push(rng: np.random.Generator, duration: float) -> Callable[[float], Array]:
    """Return a wrench on one of the parts over time, there for a part of the run."""
    part = int(rng.integers(2))
    force, moment = (v / np.linalg.norm(v) for v in rng.normal(size=(2, 3)))
    wrench = np.zeros((2, 6))
    wrench[part] = [*(_TWIST * rng.uniform() * moment), *(_PUSH * rng.uniform() * force)]
    begin, end = (part * duration for part in _PUSH_PART)
    return lambda time: wrench if begin <= time < end else np.zeros((2, 6))


def quick_sample(number: int) -> dict[str, Any]:
    """Return the figures of a short run."""
    return sample(number, 150)


def run(quick: bool, tell: Tell, sampling: Sampling) -> StudyOutcome:
    """Run the missing samples, and draw the distributions of all."""
    count = sampling.count or (_QUICK_COUNT if quick else _COUNT)
    path = (
        sampling.results or Path("runs") / f"unseren-monte-carlo{'-quick' if quick else ''}.jsonl"
    )
    if sampling.results is None:
        path.parent.mkdir(exist_ok=True)
    worked_case()  # compiled once, before processes share the cache of machine code
    subject = {"study": "unseren-monte-carlo", "seed": _SEED, "quick": quick, "kinds": [*_KINDS]}
    results = Results(path, subject)
    try:
        found = run_samples(
            quick_sample if quick else sample,
            count,
            results,
            tell,
            lost=lambda sentence: {kind: {"failed": sentence} for kind in _KINDS},
            jobs=sampling.jobs,
        )
    except KeyboardInterrupt:
        kept = len(results.known)
        print(f"{kept} samples are kept in {path}: the same command continues.")
        raise
    finally:
        results.close()
    # Failed samples rank worse than all others.
    values = {
        kind: {
            what: np.array([np.inf if has_failed(r[kind]) else r[kind][what] for r in found])
            for what in _WHAT
        }
        for kind in _KINDS
    }
    figures: dict[str, Any] = {"samples": count, "results": str(path)}
    checks = [*decoupling_checks(_worked_case()), *jointed_law_checks(_worked_case())]
    for kind in _KINDS:
        failed = sum(has_failed(result[kind]) for result in found)
        checks.append(Check(f"{kind}: runs that failed", failed, 0))
        figures[kind] = {}
        for what, limit in zip(_WHAT, _LIMITS[kind], strict=True):
            for name, part, most in (
                ("median", 0.5, None), ("95 %", 0.95, limit), ("largest", 1.0, _LARGEST * limit)
            ):  # fmt: skip
                value = float(np.quantile(values[kind][what], part, method="higher"))
                figures[kind][f"{what}, {name}"] = value
                if most is not None:
                    checks.append(Check(f"{kind}: {what}, {name}", value, most))

    def draw(figure: Any) -> None:
        axes = figure.subplots(2, 3)
        for ax, what in zip(axes[0], _WHAT, strict=True):
            _draw_distribution(ax, what, values)
        for ax, what in zip(axes[1], _WHAT, strict=True):
            _draw_estimates(ax, what, values)
        axes[0, 0].legend(loc="upper left")
        figure.suptitle(
            f"Unseren's architecture: {count} systems with inertias wrong by up to 20 %, the "
            "object's joint misplaced by millimetres, and pushes up to 5 N",
            x=0.01,
            ha="left",
        )

    return StudyOutcome(figures, tuple(checks), draw, (13.0, 7.5))


def _draw_distribution(ax: Any, what: str, values: dict[str, dict[str, Array]]) -> None:
    for kind, color in _KINDS.items():
        known = np.sort(values[kind][what][np.isfinite(values[kind][what])])
        share = 100.0 * np.arange(1, len(known) + 1) / max(len(known), 1)
        style = (0, (4, 2)) if "forward" in kind else "-"
        ax.step(known, share, where="post", color=color, label=kind, linestyle=style)
    label = "threshold for inertias alone"
    ax.axvline(
        _LIMITS["inertias"][_WHAT.index(what)],
        color=GREY,
        linestyle=(0, (5, 3)),
        linewidth=1.0,
        label=label,
    )
    ax.set_xscale("log")
    title = {"position [mm]": "Largest error of position", "force, rms [N]": "Error of the force"}
    ax.set(title=title.get(what, "Largest error of orientation"), xlabel=what)
    ax.set(ylabel="part of the systems [%]", ylim=(0.0, 101.0))


def _draw_estimates(ax: Any, what: str, values: dict[str, dict[str, Array]]) -> None:
    back, forward = (values[f"all, {kind}"][what] for kind in ("feedback", "feed-forward"))
    ax.plot(back, forward, "o", color=BLUE, markersize=3, alpha=0.5, markeredgewidth=0.0)
    finite = np.concatenate([back, forward])
    finite = finite[np.isfinite(finite)]
    if finite.size:
        ends = [0.0, 1.05 * float(finite.max())]
        ax.plot(ends, ends, color=GREY, linewidth=1.0)
    ax.set(title="Both estimates, all errors at once", xlabel=f"feedback: {what}")
    ax.set(ylabel=f"feed-forward: {what}")
