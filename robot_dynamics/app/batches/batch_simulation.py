# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Many cells of one scenario at once: compiled, several cells per instruction, on all cores."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robot_dynamics.app.batches.batch_figures import COLUMNS, Collector, FigureReference, joined
from robot_dynamics.app.batches.separate_batch import SeparateBatch
from robot_dynamics.app.batches.separate_cells import NOT_FINITE, CellRun
from robot_dynamics.app.scenarios.cell import build_system, true_system
from robot_dynamics.app.scenarios.laws import control_loop
from robot_dynamics.app.scenarios.plant import scene_of
from robot_dynamics.app.scenarios.scenario import Scenario, load_scenario, with_overrides
from robot_dynamics.control.batch_loop import BatchLoop
from robot_dynamics.control.faults import Cause
from robot_dynamics.control.settings import LAW_FACTS, ControlSettings
from robot_dynamics.description.yaml_document import Node, decode, parse_yaml
from robot_dynamics.dynamics.arguments import several_names, whole_number
from robot_dynamics.errors import ArgumentError, RobotDynamicsError, UnknownNameError
from robot_dynamics.manipulation.assembly import closed_configuration
from robot_dynamics.manipulation.system import GraspSystem
from robot_dynamics.simulation.batch_plant import BatchPlant, PlantCell
from robot_dynamics.simulation.rigid_motion import RigidMotion
from robot_dynamics.simulation.settings import PlantSettings, SensorSettings
from robot_dynamics.spatial import Inertia

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

MOST_CELLS = 1_000_000  # ten gigabytes
_LARGEST_PART = 512  # cells that a thread advances together: their numbers stay in its cache
_LANES = 8
_FEWEST_SEPARATE = 4  # cells that are worth a process


class BatchObservation(NamedTuple):
    """What is seen of N cells; see `Observation`.

    Attributes:
        time: Simulated time since each cell's start [s] (N,).
        q: Measured positions of the arm joints (N, na).
        qd: Measured velocities (N, na).
        wrenches: Measured grasp wrenches by the arms on the object (N, k, 6).
        object_pose: True pose of the object x y z qx qy qz qw (N, 7).
        object_twist: True angular and linear velocity of its origin, world axes (N, 6).
    """

    time: Array
    q: Array
    qd: Array
    wrenches: Array
    object_pose: Array
    object_twist: Array


@dataclass(frozen=True)
class Ending:
    """Why a cell ended before its run did.

    Attributes:
        time: When [s].
        cause: In short: that of the safety layer, "simulation", or "refused" before the start.
        sentence: What happened, and what was expected.
    """

    time: float
    cause: str
    sentence: str


@dataclass(frozen=True)
class BatchRun:
    """The result of a run of N cells.

    Attributes:
        figures: By the names of a single run's report, one value a cell (N,); of a cell that
            ended, those until then; NaN where nothing was seen.
        endings: By number of the cell, why it ended before the run did.
        times: Of the rows of `columns` (rows,) [s].
        columns: What was recorded (rows, N, w), by the names of a `Recording`; NaN after a cell's
            end.
    """

    figures: dict[str, Array]
    endings: dict[int, Ending]
    times: Array
    columns: dict[str, Array]

    @property
    def failed(self) -> Mask:
        """Which cells ended before the run did (N,)."""
        count = len(next(iter(self.figures.values())))
        return np.isin(np.arange(count), list(self.endings))


