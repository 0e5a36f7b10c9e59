# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Interface between a `BatchSimulation` and its cells."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from robot_dynamics.app.scenarios.scenario import Scenario
from robot_dynamics.arrays import Array, Mask
from robot_dynamics.control.control_law import ControlLaw
from robot_dynamics.control.faults import Cause
from robot_dynamics.control.hybrid.law import HybridLaw
from robot_dynamics.control.settings import ControlSettings
from robot_dynamics.errors import ArgumentError
from robot_dynamics.simulation.settings import PlantSettings

#: Cause and sentence of each ended cell, by its number.
Ends = dict[int, tuple[str, str]]
TORQUE_NOT_FINITE = (Cause.TORQUE_INVALID.value, "torque has entries that are not finite.")


class CellChanges(NamedTuple):
    """Changes of one cell, and the settings of plant and control that they give.

    Attributes:
        overrides: Its differences from the scenario of all cells.
        plant: Its plant.
        control: Its control.
    """

    overrides: Sequence[str]
    plant: PlantSettings
    control: ControlSettings


class CellsSeen(NamedTuple):
    """Last measurements and object states of n cells; NaN where one was refused.

    Attributes:
        tick: Control periods since each cell's start (n,).
        q: Measured positions of the arm joints (n, na).
        qd: Measured velocities (n, na).
        wrenches: Measured grasp wrenches (n, k, 6).
        object_pose: True pose of the object (n, 7).
        object_twist: Its true twist (n, 6).
    """

    tick: NDArray[np.int64]
    q: Array
    qd: Array
    wrenches: Array
    object_pose: Array
    object_twist: Array


class CellRuns(NamedTuple):
    """Runs of neighbouring cells.

    Attributes:
        cells: The cells.
        figures: Figures by name (n,), until each cell ended; NaN without a value.
        columns: Recorded columns by name (rows, n, w).
        endings: Control period, cause and sentence of cells that ended before the end of the run,
            by number.
    """

    cells: slice
    figures: dict[str, Array]
    columns: dict[str, Array]
    endings: dict[int, tuple[int, str, str]]


class BatchCells(ABC):
    """N cells of a scenario: plants, and control once it is prepared.

    Cells are numbered from 0. A method that ends cells returns the reasons; the caller must not
    pass such a cell as alive again before a reset.

    Attributes:
        parts: Parts of the cells, which different threads can work on at the same time.
        seen: Last measurements; its arrays stay the same.
        refused: Cells that cannot be made.
        recordable: Names of columns that a run can record; None if they are those of a recording.

    Args:
        scenario: The scenario of all cells.
        count: N.
        part: Cells of a part.
        threads: Number of threads.
    """

    seen: CellsSeen
    refused: Ends
    recordable: Collection[str] | None = None

    def __init__(self, scenario: Scenario, count: int, part: int, threads: int) -> None:
        self._scenario = scenario
        self.parts = [slice(i, min(i + part, count)) for i in range(0, count, part)]
        self._threads = threads
        self._pool: ThreadPoolExecutor | None = None

    def each_part(self, work: Callable[[slice], None]) -> None:
        """Do something with all parts of the cells, on all threads."""

        def quiet(own: slice) -> None:
            with np.errstate(all="ignore"):  # cells that have left their validity are ended
                work(own)

        first, *others = self.parts
        if self._pool is None:
            self._pool = ThreadPoolExecutor(max(1, self._threads - 1), "batch")
        # This thread does its part, and those that no other thread has begun.
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

    @property
    def bytes_per_cell(self) -> int:
        """Memory that a cell takes; 0 if it is not known."""
        return 0

    @property
    @abstractmethod
    def law(self) -> ControlLaw:
        """Law of one cell."""

    @property
    def followed(self) -> HybridLaw:
        """The law, if it can follow rows of the caller.

        Raises:
            ArgumentError: If it cannot.
        """
        law = self.law
        if not isinstance(law, HybridLaw) or type(law).update is not HybridLaw.update:
            why = f"law {self._scenario.control.base_law!r}"
        elif law.surfaces:
            why = "surfaces"
        else:
            return law
        raise ArgumentError(
            f"rows of one's own with {why}; expected the law 'hybrid' or 'impedance' without "
            "surfaces."
        )

    @cached_property
    def rows(self) -> Array:
        """Rows of the reference by ticks since the start (ticks + 1, w); see `followed`."""
        law = self.followed
        return np.array([law.row(tick) for tick in range(law.ticks + 1)])

    @abstractmethod
    def change(self, cells: Mapping[int, CellChanges]) -> Ends:
        """Change some cells; the caller must reset them and prepare their control.

        Args:
            cells: Their settings, by number.

        Returns:
            Cells that cannot be made.

        Raises:
            ArgumentError: If the settings do not fit the batch; no cell changes then.
        """

    @abstractmethod
    def reset(self, cells: NDArray[np.intp], seeds: Sequence[int] | None = None) -> None:
        """Return cells to the start at rest, brakes on, and control to its start.

        Args:
            cells: Their numbers.
            seeds: Seeds of their noise; by default from the settings.
        """

    @abstractmethod
    def advance(self, own: slice, torques: Array, alive: Mask) -> Ends:
        """Advance cells of a part by control periods; return those that cannot go on.

        Args:
            own: The part.
            torques: Commands of each period (P, n, na).
            alive: Cells that move (n,).
        """

    @abstractmethod
    def prepare(self, cells: Sequence[int]) -> Ends:
        """Prepare control of cells at their starts; return the cells whose start is refused.

        The first call must name all cells.

        Raises:
            RobotDynamicsError: If control of the scenario is refused in all cells.
        """

    @abstractmethod
    def update(self, own: slice, alive: Mask, rows: Array | None) -> tuple[Array, Ends]:
        """Return the torques (n, na) of a control period, and the cells that end in it.

        Args:
            own: The part.
            alive: Cells that run (n,).
            rows: Rows that the law follows, (n, w) or (w,); of its plan by default.
        """

    @abstractmethod
    def run(self, alive: Mask, ticks: int, record: Collection[str], every: int) -> list[CellRuns]:
        """Run all cells from their starts, with the law in the loop.

        Args:
            alive: Cells that run (N,).
            ticks: Control periods.
            record: Names of columns to record.
            every: Control periods between two rows of them.

        Raises:
            UnknownNameError: If there is no such column.
        """
