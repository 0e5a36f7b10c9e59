# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Separate cells as `BatchCells`: in this process, or spread over several.

Processes run this module, and import no module of the caller's program.
"""

from __future__ import annotations

import os
import subprocess
import sys
import weakref
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from multiprocessing.connection import Connection, Pipe
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robot_dynamics.app.batches.batch_cells import (
    BatchCells,
    CellChanges,
    CellRuns,
    CellsSeen,
    Ends,
)
from robot_dynamics.app.batches.separate_cells import SeparateCells
from robot_dynamics.app.scenarios.laws import make_law
from robot_dynamics.app.scenarios.scenario import Scenario
from robot_dynamics.arrays import Array, Mask
from robot_dynamics.control.control_law import ControlLaw
from robot_dynamics.errors import ArgumentError, RobotDynamicsError
from robot_dynamics.manipulation.system import GraspSystem
from robot_dynamics.threads import ONE_THREAD

_FEWEST = 4  # cells that are worth a process
_END_S = 1.0  # for a process to end by itself
#: Errors that keep their class between processes.
_ERRORS: dict[str, type[Exception]] = {
    "argument": ArgumentError,
    "refused": RobotDynamicsError,
    "other": RuntimeError,
}


class CellProcess:
    """`SeparateCells` in a process of their own; it ends with this object.

    Args:
        scenario: The scenario of all cells.
        cells: Settings of each cell.
    """

    def __init__(self, scenario: Scenario, cells: Sequence[CellChanges]) -> None:
        self._line, theirs = Pipe()
        with theirs:
            number = theirs.fileno()
            self._process = subprocess.Popen(
                [sys.executable, "-m", __name__, str(number)],
                stdin=subprocess.DEVNULL,
                pass_fds=(number,),
                env={**os.environ, **ONE_THREAD},
            )
        weakref.finalize(self, _end, self._line, self._process)
        self._line.send((scenario, cells))

    def ask(self, name: str, *arguments: Any) -> Any:
        """Return the result of a method of the cells.

        Raises:
            RobotDynamicsError: If the method raises it, or the process has ended.
        """
        try:
            self._line.send((name, arguments))
            kind, found = self._line.recv()
        except (OSError, EOFError):
            code = self._process.wait()
            raise RobotDynamicsError(
                f"a process of a batch of cells has ended with status {code}; expected it to "
                "have enough memory, and this package to be installed for it."
            ) from None
        except BaseException:  # as Ctrl-C: the answer must not be taken for another question's
            self._line.close()
            raise
        if kind in _ERRORS:
            raise _ERRORS[kind](found)
        return found


class _LocalCells:
    """`SeparateCells` in this process."""

    def __init__(self, scenario: Scenario, cells: Sequence[CellChanges]) -> None:
        self._cells = SeparateCells(scenario, cells)

    def ask(self, name: str, *arguments: Any) -> Any:
        """Return the result of a method of the cells."""
        return getattr(self._cells, name)(*arguments)


class SeparateBatch(BatchCells):
    """Cells that run one after the other, each with plant and law of a single run.

    Args:
        scenario: The scenario of all cells.
        believed: Arms and object as control knows them.
        cells: Settings of each cell.
        threads: Number of threads, each with a process if there are several; by default as many as
            there are cores, if there are cells enough.
    """

    def __init__(
        self,
        scenario: Scenario,
        believed: GraspSystem,
        cells: Sequence[CellChanges],
        threads: int | None,
    ) -> None:
        count = len(cells)
        most = count if threads else max(1, count // _FEWEST)
        threads = min(threads or len(os.sched_getaffinity(0)), most)
        super().__init__(scenario, count, -(-count // threads), threads)
        self._system = believed
        kind = CellProcess if threads > 1 else _LocalCells
        # Start all of them before waiting for one.
        self._workers: dict[int, CellProcess | _LocalCells] = {
            own.start: kind(scenario, cells[own]) for own in self.parts
        }
        self.refused: Ends = {}
        for own in self.parts:
            self.refused |= self._ask_ends(own, "why_refused")
        seen = [self._ask(own, "see") for own in self.parts]
        self.seen = CellsSeen(*(np.concatenate(rows) for rows in zip(*seen, strict=True)))

    def change(self, cells: Mapping[int, CellChanges]) -> Ends:
        """Make some cells anew; see `BatchCells.change`."""
        refused: Ends = {}
        for own, here in self._by_part(cells):
            changes = {cell - own.start: cells[cell] for cell in here}
            refused |= self._ask_ends(own, "change", changes)
        return refused

    def reset(self, cells: NDArray[np.intp], seeds: Sequence[int] | None = None) -> None:
        """Return cells to the start; see `BatchCells.reset`."""
        numbers = cells.tolist()
        given = {} if seeds is None else dict(zip(numbers, map(int, seeds), strict=True))
        for own, here in self._by_part(numbers):
            own_seeds = [given[cell] for cell in here] if given else None
            self._look(
                own, self._ask(own, "reset", [cell - own.start for cell in here], own_seeds)
            )

    def advance(self, own: slice, torques: Array, alive: Mask) -> Ends:
        """Advance cells of a part by control periods; see `BatchCells.advance`."""
        ends, seen = self._ask(own, "advance", torques, alive)
        self._look(own, seen)
        return {own.start + i: why for i, why in ends.items()}

    def prepare(self, cells: Sequence[int]) -> Ends:
        """Prepare control of cells at their starts; see `BatchCells.prepare`."""
        refused: Ends = {}
        for own, here in self._by_part(cells):
            refused |= self._ask_ends(own, "prepare", [cell - own.start for cell in here])
        return refused

    def update(self, own: slice, alive: Mask, rows: Array | None) -> tuple[Array, Ends]:
        """Return the torques of a control period; see `BatchCells.update`."""
        rows = None if rows is None else np.broadcast_to(rows, (len(alive), rows.shape[-1]))
        torque, ends = self._ask(own, "update", alive, rows)
        return torque, {own.start + i: why for i, why in ends.items()}

    def run(self, alive: Mask, ticks: int, record: Collection[str], every: int) -> list[CellRuns]:
        """Run all cells from their starts, whether alive or not; see `BatchCells.run`."""
        runs: list[CellRuns] = []

        def run(own: slice) -> None:
            for i in range(own.stop - own.start):
                figures, columns, ending = self._ask(own, "run", i, ticks, record, every)
                endings = {} if ending is None else {own.start + i: ending}
                cells = slice(own.start + i, own.start + i + 1)
                runs.append(CellRuns(cells, figures, columns, endings))
            self._look(own, self._ask(own, "see"))

        self.each_part(run)
        return runs

    @cached_property
    def law(self) -> ControlLaw:
        """Law of one cell."""
        return make_law(self._scenario, self._system)

    def _by_part(self, cells: Iterable[int]) -> Iterator[tuple[slice, list[int]]]:
        """Yield each part that has some of the cells, with these."""
        numbers = list(cells)
        for own in self.parts:
            here = [cell for cell in numbers if own.start <= cell < own.stop]
            if here:
                yield own, here

    def _ask(self, own: slice, name: str, *arguments: Any) -> Any:
        """Return the result of a method of a part's `SeparateCells`."""
        return self._workers[own.start].ask(name, *arguments)

    def _ask_ends(self, own: slice, name: str, *arguments: Any) -> Ends:
        """Return the cells that a method of a part's `SeparateCells` ends."""
        return {own.start + i: why for i, why in self._ask(own, name, *arguments).items()}

    def _look(self, own: slice, seen: CellsSeen) -> None:
        for rows, values in zip(self.seen, seen, strict=True):
            rows[own] = values


def _end(line: Connection, process: subprocess.Popen[bytes]) -> None:
    line.close()
    try:
        process.wait(_END_S)
    except subprocess.TimeoutExpired:  # it is in the middle of something that nobody waits for
        process.kill()
        process.wait()


def serve(number: int) -> None:
    """Answer requests until the caller's end of the pipe is closed.

    Args:
        number: File descriptor of this end.
    """
    with Connection(number) as line:
        try:
            scenario, changes = line.recv()
            cells: SeparateCells | None = None
            while True:
                name, arguments = line.recv()
                try:
                    cells = cells or SeparateCells(scenario, changes)
                    line.send(("", getattr(cells, name)(*arguments)))
                except ArgumentError as error:
                    line.send(("argument", str(error)))
                except RobotDynamicsError as error:
                    line.send(("refused", str(error)))
                except Exception as error:
                    line.send(("other", f"{type(error).__name__}: {error}"))
        except (EOFError, OSError, KeyboardInterrupt):
            return


if __name__ == "__main__":
    serve(int(sys.argv[1]))
