# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The matrix of edges: wrong payloads, false joint data and bad wrist sensors, on several cells.

    python test/support/edges.py                        # all rows; goes on where it was stopped
    python test/support/edges.py lift_box velocity      # rows with these words in their names
    python test/support/edges.py --list                 # names of the rows
    python test/support/edges.py --csv edges.csv        # the whole table, one line a row
    python test/support/edges.py --page docs/edges.md   # its summary, into the page

The exit status is 1 if a row breaks a rule of docs/edges.md. Results are kept in
`build/edges.jsonl`, each with a hash of the sources that it was made from; this file is not among
them: remove the results when the rows change.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import json
import math
import multiprocessing
import os
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, fields
from functools import cache
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog

from robot_dynamics.app.runs import run as runs
from robot_dynamics.app.runs.run import Preparation, simulate
from robot_dynamics.app.scenarios.cell import build_system, true_system
from robot_dynamics.app.scenarios.scenario import Scenario, load_scenario
from robot_dynamics.control.arm_model import ArmModel
from robot_dynamics.control.faults import Finding
from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.manipulation.assembly import closed_configuration
from robot_dynamics.manipulation.grasping import hybrid_system
from robot_dynamics.manipulation.hybrid.closure import contact_planes
from robot_dynamics.simulation import EngineName

Array = NDArray[np.float64]

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "build" / "edges.jsonl"
CELLS = (
    *("lift_box", "lift_box_panda", "lift_box_xarm7", "two_ur5", "tray", "comply"),
    "three_arms",
)
#: Cells whose drives are also tried as ones that hold their last torque.
HOLDING = ("lift_box", "lift_box_panda", "two_ur5")
#: What payloads need: xArms with a light box have fast motions, for which friction is stiff.
_CHANGES = {"lift_box_xarm7": ("plant.step_s=0.00025",)}
#: When errors of joint data and sensors begin [s]; control ramps in for 0.2 s.
ONSETS = {"before the start": 0.0, "in the ramp": 0.1, "in motion": 0.8}
WATCHED_S = 1.0  # after detection
_LENGTH_S = 0.5  # of a run besides that and the onset: detection takes less
USABLE = 0.9  # share of the torque limits with which a hold counts as feasible
SHORT_S = 0.2  # that false data last, besides for ever
LARGEST_SPEED = 1.0  # share of a velocity limit
LARGEST_WAY_M = 0.03
SOON_S = 0.02  # until an error is noticed where no hold is feasible
_NO_TORQUE = 0.1  # [N m or N]
#: What a sample must differ by to show an error: positions, velocities, forces [SI units].
_SHOWS = (1e-3, 0.02, 5.0)

_STILL, _DEGREES = r"seems to stand still|not stale data", "it seems to be in degrees"
_STALE_OR_FALSE = "stale, repeated or false data"
_STALE = f"not stale data under new time stamps|{_STALE_OR_FALSE}"
_SENSOR = r"wrist sensor"
_IN_DEGREES = f"value: {math.degrees(1.0)}"
#: By error its kind of fault, with its value, and what the sentence of the stop must contain.
FAULTS = {
    "late_joints": ("late_joints, value: 0.5", _STALE),
    "stuck_sensors": ("stuck_sensors", f"{_STALE}|{_SENSOR}"),  # the wrist sensor's as well
    "swapped_joints": ("swapped_joints", "names seem swapped"),
    "velocity_sign": ("velocity_scale, value: -1.0", "its sign seems to be wrong"),
    "velocity_degrees": (f"velocity_scale, {_IN_DEGREES}", f"{_DEGREES} per second"),
    "velocity_zero": ("velocity_scale, value: 0.0", _STILL),
    "position_degrees": (f"position_scale, {_IN_DEGREES}", _DEGREES),
    "position_jump": ("position_offset, value: 0.5", _STALE_OR_FALSE),
    "wrench_tared": ("wrench_tared", _SENSOR),
    "wrench_inverted": ("wrench_scale, value: -1.0", _SENSOR),
}
#: Further faults of arms whose drives hold.
_LOST = {"no_numbers": ("position_nan", "expected a finite number")}
_PAYLOAD = r"payload|its mass is|its centre of mass is"
#: At the start wrong positions are out of limits, or not at the grasp.
_REFUSED = (
    r"start refused: .*(is at .* expected|from its grasp"
    r"|from where it is to start)"
)


