# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""`commission`: checks of a cell before its arms hold anything, by small motions of free arms."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from robot_dynamics.app.commissioning.checks import (
    CellCheck,
    check_motion,
    check_start,
    check_whole_motion,
    check_wrists,
)
from robot_dynamics.app.commissioning.dynamics_checks import (
    OF_DRIVES,
    check_bases,
    check_drives,
    check_sensors,
)
from robot_dynamics.app.commissioning.motion import commissioning_task
from robot_dynamics.app.identification.corrected_scenario import flow, write_corrected
from robot_dynamics.app.identification.excitation import require_free_arms
from robot_dynamics.app.identification.inputs import cell_of
from robot_dynamics.app.identification.report_parts import IdentificationReport, ScenarioCorrection
from robot_dynamics.app.output_files import write_json
from robot_dynamics.app.progress import Listener
from robot_dynamics.app.recordings.recording import Recording
from robot_dynamics.app.recordings.recording_files import load_recording
from robot_dynamics.app.runs.run import simulate
from robot_dynamics.app.scenarios.cell import build_system, true_system
from robot_dynamics.app.scenarios.plant import make_plant
from robot_dynamics.app.scenarios.scenario import Scenario, load_scenario
from robot_dynamics.control.start_check import StartError
from robot_dynamics.errors import ArgumentError
from robot_dynamics.identification.signals import IdentificationError, NothingToCorrectError
from robot_dynamics.manipulation.system import GraspSystem

_STOPS = ("fault", "task_failure", "task_unfinished")  # keys of metadata
_HEADER = "Corrected by `robot_dynamics commission`."


@dataclass(frozen=True)
class Commissioning:
    """Result of a commissioning.

    Attributes:
        scenario: The scenario.
        checks: All checks, in the order in which they were made.
        corrections: Values of the scenario that failed checks correct, by their keys.
    """

    scenario: Scenario
    checks: list[CellCheck]
    corrections: dict[str, Any]

    @property
    def ok(self) -> bool:
        """Whether no check failed, and the torques of every arm were examined."""
        return not self.failed and not self.unknown

    @property
    def unknown(self) -> list[str]:
        """Arms whose torque constants were not examined."""
        return [
            one.arm
            for one in self.checks
            if one.subject == OF_DRIVES[0] and one.verdict == "not examined"
        ]

    @property
    def failed(self) -> list[CellCheck]:
        """The checks that failed."""
        return [one for one in self.checks if one.verdict == "no-go"]

    @property
    def json(self) -> dict[str, Any]:
        """The result as JSON values."""
        return {
            "scenario": self.scenario.name,
            "ok": self.ok,
            "checks": [one.json for one in self.checks],
            "corrections": self.corrections,
        }

    @property
    def lines(self) -> list[str]:
        """The result as text."""
        open_ = sum(one.verdict == "not examined" for one in self.checks)
        verdict = "go"
        if self.failed:
            verdict = f"NO-GO, {len(self.failed)} of {len(self.checks)} checks"
        elif self.unknown:
            verdict = f"NO-GO, the torques of {' and '.join(self.unknown)} are not known"
        return [
            *(one.line for one in self.checks),
            f"{self.scenario.name}: {verdict}" + (f", {open_} not examined" if open_ else ""),
        ]

    def write_report(self, path: str | Path) -> Path:
        """Write the result as JSON."""
        return write_json(self.json, Path(path))

    def write_scenario(self, place: str | Path, base: str | Path | None) -> Path:
        """Write the corrected scenario.

        Args:
            place: The scenario file.
            base: File or name of the scenario, which the new one extends; None to write all of
                it.

        Raises:
            NothingToCorrectError: If no failed check has a correction in a scenario.
        """
        if not self.corrections:
            raise NothingToCorrectError(
                f"{self.scenario.name}: no failed check can be corrected in a scenario; expected "
                "a delay, tools of wrist sensors, or base placements."
            )
        write_corrected(Path(place), base, self.scenario, self.corrections, _HEADER)
        return Path(place)


