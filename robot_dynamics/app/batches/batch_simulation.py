# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Simulation of many cells of one scenario."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robot_dynamics.app.batches.batch_cells import BatchCells, CellChanges, CellRuns, Ends
from robot_dynamics.app.batches.compiled_cells import CompiledCells
from robot_dynamics.app.batches.separate_batch import SeparateBatch
from robot_dynamics.app.scenarios.cell import build_system
from robot_dynamics.app.scenarios.plant import scene_of
from robot_dynamics.app.scenarios.scenario import Scenario, load_scenario, with_overrides
from robot_dynamics.arrays import Array, Mask
from robot_dynamics.control.faults import Cause
from robot_dynamics.control.settings import LAW_FACTS, ControlSettings
from robot_dynamics.description.yaml_document import YamlNode, decode, parse_yaml
from robot_dynamics.dynamics.arguments import whole_number
from robot_dynamics.errors import (
    ArgumentError,
    RobotDynamicsError,
    UnknownNameError,
    several_names,
)
from robot_dynamics.manipulation.system import GraspSystem
from robot_dynamics.simulation.settings import PlantSettings

MOST_CELLS = 1_000_000  # ten gigabytes
_ROWS_NOT_FINITE = (
    Cause.REFERENCE_LOST.value,
    "the rows to follow have entries that are not finite.",
)


class BatchObservation(NamedTuple):
    """Observation of N cells; see `Observation`.

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
        time: Time since the start [s].
        cause: Cause of the safety layer, "simulation", or "refused" before the start.
        sentence: Event and expectation.
    """

    time: float
    cause: str
    sentence: str


@dataclass(frozen=True)
class BatchRun:
    """The result of a run of N cells.

    Attributes:
        figures: By the names of a single run's report, one value a cell (N,); NaN for a cell that
            ended, of which there is no complete run, and if a cell has no value.
        endings: Cells that ended before the run did, by number.
        times: Times of the rows of `columns` (rows,) [s].
        columns: Recorded columns (rows, N, w), by the names of a `Recording`; NaN after a cell's
            end.
    """

    figures: dict[str, Array]
    endings: dict[int, Ending]
    times: Array
    columns: dict[str, Array]

    @property
    def failed(self) -> Mask:
        """Whether each cell ended before the run did (N,)."""
        count = len(next(iter(self.figures.values())))
        return np.isin(np.arange(count), list(self.endings))


