# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Runs of scenarios in one process, without ROS."""

from __future__ import annotations

import contextlib
import copy
import math
import time
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics.app.output_files import write_json
from robot_dynamics.app.progress import Listener, Progress
from robot_dynamics.app.recordings.metrics import squeezes
from robot_dynamics.app.recordings.recording import Recording, RecordingError
from robot_dynamics.app.recordings.recording_files import save_recording
from robot_dynamics.app.runs.recorders import ControlRecorder, PlantRecorder
from robot_dynamics.app.runs.report import report_of
from robot_dynamics.app.scenarios.cell import build_system, true_system
from robot_dynamics.app.scenarios.clearances import Clearances
from robot_dynamics.app.scenarios.laws import LawMaker, control_loop, make_law
from robot_dynamics.app.scenarios.plant import make_plant
from robot_dynamics.app.scenarios.scenario import Scenario, load_scenario
from robot_dynamics.compile.cache import folder_of_kernels
from robot_dynamics.compile.host import find_host, interpretation_forced
from robot_dynamics.control.abilities import HoldsObject, SensesObject
from robot_dynamics.control.control_law import ControlLaw, HeldStep, LawStep
from robot_dynamics.control.control_loop import ControlLoop
from robot_dynamics.control.controller import as_controller, controller_name
from robot_dynamics.errors import ArgumentError, RobotDynamicsError
from robot_dynamics.manipulation.system import GraspSystem
from robot_dynamics.simulation import EngineName
from robot_dynamics.simulation.faults import OF_MESSAGES
from robot_dynamics.simulation.plant import ScenePlant

PROGRESS_STEPS = 100  # calls of `progress` in a run
_AFTER_FAULT_S = 0.5  # for which a task that a fault has ended is simulated further


@dataclass(frozen=True)
class Run:
    """Result of a run.

    Attributes:
        recording: All recorded columns.
        report: Figures computed from the recording (JSON values); see `report.report_of`.
    """

    recording: Recording
    report: dict[str, Any]

    @property
    def ok(self) -> bool:
        """Whether the run kept all thresholds of its scenario."""
        return bool(self.report["ok"])

    def plot(self, path: str | Path) -> Path:
        """Draw the figure of the run; the suffix of the file gives the format.

        Raises:
            RobotDynamicsError: If matplotlib is missing or the file cannot be written.
        """
        from robot_dynamics.app.pictures.plots import plot_run

        return plot_run(self.recording, path)

    def save(self, path: str | Path) -> Path:
        """Write the recording as .npz, or as .mcap for other ROS tools.

        Raises:
            RobotDynamicsError: If the file cannot be written, or a package for it is not
                installed.
        """
        return save_recording(self.recording, path)

    def write_report(self, path: str | Path) -> Path:
        """Write the report as JSON; see `output_files.write_json`.

        Raises:
            RecordingError: If it cannot be written.
        """
        return write_json(self.report, Path(path), RecordingError)


class RunInterrupted(KeyboardInterrupt):
    """Ctrl-C during a run.

    Attributes:
        run: The run until then; its metadata have `interrupted_s`.
    """

    def __init__(self, run: Run) -> None:
        super().__init__()
        self.run = run


#: Called with the simulated time [s] and a function that returns a recording of this control
#: period alone. Returns external wrenches for the next period, as `Simulation.step` takes them,
#: or None.
Watcher = Callable[[float, Callable[[], Recording]], Mapping[str, ArrayLike] | None]


class RunEnd:
    """End of a run: after its control periods; of a task when it is done, or soon after a fault.

    An operator may go on with a task that has failed.

    Args:
        loop: The control loop.
        ticks: Largest number of control periods.
        period: Control period [s].
    """

    def __init__(self, loop: ControlLoop, ticks: int, period: float) -> None:
        self._loop, self._last, self._period = loop, ticks - 1, period
        self._after_fault = round(_AFTER_FAULT_S / period)

    def reached(self, tick: int) -> bool:
        """Return whether a tick, counted from the start, is the last one."""
        task = self._loop.task
        if task is not None:
            goes_on = task.has_operator
            if task.done and not (task.failure and goes_on):
                self._last = min(self._last, tick)
            elif self._loop.safety.faults and not goes_on:
                self._last = min(self._last, tick + self._after_fault)
        return tick >= self._last

    def expected(self, tick: int) -> int:
        """Return the expected number of control periods of the run, as seen from one of them."""
        task, most = self._loop.task, self._last + 1
        planned = most if task is None else math.ceil(task.planned_s / self._period)
        return min(max(planned, tick + 1), most)


