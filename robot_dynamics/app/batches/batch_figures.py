# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Figures and columns of many cells, collected during their run.

Figures have the names and definitions of `report.report_of`: control periods of all cells are
evaluated together, as the rows of one recording.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robot_dynamics.app.recordings.metrics import added_internal_forces, internal_force_errors
from robot_dynamics.app.recordings.recording import TICK, Recording
from robot_dynamics.app.recordings.tracking import (
    orientation_error,
    position_error,
    settled,
    torque_fractions,
)
from robot_dynamics.app.runs.recorders import planned_columns, reference_metadata
from robot_dynamics.app.scenarios.scenario import Scenario
from robot_dynamics.arrays import Array
from robot_dynamics.control.control_law import ControlLaw

_ROWS = 128  # control periods that are evaluated together

#: Names of figures that are largest values over a run, and of least values.
LARGEST = (
    "object_position_error_max_m",
    "object_position_error_settled_m",
    "object_orientation_error_max_deg",
    "object_orientation_error_settled_deg",
    "internal_force_error_max_n",
    "internal_force_error_settled_n",
    "internal_moment_error_settled_nm",
    "added_internal_force_max_n",
    "added_internal_moment_max_nm",
    "closure_error_max",
    "correction_max",
    "torque_fraction_of_limit_max",
    "joint_motion_max",
)
LEAST = ("force_scale_min", "motion_scale_min")

#: Recordable columns, as in a `Recording`.
COLUMNS = (
    "object_pose",
    "object_twist",
    "joint_position",
    "joint_velocity",
    "grasp_wrench",
    "applied_torque",
    "commanded_torque",
    "internal_force",
)
_OF_FIGURES = (
    "object_pose",
    "joint_position",
    "applied_torque",
    "internal_force",
    "added_internal_force",
    "gaps",
    "scales",
)


class FigureReference:
    """References of a scenario's figures, over control periods.

    Args:
        scenario: The scenario.
        law: Its law.
        ticks: Control periods of a run.
        effort: Largest torques of the drives (na,).
    """

    def __init__(self, scenario: Scenario, law: ControlLaw, ticks: int, effort: Array) -> None:
        period, begin = scenario.control.period, scenario.start_tick
        number = np.arange(ticks, dtype=float)
        times = (number - begin) * period
        self.references = planned_columns(law, np.asarray(times, dtype=float))
        facts = reference_metadata(scenario, law, begin, float(times[-1]))
        row = Recording({TICK: number}, {"period_s": period, **facts})
        self.settled = settled(row)
        self.metadata: dict[str, Any] = {
            "internal_forces": facts["internal_forces"],
            "effort_limits": [limit if np.isfinite(limit) else None for limit in effort],
        }


class Collector:
    """Figures and recorded columns of some cells.

    Attributes:
        figures: By name (n,), up to the end of a cell; NaN if it has no value by then.
        kept: Recorded columns by name (rows, n, w).

    Args:
        reference: References of the figures.
        count: n.
        record: Names of columns to record; see `COLUMNS`.
        every: Control periods between two rows of them.
    """

    def __init__(
        self, reference: FigureReference, count: int, record: Collection[str], every: int
    ) -> None:
        self._of, self._count, self._every = reference, count, every
        self._rows: dict[str, Array] = {}
        self._alive = np.zeros((_ROWS, count), dtype=bool)
        self._first = self._filled = 0
        self._start: Array | None = None
        ticks = len(reference.settled)
        self._kept_rows = -(-ticks // every)
        self._record = tuple(record)
        self.kept: dict[str, Array] = {}
        self.figures = {name: np.full(count, -np.inf) for name in LARGEST}
        self.figures |= {name: np.full(count, np.inf) for name in LEAST}

    def add(self, tick: int, alive: NDArray[np.bool_], values: Mapping[str, Array]) -> None:
        """Take one control period, before the plant's step.

        Args:
            tick: Its number.
            alive: Cells that have not ended (n,).
            values: Columns (n, w) by name, at least those that are recorded or needed.
        """
        if not self._rows:
            for name in _OF_FIGURES:
                self._rows[name] = np.empty((_ROWS, *values[name].shape))
            self._start = values["joint_position"].copy()
            for name in self._record:
                self.kept[name] = np.full((self._kept_rows, *values[name].shape), np.nan)
        if tick % self._every == 0:
            for name in self._record:
                self.kept[name][tick // self._every][alive] = values[name][alive]
        at = self._filled
        for name, rows in self._rows.items():
            rows[at] = values[name]
        self._alive[at] = alive
        self._filled += 1
        if self._filled == _ROWS:
            self.flush()

    def flush(self) -> None:
        """Evaluate the control periods that were taken."""
        rows, n = self._filled, self._count
        if rows == 0 or self._start is None:
            return
        ticks = slice(self._first, self._first + rows)
        flat = {
            name: np.repeat(values[ticks], n, axis=0)
            for name, values in self._of.references.items()
        }
        flat |= {
            name: values[:rows].reshape(rows * n, -1)
            for name, values in self._rows.items()
            if name not in ("gaps", "scales")
        }
        flat[TICK] = np.zeros(rows * n)
        recording = Recording(flat, self._of.metadata)
        force, moment = internal_force_errors(recording)
        gaps, scales = self._rows["gaps"][:rows], self._rows["scales"][:rows]
        turned = np.degrees(orientation_error(recording))
        position = position_error(recording)
        added = added_internal_forces(recording)
        moved = np.abs(self._rows["joint_position"][:rows] - self._start)
        largest = {
            "object_position_error_max_m": position,
            "object_position_error_settled_m": position,
            "object_orientation_error_max_deg": turned,
            "object_orientation_error_settled_deg": turned,
            "internal_force_error_max_n": force,
            "internal_force_error_settled_n": force,
            "internal_moment_error_settled_nm": moment,
            "added_internal_force_max_n": force * 0.0 if added is None else added[0],
            "added_internal_moment_max_nm": force * 0.0 if added is None else added[1],
            "closure_error_max": gaps[..., :2].max(axis=-1),
            "correction_max": gaps[..., 2],
            "torque_fraction_of_limit_max": torque_fractions(recording).max(axis=1),
            "joint_motion_max": moved.max(axis=-1),
        }
        alive, rest = self._alive[:rows], self._of.settled[ticks, None]
        for name, values in largest.items():
            counted = alive & rest if "_settled_" in name else alive
            most = np.where(counted, values.reshape(rows, n), -np.inf).max(axis=0)
            self.figures[name] = np.maximum(self.figures[name], most)
        for i, name in enumerate(LEAST):
            least = np.where(alive, scales[..., i], np.inf).min(axis=0)
            self.figures[name] = np.minimum(self.figures[name], least)
        self._first += rows
        self._filled = 0

    def finish(self) -> None:
        """Evaluate the rest."""
        self.flush()
        for name, values in self.figures.items():
            self.figures[name] = np.where(np.isfinite(values), values, np.nan)
