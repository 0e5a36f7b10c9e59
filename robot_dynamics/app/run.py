# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Runs of scenarios in one process without ROS, and the outputs of a run."""

from __future__ import annotations

import contextlib
import copy
import re
import sys
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robot_dynamics.app.laws import control_loop, make_law
from robot_dynamics.app.metrics import squeezes
from robot_dynamics.app.output_files import (
    RECORDING,
    STANDARD_OUTPUT,
    SUFFIXES,
    OutputError,
    require_parent,
)
from robot_dynamics.app.progress import Listener, Progress
from robot_dynamics.app.recorders import ControlRecorder, PlantRecorder
from robot_dynamics.app.recording import Recording
from robot_dynamics.app.recording_files import require_suffix, save_recording
from robot_dynamics.app.report import report_of, summary, write_report
from robot_dynamics.app.scenario import Scenario, build_system, load_scenario, true_system
from robot_dynamics.app.scene import scene_of
from robot_dynamics.compile.cache import folder_of_kernels
from robot_dynamics.compile.host import find_host, interpretation_forced
from robot_dynamics.control.control_law import ControlLaw, LawStep
from robot_dynamics.control.controller import as_controller, controller_name
from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.manipulation.assembly import closed_configuration
from robot_dynamics.manipulation.system import GraspSystem
from robot_dynamics.simulation.plant import ScenePlant
from robot_dynamics.simulation.settings import EngineName

Array = NDArray[np.float64]

PROGRESS_STEPS = 100  # calls of `progress` in a run
_FILE_SUFFIX = re.compile(r"\.[A-Za-z][A-Za-z0-9]{1,4}")  # "run.foo" is a file, "run.1" is not


@dataclass(frozen=True)
class Run:
    """The result of a run.

    Attributes:
        recording: All recorded columns.
        report: The figures computed from it (JSON values); see `report.report_of`.
    """

    recording: Recording
    report: dict[str, Any]

    @property
    def ok(self) -> bool:
        """Whether the run kept all thresholds of its scenario."""
        return bool(self.report["ok"])

    def plot(self, path: str | Path) -> Path:
        """Write the figure of the run; the format follows from the file's suffix.

        Raises:
            RobotDynamicsError: If matplotlib is missing or the file cannot be written.
        """
        from robot_dynamics.app.plots import plot_run

        return plot_run(self.recording, path)

    def save(self, path: str | Path) -> Path:
        """Write the recording as .npz, or as .mcap for other programs of the ROS world.

        Raises:
            RobotDynamicsError: If the file cannot be written, or what it needs is not installed.
        """
        return save_recording(self.recording, path)

    def write_report(self, path: str | Path) -> Path:
        """Write the report as JSON."""
        return write_report(self.report, path)


class RunInterrupted(KeyboardInterrupt):
    """Ctrl-C during a run.

    Attributes:
        run: What there is until then; its metadata have `interrupted_s`.
    """

    def __init__(self, run: Run) -> None:
        super().__init__()
        self.run = run


