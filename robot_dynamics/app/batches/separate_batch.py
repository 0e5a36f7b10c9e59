# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Many separate cells, as a `BatchSimulation` takes them: in this process, or spread over several.

Processes run this module; nothing of the caller's program is imported in them.
"""

from __future__ import annotations

import os
import subprocess
import sys
import weakref
from collections.abc import Collection, Mapping, Sequence
from functools import cached_property
from multiprocessing.connection import Connection, Pipe
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robot_dynamics.app.batches.separate_cells import CellRun, Ends, Seen, SeparateCells
from robot_dynamics.app.scenarios.laws import make_law
from robot_dynamics.app.scenarios.scenario import Scenario
from robot_dynamics.control.control_law import ControlLaw
from robot_dynamics.control.hybrid.law import HybridLaw
from robot_dynamics.errors import ArgumentError, RobotDynamicsError
from robot_dynamics.threads import ONE_THREAD

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

_END_S = 1.0  # for a process to end by itself
#: Errors that keep their class on the way from another process.
_ERRORS: dict[str, type[Exception]] = {
    "argument": ArgumentError,
    "refused": RobotDynamicsError,
    "other": RuntimeError,
}


class CellProcess:
    """`SeparateCells` in a process of their own; it ends with this object.

    Args:
        scenario: What they have in common.
        overrides: Of each cell.
    """

    def __init__(self, scenario: Scenario, overrides: Sequence[Sequence[str]]) -> None:
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
        self._line.send((scenario, overrides))

    def ask(self, name: str, *arguments: Any) -> Any:
        """Return what a method of the cells returns.

        Raises:
            RobotDynamicsError: What it raises; or that the process has ended.
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
        except BaseException:  # as Ctrl-C: the answer would be taken for that of another question
            self._line.close()
            raise
        if kind in _ERRORS:
            raise _ERRORS[kind](found)
        return found


class _LocalCells:
    """`SeparateCells` in this process."""

    def __init__(self, scenario: Scenario, overrides: Sequence[Sequence[str]]) -> None:
        self._cells = SeparateCells(scenario, overrides)

    def ask(self, name: str, *arguments: Any) -> Any:
        """Return what a method of the cells returns."""
        return getattr(self._cells, name)(*arguments)