class BatchSimulation:
    """N cells of a scenario, each with parameters of its own, advanced together.

    All of a control period is simulated: the law with its limits and the checks of the safety
    layer, command delay, integration steps with projection or contacts, sensors with noise and
    delay. Where arms hold one object by rigid grasps in free space, with the plant "engine" and
    the laws "hybrid" and "impedance", all of it is compiled for many cells. Elsewhere cells go
    one after the other, each with plant and law of a single run; `separate` says why.

        batch = rd.BatchSimulation("lift_box", 1000, {"plant.object_mass_scale": scales})
        run = batch.run()                  # the scenario, its law in the loop
        run.figures["object_position_error_max_m"], run.endings

        seen = batch.reset()               # or torques of your own
        seen = batch.step(torque)          # (N, na)

    A cell's numbers are those of `rd.simulate(scenario, overrides=batch.overrides(cell))`, or of
    `rd.Simulation` likewise, to the last bit; where `plant.link_mass_scale` varies, to rounding.

    A cell ends where a single run would fall back or fail: what the safety layer finds, a motion
    without bound, numbers that are none. It then stays as it is, `endings` says why, and no other
    cell changes.

    Attributes:
        scenario: What all cells have in common.
        count: N.
        separate: Why cells go one after the other; empty if they are compiled together.
        period: Control period [s].
        joint_names: The arm joints, in the order of torques and measurements.
        arm_names: The arms, in the order of the wrenches.
        effort_limits: The largest torques of the drives (na,).
        parameters: What differs from cell to cell.
        endings: By number of the cell, why it has ended.

    Args:
        scenario: A scenario, a file, or the name of a shipped one.
        count: Number of cells.
        parameters: By scenario key, as "plant.object_mass_scale" or "control.object.bandwidth",
            one value a cell: an array (N,), or (N, any) for keys that take lists. Keys of plant
            (masses, grasp errors, friction, delays, sensors, seed) and control (gains of object,
            posture, friction, internal force, impedance).
        overrides: Changes of single values in all cells, as "plant.command_delay_periods=2".
        threads: How many cells' parts are advanced at the same time; all cores by default. Cells
            that go one after the other are spread over as many processes.
        contacts: Refused: contacts of cells are those of the scenario.

    Raises:
        ArgumentError: If the scenario has a controller of one's own, a parameter cannot differ
            from cell to cell, or contacts are given.
        RobotDynamicsError: If the scenario is refused, or a key or a value of a parameter is none
            that a scenario takes. A cell that is refused as a whole, as one whose arm does not
            reach its grasp, ends alone.
    """

    def __init__(
        self,
        scenario: Scenario | str | Path,
        count: int,
        parameters: Mapping[str, ArrayLike] | None = None,
        *,
        overrides: Iterable[str] = (),
        threads: int | None = None,
        contacts: None = None,
    ) -> None:
        if contacts is not None:
            raise ArgumentError(
                "BatchSimulation: contacts belong to a robot, expected none: those of cells are "
                "the grasps and surfaces of the scenario. Simulate robots with contacts one at a "
                "time, by rd.Simulation(robot, contacts=...)."
            )
        count = whole_number("the number of cells", count, 1)
        if count > MOST_CELLS:
            raise ArgumentError(f"the number of cells is {count}, expected at most {MOST_CELLS}.")
        if threads is not None:
            threads = whole_number("threads", threads, 1)
        self._common = tuple(several_names("overrides", overrides))
        self.scenario = scenario = load_scenario(scenario, self._common)
        self.count, self.period = count, scenario.control.period
        self.parameters = _checked(parameters or {}, count)
        if scenario.control.law not in LAW_FACTS:
            raise ArgumentError(
                f"{scenario.name}: a controller of one's own, {scenario.control.law!r}, in a "
                "batch of cells; expected a law of the package. Simulate one at a time, or give "
                "torques to `step`."
            )
        self._believed = system = build_system(scenario)
        self.separate = why_separate(scenario, system)
        self.joint_names = tuple(system.joint_names)
        self.arm_names = tuple(arm.name for arm in system.arms)
        self.effort_limits = np.array(system.limits["effort"])
        self._threads = threads or len(os.sched_getaffinity(0))
        if self.separate:
            most = count if threads else max(1, count // _FEWEST_SEPARATE)
            self._threads = min(self._threads, most)
            part = -(-count // self._threads)
        else:
            part = min(_LARGEST_PART, -(-count // self._threads))
            part = -(-part // _LANES) * _LANES
        self._parts = [slice(i, min(i + part, count)) for i in range(0, count, part)]
        self._pool: ThreadPoolExecutor | None = None
        self._refused: dict[int, Ending] = {}
        self._controls: dict[int, ControlSettings] = {}
        self._plant = self._make_plant()
        self.reset()

    # -- the cells ----------------------------------------------------------------------------

    def overrides(self, cell: int) -> list[str]:
        """Return the overrides with which a single run is this cell's, those of all included."""
        return [*self._common, *self._own_overrides(int(self._numbers(cell)[0]))]

    def _own_overrides(self, cell: int) -> list[str]:
        """Return what a cell differs in from the scenario of all."""
        texts = [
            f"{key}={json.dumps(values[cell].tolist())}" for key, values in self.parameters.items()
        ]
        if "plant.seed" not in self.parameters:
            texts.append(f"plant.seed={self.scenario.plant.seed + cell}")
        return texts

    @property
    def active(self) -> Mask:
        """Which cells have not ended (N,)."""
        return self._alive.copy()

    @property
    def bytes_per_cell(self) -> int:
        """Memory that a cell takes, besides what all have in common."""
        control = self.__dict__.get("_loop")
        return self._plant.bytes_per_cell + (control.bytes_per_cell if control else 0)

    def _make_plant(self) -> BatchPlant | SeparateBatch:
        scenario = self.scenario
        if self.separate:
            self._own_settings(range(self.count))
            overrides = [self._own_overrides(cell) for cell in range(self.count)]
            separate = SeparateBatch(scenario, overrides, self._parts, processes=self._threads > 1)
            self._refused = {i: Ending(0.0, *why) for i, why in separate.refused.items()}
            return separate
        settings = self._own_settings(range(self.count))
        scales = {one.link_mass_scale for one in settings}
        self._variable_links, self._link_scale = len(scales) > 1, min(scales)
        system = self._true_system(scenario)
        self._start = closed_configuration(system, scenario.object_pose)
        self._nominal = RigidMotion(
            scene_of(scenario, system), self._start, self.period, scenario.plant
        )
        return BatchPlant(self._nominal, self._cells(range(self.count), settings), self.period)

    @cached_property
    def _document(self) -> Node:
        return parse_yaml(self.scenario.text(), self.scenario.name).without_lines()

    def _own_settings(self, numbers: Sequence[int]) -> list[PlantSettings]:
        """Return what the plants of some cells are; keep what their control is."""
        of_control = any(key.startswith("control.") for key in self.parameters)
        settings = []
        for cell in numbers:
            changed = with_overrides(self._document, self._own_overrides(cell))
            settings.append(decode(PlantSettings, changed.value["plant"]))
            replace(self.scenario, plant=settings[-1])  # refuses arms that are not there
            if of_control:
                self._controls[cell] = decode(ControlSettings, changed.value["control"])
        return settings

    def _cells(self, numbers: Sequence[int], settings: Sequence[PlantSettings]) -> list[PlantCell]:
        """Return what some cells are made of; note those that are refused."""
        scenario, nominal = self.scenario, self._nominal
        made: dict[str, PlantCell | Ending] = {}
        cells = []
        for cell, own in zip(numbers, settings, strict=True):
            self._refused.pop(cell, None)
            # What sensors and delay are does not matter to the motion.
            moving = replace(own, seed=0, sensors=SensorSettings(), command_delay_periods=0)
            key = repr(moving)
            if key not in made:
                made[key] = self._made(replace(scenario, plant=own), nominal, self._start)
            found = made[key]
            if isinstance(found, Ending):
                self._refused[cell] = found
                nominal.begin()
                found = PlantCell.of(nominal, own)
            cells.append(replace(found, settings=own))
        return cells

    def _made(self, scenario: Scenario, nominal: RigidMotion, start: Array) -> PlantCell | Ending:
        try:
            system = self._true_system(scenario)
            if scenario.plant.grasp_error == self.scenario.plant.grasp_error:
                scene = replace(nominal.scene, system=system)
            else:
                scene = scene_of(scenario, system)
                start = closed_configuration(system, scenario.object_pose)
            motion = nominal.variant(scene, start, scenario.plant)
        except RobotDynamicsError as error:
            return Ending(0.0, "refused", str(error))
        return PlantCell.of(motion, scenario.plant)

    def _true_system(self, scenario: Scenario) -> GraspSystem:
        if not self._variable_links:
            return true_system(scenario, self._believed)
        # Arms of other masses, without reading their descriptions again.
        plant = replace(scenario.plant, link_mass_scale=1.0)
        system = true_system(replace(scenario, plant=plant), self._of_variable_links)
        return _with_links_scaled(system, scenario.plant.link_mass_scale)

    @cached_property
    def _of_variable_links(self) -> GraspSystem:
        """What is believed, with the inertia of every link as a parameter of programs."""
        model = self._believed.model
        names = {body.name for body in model.bodies}
        return replace(self._believed, model=replace(model, variable=model.variable | names))

    # -- stepping -----------------------------------------------------------------------------

    def reset(
        self,
        cells: ArrayLike | None = None,
        seeds: Sequence[int] | None = None,
        parameters: Mapping[str, ArrayLike] | None = None,
    ) -> BatchObservation:
        """Return cells to the start at rest, brakes on; noise begins anew.

        The law begins from what it saw at the first start, also where seeds give other noise, or
        from the start of a cell whose parameters change.

        Args:
            cells: Their numbers, or a mask (N,); all by default.
            seeds: Of the noise of each; those of the parameters by default.
            parameters: New values of the parameters of the batch, one for each of these cells;
                others stay what they are. Delays may be as large as the largest at first.

        Raises:
            ArgumentError: If there is no such cell or parameter, seeds or parameters are not one
                for each, or values are beyond what the batch was made for.
        """
        chosen = np.arange(self.count) if cells is None else self._numbers(cells)
        if seeds is not None and len(seeds) != len(chosen):
            raise ArgumentError(f"{len(seeds)} seeds, expected {len(chosen)}: one for each cell.")
        changed = bool(parameters) and len(chosen) > 0
        if parameters and changed:
            self._change(chosen, parameters)
        if cells is None:
            self._alive = np.ones(self.count, dtype=bool)
            self.endings: dict[int, Ending] = {}
        self._alive[chosen] = True
        for cell in chosen.tolist():
            self.endings.pop(cell, None)
            if cell in self._refused:
                self._end(cell, self._refused[cell])
        self._plant.reset(chosen, seeds)
        control: BatchLoop | SeparateBatch | None = self.__dict__.get("_loop")
        if control is not None:
            if changed:
                self._prepare(control, chosen)
            if isinstance(control, BatchLoop):
                control.begin(chosen)
            for cell in set(chosen.tolist()) & set(self._refused_control):
                if self._alive[cell]:
                    self._end(cell, self._refused_control[cell])
        return self.observation

    def step(
        self, torque: ArrayLike, *, cells: Mask | None = None, periods: int = 1
    ) -> BatchObservation:
        """Advance all cells that have not ended by one control period, or by some.

        Args:
            torque: Commands (N, na) [N m or N], or (na,) for all; each acts after the cell's
                command delay. A cell whose numbers are not finite ends. Or those of P control
                periods (P, N, na): threads then wait for each other at their end alone.
            cells: Which cells are advanced (N,); the others wait. All by default.
            periods: Control periods for which the commands stay; P where they change.

        Raises:
            ArgumentError: If the shape is wrong.
        """
        commands = self._checked_torque(torque)
        periods = whole_number("periods", periods, 1)
        if len(commands) > 1:
            if periods not in (1, len(commands)):
                raise ArgumentError(
                    f"torques of {len(commands)} control periods for {periods}, expected as many."
                )
            periods = len(commands)
        cells = None if cells is None else self._mask(cells)

        def advance(own: slice) -> None:
            here = None if cells is None else cells[own]
            if self.separate:
                self._advance_separate(own, commands[:, own], here)
                return
            for i in range(periods):
                self._advance(own, commands[min(i, len(commands) - 1), own], here)

        if self.separate and len(commands) < periods:
            commands = np.repeat(commands, periods, axis=0)
        return self._seen_after(advance)

    def follow(self, rows: ArrayLike, *, cells: Mask | None = None) -> BatchObservation:
        """Advance all cells that have not ended, the scenario's law in the loop.

        Args:
            rows: What the law follows in each of P control periods (P, N, w); see
                `reference_rows`.
            cells: Which cells are advanced (N,); the others wait. All by default.

        Raises:
            ArgumentError: If the shape is wrong.
        """
        loop = self._loop
        given = np.asarray(rows, dtype=float)
        width = loop.rows.shape[1]
        if given.ndim != 3 or given.shape[1:] != (self.count, width):
            raise ArgumentError(
                f"rows of shape {given.shape}, expected (periods, {self.count}, {width})."
            )
        cells = None if cells is None else self._mask(cells)

        def advance(own: slice) -> None:
            here = None if cells is None else cells[own]
            for row in given:
                self._advance(own, self._controlled(own, row[own], here), here)

        return self._seen_after(advance)

    def control(self, rows: ArrayLike | None = None) -> Array:
        """Return the torques (N, na) of the scenario's law for what is seen now.

        They take effect by `step`; the law takes it that they are sent, once each control period.
        Cells in which the safety layer finds a fault end; torques of ended cells are zero.

        Args:
            rows: What the law follows now, (N, w) or (w,), as `reference_rows`; by default those
                of the scenario's plan.
        """
        loop = self._loop
        given = None if rows is None else np.asarray(rows, dtype=float)
        if given is not None:
            width = loop.rows.shape[1]
            if given.shape not in ((self.count, width), (width,)):
                raise ArgumentError(
                    f"rows of shape {given.shape}, expected {(self.count, width)} or {(width,)}."
                )
        torque = np.zeros((self.count, len(self.joint_names)))

        def update(own: slice) -> None:
            here = given if given is None or given.ndim == 1 else given[own]
            torque[own] = self._controlled(own, here)

        self._each_part(update)
        torque[~self._alive] = 0.0
        return torque

    @property
    def reference_rows(self) -> Array:
        """Rows that the law follows, by control periods since the start (ticks + 1, w).

        Pose (7,), twist (6,) and acceleration (6,) of the object, then forces; see
        `reference_columns`.
        """
        return self._loop.rows.copy()

    @property
    def reference_columns(self) -> dict[str, slice]:
        """Where forces stand in the rows of the reference."""
        return dict(self._loop.row_columns)

    @property
    def internal_force_names(self) -> tuple[str, ...]:
        """Names of the internal forces, in the order of the reference's column "internal"."""
        return tuple(self._loop.law.internal_force_names)

    @property
    def observation(self) -> BatchObservation:
        """What was seen last; of cells that have ended, before they did."""
        return self._seen_after(lambda own: None)

    def _seen_after(self, work: Callable[[slice], None]) -> BatchObservation:
        """Do something with all parts of the cells, and return what is seen then."""
        plant, period = self._plant, self.period
        shown = (
            plant.seen_q, plant.seen_qd, plant.seen_wrenches, plant.object_pose, plant.twist,
        )  # fmt: skip
        time, *rest = seen = [np.empty(self.count), *(np.empty(rows.shape) for rows in shown)]

        def look(own: slice) -> None:
            work(own)
            np.multiply(plant.tick[own], period, out=time[own])
            for found, rows in zip(rest, shown, strict=True):
                found[own] = rows[own]

        self._each_part(look)
        return BatchObservation(*seen)

    # -- whole runs ---------------------------------------------------------------------------

    def run(
        self,
        duration: float | None = None,
        *,
        record: Collection[str] = (),
        every: int = 1,
    ) -> BatchRun:
        """Run the scenario from its start in all cells, with its law in the loop.

        Args:
            duration: Simulated time [s]; that of start and reference by default.
            record: Names of columns to keep: object_pose, object_twist, joint_position,
                joint_velocity, grasp_wrench, applied_torque, commanded_torque, internal_force; of
                `separate` cells any of a recording.
            every: Control periods between two rows that are kept.

        Raises:
            UnknownNameError: If there is no such column.
            RobotDynamicsError: If the scenario's path is refused.
        """
        for name in several_names("record", record):
            if name not in COLUMNS and not self.separate:
                raise UnknownNameError("column", name, COLUMNS)
        every = whole_number("every", every, 1)
        if "_loop" not in self.__dict__:
            self.reset()  # control is prepared at the start
        loop = self._loop
        ticks = self.scenario.ticks(loop.law.reference, duration)
        self.reset()
        if isinstance(loop, SeparateBatch):
            return self._run_separate(loop, ticks, record, every)
        plant = self._plant
        assert isinstance(plant, BatchPlant)
        reference = FigureReference(self.scenario, loop.law, ticks, self.effort_limits)
        collectors = {
            own.start: Collector(reference, own.stop - own.start, record, every)
            for own in self._parts
        }

        def run(own: slice) -> None:
            collector = collectors[own.start]
            for tick in range(ticks):
                # A cell in which a fault is found counts up to here.
                alive = self._alive[own].copy()
                if not alive.any():
                    break
                torque = self._controlled(own, None)
                collector.add(
                    tick,
                    alive,
                    {
                        "object_pose": plant.object_pose[own],
                        "object_twist": plant.twist[own],
                        "joint_position": plant.seen_q[own],
                        "joint_velocity": plant.seen_qd[own],
                        "grasp_wrench": plant.seen_wrenches[own].reshape(len(alive), -1),
                        "applied_torque": plant.torque[own],
                        "commanded_torque": torque,
                        "internal_force": plant.internal_force[own],
                        "added_internal_force": loop.added_internal_force[own],
                        "gaps": plant.gaps[own],
                        "scales": loop.scales[own],
                    },
                )
                self._advance(own, torque)
            collector.finish()

        self._each_part(run)
        figures, kept = joined([collectors[own.start] for own in self._parts])
        return self._ran(figures, ticks, every, kept)

    def _run_separate(
        self, cells: SeparateBatch, ticks: int, record: Collection[str], every: int
    ) -> BatchRun:
        """Run cells one after the other, each from start to end."""
        runs: dict[int, CellRun] = {}

        def run(own: slice) -> None:
            runs.update(enumerate(cells.run(own, ticks, record, every), own.start))

        self._each_part(run)
        figures = {name: np.full(self.count, np.nan) for one in runs.values() for name in one[0]}
        rows = -(-ticks // every)
        widths = {
            name: values.shape[1:] for one in runs.values() for name, values in one[2].items()
        }
        kept = {name: np.full((rows, self.count, *w), np.nan) for name, w in widths.items()}
        for cell, (own_figures, ending, columns) in runs.items():
            for name, value in own_figures.items():
                figures[name][cell] = value
            for name, values in columns.items():
                kept[name][: len(values), cell] = values
            if ending is not None and self._alive[cell]:
                tick, *why = ending
                self._end(cell, Ending(tick * self.period, *why))
        return self._ran(figures, ticks, every, kept)

    def _ran(
        self, figures: dict[str, Array], ticks: int, every: int, kept: dict[str, Array]
    ) -> BatchRun:
        times = np.asarray(np.arange(0, ticks, every) * self.period, dtype=float)
        return BatchRun(figures, dict(sorted(self.endings.items())), times, kept)

    # -- parts of the cells -------------------------------------------------------------------

    def _each_part(self, work: Callable[[slice], None]) -> None:
        """Do something with all parts of the cells, on all threads."""

        def quiet(own: slice) -> None:
            with np.errstate(all="ignore"):  # cells that have left their validity are ended
                work(own)

        first, *others = self._parts
        if self._pool is None:
            self._pool = ThreadPoolExecutor(max(1, self._threads - 1), "batch")
        # This thread does its part as well, and those that no other one has begun.
        waiting = [self._pool.submit(quiet, own) for own in others] if self._threads > 1 else []
        try:
            quiet(first)
            for own, done in reversed([*zip(others, waiting, strict=bool(waiting))]):
                if done.cancel():
                    quiet(own)
        finally:  # none goes on behind the caller's back
            begun = [done for done in waiting if not done.cancel()]
            wait(begun)
        for done in begun:
            done.result()
        for own in [] if waiting else others:
            quiet(own)

    def _advance_separate(self, own: slice, torques: Array, cells: Mask | None) -> None:
        alive = self._alive[own] if cells is None else self._alive[own] & cells
        for i in np.flatnonzero(self._plant.advance(own, torques, alive)).tolist():
            self._end_now(own.start + i, *self._plant.why_ended(own.start + i))

    def _advance(self, own: slice, torque: Array, cells: Mask | None = None) -> None:
        if self.separate:
            self._advance_separate(own, torque[None], cells)
            return
        alive = self._alive[own] if cells is None else self._alive[own] & cells
        if not np.isfinite(torque).all():
            finite = np.isfinite(torque).all(axis=1)
            for i in np.flatnonzero(alive & ~finite).tolist():
                self._end_now(own.start + i, Cause.TORQUE_INVALID.value, NOT_FINITE)
            alive = alive & finite
        lost = self._plant.advance(own, torque, alive)
        for i in np.flatnonzero(lost).tolist():
            self._end_now(own.start + i, *self._plant.why_ended(own.start + i))

    def _controlled(self, own: slice, rows: Array | None, cells: Mask | None = None) -> Array:
        plant, loop = self._plant, self._loop
        alive = self._alive[own] if cells is None else self._alive[own] & cells
        if rows is not None and not np.isfinite(rows).all():
            finite = np.broadcast_to(np.isfinite(rows).all(axis=-1), alive.shape)
            for i in np.flatnonzero(alive & ~finite).tolist():
                sentence = "the rows to follow have entries that are not finite."
                self._end_now(own.start + i, Cause.REFERENCE_LOST.value, sentence)
            alive = alive & finite
        if isinstance(loop, SeparateBatch):
            rows = None if rows is None else np.broadcast_to(rows, (len(alive), rows.shape[-1]))
            torque, ended = loop.update(own, alive, rows)
        else:
            torque, ended = loop.update(
                own,
                plant.tick[own],
                plant.seen_q[own],
                plant.seen_qd[own],
                plant.seen_wrenches[own],
                alive,
                rows,
            )
        for i in np.flatnonzero(ended).tolist():
            self._end_now(own.start + i, *loop.why_ended(own.start + i))
        return torque

    def _end_now(self, cell: int, cause: str, sentence: str) -> None:
        self._end(cell, Ending(int(self._plant.tick[cell]) * self.period, cause, sentence))

    def _end(self, cell: int, ending: Ending) -> None:
        self._alive[cell] = False
        self.endings[cell] = ending

    @cached_property
    def _loop(self) -> BatchLoop | SeparateBatch:
        """The law in all cells, prepared for their starts when it is needed first."""
        scenario, plant = self.scenario, self._plant
        if plant.tick.any():
            raise ArgumentError("control begins at the start of all cells; expected a reset.")
        self._refused_control: dict[int, Ending] = {}
        loop: BatchLoop | SeparateBatch
        if isinstance(plant, SeparateBatch):
            loop = plant
        else:
            single = control_loop(scenario, self._believed)
            self._nominal.begin()
            q, qd, _ = self._nominal.sensed()
            single.check(q, qd)
            loop = BatchLoop(single, self.count)
        self._prepare(loop, np.arange(self.count))
        for cell, ending in self._refused_control.items():
            if self._alive[cell]:
                self._end(cell, ending)
        return loop

    def _prepare(self, loop: BatchLoop | SeparateBatch, cells: NDArray[np.intp]) -> None:
        """Prepare control in some cells from what is seen now; note those that are refused."""
        numbers, plant = cells.tolist(), self._plant
        for cell in numbers:
            self._refused_control.pop(cell, None)
        if isinstance(loop, SeparateBatch):
            for cell, why in loop.prepare(numbers).items():
                self._refused_control[cell] = Ending(0.0, *why)
            return
        known: dict[Any, int | Ending] = {}
        for cell in numbers:
            own = self._controls.get(cell, self.scenario.control)
            q, qd = plant.seen_q[cell], plant.seen_qd[cell]
            key = (q.tobytes(), qd.tobytes(), repr(own) if self._controls else "")
            found = known.get(key)
            if found is None:
                try:
                    loop.prepare(cell, own, q, qd)
                    found = known[key] = cell
                except ArgumentError:
                    raise
                except RobotDynamicsError as error:
                    found = known[key] = Ending(0.0, "refused", str(error))
            elif isinstance(found, int):
                loop.share(cell, found)
            if isinstance(found, Ending):
                self._refused_control[cell] = found
        if len(numbers) < self.count or loop.bound:
            loop.change(cells)
            return
        good = [found for found in known.values() if isinstance(found, int)]
        for cell in self._refused_control if good else ():
            loop.share(cell, good[0])  # numbers that kernels can work with
        loop.finish()

    def _change(self, cells: NDArray[np.intp], parameters: Mapping[str, ArrayLike]) -> None:
        """Give some cells other parameters; they have to be reset then."""
        new = _checked(parameters, len(cells))
        for key, values in new.items():
            if key not in self.parameters:
                raise ArgumentError(
                    f"parameter {key!r} of some cells; expected one of those that the batch was "
                    f"made with: {', '.join(self.parameters) or 'none'}."
                )
            shape = self.parameters[key].shape[1:]
            if values.shape[1:] != shape:
                raise ArgumentError(
                    f"parameter {key!r} has shape {values.shape}, expected {(len(cells), *shape)}."
                )
        before = dict(self.parameters)
        for key, values in new.items():
            kind = np.result_type(self.parameters[key], values)
            self.parameters[key] = self.parameters[key].astype(kind)
            self.parameters[key][cells] = values
        numbers, plant = cells.tolist(), self._plant
        try:
            settings = self._own_settings(numbers)
            if isinstance(plant, SeparateBatch):
                for cell in numbers:
                    self._refused.pop(cell, None)
                refused = plant.change({cell: self._own_overrides(cell) for cell in numbers})
                self._refused |= {i: Ending(0.0, *why) for i, why in refused.items()}
                return
            other = any(one.link_mass_scale != self._link_scale for one in settings)
            if other and not self._variable_links:
                raise ArgumentError(
                    "plant.link_mass_scale differs from cell to cell; expected that of a batch "
                    "from the start on."
                )
            plant.change(cells, self._cells(numbers, settings))
        except RobotDynamicsError:
            self.parameters = before
            if isinstance(plant, BatchPlant):
                self._own_settings(numbers)  # control is what it was
            raise

    def _numbers(self, cells: ArrayLike) -> NDArray[np.intp]:
        """Return the numbers of cells that are given by number, or by a mask (N,)."""
        given = np.atleast_1d(np.asarray(cells))
        if given.dtype == bool:
            return np.flatnonzero(self._mask(given))
        if given.size == 0:
            return np.zeros(0, dtype=np.intp)
        if given.dtype.kind not in "iu" or given.min() < 0 or given.max() >= self.count:
            raise ArgumentError(
                f"cells are {cells!r:.60}, expected numbers from 0 to {self.count - 1} or a mask "
                f"({self.count},)."
            )
        return given.astype(np.intp)

    def _mask(self, cells: ArrayLike) -> Mask:
        given = np.asarray(cells)
        if given.dtype != bool or given.shape != (self.count,):
            raise ArgumentError(
                f"cells are {cells!r:.60}, expected a mask ({self.count},) of truth values."
            )
        return given

    def _checked_torque(self, torque: ArrayLike) -> Array:
        shape = (self.count, len(self.joint_names))
        try:
            values = np.asarray(torque, dtype=float)
        except (TypeError, ValueError):
            raise ArgumentError(f"torque is {torque!r:.60}, expected numbers {shape}.") from None
        if values.shape[-2:] not in (shape, shape[1:]) or values.ndim > 3 or not len(values):
            raise ArgumentError(
                f"torque has shape {values.shape}, expected {shape}, {shape[1:]}, or "
                f"(periods, {shape[0]}, {shape[1]})."
            )
        rows = np.broadcast_to(values, (*values.shape[:-2], *shape))
        return np.ascontiguousarray(rows if rows.ndim == 3 else rows[None])


def why_separate(scenario: Scenario, system: GraspSystem | None = None) -> str:
    """Return why cells of a scenario go one after the other; empty if they are compiled together.

    Args:
        scenario: The scenario.
        system: `build_system(scenario)`, if the caller has it already.
    """
    system = system or build_system(scenario)
    law, plant = scenario.control.base_law, scenario.plant
    if plant.engine != "engine":
        why = f"the plant {plant.engine!r}"
    elif not scenario.control.law_facts.holds_object:
        why = "arms that hold nothing"
    elif system.object_loop_joint is not None:
        why = "an object with a joint"
    elif system.internal_chains is not None:
        why = "arms with loops"
    elif law not in ("hybrid", "impedance"):
        why = f"the law {law!r}"
    elif scenario.control.object_pose == "sensor":
        why = "a sensor of the object's pose"
    elif plant.pushes:
        why = "planned pushes"
    elif plant.faults:
        why = "planned faults"
    elif scenario.control.start.tare:
        why = "wrist sensors that are tared"
    elif any(arm.sensor_tool_mass for arm in system.arms):
        why = "wrist sensors that carry tools"
    elif not scene_of(scenario, system).rigid:
        why = "contacts that slip or open, or surfaces"
    else:
        return ""
    return f"{scenario.name}: {why}: cells go one after the other."


def _checked(parameters: Mapping[str, ArrayLike], count: int) -> dict[str, NDArray[Any]]:
    """Return one row of each parameter for each cell."""
    if not isinstance(parameters, Mapping):
        raise ArgumentError(
            f"parameters are {parameters!r:.60}, expected values of the cells by scenario key."
        )
    found = {}
    for key, given in parameters.items():
        values = np.array(given)
        if not key.startswith(("plant.", "control.")):
            raise ArgumentError(
                f"parameter {key!r} of cells; expected a key of plant or control, as "
                "'plant.object_mass_scale'."
            )
        if values.shape[:1] != (count,):
            raise ArgumentError(
                f"parameter {key!r} has shape {values.shape}, expected ({count}, ...): one value "
                "for each cell."
            )
        if values.dtype.kind not in "biuf" or not math.isfinite(float(np.abs(values).sum())):
            raise ArgumentError(f"parameter {key!r}: expected finite numbers.")
        if values.dtype.kind == "f" and key.endswith(("_periods", ".seed")):
            raise ArgumentError(
                f"parameter {key!r} has numbers of the type {values.dtype}, expected whole ones: "
                "np.asarray(values, dtype=int)."
            )
        found[key] = values
    return found


def _with_links_scaled(system: GraspSystem, scale: float) -> GraspSystem:
    """Return a system with masses and inertias of the arms' links multiplied by a number."""
    links = {
        body.name: Inertia.of([scale * value for value in body.inertia.components()])
        for i, body in enumerate(system.model.bodies)
        if i not in system.object_bodies
    }
    return replace(system, model=system.model.replace(inertia=links))
