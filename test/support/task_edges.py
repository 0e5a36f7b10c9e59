# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The matrix of edges in each phase of a task: false joint data and bad wrist sensors.

    python test/support/task_edges.py                # all rows, as a table in Markdown
    python test/support/task_edges.py lift velocity  # rows with these words in their names

Each error begins in the middle of a phase of `pick_and_place` and lasts. The exit status is 1 if
a row breaks a rule of docs/edges.md.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from unittest import mock

import numpy as np

from robot_dynamics.app.runs import run as runs
from robot_dynamics.app.runs.run import Preparation, simulate
from robot_dynamics.app.scenarios.scenario import load_scenario

sys.path.insert(0, os.path.dirname(__file__))

from edges import FAULTS, LARGEST_SPEED, WATCHED_S, _Witness

CELL = "pick_and_place"
HIGHEST_DROP_M = 0.05
_HELD_M = 1e-3  # height above its support from which the arms hold the object
_NO_TORQUE = 0.1  # [N m]
_GRAVITY = 9.80665  # [m/s^2]
_SENSOR = r"wrist sensor"
_FELT = r"found no contact|presses with|touches something|more or less than the weight"
#: By error its kind of fault and what the sentence of the stop or of the task must contain.
ERRORS = {
    **{name: row for name, row in FAULTS.items() if not name.startswith("wrench")},
    "wrench_inverted": ("wrench_scale, value: -1.0", f"{_SENSOR}|{_FELT}"),
    "wrench_dead": ("wrench_scale, value: 0.0", f"{_SENSOR}|{_FELT}"),
    "wrench_tared": ("wrench_tared", f"{_SENSOR}|{_FELT}"),
}


@dataclass(frozen=True)
class TaskEdge:
    """An error of one arm or of all that begins in a phase."""

    phase: str
    begins_s: float
    error: str
    arms: str

    @property
    def name(self) -> str:
        """The unique name."""
        return f"{self.phase}, {self.error}, {self.arms}"


@dataclass(frozen=True)
class TaskOutcome:
    """The outcome of a task edge.

    Attributes:
        verdict: "good", "stopped" by the safety layer, or "ended" in a safe end.
        cause: Its sentence.
        right: Whether the sentence names the error.
        speed: Largest speed of a joint over its velocity limit from then on, until a drive takes
            an arm over.
        drop_m: Height of the free fall that leads to the object's largest downward speed in this
            time.
        given_up: Whether all torques were zero while the object was in the air.
    """

    verdict: str
    cause: str
    right: bool
    speed: float
    drop_m: float
    given_up: bool

    @property
    def broken(self) -> list[str]:
        """The rules that are broken, in a word each."""
        rules = {
            "cause": self.verdict == "good" or self.right,
            "speed": self.speed <= LARGEST_SPEED,
            "drop": self.drop_m <= HIGHEST_DROP_M,
            "given up": not self.given_up,
        }
        return [word for word, kept in rules.items() if not kept]


@cache
def preparation() -> Preparation:
    """Return the data shared by the runs of this process."""
    return Preparation()


def edges() -> list[TaskEdge]:
    """Return all rows."""
    nominal = simulate(CELL, preparation=preparation()).report["phases"]
    return [
        TaskEdge(one["name"], round(0.5 * (one["from_s"] + one["to_s"]), 2), error, arms)
        for one in nominal
        for error in ERRORS
        for arms in ("one arm", "all arms")
    ]


def outcome(edge: TaskEdge) -> TaskOutcome:
    """Try an edge."""
    kind, cause = ERRORS[edge.error]
    joints = not edge.error.startswith("wrench")
    arm = load_scenario(CELL).cell.arms[0].name if edge.arms == "one arm" else ""
    fault = f"plant.faults=[{{kind: {kind}, time_s: {edge.begins_s}, arm: '{arm}'}}]"
    witness = _Witness("brake" if joints else "")
    with (
        mock.patch.object(runs, "make_plant", witness.plant),
        mock.patch.object(runs, "control_loop", witness.control),
        mock.patch.object(runs, "_AFTER_FAULT_S", WATCHED_S),
    ):
        run = simulate(CELL, overrides=[fault], preparation=preparation())
    recording, period = run.recording, run.recording.get("period_s")
    stopped, ended = (recording.metadata.get(name) for name in ("fault", "task_failure"))
    sentence = stopped or ended or ""
    # A drive that takes its arm over brakes, which the plant does not.
    taken_over = next((i + 1 for i, arms in enumerate(witness.released) if arms), len(recording))
    watched = slice(min(round(edge.begins_s / period), taken_over - 1), taken_over)
    speeds = np.abs(np.array(witness.speeds[watched])) / witness.loop.system.limits["velocity"]
    height = recording["object_pose"][:, 2] - recording["object_pose"][0, 2]
    falling = float(np.max(-recording["object_twist"][watched, 5], initial=0.0))
    idle = (np.abs(recording["commanded_torque"]) < _NO_TORQUE).all(axis=1)
    return TaskOutcome(
        "stopped" if stopped else "ended" if ended else "good",
        sentence,
        bool(re.search(cause, sentence, re.DOTALL)),
        float(speeds.max()),
        falling**2 / (2.0 * _GRAVITY),
        bool((idle & (height > _HELD_M))[watched].any()),
    )


def table(rows: Sequence[tuple[TaskEdge, TaskOutcome]]) -> str:
    """Return a table in Markdown with a column for each phase."""
    phases = list(dict.fromkeys(edge.phase for edge, _ in rows))
    lines = ["| error | " + " | ".join(phases) + " |", "|---" * (len(phases) + 1) + "|"]
    by_name = {edge.name: one for edge, one in rows}
    for error, arms in dict.fromkeys((edge.error, edge.arms) for edge, _ in rows):
        cells = []
        for phase in phases:
            one = by_name.get(TaskEdge(phase, 0.0, error, arms).name)
            cells.append("" if one is None else _words(one))
        lines.append(f"| {error.replace('_', ' ')}, {arms} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _words(one: TaskOutcome) -> str:
    text = f"{one.verdict}, {100 * one.speed:.0f} %, {1e3 * one.drop_m:.0f} mm"
    return f"**{text}; breaks: {', '.join(one.broken)}**" if one.broken else text


def main() -> int:
    """Try the requested rows and print the table."""
    parser = argparse.ArgumentParser(description="The matrix of edges in each phase of a task.")
    parser.add_argument("words", nargs="*", help="words in the names of rows")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    options = parser.parse_args()
    wanted = [edge for edge in edges() if all(word in edge.name for word in options.words)]
    rows = []
    with multiprocessing.Pool(options.jobs) as pool:
        for edge, one in zip(wanted, pool.imap(outcome, wanted), strict=True):
            rows.append((edge, one))
            print(f"{','.join(one.broken):10} {edge.name}: {_words(one)} {one.cause[:160]}",
                  file=sys.stderr, flush=True)  # fmt: skip
    print(table(rows))
    red = [one for _, one in rows if one.broken]
    print(f"{len(rows)} rows, {len(red)} break a rule.")
    return 1 if red else 0


if __name__ == "__main__":
    sys.exit(main())