@dataclass(frozen=True)
class Edge:
    """A row of the matrix: an error in a cell.

    Attributes:
        cell: Name of the scenario.
        engine: That moves the plant.
        error: The error in words; without when and whose.
        arms: Whose data or sensors are false: "one", "all"; empty for payloads.
        onset: When it begins, see `ONSETS`; empty for payloads.
        changes: Overrides of the scenario.
        cause: Regular expression of sentences that name the error.
        drives: "brake" without commands, as those of arms with false joint data do; "hold" the
            last command, and compensate gravity; empty if commands do not end.
    """

    cell: str
    engine: EngineName
    error: str
    arms: str
    onset: str
    changes: tuple[str, ...]
    cause: str
    drives: str = ""

    @property
    def name(self) -> str:
        """The unique name."""
        drives = "drives hold" if self.drives == "hold" else ""
        words = (self.cell, self.engine, self.error, self.arms, self.onset, drives)
        return ", ".join(filter(None, words))

    @property
    def begins_s(self) -> float:
        """When it begins [s]."""
        return ONSETS.get(self.onset, 0.0)


@dataclass(frozen=True)
class Outcome:
    """The outcome of an edge.

    Attributes:
        name: Of the edge.
        load: Least share of the torque limits with which the arms can hold the object at its
            start; infinite if contacts cannot.
        verdict: "good", "refused", "stopped" or "failed".
        cause: The sentence of it; of a good run the first warning of wrist sensors.
        right: Whether the sentence names the error.
        detection_s: From the first sample that shows the error [s]; None if it was not noticed or
            no sample shows it.
        speed: Largest true speed of a joint over its velocity limit after that sample, until the
            watched time is over.
        way_m: How far the object went from detection to the end of the watched time; of a good run
            its largest distance from the reference [m].
        step: Largest change of a torque from one command to the next [N m or N].
        growth: Of the largest torque over its limit after detection.
        given_up: Whether all torques were zero meanwhile.
        watched_s: From detection to 1 s later, or until a drive took an arm over [s].
    """

    name: str
    load: float
    verdict: str
    cause: str
    right: bool
    detection_s: float | None
    speed: float
    way_m: float
    step: float
    growth: float
    given_up: bool
    watched_s: float

    @property
    def feasible(self) -> bool:
        """Whether the arms can hold the object at all."""
        return self.load <= USABLE

    @property
    def broken(self) -> list[str]:
        """The rules that are broken, in a word each."""
        found = []
        if self.verdict == "failed":
            found.append("failed")
        elif self.verdict != "good" and not self.right:
            found.append("cause")
        if not self.feasible:
            late = self.detection_s is None or self.detection_s > SOON_S
            return [*found, "late"] if late else found
        if not self.speed <= LARGEST_SPEED:
            found.append("speed")
        if not self.way_m <= LARGEST_WAY_M:
            found.append("way")
        if self.given_up:
            found.append("given up")
        return found


def edges() -> Iterator[Edge]:
    """Yield all rows."""
    for cell in CELLS:
        for engine in ("engine", "mujoco"):
            for error, change in payloads().items():
                changes = (*_CHANGES.get(cell, ()), f"plant.{change}")
                yield Edge(cell, engine, error, "", "", changes, _PAYLOAD)
        first = load_scenario(cell).cell.arms[0].name
        for error, (kind, cause) in FAULTS.items():
            for arms, arm in (("one arm", first), ("all arms", "")):
                for onset, time_s in ONSETS.items():
                    fault = f"plant.faults=[{{kind: {kind}, time_s: {time_s}, arm: '{arm}'}}]"
                    false = f"{cause}|{_REFUSED}" if time_s == 0.0 else cause
                    drives = "" if error.startswith("wrench") else "brake"
                    yield Edge(cell, "engine", error, arms, onset, (fault,), false, drives)
        sensors = {
            "force bias 10 N": "force_bias=[10, 0, 0]",
            "force bias 40 N": "force_bias=[40, 0, 0]",
            "force drift 20 N/s": "force_drift=[20, 0, 0]",
            "force scale 0.1": f"wrench_scale={{{first}: 0.1}}",
        }
        for error, change in sensors.items():
            arms = "one arm" if "scale" in error else "all arms"
            changes = (f"plant.sensors.{change}",)
            yield Edge(cell, "engine", error, arms, "before the start", changes, _SENSOR)
        if cell in HOLDING:
            yield from _edges_of_holding_drives(cell, first)