def commission(
    scenario: Scenario | str | Path,
    recording: Recording | str | Path | None = None,
    *,
    held: Iterable[Recording | str | Path] = (),
    actual: Scenario | str | Path | None = None,
    overrides: Iterable[str] = (),
    progress: Listener | None = None,
) -> Commissioning:
    """Check a cell by small motions of its free arms, and by arms that hold an object.

    Without a recording the cell is simulated: its arms move by the control loop with its safety
    layer, unless their positions at rest already contradict the scenario. Checked are positions
    (units, signs, exchanged arms), velocities, rate, torque constants and signs, delay, gravity
    and links, friction, and wrist sensors; with `held`, the base placements.

    Args:
        scenario: A scenario with a task, whose arms stand at home.
        recording: A recording of the motion, from nodes; see `commissioning_task`.
        held: Recordings of arms that hold and turn one rigid object.
        actual: Scenario of the simulated plant, if it differs from the scenario's.
        overrides: Values of the scenario to replace.
        progress: Called about a hundred times in the simulated motion.

    Raises:
        RobotDynamicsError: If a scenario or a recording is refused.
    """
    scenario = load_scenario(scenario, overrides)
    require_free_arms(scenario)
    if recording is not None and actual is not None:
        raise ArgumentError("actual is for simulated arms; expected none with a recording.")
    held = [one if isinstance(one, Recording) else load_recording(one) for one in held]
    system = build_system(scenario)
    if recording is None:
        true = scenario if actual is None else load_scenario(actual)
        rest = make_plant(true, true_system(true)).reset()
        checks = check_start(scenario, system, rest.q)
        if all(one.verdict == "go" for one in checks):
            checks += check_wrists(system, rest.q, rest.wrenches)
    else:
        recording = recording if isinstance(recording, Recording) else load_recording(recording)
        cell_of([recording], scenario)
        checks = check_start(scenario, system, recording["joint_position"][0])
    corrections: list[ScenarioCorrection] = []
    if recording is None and all(one.verdict == "go" for one in checks):
        moved = scenario.changed(
            f"{key}={flow(value)}" for key, value in commissioning_task(scenario).items()
        )
        try:
            recording = simulate(moved, progress=progress, actual=true).recording
        except StartError as error:
            remedy = "if the arms rest and touch nothing, correct the unit of the measurement"
            checks.append(CellCheck("", "motion", "no-go", str(error), "", remedy))
    if recording is not None:
        more, corrections = _of_recording(scenario, system, recording)
        checks += more
    if held:
        of_bases, frames = check_bases(scenario, held)
        checks += of_bases
        corrections += _corrections(frames, of_bases)
    values = {key: value for one in corrections for key, value in one.values.items()}
    return Commissioning(scenario, checks, values)


def write_motion(place: str | Path, scenario: str | Path, overrides: Iterable[str] = ()) -> Path:
    """Write a scenario whose task is the motion, for nodes.

    Args:
        place: The scenario file.
        scenario: File or name of the scenario, which the new one extends.
        overrides: Values of the scenario to replace in the plan of the motion.
    """
    changes = commissioning_task(load_scenario(scenario, overrides))
    header = "Motion of free arms to be checked by `robot_dynamics commission --recording`."
    write_corrected(Path(place), scenario, load_scenario(scenario), changes, header)
    return Path(place)


def _of_recording(
    scenario: Scenario, system: GraspSystem, recording: Recording
) -> tuple[list[CellCheck], list[ScenarioCorrection]]:
    """Return the checks of a recorded motion, and corrections of those that failed."""
    stop = next(
        (str(recording.metadata[key]) for key in _STOPS if recording.metadata.get(key)), ""
    )
    q, qd = recording["joint_position"], recording["joint_velocity"]
    if stop:
        checks = [CellCheck("", "motion", "no-go", stop)]
    else:
        checks = [check_whole_motion(scenario, system, q)]
    period = float(recording.get("period_s"))
    for i in range(len(system.arms)):
        checks += check_motion(system, i, q, qd, period)
    of_drives, drives = check_drives(scenario, system, recording)
    of_sensors, sensors = check_sensors(scenario, system, recording)
    corrections = _corrections(drives, of_drives) + _corrections(sensors, of_sensors)
    return [*checks, *of_drives, *of_sensors], corrections


def _corrections(
    found: IdentificationReport | None, checks: list[CellCheck]
) -> list[ScenarioCorrection]:
    """Return the corrections that a scenario can hold, if one of the checks failed."""
    if found is None or all(one.verdict != "no-go" for one in checks):
        return []
    try:
        return [found.correction(Path())]
    except IdentificationError:  # a scenario cannot correct it
        return []