class RunOutputs:
    """Where the results of a run go; checked before it starts.

    As a context it removes the folders that it made when a run raises, and writes what there is of
    a run that was interrupted.

    Attributes:
        reports: Where the report goes.
        plots: Where the figure goes.
        recording: Where the recording goes, if anywhere.

    Args:
        place: The file of the recording, or a folder for everything.
        report: Where the report goes besides.
        plot: Where the figure goes besides.

    Raises:
        RobotDynamicsError: If one of them cannot be used, or a figure was asked for and cannot
            be drawn here.
    """

    def __init__(self, place: Path | None, report: Path | None, plot: Path | None) -> None:
        file = place if place is not None and is_recording(place) else None
        folder = None if file else place
        # A report or figure with a name of its own is written into the folder as well.
        self.reports = [path for path in (folder and folder / "report.json", report) if path]
        self.plots = [path for path in (folder and folder / "run.png", plot) if path]
        self.recording: Path | None = file or (folder and folder / RECORDING)
        self._made: list[Path] = []  # the innermost folder first
        self._writing = False
        if folder is not None:
            missing = [path for path in (folder, *folder.parents) if not path.exists()]
            try:
                folder.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise OutputError(f"{folder}: cannot be made ({error.strerror}).") from error
            self._made = missing
        try:
            for path in filter(None, (report, plot, file)):
                require_parent(path)
            if file is not None:
                require_suffix(file)
            if self.plots:
                self._check_plot(plot)
        except RobotDynamicsError:
            self._remove_folders()
            raise

    def __enter__(self) -> RunOutputs:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: object
    ) -> None:
        wanted = self.reports or self.plots or self.recording
        if isinstance(error, RunInterrupted) and wanted:
            self.finish(error.run)
        elif kind is not None:
            self._remove_folders()
            if kind is KeyboardInterrupt and wanted and not self._writing:
                print(
                    "robot_dynamics: nothing was written: the run had not ended.", file=sys.stderr
                )

    def _remove_folders(self) -> None:
        with contextlib.suppress(OSError):  # as when there is something in it by now
            for path in self._made:
                path.rmdir()

    def _check_plot(self, wanted: Path | None) -> None:
        from robot_dynamics.app.figures import PlotError, require_figure

        try:
            for path in self.plots:
                require_figure(path)
        except PlotError as error:
            if wanted is not None:
                raise
            print(f"robot_dynamics: no plot: {error}", file=sys.stderr)
            self.plots = []

    def finish(self, run: Run, printed: Collection[str] = ()) -> bool:
        """Write all outputs, print the summary, and return whether the run was good.

        Args:
            run: The run.
            printed: Warnings that have been printed before.
        """
        for line in summary(run.report):
            print(line)
        for sentence in run.report["warnings"]:
            if sentence not in printed:
                print(f"robot_dynamics: warning: {sentence}", file=sys.stderr)
        self._writing = True
        written = [run.write_report(path) for path in self.reports]
        if self.recording is not None:
            written.append(run.save(self.recording))
        written += [run.plot(path) for path in self.plots]
        written = [path for path in written if path != STANDARD_OUTPUT]
        if written:
            print("written: " + ", ".join(map(str, written)))
        sys.stdout.flush()
        for sentence in run.report["failures"]:
            print(f"robot_dynamics: {sentence}", file=sys.stderr)
        return run.ok


def is_recording(place: Path) -> bool:
    """Return whether a place for results is a file: one that ends like a recording.

    Raises:
        OutputError: If it ends like another file.
    """
    if place.suffix in SUFFIXES:
        return True
    if place.name in SUFFIXES and not place.is_dir():
        raise OutputError(f"{place}: expected a name before {place.name}.")
    if _FILE_SUFFIX.fullmatch(place.suffix) and not place.is_dir():
        raise OutputError(
            f"{place}: expected a recording as {' or '.join(SUFFIXES)}, or a folder; one with "
            "such a name has to be there already."
        )
    return False


#: Called with the simulated time [s] and a function that returns a recording of this control
#: period alone: the whole would take longer and longer. Returns
#: external wrenches as `Simulation.step` takes them, for the period that follows, or None.
Watcher = Callable[[float, Callable[[], Recording]], Mapping[str, ArrayLike] | None]


class Preparation:
    """Keeps what runs share that differ in nothing that the controller believes.

    Arms and object are the same while `cell` is; the law is while cell, control, safety and
    reference are. With it a run begins five times as soon, and is the same to the last bit.
    """

    def __init__(self) -> None:
        self._system: tuple[Any, GraspSystem] | None = None
        self._law: tuple[Any, ControlLaw] | None = None

    def system(self, scenario: Scenario) -> GraspSystem:
        """Return arms and object as the controller believes them to be."""
        if self._system is None or self._system[0] != scenario.cell:
            self._system = scenario.cell, build_system(scenario)
        return self._system[1]

    def law(self, scenario: Scenario) -> ControlLaw:
        """Return the control law of a scenario, which begins anew at its start."""
        believed = (scenario.cell, scenario.control, scenario.safety, scenario.reference)
        if self._law is None or self._law[0] != believed:
            self._law = None  # should the next one be refused
            self._law = believed, make_law(scenario, self.system(scenario))
        # What a run makes it see is no part of the next one.
        return copy.copy(self._law[1])