class SeparateBatch:
    """N separate cells, with what a `BatchSimulation` asks of `BatchPlant` and `BatchLoop`.

    Attributes:
        refused: By number, cause and sentence of the cells that cannot be there.
        tick, seen_q, seen_qd, seen_wrenches, object_pose, twist: As of `BatchPlant`.
        bytes_per_cell: 0: it is not known.

    Args:
        scenario: What cells have in common.
        overrides: Of each cell.
        parts: Which of them are advanced together.
        processes: Whether each part has a process of its own.
    """

    bytes_per_cell = 0

    def __init__(
        self,
        scenario: Scenario,
        overrides: Sequence[Sequence[str]],
        parts: Sequence[slice],
        *,
        processes: bool,
    ) -> None:
        self._scenario, self._slices = scenario, list(parts)
        kind = CellProcess if processes else _LocalCells
        # All of them begin before one is waited for.
        self._parts: dict[int, CellProcess | _LocalCells] = {
            own.start: kind(scenario, overrides[own]) for own in parts
        }
        self._reasons: Ends = {}
        self.refused: Ends = {}
        for own in parts:
            found = self._parts[own.start].ask("why_refused")
            self.refused |= {own.start + i: why for i, why in found.items()}
        seen = [self._parts[own.start].ask("see") for own in parts]
        self._seen = Seen(*(np.concatenate(rows) for rows in zip(*seen, strict=True)))
        self.tick, self.seen_q, self.seen_qd, self.seen_wrenches, *rest = self._seen
        self.object_pose, self.twist = rest

    def reset(self, cells: NDArray[np.intp], seeds: Sequence[int] | None = None) -> None:
        """Return cells to the start; see `BatchPlant.reset`."""
        for own in self._slices:
            here = np.flatnonzero((cells >= own.start) & (cells < own.stop)).tolist()
            if here:
                numbers = [int(cells[i]) - own.start for i in here]
                given = None if seeds is None else [int(seeds[i]) for i in here]
                self._look(own, self._parts[own.start].ask("reset", numbers, given))

    def advance(self, own: slice, torques: Array, alive: Mask) -> Mask:
        """Advance a part by control periods (P, n, na); return which cells have ended (n,)."""
        ends, seen = self._parts[own.start].ask("advance", torques, alive)
        self._look(own, seen)
        return self._ended(own, ends)

    def change(self, overrides: Mapping[int, Sequence[str]]) -> Ends:
        """Make some cells anew; return those that cannot be there, and why.

        Args:
            overrides: Of each, by its number.
        """
        refused: Ends = {}
        for own in self._slices:
            here = {i - own.start: v for i, v in overrides.items() if own.start <= i < own.stop}
            if here:
                found = self._parts[own.start].ask("change", here)
                refused |= {own.start + i: why for i, why in found.items()}
        return refused

    def prepare(self, cells: Sequence[int]) -> Ends:
        """Prepare control in some cells; return those whose start is refused."""
        refused: Ends = {}
        for own in self._slices:
            here = [cell - own.start for cell in cells if own.start <= cell < own.stop]
            if here:
                found = self._parts[own.start].ask("prepare", here)
                refused |= {own.start + i: why for i, why in found.items()}
        return refused

    def update(self, own: slice, alive: Mask, rows: Array | None) -> tuple[Array, Mask]:
        """Return the torques (n, na) of a control instant, and which cells end in it (n,)."""
        torque, ends = self._parts[own.start].ask("update", alive, rows)
        return torque, self._ended(own, ends)

    def run(self, own: slice, ticks: int, record: Collection[str], every: int) -> list[CellRun]:
        """Run the cells of a part from their start."""
        part = self._parts[own.start]
        runs = [part.ask("run", i, ticks, record, every) for i in range(own.stop - own.start)]
        self._look(own, part.ask("see"))
        return runs

    def why_ended(self, cell: int) -> tuple[str, str]:
        """Return in short, and in a sentence, why a cell has ended."""
        return self._reasons[cell]

    @cached_property
    def law(self) -> ControlLaw:
        """The law of one cell."""
        return make_law(self._scenario)

    @cached_property
    def rows(self) -> Array:
        """Rows of the reference by ticks; see `row_columns`."""
        law = self._followed()
        return np.array([law.row(tick) for tick in range(law.ticks + 1)])

    @property
    def row_columns(self) -> dict[str, slice]:
        """Where everything stands in a row of the reference.

        Raises:
            ArgumentError: If the law follows none of the caller's.
        """
        return dict(self._followed().row_columns)

    def _followed(self) -> HybridLaw:
        """Return the law if it takes rows of the caller."""
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

    def _look(self, own: slice, seen: Seen) -> None:
        for rows, values in zip(self._seen, seen, strict=True):
            rows[own] = values

    def _ended(self, own: slice, ends: Ends) -> Mask:
        ended = np.zeros(own.stop - own.start, dtype=bool)
        for i, why in ends.items():
            ended[i] = True
            self._reasons[own.start + i] = why
        return ended


def _end(line: Connection, process: subprocess.Popen[bytes]) -> None:
    line.close()
    try:
        process.wait(_END_S)
    except subprocess.TimeoutExpired:  # it is in the middle of something that nobody waits for
        process.kill()
        process.wait()


def serve(number: int) -> None:
    """Do what is asked for, until nobody can ask any more.

    Args:
        number: Of the file by which it is asked.
    """
    with Connection(number) as line:
        try:
            scenario, overrides = line.recv()
            cells: SeparateCells | None = None
            while True:
                name, arguments = line.recv()
                try:
                    cells = cells or SeparateCells(scenario, overrides)
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
