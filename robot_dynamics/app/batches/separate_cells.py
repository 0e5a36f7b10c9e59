# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Cells that run one after the other, each with the plant and the law of a single run."""

from __future__ import annotations

import copy
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from robot_dynamics.app.batches.batch_cells import TORQUE_NOT_FINITE, CellChanges, CellsSeen, Ends
from robot_dynamics.app.runs.recorders import ControlRecorder, PlantRecorder
from robot_dynamics.app.runs.report import figures_of, report_of
from robot_dynamics.app.runs.run import sense_object
from robot_dynamics.app.scenarios.cell import build_system, true_system
from robot_dynamics.app.scenarios.laws import control_loop, make_law
from robot_dynamics.app.scenarios.plant import make_plant
from robot_dynamics.app.scenarios.scenario import Scenario
from robot_dynamics.arrays import Array, Mask
from robot_dynamics.control.control_law import ControlLaw, LawStep
from robot_dynamics.control.control_loop import ControlLoop
from robot_dynamics.control.faults import Cause
from robot_dynamics.control.hybrid.law import HybridLaw
from robot_dynamics.errors import ArgumentError, RobotDynamicsError, UnknownNameError, sentence_of
from robot_dynamics.manipulation.system import GraspSystem
from robot_dynamics.simulation.plant import ScenePlant
from robot_dynamics.simulation.sensors import Measurement


@dataclass
class _Cell:
    scenario: Scenario
    plant: ScenePlant
    measured: Measurement
    loop: ControlLoop | None = None
    law: ControlLaw | None = None  # as it was before its first start
    runs: bool = False