class Preparation:
    """System, law and clearances of the last run, for runs with the same controller settings.

    The system is reused while `cell` is equal, the law while cell, control, safety and reference
    are, the clearances while cell, safety and task are. A run then starts in a fifth of the time,
    and is the same to the last bit.
    """

    def __init__(self) -> None:
        self._system: tuple[Any, GraspSystem] | None = None
        self._law: tuple[Any, ControlLaw] | None = None
        self._clearances: tuple[Any, Clearances] | None = None

    def system(self, scenario: Scenario) -> GraspSystem:
        """Return arms and object as the controller believes them."""
        if self._system is None or self._system[0] != scenario.cell:
            self._system = scenario.cell, build_system(scenario)
        return self._system[1]

    def law(self, scenario: Scenario) -> ControlLaw:
        """Return the law, at its start."""
        believed = (
            scenario.cell, scenario.control, scenario.safety, scenario.reference, scenario.task
        )  # fmt: skip
        if self._law is None or self._law[0] != believed:
            self._law = None  # should the next one be refused
            self._law = believed, make_law(scenario, self.system(scenario))
        return copy.copy(self._law[1])  # a copy: a law keeps what it senses in a run

    def clearances(self, scenario: Scenario) -> Clearances:
        """Return the distances that are checked."""
        checked = scenario.cell, scenario.safety, scenario.task
        if self._clearances is None or self._clearances[0] != checked:
            self._clearances = checked, Clearances(scenario, self.system(scenario))
        return self._clearances[1]