class BatchSimulation:
    """N cells of a scenario with different parameters, advanced together.

    A control period consists of the law with its limits and the rules of the safety layer, command
    delay, integration steps with projection or contacts, and sensors with noise and delay. If arms
    hold one object by rigid grasps in free space, with the plant "engine" and the law "hybrid" or
    "impedance", everything is compiled for many cells. Other cells run one after the other, each
    with the plant and the law of a single run; `separate` gives the reason.

        batch = rd.BatchSimulation("lift_box", 1000, {"plant.object_mass_scale": scales})
        run = batch.run()                  # the scenario, its law in the loop
        run.figures["object_position_error_max_m"], run.endings

        seen = batch.reset()               # or torques of your own
        seen = batch.step(torque)          # (N, na)

    The numbers of a cell equal those of `rd.simulate(scenario, overrides=batch.overrides(cell))`
    and `rd.Simulation`, to the last bit; to rounding if `plant.link_mass_scale` varies.

    A cell ends if a single run would fall back or fail: at a finding of the safety layer, a motion
    without bound, or numbers that are not finite. It then stays as it is, `endings` gives the
    reason, and no other cell changes.

    Attributes:
        scenario: The scenario of all cells.
        count: N.
        separate: Reason why cells run one after the other; empty if they are compiled together.
        period: Control period [s].
        joint_names: The arm joints, in the order of torques and measurements.
        arm_names: The arms, in the order of the wrenches.
        effort_limits: The largest torques of the drives (na,).
        parameters: Parameters of the cells, by scenario key.
        endings: Cells that have ended, by number.

    Args:
        scenario: A scenario, a file, or the name of a shipped one.
        count: Number of cells.
        parameters: By scenario key, as "plant.object_mass_scale" or "control.object.bandwidth",
            one value a cell: an array (N,), or (N, any) for keys that take lists. Keys of plant
            (masses, grasp errors, friction, delays, sensors, seed) and control (gains of object,
            posture, friction, internal force, impedance).
        overrides: Changes of single values in all cells, as "plant.command_delay_periods=2".
        threads: Number of threads; by default one for each core. Cells that run one after the
            other are spread over as many processes.
        contacts: Refused: the contacts of cells are given by the scenario.

    Raises:
        ArgumentError: If the scenario has a user-defined controller, a parameter cannot differ
            between cells, or contacts are given.
        RobotDynamicsError: If the scenario, or the key or a value of a parameter, is refused. A
            single cell that is refused, because an arm does not reach its grasp, ends alone.
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
        scenario.refuse_task("batches follow")
        self.count, self.period = count, scenario.control.period
        self.parameters = _checked(parameters or {}, count)
        if scenario.control.law not in LAW_FACTS:
            raise ArgumentError(
                f"{scenario.name}: a controller of one's own, {scenario.control.law!r}, in a "
                "batch of cells; expected a law of the package. Simulate one at a time, or give "
                "torques to `step`."
            )
        system = build_system(scenario)
        self.separate = why_separate(scenario, system)
        self.joint_names = tuple(system.joint_names)
        self.arm_names = tuple(arm.name for arm in system.arms)
        self.effort_limits = np.array(system.limits["effort"])
        kind = SeparateBatch if self.separate else CompiledCells
        settings = [self._settings(cell) for cell in range(count)]
        self._cells: BatchCells = kind(scenario, system, settings, threads)
        self._refused: Ends = dict(self._cells.refused)
        self._controlled = False
        self.endings: dict[int, Ending] = {}
        self.reset()

    # -- the cells ----------------------------------------------------------------------------

    def overrides(self, cell: int) -> list[str]:
        """Return the overrides that make a single run of a cell, with the common ones."""
        return [*self._common, *self._own_overrides(int(self._numbers(cell)[0]))]

    def _own_overrides(self, cell: int) -> list[str]:
        """Return the overrides of a cell without the common ones."""
        texts = [
            f"{key}={json.dumps(values[cell].tolist())}" for key, values in self.parameters.items()
        ]
        if "plant.seed" not in self.parameters:
            texts.append(f"plant.seed={self.scenario.plant.seed + cell}")
        return texts

    @property
    def active(self) -> Mask:
        """Whether each cell has not ended (N,)."""
        return self._alive.copy()

    @property
    def bytes_per_cell(self) -> int:
        """Memory that a cell takes, without the memory that all share."""
        return self._cells.bytes_per_cell

    @cached_property
    def _document(self) -> YamlNode:
        return parse_yaml(self.scenario.text(), self.scenario.name).without_lines()

    def _settings(self, cell: int) -> CellChanges:
        """Return the settings of a cell by its parameters."""
        overrides = self._own_overrides(cell)
        changed = with_overrides(self._document, overrides)
        plant, control = decode(PlantSettings, changed.value["plant"]), self.scenario.control
        replace(self.scenario, plant=plant)  # refuses arms that are not there
        if any(key.startswith("control.") for key in self.parameters):
            control = decode(ControlSettings, changed.value["control"])
        return CellChanges(overrides, plant, control)

    # -- stepping -----------------------------------------------------------------------------

    def reset(
        self,
        cells: ArrayLike | None = None,
        seeds: Sequence[int] | None = None,
        parameters: Mapping[str, ArrayLike] | None = None,
    ) -> BatchObservation:
        """Return cells to the start at rest, brakes on, and restart their noise.

        The law starts from the measurement of the first start, even if seeds give other noise, or
        from the start of a cell whose parameters change.

        Args:
            cells: Their numbers, or a mask (N,); all by default.
            seeds: Seeds of their noise; by default from the parameters.
            parameters: New values of parameters of the batch, one for each of these cells. Delays
                cannot exceed the largest delay at first.

        Raises:
            ArgumentError: If there is no such cell or parameter, there is not one seed or value
                for each cell, or values exceed the ranges of the batch.
        """
        chosen = np.arange(self.count) if cells is None else self._numbers(cells)
        if seeds is not None and len(seeds) != len(chosen):
            raise ArgumentError(f"{len(seeds)} seeds, expected {len(chosen)}: one for each cell.")
        changed = bool(parameters) and len(chosen) > 0
        if parameters and changed:
            self._change(chosen, parameters)
        if cells is None:
            self._alive = np.ones(self.count, dtype=bool)
            self.endings = {}
        self._alive[chosen] = True
        numbers = chosen.tolist()
        for cell in numbers:
            self.endings.pop(cell, None)
        self._end_refused(numbers)
        self._cells.reset(chosen, seeds)
        if self._controlled and changed:
            self._prepare(numbers)
        return self.observation

    def step(
        self, torque: ArrayLike, *, cells: Mask | None = None, periods: int = 1
    ) -> BatchObservation:
        """Advance all cells that have not ended by one control period, or by some.

        Args:
            torque: Commands (N, na) [N m or N], (na,) for all cells, or (P, N, na) for P control
                periods, after which alone threads wait for each other. Each acts after the cell's
                command delay. A cell with commands that are not finite ends.
            cells: Mask of cells to advance (N,); the others wait. All by default.
            periods: Control periods for which the commands stay; P if they change.

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
        commands = np.broadcast_to(commands, (periods, *commands.shape[1:]))
        running = self._running(cells)

        def advance(own: slice) -> None:
            self._advance(own, commands[:, own], running[own])

        return self._seen_after(advance)

    def follow(self, rows: ArrayLike, *, cells: Mask | None = None) -> BatchObservation:
        """Advance all cells that have not ended, the scenario's law in the loop.

        Args:
            rows: Rows that the law follows in each of P control periods (P, N, w); see
                `reference_rows`.
            cells: Which cells are advanced (N,); the others wait. All by default.

        Raises:
            ArgumentError: If the shape is wrong.
        """
        given, width = np.asarray(rows, dtype=float), self._controlled_cells().rows.shape[1]
        if given.ndim != 3 or given.shape[1:] != (self.count, width):
            raise ArgumentError(
                f"rows of shape {given.shape}, expected (periods, {self.count}, {width})."
            )
        running = self._running(cells)

        def advance(own: slice) -> None:
            for row in given:
                torque = self._update(own, running[own], row[own])
                self._advance(own, torque[None], running[own])

        return self._seen_after(advance)

    def control(self, rows: ArrayLike | None = None) -> Array:
        """Return the torques (N, na) of the scenario's law for the present observation.

        They take effect by `step`; the law assumes that they are sent, once in each control
        period. Cells with a finding of the safety layer end; torques of ended cells are zero.

        Args:
            rows: Rows that the law follows now, (N, w) or (w,), as `reference_rows`; by default
                from the scenario's plan.
        """
        cells = self._controlled_cells()
        given = None if rows is None else np.asarray(rows, dtype=float)
        if given is not None:
            width = cells.rows.shape[1]
            if given.shape not in ((self.count, width), (width,)):
                raise ArgumentError(
                    f"rows of shape {given.shape}, expected {(self.count, width)} or {(width,)}."
                )
        torque = np.zeros((self.count, len(self.joint_names)))

        def update(own: slice) -> None:
            here = given if given is None or given.ndim == 1 else given[own]
            torque[own] = self._update(own, self._alive[own], here)

        cells.each_part(update)
        torque[~self._alive] = 0.0
        return torque

    @property
    def reference_rows(self) -> Array:
        """Rows that the law follows, by control periods since the start (ticks + 1, w).

        Pose (7,), twist (6,) and acceleration (6,) of the object, then forces; see
        `reference_columns`.
        """
        return self._controlled_cells().rows.copy()

    @property
    def reference_columns(self) -> dict[str, slice]:
        """Columns of forces in the rows of the reference."""
        return dict(self._controlled_cells().followed.row_columns)

    @property
    def internal_force_names(self) -> tuple[str, ...]:
        """Names of the internal forces, in the order of the reference's column "internal"."""
        return tuple(self._controlled_cells().law.internal_force_names)

    @property
    def observation(self) -> BatchObservation:
        """The last observation; of cells that have ended, before their end."""
        return self._seen_after(lambda own: None)

    def _seen_after(self, work: Callable[[slice], None]) -> BatchObservation:
        """Do something with all parts of the cells, and return the observation after it."""
        now, period = self._cells.seen, self.period
        time, *rest = seen = [np.empty(self.count), *(np.empty(rows.shape) for rows in now[1:])]

        def look(own: slice) -> None:
            work(own)
            np.multiply(now.tick[own], period, out=time[own])
            for found, rows in zip(rest, now[1:], strict=True):
                found[own] = rows[own]

        self._cells.each_part(look)
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
            duration: Simulated time [s]; by default start and reference.
            record: Names of columns to keep: object_pose, object_twist, joint_position,
                joint_velocity, grasp_wrench, applied_torque, commanded_torque, internal_force; of
                `separate` cells any of a recording.
            every: Control periods between two rows that are kept.

        Raises:
            UnknownNameError: If there is no such column.
            RobotDynamicsError: If the scenario's path is refused.
        """
        known = self._cells.recordable
        for name in several_names("record", record):
            if known is not None and name not in known:
                raise UnknownNameError("column", name, known)
        every = whole_number("every", every, 1)
        if not self._controlled:
            self.reset()  # control is prepared at the start
        cells = self._controlled_cells()
        ticks = self.scenario.ticks(cells.law.reference, duration)
        self.reset()
        runs = cells.run(self._alive, ticks, record, every)
        for one in runs:
            for cell, (tick, *why) in one.endings.items():
                if self._alive[cell]:
                    self._end({cell: (why[0], why[1])}, tick)
        figures, columns = self._joined(runs, -(-ticks // every))
        for values in figures.values():
            values[list(self.endings)] = np.nan
        times = np.asarray(np.arange(0, ticks, every) * self.period, dtype=float)
        return BatchRun(figures, dict(sorted(self.endings.items())), times, columns)

    def _joined(
        self, runs: Sequence[CellRuns], rows: int
    ) -> tuple[dict[str, Array], dict[str, Array]]:
        """Return figures (N,) and columns (rows, N, w) of all cells, NaN without a value."""
        figures: dict[str, Array] = {}
        columns: dict[str, Array] = {}
        for one in sorted(runs, key=lambda one: one.cells.start):
            for name, values in one.figures.items():
                if name not in figures:
                    figures[name] = np.full(self.count, np.nan)
                figures[name][one.cells] = values
            for name, values in one.columns.items():
                if name not in columns:
                    columns[name] = np.full((rows, self.count, *values.shape[2:]), np.nan)
                columns[name][: len(values), one.cells] = values
        return figures, columns

    # -- parts of the cells -------------------------------------------------------------------

    def _running(self, cells: Mask | None) -> Mask:
        """Return a view of the cells that have not ended, or the chosen ones of them."""
        return self._alive if cells is None else self._alive & self._mask(cells)

    def _advance(self, own: slice, torques: Array, running: Mask) -> None:
        self._end(self._cells.advance(own, torques, running & self._alive[own]))

    def _update(self, own: slice, running: Mask, rows: Array | None) -> Array:
        alive = running & self._alive[own]
        if rows is not None and not np.isfinite(rows).all():
            finite = np.broadcast_to(np.isfinite(rows).all(axis=-1), alive.shape)
            lost = np.flatnonzero(alive & ~finite).tolist()
            self._end({own.start + i: _ROWS_NOT_FINITE for i in lost})
            alive = alive & finite
        torque, ends = self._cells.update(own, alive, rows)
        self._end(ends)
        return torque

    def _end(self, ends: Ends, tick: int | None = None) -> None:
        """End cells, at a control period of their own by default."""
        for cell, (cause, sentence) in ends.items():
            at = int(self._cells.seen.tick[cell]) if tick is None else tick
            self._alive[cell] = False
            self.endings[cell] = Ending(at * self.period, cause, sentence)

    def _controlled_cells(self) -> BatchCells:
        """Return the cells, with control prepared for their starts."""
        if not self._controlled:
            if self._cells.seen.tick.any():
                raise ArgumentError("control begins at the start of all cells; expected a reset.")
            self._prepare(range(self.count))
            self._controlled = True
        return self._cells

    def _prepare(self, cells: Sequence[int]) -> None:
        """Prepare control of cells at their starts; end those that are refused."""
        self._refused = self._cells.prepare(cells) | self._refused
        self._end_refused(cells)

    def _end_refused(self, cells: Sequence[int]) -> None:
        self._end({i: self._refused[i] for i in cells if i in self._refused and self._alive[i]}, 0)

    def _change(self, cells: NDArray[np.intp], parameters: Mapping[str, ArrayLike]) -> None:
        """Give some cells other parameters; `reset` must follow."""
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
        try:
            refused = self._cells.change({cell: self._settings(cell) for cell in cells.tolist()})
        except RobotDynamicsError:
            self.parameters = before
            raise
        for cell in cells.tolist():
            self._refused.pop(cell, None)
        self._refused |= refused

    def _numbers(self, cells: ArrayLike) -> NDArray[np.intp]:
        """Return the numbers of cells given by number or by a mask (N,)."""
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
    """Return why cells of a scenario run one after the other; empty if they are compiled.

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
    elif plant.payloads:
        why = "payloads that come or go"
    elif scenario.control.start.tare:
        why = "wrist sensors that are tared"
    elif any(arm.sensor_tool_mass for arm in system.arms):
        why = "wrist sensors that carry tools"
    elif plant.joint_friction != "smooth":
        why = "friction that holds joints"
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