def _edges_of_holding_drives(cell: str, first: str) -> Iterator[Edge]:
    """Yield the rows of drives that hold their last command, with an arm or all arms lost."""
    onset = "in motion"
    for error, (kind, cause) in {**FAULTS, **_LOST}.items():
        if error.startswith("wrench"):
            continue
        for arms, arm in (("one arm", first), ("all arms", "")):
            for lasts in (math.inf, SHORT_S):
                time_s = f"time_s: {ONSETS[onset]}"
                if lasts < math.inf:
                    time_s += f", duration_s: {lasts}"
                fault = f"plant.faults=[{{kind: {kind}, {time_s}, arm: '{arm}'}}]"
                long = error if lasts == math.inf else f"{error} for {lasts:g} s"
                yield Edge(cell, "engine", long, arms, onset, (fault,), cause, "hold")


def payloads() -> dict[str, str]:
    """Return the setting of the plant of each wrong payload."""
    found = {f"mass x{scale:g}": f"object_mass_scale={scale}" for scale in (0.5, 1.3, 2.0)}
    for axis in range(3):
        for offset in (-0.1, -0.05, 0.05, 0.1):
            error = [0.0, 0.0, 0.0]
            error[axis] = offset
            found[f"centre {100 * offset:+g} cm in {'xyz'[axis]}"] = f"object_center_error={error}"
    return {**found, "inertia x3": "object_inertia_scale=3.0"}


class _Witness:
    """Sees more than a controller does: true speeds, released arms, faults, false samples.

    Args:
        drives: Of an `Edge`.
    """

    def __init__(self, drives: str = "") -> None:
        self._drives = drives
        self.loop: Any = None
        self.speeds: list[Array] = []
        self.released: list[int] = []
        self.shown: int | None = None  # tick of the first sample that differs from the truth

    def plant(self, *args: Any) -> Any:
        plant = _make_plant(*args)
        measure = plant._measurement

        def witnessed() -> Any:
            measured = measure()
            true = plant.engine.sensed()
            self.speeds.append(true[1].copy())
            apart = (measured.q - true[0], measured.qd - true[1], measured.wrenches - true[2])
            if self.shown is None and any(
                not (np.abs(one) <= most).all() for one, most in zip(apart, _SHOWS, strict=True)
            ):
                self.shown = measured.tick
            return measured

        plant._measurement = witnessed
        if self._drives == "hold":
            gravity, step = ArmModel(plant.system).support, plant.step

            def compensated(torque: Array, wrenches: Any = None) -> Any:
                """Step under commands less gravity as believed, and gravity as it is."""
                believed = gravity(self.loop.safety.arms.q)
                return step(torque - believed + gravity(plant.engine.sensed()[0]), wrenches)

            plant.step = compensated
        return plant

    def control(self, *args: Any, **how: Any) -> Any:
        self.loop = loop = _control_loop(*args, **how)
        if self._drives == "brake":
            arms = [arm.name for arm in loop.system.arms]
            loop.safety.fallback.note_drives(np.zeros_like, arms)
        update = loop.update

        def witnessed(*values: Any) -> Any:
            outcome = update(*values)
            self.released.append(len(outcome.released))
            return outcome

        loop.update = witnessed
        return loop


_make_plant, _control_loop = runs.make_plant, runs.control_loop
_preparations: dict[str, Preparation] = {}


def outcome(edge: Edge) -> Outcome:
    """Try an edge."""
    scenario = load_scenario(edge.cell, edge.changes)
    scenario = scenario.changed([f"plant.engine={edge.engine}"])
    load = least_load(scenario)
    witness = _Witness(edge.drives)
    duration = edge.begins_s + WATCHED_S + _LENGTH_S
    preparation = _preparations.setdefault(edge.cell, Preparation())
    stays = (load, None, 0.0, 0.0, 0.0, 0.0, False, 0.0)
    try:
        with (
            mock.patch.object(runs, "make_plant", witness.plant),
            mock.patch.object(runs, "control_loop", witness.control),
        ):
            run = simulate(scenario, duration=duration, preparation=preparation)
    except RobotDynamicsError as error:
        refused = str(error).startswith("start refused") or not witness.released
        verdict, detected = ("refused", 0.0) if refused else ("failed", None)
        right = bool(re.search(edge.cause, str(error), re.DOTALL))
        return Outcome(edge.name, stays[0], verdict, str(error), right, detected, *stays[2:])
    return _judged(edge, scenario, load, witness, run)