def simulate(
    scenario: Scenario | str | Path,
    plant: EngineName | None = None,
    *,
    duration: float | None = None,
    overrides: Iterable[str] = (),
    progress: Listener | None = None,
    started: float | None = None,
    controller: Any = None,
    law: LawMaker | None = None,
    allow_code: bool = False,
    safety: bool = True,
    watch: Watcher | None = None,
    preparation: Preparation | None = None,
    actual: Scenario | None = None,
) -> Run:
    """Run a scenario in this process, without ROS.

    Args:
        scenario: A scenario, a file, or the name of a shipped one.
        plant: "engine" or "mujoco"; the engine of the scenario by default.
        duration: Simulated time [s]; start and reference by default. After the end of the
            reference the object is held there.
        overrides: Values to replace, as "plant.object_mass_scale=1.2".
        progress: Called about a hundred times in a run.
        started: `time.perf_counter()` when the wait for the first torque began; now by default.
        controller: A user's controller in place of the scenario's law: a function of
            `ControllerInput` that returns torques (na,), or a `Controller`. The law of the
            scenario observes for it.
        law: A class or function that makes a user-defined control law from the scenario and the
            model of arms and object; see `ControlLaw`. `control.law` of the scenario must be a law
            whose arms hold the same: "gravity" if they hold nothing. If they hold an object, the
            law must be a `HoldsObject`.
        allow_code: Whether code that the scenario names as `control.law` may be imported.
        safety: Whether the safety layer checks the start, measurements and torques. The nodes
            cannot switch it off.
        watch: Called in every control period; returns external wrenches. See `Watcher`.
        preparation: System and law of an earlier run; both are built by default.
        actual: Scenario of the simulated plant, if its cell or its plant differ from what the
            controller believes; it has the same joints, control period and kind of task.

    Raises:
        RobotDynamicsError: If the scenario is refused.
        RunInterrupted: On Ctrl-C, a KeyboardInterrupt with the run until then.
    """
    started = time.perf_counter() if started is None else started
    scenario = load_scenario(scenario, overrides, plant)
    own = None
    if controller is not None:
        own, base = as_controller(controller), scenario.control.base_law
        named = replace(
            scenario.control, law=controller_name(controller), observer=base, options={}
        )
        scenario = replace(scenario, control=named)
    control = scenario.control
    preparation = preparation or Preparation()
    believed = preparation.system(scenario)

    def simulated_plant() -> ScenePlant:
        if actual is None:
            return make_plant(scenario, true_system(scenario, believed))
        return make_plant(actual, true_system(actual))

    other = ThreadPoolExecutor(1, "plant")  # compiled beside the law, on another core
    waiting = other.submit(simulated_plant)
    other.shutdown(wait=False)
    try:
        running = preparation.law(scenario) if law is None else law(scenario, believed)
        holds = isinstance(running, HoldsObject)
        if law is not None and control.law_facts.holds_object and not holds:
            raise ArgumentError(
                f"law: {type(running).__name__} holds no object, but control.law of "
                f"{scenario.name!r} is {control.base_law!r}, whose arms hold one; expected a "
                "subclass of HoldsObject, or a scenario with the law 'gravity'."
            )
        loop = control_loop(
            scenario, believed, controller=own, allow_code=allow_code, law=running,
            clearances=preparation.clearances(scenario),
        )  # fmt: skip
    except Exception:  # but not Ctrl-C, which nothing delays
        wait([waiting])  # the plant must not be made beside the next run
        raise
    simulated = waiting.result()
    ticks, start_tick = scenario.ticks(running.reference, duration), scenario.start_tick
    seen = PlantRecorder(simulated.scene, scenario, ticks)
    done = ControlRecorder(running, scenario, ticks)
    task, end = loop.task, RunEnd(loop, ticks, control.period)
    stride = max(1, end.expected(0) // PROGRESS_STEPS)
    measurement = simulated.reset()
    if control.start.tare:
        loop.tare(measurement.q, simulated.unloaded_wrenches())
    if safety:
        loop.check(measurement.q, measurement.qd)
    sense_object(running, simulated)
    if safety:
        last = loop.start_at(0, 0, measurement.q, measurement.qd, measurement.wrenches)
    else:
        last = loop.begin_law(measurement.q, measurement.qd)
    plant_steps: list[float] = []
    update = loop.update if safety else loop.update_unchecked
    clock = time.perf_counter
    first_torque = clock() - started
    begin = clock()
    interrupt: KeyboardInterrupt | None = None
    try:
        for tick in range(ticks):
            _, _, q, qd, measured = measurement
            sense_object(running, simulated)
            torque, _, step, elapsed_s = update(tick, tick, q, qd, measured)
            # While the law does not run, its last step is recorded.
            step = last = step or last
            if torque is None:
                raise RobotDynamicsError(f"control failed: {loop.safety.cause}")
            seen.write(measurement, simulated)
            done.write(tick, torque, step, 1e6 * elapsed_s, streamed=task is not None)
            if task is not None and task.grippers is not None:
                task.grippers.send(simulated.grip)
            wrenches = None
            if watch is not None:

                def latest() -> Recording:
                    return seen.finish(last=True).merged(done.finish(start_tick, last=True))

                wrenches = watch(tick * control.period, latest)
            stepped = clock()
            measurement = simulated.step(torque, wrenches)
            plant_steps.append(clock() - stepped)
            over = end.reached(tick)
            if progress is not None and (tick % stride == stride - 1 or over):
                count = end.expected(tick)
                progress(progress_of(tick, count, control.period, step, running))
            if over:
                break
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
    if task is not None and interrupt is None:  # a task takes as long as it takes
        seen.end_at(done.recorder.count)
    recording = seen.finish(
        wall_time_s=wall,
        plant_step_median_us=1e6 * float(np.median(plant_steps)) if plant_steps else None,
        plant_state_hash=simulated.state_hash(),
    ).merged(done.finish(start_tick, **more))
    recording.metadata["law_warnings"].extend(
        f"at {time * control.period:g} s: {sentence}"
        for time, sentence in (*loop.safety.warnings, *loop.warnings)
    )
    recording.metadata["law_warnings"].extend(
        f"plant.faults: {one.kind!r} happens to messages, of which there are none in this run; "
        "expected `robot_dynamics demo`."
        for one in scenario.plant.faults
        if one.kind in OF_MESSAGES
    )
    if not safety:
        recording.metadata["law_warnings"].append("the safety layer was off: nothing was checked.")
    run = Run(recording, report_of(recording))
    if interrupt is not None:
        raise RunInterrupted(run) from None
    return run


def compile_ahead(scenario: Scenario) -> None:
    """Compile the functions of a run into the cache, so that nodes load them when they start.

    It does nothing without a cache or without a code generator, and does not import a controller
    of the scenario.
    """
    if folder_of_kernels() is None or interpretation_forced() or find_host() is None:
        return
    control = scenario.control
    own = replace(control, law=control.base_law, options={})
    with contextlib.suppress(RobotDynamicsError):  # the nodes report the same error
        simulate(replace(scenario, control=own), duration=2 * control.period)


def sense_object(law: ControlLaw, plant: ScenePlant) -> None:
    """Pass the true pose of the object to a law with a pose sensor, as an ideal tracker would."""
    if isinstance(law, SensesObject) and law.senses:
        truth = plant.truth()
        law.sense(pose=truth.object_pose, twist=truth.object_twist)


def progress_of(tick: int, ticks: int, period: float, step: LawStep, law: ControlLaw) -> Progress:
    """Return the progress of a run after a control period.

    Args:
        tick: The control period.
        ticks: Control periods of the run.
        period: Control period [s].
        step: Step of the law.
        law: The law, for torque limits and the index of the squeeze.
    """
    effort, squeezed = law.system.limits["effort"], squeezes(law.internal_force_names)
    force = step.internal_force if isinstance(step, HeldStep) else None
    return Progress(
        tick + 1,
        ticks,
        (tick + 1) * period,
        1e3 * float(np.linalg.norm(step.error[3:])),
        float(force[squeezed[0]]) if force is not None and len(squeezed) == 1 else None,
        float(np.max(np.abs(step.torque) / effort)),
    )
