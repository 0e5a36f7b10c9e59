# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Cells that are compiled together: rigid grasps in free space, several cells per instruction."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robot_dynamics.app.batches.batch_cells import (
    TORQUE_NOT_FINITE,
    BatchCells,
    CellChanges,
    CellRuns,
    CellsSeen,
    Ends,
)
from robot_dynamics.app.batches.batch_figures import COLUMNS, Collector, FigureReference
from robot_dynamics.app.scenarios.cell import true_system
from robot_dynamics.app.scenarios.laws import control_loop
from robot_dynamics.app.scenarios.plant import scene_of
from robot_dynamics.app.scenarios.scenario import Scenario
from robot_dynamics.arrays import Array, Mask
from robot_dynamics.control.batch_loop import BatchLoop
from robot_dynamics.control.control_law import ControlLaw
from robot_dynamics.errors import ArgumentError, RobotDynamicsError
from robot_dynamics.manipulation.assembly import closed_configuration
from robot_dynamics.manipulation.system import GraspSystem
from robot_dynamics.simulation.batch_plant import BatchPlant, PlantCell
from robot_dynamics.simulation.rigid_engine import RigidEngine
from robot_dynamics.simulation.settings import SensorSettings
from robot_dynamics.spatial import Inertia

_LARGEST_PART = 512  # cells that a thread advances together: their numbers stay in its cache
_LANES = 8