def _judged(
    edge: Edge, scenario: Scenario, load: float, witness: _Witness, run: runs.Run
) -> Outcome:
    period, columns = scenario.control.period, run.recording.columns
    ticks, pose = len(columns["tick"]), columns["object_pose"]
    shown = witness.shown
    if not edge.onset:  # the payload shows when the brakes have let go
        shown = scenario.plant.command_delay_periods + 1
    faults: Sequence[tuple[int, Finding]] = witness.loop.safety.faults
    warned = [sentence for _, sentence in witness.loop.safety.warnings]
    torque, limits = columns["commanded_torque"], witness.loop.system.limits
    if faults:
        detected, sentence = faults[0][0], str(faults[0][1])
        taken_over = next((i for i, arms in enumerate(witness.released) if arms), ticks)
        end = min(ticks, detected + round(WATCHED_S / period) + 1, taken_over + 1)
        way = np.linalg.norm(pose[detected:end, :3] - pose[detected, :3], axis=1).max()
        after = torque[detected:end]
    else:
        detected, sentence = None, warned[0] if warned else ""
        end, after = ticks, torque[:0]
        way = run.report["object_position_error_max_m"]
        way = np.inf if way is None else way
    first = min(shown if shown is not None else round(edge.begins_s / period), end - 2)
    first = max(first, 0)
    if detected is not None:
        first = min(first, max(detected - 1, 0))
    shares = np.abs(np.array(witness.speeds[first:end])) / limits["velocity"]
    used = np.abs(after) / limits["effort"]
    return Outcome(
        edge.name,
        load,
        "stopped" if faults else "good",
        sentence,
        bool(re.search(edge.cause, sentence)),
        None if detected is None or shown is None else max(0.0, (detected - shown) * period),
        float(shares.max()),
        float(way),
        float(np.abs(np.diff(torque[first:end], axis=0)).max(initial=0.0)),
        float(used.max() - used[0].max()) if len(used) else 0.0,
        bool(len(after) and (np.abs(after).max(axis=1) < _NO_TORQUE).any()),
        (end - 1 - detected) * period if detected is not None else 0.0,
    )


def least_load(scenario: Scenario) -> float:
    """Return the least share of the torque limits with which the arms can hold the object.

    A linear programme over the contact forces F within polygons in their cones:
    `|h + J_S^T F| <= s tau_max` and `W_S F` the weight, at the start, with the true payload.
    Infinite if no contact forces hold it.
    """
    believed = build_system(scenario)
    true = true_system(scenario, believed)
    start = closed_configuration(true, scenario.object_pose)
    hybrid = hybrid_system(true)
    own = np.delete(start, np.arange(len(start))[true.object_q])
    terms = hybrid.terms_at_rest(own, start[true.object_q])
    grip, limits = terms.J_S.T, hybrid.drive_limits["effort"]
    limited = np.isfinite(limits)
    grip, bias, limits = grip[limited], terms.h[limited], limits[limited, None]
    planes = contact_planes(hybrid.contacts)
    nothing = np.zeros((len(planes.rows), 1))
    A = np.block([[grip, -limits], [-grip, -limits], [-planes.rows, nothing]])
    b = np.concatenate([-bias, bias, -planes.lower])
    cost = np.zeros(A.shape[1])
    cost[-1] = 1.0
    weight = np.hstack([terms.W_S, np.zeros((6, 1))])
    found = linprog(cost, A, b, weight, terms.Q_B, bounds=(None, None))
    return float(found.x[-1]) if found.status == 0 else np.inf


@cache
def sources() -> str:
    """Return a hash of all that results depend on."""
    digest = hashlib.sha256()
    for folder, suffix in (("robot_dynamics", ".py"), ("config", ".yaml"), ("urdf", ".urdf")):
        for path in sorted((ROOT / folder).rglob(f"*{suffix}")):
            if "nodes" not in path.parts:  # they are not run here
                digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def known() -> dict[str, Outcome]:
    """Return the results of these sources so far, by name."""
    if not RESULTS.is_file():
        return {}
    found = {}
    for line in RESULTS.read_text(encoding="utf-8").splitlines():
        result = json.loads(line)
        if result.pop("sources") == sources():
            found[result["name"]] = Outcome(**result)
    return found


def outcomes(wanted: Sequence[Edge], jobs: int) -> dict[str, Outcome]:
    """Return the results of some rows; those that are not known are tried, and kept."""
    found = known()
    missing = [edge for edge in wanted if edge.name not in found]
    RESULTS.parent.mkdir(exist_ok=True)
    with (
        RESULTS.open("a", encoding="utf-8") as file,
        multiprocessing.get_context("forkserver").Pool(jobs) as pool,
    ):
        for i, one in enumerate(pool.imap_unordered(outcome, missing, chunksize=4)):
            found[one.name] = one
            file.write(json.dumps({"sources": sources(), **asdict(one)}) + "\n")
            file.flush()
            if i % 20 == 19 or i + 1 == len(missing):
                print(f"{i + 1} of {len(missing)} rows", file=sys.stderr)
    return found