def simulate(
    scenario: Scenario | str | Path,
    plant: EngineName | None = None,
    *,
    duration: float | None = None,
    overrides: Iterable[str] = (),
    progress: Listener | None = None,
    started: float | None = None,
    controller: Any = None,
    allow_code: bool = False,
    safety: bool = True,
    watch: Watcher | None = None,
    preparation: Preparation | None = None,
) -> Run:
    """Run a scenario in this process, without ROS.

    Args:
        scenario: A scenario, a file, or the name of a shipped one.
        plant: "engine" or "mujoco"; as the scenario says by default.
        duration: Simulated time [s]; that of start and reference by default. Beyond that the
            object is held at the end of the reference.
        overrides: Changes of single values, as "plant.object_mass_scale=1.2".
        progress: Called repeatedly.
        started: `time.perf_counter()` when the wait for the first torque began; now by default.
        controller: A controller of one's own in the place of the scenario's law: a function of
            `ControllerInput` that returns torques (na,), or a `Controller`. The law of the
            scenario observes for it.
        allow_code: Whether code that the scenario names as `control.law` may be imported.
        safety: Whether the safety layer stands between controller and arms. Without it nothing is
            checked, before the start or later; the nodes cannot switch it off.
        watch: Called in every control period; says which external wrenches act. See `Watcher`.
        preparation: What an earlier run has prepared; nothing by default.

    Raises:
        RobotDynamicsError: If the scenario is refused.
        RunInterrupted: On Ctrl-C, a KeyboardInterrupt with the run until then.
    """
    started = time.perf_counter() if started is None else started
    scenario = chosen_scenario(scenario, plant, overrides)
    own = None
    if controller is not None:
        own, base = as_controller(controller), scenario.control.base_law
        named = replace(
            scenario.control, law=controller_name(controller), observer=base, options={}
        )
        scenario = replace(scenario, control=named)
    preparation = preparation or Preparation()
    control, believed = scenario.control, preparation.system(scenario)
    law = preparation.law(scenario)
    loop = control_loop(scenario, believed, controller=own, allow_code=allow_code, law=law)
    ticks = scenario.ticks(law.reference, duration)
    truth = true_system(scenario, believed)
    simulated = make_plant(scenario, truth)
    seen = PlantRecorder(truth, scenario, ticks)
    done = ControlRecorder(law, scenario, ticks)
    stride = max(1, ticks // PROGRESS_STEPS)
    measurement = simulated.reset()
    if control.start.tare:
        loop.tare(measurement.q, simulated.unloaded_wrenches())
    if safety:
        loop.check(measurement.q, measurement.qd)
    sense_object(law, simulated)
    if safety:
        last = loop.start_at(0, 0, measurement.q, measurement.qd, measurement.wrenches)
    else:
        last = loop.begin_law(measurement.q, measurement.qd)
    sent = np.zeros(len(measurement.q))
    update = loop.update if safety else loop.update_unchecked
    clock = time.perf_counter
    first_torque = clock() - started
    begin = clock()
    interrupt: KeyboardInterrupt | None = None
    try:
        for tick in range(ticks):
            _, _, q, qd, measured = measurement
            sense_object(law, simulated)
            torque, released, step, elapsed_s = update(tick, tick, q, qd, measured)
            # While the law does not run, what it saw last stands in the recording.
            step = last = step or last
            if torque is None:
                raise RobotDynamicsError(f"control failed: {loop.safety.cause}")
            seen.write(measurement, simulated)
            done.write(tick, torque, step, 1e6 * elapsed_s)
            sent = _with_holding_drives(torque, sent, believed, released) if released else torque
            wrenches = None
            if watch is not None:

                def latest() -> Recording:
                    return seen.latest().merged(done.latest(scenario.start_tick))

                wrenches = watch(tick * control.period, latest)
            measurement = simulated.step(sent, wrenches)
            if progress is not None and (tick % stride == stride - 1 or tick == ticks - 1):
                progress(progress_of(tick, ticks, control.period, step, law))
    except KeyboardInterrupt as error:
        interrupt = error
    wall = clock() - begin
    more: dict[str, Any] = {"start_to_first_torque_s": first_torque}
    if loop.safety.faults:
        fault_tick, found = loop.safety.faults[0]
        more["fault_time_s"] = fault_tick * control.period
        more["fault"] = f"at {fault_tick * control.period:g} s: {found}"
    if interrupt is not None:
        if not done.recorder.count:
            raise interrupt
        more["interrupted_s"] = done.recorder.count * control.period
    recording = seen.finish(wall_time_s=wall, plant_state_hash=simulated.state_hash()).merged(
        done.finish(scenario.start_tick, **more)
    )
    recording.metadata["law_warnings"].extend(
        f"at {time * control.period:g} s: {sentence}" for time, sentence in loop.safety.warnings
    )
    if not safety:
        recording.metadata["law_warnings"].append("the safety layer was off: nothing was checked.")
    run = Run(recording, report_of(recording))
    if interrupt is not None:
        raise RunInterrupted(run) from None
    return run


def compile_ahead(scenario: Scenario) -> None:
    """Compile what a run needs into the cache, from which nodes that start later load it.

    They would compile side by side, in silence, and the one would wait for the other. Nothing is
    done where there is no cache or no code generator. Controllers that the scenario names are not
    imported.
    """
    if folder_of_kernels() is None or interpretation_forced() or find_host() is None:
        return
    control = scenario.control
    own = replace(control, law=control.base_law, options={})
    with contextlib.suppress(RobotDynamicsError):  # what is refused the nodes refuse, and say so
        simulate(replace(scenario, control=own), duration=2 * control.period)


def chosen_scenario(
    scenario: Scenario | str | Path, plant: EngineName | None, overrides: Iterable[str]
) -> Scenario:
    """Return a scenario, that of a file or a shipped one, with changes and with a plant."""
    if isinstance(scenario, Scenario):
        scenario = scenario.changed(overrides)
    else:
        scenario = load_scenario(scenario, overrides)
    return scenario.changed([f"plant.engine={plant}"]) if plant else scenario


def sense_object(law: ControlLaw, plant: ScenePlant) -> None:
    """Hand the true pose of the object to a law that takes it, as an ideal tracker measures it."""
    if law.senses:
        truth = plant.truth()
        law.sense(pose=truth.object_pose, twist=truth.object_twist)


def _with_holding_drives(
    torque: Array, last: Array, system: GraspSystem, released: Sequence[str]
) -> Array:
    """Return the torque (na,) that acts: drives that get no commands keep their last torque."""
    acting = torque.copy()
    for arm, own in zip(system.arms, system.arm_slices, strict=True):
        if arm.name in released:
            acting[own] = last[own]
    return acting


def make_plant(scenario: Scenario, system: GraspSystem) -> ScenePlant:
    """Return the plant of a scenario, at its start.

    Args:
        scenario: The scenario.
        system: Arms and object as they truly are.

    Raises:
        ReachError: If an arm does not reach its grasp.
        RobotDynamicsError: If the engine is not installed, or does not know such objects.
    """
    start = closed_configuration(system, scenario.object_pose)
    scene = scene_of(scenario, system)
    return ScenePlant(scene, start, scenario.control.period, scenario.plant)


def progress_of(tick: int, ticks: int, period: float, step: LawStep, law: ControlLaw) -> Progress:
    """Return the figures of an instant.

    Args:
        tick: The control period.
        ticks: Control periods of the run.
        period: Control period [s].
        step: What the controller did.
        law: The controller: it knows the limits of torque, and which force is the squeeze.
    """
    internal, effort = step.internal_force, law.system.limits["effort"]
    squeezed = squeezes(law.internal_force_names)
    return Progress(
        tick + 1,
        ticks,
        (tick + 1) * period,
        1e3 * float(np.linalg.norm(step.error[3:])),
        float(internal[squeezed[0]]) if len(squeezed) == 1 else None,
        float(np.max(np.abs(step.torque) / effort)),
    )