class SeparateCells:
    """Some cells of a scenario, each by itself; numbers of cells count from the first of these.

    Args:
        scenario: The scenario of all cells.
        cells: Settings of each cell.
    """

    def __init__(self, scenario: Scenario, cells: Sequence[CellChanges]) -> None:
        self._believed = believed = build_system(scenario)
        self._sizes = len(believed.joint_names), len(believed.arms)
        self._scenario = scenario
        self._cells: list[_Cell | None] = [None] * len(cells)
        self._first: tuple[Scenario, ScenePlant] | None = None
        self._of_scale = {1.0: believed}  # arms and object by the scale of links' masses
        #: A law of the scenario that never starts; others share what is the same in both.
        self._law: tuple[Scenario, ControlLaw] | None = None
        self._loop: ControlLoop | None = None  # of a cell
        #: Loops whose path was checked, by control settings and start.
        self._checked: dict[tuple[str, bytes], ControlLoop] = {}
        self._refused = self.change(dict(enumerate(cells)))

    def change(self, cells: Mapping[int, CellChanges]) -> Ends:
        """Make some cells anew, at their starts; return those that cannot be there, and why.

        Args:
            cells: Settings of each, by its number.
        """
        refused: Ends = {}
        for number, changes in cells.items():
            self._cells[number] = None
            try:
                own = replace(self._scenario, plant=changes.plant, control=changes.control)
                plant = make_plant(own, self._true_system(own), like=self._first)
                self._first = self._first or (own, plant)
                self._cells[number] = _Cell(own, plant, plant.first)
            except ArgumentError:
                raise
            except RobotDynamicsError as error:
                refused[number] = "refused", str(error)
        return refused

    def _true_system(self, own: Scenario) -> GraspSystem:
        """Return arms and object of a cell; descriptions are read once for each scale of links."""
        scale = own.plant.link_mass_scale
        if scale not in self._of_scale:
            self._of_scale[scale] = build_system(own, scale)
        alike = replace(own, plant=replace(own.plant, link_mass_scale=1.0))
        return true_system(alike, self._of_scale[scale])

    def why_refused(self) -> Ends:
        """Return which cells cannot be there, and why."""
        return self._refused

    def see(self) -> CellsSeen:
        """Return the present measurements."""
        n, (na, k) = len(self._cells), self._sizes
        seen = CellsSeen(
            np.zeros(n, dtype=np.int64),
            *(np.full((n, *shape), np.nan) for shape in ((na,), (na,), (k, 6), (7,), (6,))),
        )
        for i, cell in enumerate(self._cells):
            if cell is not None:
                tick, _, q, qd, wrenches = cell.measured
                truth = cell.plant.truth()
                row: tuple[Any, ...] = (
                    tick,
                    q,
                    qd,
                    wrenches,
                    truth.object_pose,
                    truth.object_twist,
                )
                for rows, values in zip(seen, row, strict=True):
                    rows[i] = values
        return seen

    def reset(self, cells: Sequence[int], seeds: Sequence[int] | None) -> CellsSeen:
        """Return cells to the start at rest, brakes on; see `BatchCells.reset`."""
        for i, number in enumerate(cells):
            cell = self._cells[number]
            if cell is not None:
                cell.measured = cell.plant.reset(None if seeds is None else seeds[i])
                cell.runs = False
        return self.see()

    def advance(self, torques: Array, alive: Mask) -> tuple[Ends, CellsSeen]:
        """Advance cells by some control periods; those that cannot go on end.

        Args:
            torques: Commands of each period (P, n, na).
            alive: Which cells move (n,).
        """
        ends: Ends = {}
        for i, cell in self._of(alive):
            for torque in torques[:, i]:
                if not np.isfinite(torque).all():
                    ends[i] = TORQUE_NOT_FINITE
                    break
                try:
                    cell.measured = cell.plant.step(torque)
                except Exception as error:  # numbers that are none come to any
                    ends[i] = "simulation", sentence_of(error)
                    break
        return ends, self.see()

    def prepare(self, cells: Sequence[int]) -> Ends:
        """Make control loops, and check the starts; return which cells are refused."""
        ends: Ends = {}
        for number in cells:
            cell = self._cells[number]
            if cell is None:
                continue
            own, (_, _, q, qd, _) = cell.scenario, cell.measured
            try:
                law = self._make_law(own)
                loop = control_loop(own, self._believed, law=law, like=self._loop)
                self._loop = self._loop or loop
                if own.control.start.tare:
                    loop.tare(q, cell.plant.unloaded_wrenches())
                start = repr(own.control), q.tobytes()
                if start in self._checked:
                    loop.check_state(q, qd)
                    loop.take_path_check(self._checked[start])
                else:
                    loop.check(q, qd)
                    self._checked[start] = loop
                cell.loop, cell.law = loop, copy.copy(law)
                self._begin(cell, loop)
            except RobotDynamicsError as error:
                ends[number] = "refused", str(error)
        return ends

    def _make_law(self, own: Scenario) -> ControlLaw:
        """Return the law of a cell."""
        if self._law is None:
            self._law = own, make_law(own, self._believed)
        return make_law(own, self._believed, like=self._law)

    def update(self, alive: Mask, rows: Array | None) -> tuple[Array, Ends]:
        """Return the torques (n, na) of a control instant, and which cells end in it.

        Args:
            alive: Mask of cells that run (n,).
            rows: Rows that the law follows (n, w); its plan by default.
        """
        torque = np.zeros((len(self._cells), self._sizes[0]))
        ends: Ends = {}
        for i, cell in self._of(alive):
            loop = cell.loop
            if loop is None:
                continue
            if not cell.runs:
                try:
                    self._begin(cell, loop)
                except RobotDynamicsError as error:
                    ends[i] = "refused", str(error)
                    continue
            if isinstance(loop.law, HybridLaw):
                loop.law.follow_row(None if rows is None else rows[i])
            sent, end, _ = self._controlled(cell, loop)
            torque[i] = 0.0 if sent is None else sent
            if end is not None:
                ends[i] = end
        return torque, ends

    def run(
        self, cell: int, ticks: int, record: Collection[str], every: int
    ) -> tuple[dict[str, Array], dict[str, Array], tuple[int, str, str] | None]:
        """Run a cell from its start, its law in the loop.

        Returns its figures (1,) and columns (rows, 1, w), and its ending; see `CellRuns`.

        Args:
            cell: Its number.
            ticks: Control periods.
            record: Names of columns to keep.
            every: Control periods between two rows of them.

        Raises:
            UnknownNameError: If a recording of the scenario has no such column.
        """
        own = self._cells[cell]
        if own is None or own.loop is None:
            return {}, {}, None
        plant, loop, scenario = own.plant, own.loop, own.scenario
        own.measured = plant.reset()
        try:
            last = self._begin(own, loop)
        except RobotDynamicsError as error:
            return {}, {}, (0, "refused", str(error))
        seen = PlantRecorder(plant.scene, scenario, ticks)
        done = ControlRecorder(loop.law, scenario, ticks)
        ending: tuple[int, str, str] | None = None
        for tick in range(ticks):
            sent, end, step = self._controlled(own, loop)
            last = step or last
            seen.write(own.measured, plant)
            done.write(tick, np.zeros(self._sizes[0]) if sent is None else sent, last, 0.0)
            if end is None and sent is not None:
                try:
                    own.measured = plant.step(sent)
                except Exception as error:
                    end = "simulation", sentence_of(error)
            if end is not None:
                ending = tick, *end
                break
        recording = seen.finish().merged(done.finish(scenario.start_tick))
        for name in record:
            if name not in recording:
                raise UnknownNameError("column", name, sorted(recording.columns))
        figures = {
            name: np.array([value], dtype=float)
            for name, value in figures_of(report_of(recording)).items()
        }
        return figures, {name: recording[name][::every, None] for name in record}, ending

    def _begin(self, cell: _Cell, loop: ControlLoop) -> LawStep:
        """Start control of a cell from its current state."""
        if loop.began is not None:  # as if it had never run
            loop.stop(0)
            loop.let_go()
            loop.reset(0)
            loop.safety.release()
            loop.law = copy.copy(cell.law or loop.law)
        sense_object(loop.law, cell.plant)
        _, _, q, qd, wrenches = cell.measured
        step = loop.start_at(0, 0, q, qd, wrenches)
        cell.runs = True
        return step

    def _controlled(
        self, cell: _Cell, loop: ControlLoop
    ) -> tuple[Array | None, tuple[str, str] | None, LawStep | None]:
        """Return the torque (na,) of a control instant, why the cell ends, and the law's step."""
        tick, _, q, qd, wrenches = cell.measured
        sense_object(loop.law, cell.plant)
        try:
            torque, _, step, _ = loop.update(tick, tick, q, qd, wrenches)
        except Exception as error:
            return None, (Cause.CONTROLLER_FAILED.value, sentence_of(error)), None
        if loop.safety.faults:
            found = loop.safety.faults[0][1]
            return torque, (found.cause.value, str(found)), step
        return torque, None, step

    def _of(self, alive: Mask) -> list[tuple[int, _Cell]]:
        """Return the cells that are looked at, with their numbers."""
        pairs = ((i, self._cells[i]) for i in np.flatnonzero(alive).tolist())
        return [(i, cell) for i, cell in pairs if cell is not None]