def main() -> int:
    """Try the requested rows and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("words", nargs="*", help="words in the names of rows")
    parser.add_argument("--list", action="store_true", help="print the names of the rows")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--csv", type=Path, help="write the whole table")
    parser.add_argument("--page", type=Path, help="write its summary into a page")
    options = parser.parse_args()
    wanted = [edge for edge in edges() if all(word in edge.name for word in options.words)]
    if options.list:
        print("\n".join(edge.name for edge in wanted))
        return 0
    found = outcomes(wanted, options.jobs)
    rows = [(edge, found[edge.name]) for edge in wanted]
    for _, one in rows:
        print(_line(one))
    if options.csv:
        with options.csv.open("w", encoding="utf-8", newline="") as file:
            write = csv.writer(file)
            write.writerow([*(column.name for column in fields(Outcome)), "broken"])
            write.writerows([[*asdict(one).values(), " ".join(one.broken)] for _, one in rows])
    if options.page:
        before, _, rest = options.page.read_text(encoding="utf-8").partition(_BEGIN)
        after = rest.partition(_END)[2]
        options.page.write_text(f"{before}{_BEGIN}\n\n{summary(rows)}\n\n{_END}{after}", "utf-8")
    red = [one for _, one in rows if one.broken]
    print(f"{len(rows)} rows, {len(red)} break a rule.")
    return 1 if red else 0


_BEGIN, _END = "<!-- table -->", "<!-- end of table -->"


def summary(rows: Sequence[tuple[Edge, Outcome]]) -> str:
    """Return tables in Markdown, one for each kind: of each error in each cell its worst row."""
    kinds: dict[str, list[tuple[Edge, Outcome]]] = {}
    for edge, one in sorted(rows, key=lambda row: row[0].engine != "engine"):
        kinds.setdefault(_kind(edge), []).append((edge, one))
    return "\n\n".join(f"### {kind}\n\n{_table(of)}" for kind, of in kinds.items())


def _kind(edge: Edge) -> str:
    """Return the heading of an error's table."""
    if not edge.arms:
        return "Payloads" if edge.engine == "engine" else "Payloads, MuJoCo"
    if edge.drives == "hold":
        return "Joint data, drives that hold"
    of_sensors = edge.error.startswith(("wrench", "force"))
    return "Wrist sensors" if of_sensors else "Joint data"


def _table(rows: Sequence[tuple[Edge, Outcome]]) -> str:
    groups: dict[str, dict[str, list[Outcome]]] = {}
    for edge, one in rows:
        error = re.sub(r"centre [+-](\d+) cm in .", r"centre off by \1 cm", edge.error)
        title = ", ".join(filter(None, (error.replace("_", " "), edge.arms)))
        groups.setdefault(title, {}).setdefault(edge.cell, []).append(one)
    cells = list(dict.fromkeys(edge.cell for edge, _ in rows))
    lines = ["| error | " + " | ".join(cells) + " |", "|---" * (len(cells) + 1) + "|"]
    for title, found in groups.items():
        worst = [_worst(found.get(cell, [])) for cell in cells]
        lines.append(f"| {title} | " + " | ".join(worst) + " |")
    return "\n".join(lines)


def _worst(found: Sequence[Outcome]) -> str:
    if not found:
        return ""
    words = [" or ".join(sorted({one.verdict for one in found}))]
    times = [one.detection_s for one in found if one.verdict == "stopped" and one.detection_s]
    if times:
        words.append(f"{1e3 * max(times):.0f} ms")
    words.append(f"{100 * max(one.speed for one in found):.0f} %")
    words.append(f"{1e3 * max(one.way_m for one in found):.0f} mm")
    broken = list(dict.fromkeys(word for one in found for word in one.broken))
    text = ", ".join(words)
    if not all(one.feasible for one in found):
        text += "; no hold is feasible"
    return f"**{text}; breaks: {', '.join(broken)}**" if broken else text


def _line(one: Outcome) -> str:
    detection = "" if one.detection_s is None else f"{1e3 * one.detection_s:.0f} ms"
    return (
        f"{','.join(one.broken):10} {one.name:55} load {one.load:4.2f} {one.verdict:8} "
        f"{detection:>7} {one.speed:5.2f} {1e3 * one.way_m:6.1f} mm {one.step:5.2f} "
        f"{one.growth:5.2f} {one.watched_s:5.2f} s {one.cause[:150]}"
    )


if __name__ == "__main__":
    sys.exit(main())