class CompiledCells(BatchCells):
    """Cells whose plants and control are compiled for many cells at once.

    Attributes:
        plant: Plants of all cells.

    Args:
        scenario: The scenario of all cells.
        believed: Arms and object as control knows them.
        cells: Settings of each cell.
        threads: Number of threads; as many as there are cores by default.
    """

    recordable = COLUMNS

    def __init__(
        self,
        scenario: Scenario,
        believed: GraspSystem,
        cells: Sequence[CellChanges],
        threads: int | None,
    ) -> None:
        self._believed = believed
        threads = threads or len(os.sched_getaffinity(0))
        part = min(_LARGEST_PART, -(-len(cells) // threads))
        super().__init__(scenario, len(cells), -(-part // _LANES) * _LANES, threads)
        scales = {cell.plant.link_mass_scale for cell in cells}
        self._variable_links, self._link_scale = len(scales) > 1, min(scales)
        system = self._true_system(scenario)
        self._start = closed_configuration(system, scenario.object_pose)
        self._nominal = RigidEngine(
            scene_of(scenario, system), self._start, scenario.control.period, scenario.plant
        )
        made, self.refused = self._made(dict(enumerate(cells)))
        self.plant = plant = BatchPlant(self._nominal, made, scenario.control.period)
        sensors = plant.sensors
        self.seen = CellsSeen(
            plant.tick, sensors.q, sensors.qd, sensors.wrenches, plant.object_pose, plant.twist
        )
        self._controls = [cell.control for cell in cells]
        self._loop: BatchLoop | None = None

    # -- the plants ---------------------------------------------------------------------------

    def change(self, cells: Mapping[int, CellChanges]) -> Ends:
        """Make some cells anew; see `BatchCells.change`."""
        scales = {cell.plant.link_mass_scale for cell in cells.values()}
        if not self._variable_links and scales != {self._link_scale}:
            raise ArgumentError(
                "plant.link_mass_scale differs from cell to cell; expected that of a batch "
                "from the start on."
            )
        made, refused = self._made(cells)
        self.plant.change(np.array([*cells]), made)
        for number, cell in cells.items():
            self._controls[number] = cell.control
        return refused

    def reset(self, cells: NDArray[np.intp], seeds: Sequence[int] | None = None) -> None:
        """Return cells to the start; see `BatchCells.reset`."""
        self.plant.reset(cells, seeds)
        if self._loop is not None:
            self._loop.begin(cells)

    def advance(self, own: slice, torques: Array, alive: Mask) -> Ends:
        """Advance cells of a part by control periods; see `BatchCells.advance`."""
        ends: Ends = {}
        alive = alive.copy()
        for torque in torques:
            if not np.isfinite(torque).all():
                finite = np.isfinite(torque).all(axis=1)
                for i in np.flatnonzero(alive & ~finite).tolist():
                    ends[own.start + i] = TORQUE_NOT_FINITE
                alive &= finite
            lost = self.plant.advance(own, torque, alive)
            for i in np.flatnonzero(lost).tolist():
                ends[own.start + i] = self.plant.why_ended(own.start + i)
            alive &= ~lost
        return ends

    def _made(self, cells: Mapping[int, CellChanges]) -> tuple[list[PlantCell], Ends]:
        """Return the plants of some cells, the nominal one for those that are refused."""
        made: dict[str, PlantCell | str] = {}
        plants, refused = [], {}
        for number, cell in cells.items():
            # Sensors and delay do not change the motion.
            own = replace(cell.plant, seed=0, sensors=SensorSettings(), command_delay_periods=0)
            key = repr(own)
            if key not in made:
                made[key] = self._plant_of(replace(self._scenario, plant=cell.plant))
            found = made[key]
            if isinstance(found, str):
                refused[number] = "refused", found
                self._nominal.begin()
                found = PlantCell.of(self._nominal, cell.plant)
            plants.append(replace(found, settings=cell.plant))
        return plants, refused

    def _plant_of(self, scenario: Scenario) -> PlantCell | str:
        """Return the plant of a cell, or why it is refused."""
        nominal, start = self._nominal, self._start
        try:
            system = self._true_system(scenario)
            if scenario.plant.grasp_error == self._scenario.plant.grasp_error:
                scene = replace(nominal.scene, system=system)
            else:
                scene = scene_of(scenario, system)
                start = closed_configuration(system, scenario.object_pose)
            motion = nominal.variant(scene, start, scenario.plant)
        except RobotDynamicsError as error:
            return str(error)
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
        """The believed system, with the inertia of every link as a parameter of programs."""
        model = self._believed.model
        names = {body.name for body in model.bodies}
        return replace(self._believed, model=replace(model, variable=model.variable | names))

    # -- control ------------------------------------------------------------------------------

    @property
    def bytes_per_cell(self) -> int:
        """Memory that a cell takes."""
        return self.plant.bytes_per_cell + (self._loop.bytes_per_cell if self._loop else 0)

    @property
    def loop(self) -> BatchLoop:
        """Control of all cells, once it is prepared."""
        assert self._loop is not None, "control is prepared first"
        return self._loop

    @property
    def law(self) -> ControlLaw:
        """Law of one cell."""
        return self.loop.law

    def prepare(self, cells: Sequence[int]) -> Ends:
        """Prepare control of cells at their starts; see `BatchCells.prepare`."""
        loop = self._loop
        if loop is None:
            single = control_loop(self._scenario, self._believed)
            self._nominal.begin()
            q, qd, _ = self._nominal.sensed()
            single.check(q, qd)
            loop = BatchLoop(single, self.plant.count)
        refused: Ends = {}
        known: dict[Any, int | str] = {}
        for cell in cells:
            control, q, qd = self._controls[cell], self.seen.q[cell], self.seen.qd[cell]
            own = "" if control is self._scenario.control else repr(control)
            key = (q.tobytes(), qd.tobytes(), own)
            found = known.get(key)
            if found is None:
                try:
                    loop.prepare(cell, control, q, qd)
                    found = known[key] = cell
                except ArgumentError:
                    raise
                except RobotDynamicsError as error:
                    found = known[key] = str(error)
            elif isinstance(found, int):
                loop.share(cell, found)
            if isinstance(found, str):
                refused[cell] = "refused", found
        numbers = np.array(cells)
        if self._loop is not None:
            loop.change(numbers)
            loop.begin(numbers)
            return refused
        good = [found for found in known.values() if isinstance(found, int)]
        for cell in refused if good else ():
            loop.share(cell, good[0])  # numbers that kernels can work with
        loop.finish()
        self._loop = loop
        return refused

    def update(self, own: slice, alive: Mask, rows: Array | None) -> tuple[Array, Ends]:
        """Return the torques of a control period; see `BatchCells.update`."""
        seen = self.seen
        torque, found = self.loop.update(
            own,
            seen.tick[own],
            seen.q[own],
            seen.qd[own],
            seen.wrenches[own],
            alive,
            rows,
        )
        return torque, {cell: (one.cause.value, str(one)) for cell, one in found.items()}

    def run(self, alive: Mask, ticks: int, record: Collection[str], every: int) -> list[CellRuns]:
        """Run all cells from their starts; see `BatchCells.run`."""
        effort = np.array(self._believed.limits["effort"])
        reference = FigureReference(self._scenario, self.loop.law, ticks, effort)
        runs = []

        def run(own: slice) -> None:
            collector = Collector(reference, own.stop - own.start, record, every)
            endings = self._run_part(own, alive[own].copy(), ticks, collector)
            runs.append(CellRuns(own, collector.figures, collector.kept, endings))

        self.each_part(run)
        return runs

    def _run_part(
        self, own: slice, alive: Mask, ticks: int, collector: Collector
    ) -> dict[int, tuple[int, str, str]]:
        """Run the cells of a part; return those that ended, with control period and reason."""
        plant, seen, loop = self.plant, self.seen, self.loop
        endings: dict[int, tuple[int, str, str]] = {}
        for tick in range(ticks):
            if not alive.any():
                break
            torque, ends = self.update(own, alive, None)
            # The period in which a fault is found still counts.
            collector.add(
                tick,
                alive,
                {
                    "object_pose": seen.object_pose[own],
                    "object_twist": seen.object_twist[own],
                    "joint_position": seen.q[own],
                    "joint_velocity": seen.qd[own],
                    "grasp_wrench": seen.wrenches[own].reshape(len(alive), -1),
                    "applied_torque": plant.torque[own],
                    "commanded_torque": torque,
                    "internal_force": plant.internal_force[own],
                    "added_internal_force": loop.added_internal_force[own],
                    "gaps": plant.gaps[own],
                    "scales": loop.scales[own],
                },
            )
            alive[[cell - own.start for cell in ends]] = False
            ends |= self.advance(own, torque[None], alive)
            alive[[cell - own.start for cell in ends]] = False
            endings |= {cell: (tick, *why) for cell, why in ends.items()}
        collector.finish()
        return endings


def _with_links_scaled(system: GraspSystem, scale: float) -> GraspSystem:
    """Return a system with masses and inertias of the arms' links multiplied by a number."""
    links = {
        body.name: Inertia.of([scale * value for value in body.inertia.components()])
        for i, body in enumerate(system.model.bodies)
        if i not in system.object_bodies
    }
    return replace(system, model=system.model.replace(inertia=links))
