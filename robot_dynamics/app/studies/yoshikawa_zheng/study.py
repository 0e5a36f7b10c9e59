# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The three experiments in all cases, checked and drawn."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robot_dynamics.app.figures import BLUE, GREY, INK, VERMILION
from robot_dynamics.app.studies.study import Outcome, Tell
from robot_dynamics.app.studies.yoshikawa_zheng.acceptance import Run, checks
from robot_dynamics.app.studies.yoshikawa_zheng.cases import cases
from robot_dynamics.app.studies.yoshikawa_zheng.controller import LAWS
from robot_dynamics.app.studies.yoshikawa_zheng.errors import errors_of
from robot_dynamics.app.studies.yoshikawa_zheng.experiment import Record, experiment

Array = NDArray[np.float64]

# What is drawn of each experiment: nothing known to be wrong, and a good deal.
_DRAWN = {
    1: ("perfect", "model x0.8, friction, motor friction"),
    2: ("perfect", "model x0.8, motor friction"),
    3: ("1e4 N/m, perfect", "1e4 N/m, model x1.2, friction, delay"),
}
_TITLES = {1: "1  along a wall", 2: "2  free", 3: "3  onto a wall and off"}


def run(quick: bool, tell: Tell, law: str | None = None) -> Outcome:
    """Run the experiments, or a few of their cases, with one law or all."""
    setups = cases(quick, law)
    runs: list[Run] = []
    drawn: dict[tuple[int, str, str], Record] = {}
    figures: dict[str, Any] = {}
    for number, setup in enumerate(setups):
        name = f"experiment {setup.number}, {setup.law} law, {setup.name}"
        tell(number / len(setups), name)
        with warnings.catch_warnings():
            # Arms that lose the bar leave numbers behind that are none.
            warnings.simplefilter("ignore", RuntimeWarning)
            record = experiment(setup)
        errors = errors_of(setup.number, record)
        runs.append(Run(setup, errors, record.warnings))
        figures[name] = errors.as_json()
        drawn[setup.number, setup.name, setup.law] = record
    for chosen in dict.fromkeys(setup.law for setup in setups):
        damped = next(r for (n, _, own), r in drawn.items() if n == 3 and own == chosen)
        figures[f"normal damping, {chosen} law [N s/m]"] = damped.damping
    figures["effective mass along the normal [kg]"] = damped.mass
    literal = [r.warnings for r in runs if r.setup.number == 3 and r.setup.law == "literal"]
    figures["warning of the literal law"] = literal[0][0] if literal and literal[0] else "none"
    shown = law or LAWS[-1]
    return Outcome(figures, checks(runs), lambda figure: _draw(figure, drawn, shown), (11.0, 10.0))


def _draw(figure: Any, drawn: dict[tuple[int, str, str], Record], law: str) -> None:
    """Draw position, orientation and both forces of the three experiments over time."""
    axes = figure.subplots(5, 3, sharex=True)
    labels = (
        "position [mm]", "position error [mm]", "orientation [mrad]", "contact force [N]",
        "internal force [N]",
    )  # fmt: skip
    for column, number in enumerate((1, 2, 3)):
        panels = axes[:, column]
        panels[0].set_title(_TITLES[number])
        panels[-1].set_xlabel("time [s]")
        at = 0 if number == 1 else 1
        for name, color in zip(_DRAWN[number], (BLUE, VERMILION), strict=True):
            record = drawn[number, name, law]
            free = ~record.pressing if number == 3 else np.ones(len(record.time), dtype=bool)
            panels[0].plot(record.time, 1e3 * record.r[:, at], color=color)
            error = np.where(free, record.r[:, at] - record.r_wanted[:, at], np.nan)
            panels[1].plot(record.time, 1e3 * error, color=color)
            panels[2].plot(record.time, 1e3 * record.r[:, 2], color=color)
            if number != 2:
                fine = record.fine_step * np.arange(1, len(record.fine_press) + 1)
                panels[3].plot(fine, record.fine_press, color=color, lw=1.0)
            panels[4].plot(record.time, record.squeeze, color=color)
        record = drawn[number, _DRAWN[number][0], law]
        wanted = {"color": INK, "ls": (0, (4, 3)), "lw": 1.0}
        # On the wall y is not what is controlled.
        free = ~record.pressing if number == 3 else np.ones(len(record.time), dtype=bool)
        path = np.where(free, 1e3 * record.r_wanted[:, at], np.nan)
        panels[0].plot(record.time, path, **wanted)
        if number != 2:
            shown = record.pressing if number == 3 else np.ones(len(record.time), dtype=bool)
            press = np.where(shown, record.press_wanted, np.nan)
            panels[3].plot(record.time, press, drawstyle="steps-pre", **wanted)
        panels[4].plot(record.time, record.squeeze_wanted, drawstyle="steps-pre", **wanted)
    for panel, label in zip(axes[:, 0], labels, strict=True):
        panel.set_ylabel(label)
    axes[0, 0].set_ylabel("x [mm]")
    axes[0, 1].set_ylabel("y [mm]")
    axes[0, 2].set_ylabel("y [mm]")
    _explain(axes[3, 1])
    bounced = drawn.get((3, "1e4 N/m, perfect", "literal"))
    if bounced is not None:
        fine = bounced.fine_step * np.arange(1, len(bounced.fine_press) + 1)
        axes[3, 2].plot(fine, bounced.fine_press, color=GREY, lw=0.8)
    axes[3, 2].set_ylim(-0.1, 3.0)


def _explain(panel: Any) -> None:
    """Fill the panel in which experiment 2 has no contact force with what the lines are."""
    panel.axis("off")
    cases = "\n".join(
        f"{n}: {wrong.removeprefix('1e4 N/m, ')}" for n, (_, wrong) in _DRAWN.items()
    )
    dashed = {"color": INK, "ls": (0, (4, 3)), "lw": 1.0}
    for label, style in (
        ("nothing wrong", {"color": BLUE}),
        (cases, {"color": VERMILION}),
        ("printed law, elastic wall", {"color": GREY, "lw": 0.8}),
        ("wanted", dashed),
    ):
        panel.plot([], [], label=label, **style)
    panel.legend(loc="center")
