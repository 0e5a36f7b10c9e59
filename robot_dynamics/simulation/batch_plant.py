# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Plants of N cells of one scene: command delay, integration steps and sensors.

Each cell goes through the operations of `RigidEngine` with its own parameters, in its order, so
that results agree to the last bit. Rows of arrays are cells. Different threads can advance
different parts of the cells at the same time.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from robot_dynamics.arrays import Array, Mask
from robot_dynamics.dynamics.full_rank import SMALLEST_PIVOT
from robot_dynamics.errors import ArgumentError
from robot_dynamics.simulation.batch_sensors import BatchSensors
from robot_dynamics.simulation.engine import CORRECTION
from robot_dynamics.simulation.rigid_engine import RigidEngine
from robot_dynamics.simulation.settings import PlantSettings

#: Settings that may differ from cell to cell.
OWN_SETTINGS = (
    "object_mass_scale", "object_center_error", "object_inertia_scale", "link_mass_scale",
    "grasp_error", "gravity_tilt", "damping_scale", "friction_scale", "friction_velocity",
    "command_delay_periods", "torque_limit", "sensors", "seed",
)  # fmt: skip
#: Settings of sensors that must be equal.
_COMMON_SENSORS = ("velocities", "sample_periods")


@dataclass(frozen=True)
class PlantCell:
    """Parameters and start of one cell.

    Attributes:
        settings: Delay and sensors.
        block: Parameters of its step.
        q: Positions at the start (nq,).
        multipliers: Constraint forces of the loops at the start, brakes on (n^c,).
        told: `Truth.values` at the start.
        effort: Largest torques of the drives (na,).
    """

    settings: PlantSettings
    block: Array
    q: Array
    multipliers: Array
    told: Array
    effort: Array

    @classmethod
    def of(cls, motion: RigidEngine, settings: PlantSettings) -> PlantCell:
        """Return the cell of a motion at its start."""
        at_start = motion.at_start
        return cls(settings, motion.block, motion.q.copy(), *at_start, motion.drives.effort)


#: Fields of a `PlantCell` that a reset or a limit needs.
_FIXED = ("q", "multipliers", "told", "effort")


class CommandDelay:
    """Commands of N cells, each delayed by whole control periods.

    Args:
        periods: Delay of each cell.
        width: Number of arm joints.
    """

    def __init__(self, periods: Sequence[int], width: int) -> None:
        self._commands = np.zeros((max(periods) + 1, len(periods), width))
        self.set(periods)

    @property
    def largest(self) -> int:
        """Largest delay that a cell can have."""
        return len(self._commands) - 1

    def set(self, periods: Sequence[int]) -> None:
        """Take the delays of all cells."""
        self.periods = np.array(periods)
        self._same = bool((self.periods == self.periods[0]).all())

    def after(self, own: slice, tick: NDArray[np.int64], torque: Array) -> Array:
        """Return the commands (n, na) that act now.

        Args:
            own: Which cells.
            tick: Control periods since the start of each (n,).
            torque: Their new commands (n, na).
        """
        depth, first, delay = len(self._commands), int(tick[0]), self.periods[own]
        if depth == 1:
            return torque
        if self._same and bool((tick == first).all()):
            self._commands[first % depth, own] = torque
            return self._commands[(first - int(delay[0])) % depth, own]
        cells = np.arange(own.start, own.stop)
        self._commands[tick % depth, cells] = torque
        return np.asarray(self._commands[(tick - delay) % depth, cells])


class BatchPlant:
    """N cells of arms that hold an object by rigid grasps.

    Attributes:
        count: N.
        period: Control period [s].
        substeps: Integration steps in a control period.
        q: True positions (N, nq).
        qd: True velocities (N, nv).
        object_pose: Pose x y z qx qy qz qw of the object (N, 7); a view of `q`.
        twist: Twist of the object, world axes (N, 6).
        gaps: Distance [m] and angle [rad] between the sides of a grasp at most, and the last
            projection of the positions (N, 3).
        internal_force: Internal force (N, m).
        torque: Torque applied over the last period (N, na).
        sensors: Sensors, with the last measurements.
        tick: Control periods since each cell's start (N,).
        bytes_per_cell: Memory that a cell takes here.

    Args:
        motion: Motion of one cell.
        cells: The cells.
        period: Control period [s].

    Raises:
        ArgumentError: If cells differ in a setting that all have in common, or have planned
            faults, pushes or payloads, which only single runs have.
    """

    def __init__(self, motion: RigidEngine, cells: Sequence[PlantCell], period: float) -> None:
        settings = [cell.settings for cell in cells]
        self._require_alike(settings)
        count, system, model = len(cells), motion.scene.system, motion.model
        self.count, self.period, self.substeps = count, period, motion.substeps
        self._q_at, self._v_at = motion.joints_at
        self._cells = list(cells)
        self._step = motion.batch_step(np.array([cell.block for cell in cells]))
        self._fixed = {name: _rows([getattr(cell, name) for cell in cells]) for name in _FIXED}
        na, told = len(system.joint_names), len(cells[0].told)
        arms = dict(zip([arm.name for arm in system.arms], system.arm_slices, strict=True))
        self.sensors = BatchSensors(
            arms, [one.sensors for one in settings], [one.seed for one in settings], period
        )
        self._delay = CommandDelay([one.command_delay_periods for one in settings], na)
        self._widths = (na, model.nq, model.nv, model.constraint_count, told)
        self._own = threading.local()
        self.torque, self.q, self.qd, self._multipliers, self._told = (
            np.zeros((count, size)) for size in self._widths
        )
        self.object_pose = self.q[:, system.object_q]
        # In the order of `Truth.values`; `object_pose` has the pose as well.
        self.gaps, self.twist = self._told[:, :3], self._told[:, 10:16]
        self.internal_force = self._told[:, 16:]
        self.tick = np.zeros(count, dtype=np.int64)
        every = [vars(self), self._fixed, vars(self.sensors), vars(self._delay)]
        arrays = [a for one in every for a in one.values() if isinstance(a, np.ndarray)]
        own = [a for a in arrays if count in a.shape and a.base is None]
        self.bytes_per_cell = sum(a.nbytes for a in own) // count + self._step.bytes_per_state
        self.reset(np.arange(count))

    @staticmethod
    def _require_alike(settings: Sequence[PlantSettings]) -> None:
        first = settings[0]
        for name in ("faults", "pushes", "payloads"):
            if getattr(first, name):
                raise ArgumentError(
                    f"plant.{name} of a batch: they are simulated one cell at a time; expected "
                    "none."
                )
        for i, one in enumerate(settings):
            for of, other, names in (
                (first, one, [n for n in vars(first) if n not in OWN_SETTINGS]),
                (first.sensors, one.sensors, _COMMON_SENSORS),
            ):
                for name in names:
                    if getattr(of, name) != getattr(other, name):
                        raise ArgumentError(
                            f"cell {i} has another plant setting {name!r} than cell 0; expected "
                            "the same in all cells of a batch."
                        )

    def reset(self, cells: NDArray[np.intp], seeds: Sequence[int] | None = None) -> None:
        """Return cells to the start at rest, brakes on, and measure there.

        Args:
            cells: Their numbers.
            seeds: Seeds of their noise; by default from the settings.
        """
        state = self.q, self._multipliers, self._told
        for rows, name in zip(state, ("q", "multipliers", "told"), strict=True):
            rows[cells] = _of_cells(self._fixed[name], cells)
        for rows in (self.qd, self.torque):
            rows[cells] = 0.0
        self.tick[cells] = 0
        self.sensors.begin(cells, seeds)
        self._measure(cells)

    def change(self, numbers: NDArray[np.intp], cells: Sequence[PlantCell]) -> None:
        """Replace some cells; `reset` must follow.

        Args:
            numbers: Their numbers.
            cells: The new cells.

        Raises:
            ArgumentError: If one has another step, or larger delays than any cell had at first.
        """
        settings = [cell.settings for cell in cells]
        self._require_alike([self._cells[0].settings, *settings])
        for name, delays, most in (
            ("command_delay_periods", [s.command_delay_periods for s in settings],
             self._delay.largest),
            ("sensors.wrench_delay_periods", [s.sensors.wrench_delay_periods for s in settings],
             self.sensors.latest),
        ):  # fmt: skip
            if max(delays) > most:
                raise ArgumentError(
                    f"plant.{name} of {max(delays)}, expected at most {most}, the "
                    "largest of the batch at first."
                )
        self._step.change(numbers, np.array([cell.block for cell in cells]))
        for cell, number in zip(cells, numbers.tolist(), strict=True):
            self._cells[number] = cell
        for name, kept in self._fixed.items():
            new = np.array([getattr(cell, name) for cell in cells])
            if len(kept) == 1 and (new == kept).all():
                continue
            self._fixed[name] = np.array(np.broadcast_to(kept, (self.count, new.shape[1])))
            self._fixed[name][numbers] = new
        every = [cell.settings for cell in self._cells]
        self._delay.set([one.command_delay_periods for one in every])
        self.sensors.set([one.sensors for one in every], [one.seed for one in every])

    def advance(self, own: slice, torque: Array, alive: Mask) -> Mask:
        """Advance cells by one control period, and measure there.

        Args:
            own: Which cells.
            torque: Their new commands (n, na).
            alive: Cells that move (n,); the others stay as they are.

        Returns:
            Moving cells that failed (n,): their constraints depend on one another, or the motion
            has no bound.
        """
        tick = self.tick[own]
        applied = self._delay.after(own, tick, torque)
        effort = _of_cells(self._fixed["effort"], own)
        limited, q, qd, multipliers, told, pivot = self._buffers(len(tick))
        np.minimum(np.maximum(applied, -effort, out=limited), effort, out=limited)
        lost = np.zeros(len(tick), dtype=bool)
        moving = alive & (tick >= self._delay.periods[own])
        _set(self.torque[own], limited, moving)
        state = self.q[own], self.qd[own]
        largest = np.zeros(len(tick)) if self.substeps > 1 else None
        if moving.any():
            for _ in range(self.substeps):
                self._step(own, *state, limited, out=(q, qd, multipliers, told, pivot))
                good = pivot >= SMALLEST_PIVOT
                if not good.all():
                    lost |= moving & ~good
                    moving = moving & good
                if largest is not None:
                    largest = np.maximum(largest, told[:, CORRECTION])
                for kept, new in (
                    (self.q, q), (self.qd, qd), (self._multipliers, multipliers),
                    (self._told, told),
                ):  # fmt: skip
                    _set(kept[own], new, moving)
            if largest is not None:
                _set(self._told[own][:, CORRECTION], largest, moving)
        went = alive & ~lost
        tick += went
        if went.all():
            self._measure(own)
        elif went.any():
            self._measure(np.arange(own.start, own.stop)[went])
        return lost

    def why_ended(self, cell: int) -> tuple[str, str]:
        """Return cause and sentence of a cell that failed."""
        until = (int(self.tick[cell]) + 1) * self.period
        return "simulation", (
            f"the simulated motion grew without bound before {until:g} s, or constraints depend "
            "on one another there; expected torques that keep it bounded."
        )

    def _buffers(self, count: int) -> tuple[Array, ...]:
        """Return the output arrays of a step, which a thread uses again and again."""
        held: tuple[Array, ...] = getattr(self._own, "buffers", ())
        if not held or len(held[0]) < count:
            held = (*(np.empty((count, size)) for size in self._widths), np.empty(count))
            self._own.buffers = held
        return tuple(rows[:count] for rows in held)

    def _measure(self, cells: NDArray[np.intp] | slice) -> None:
        """Measure the present state of some cells."""
        q, qd = self.q[cells][:, self._q_at], self.qd[cells][:, self._v_at]
        shape = self.sensors.wrenches.shape[1:]
        wrenches = self._multipliers[cells][:, : math.prod(shape)].reshape(-1, *shape)
        self.sensors.measure(cells, self.tick[cells], q, qd, wrenches)


def _of_cells(rows: Array, cells: NDArray[np.intp] | slice) -> Array:
    """Return the rows of some cells; the only row if all are equal."""
    return rows[cells] if len(rows) > 1 else rows


def _rows(values: Sequence[Array]) -> Array:
    """Return one row for each cell, or one alone if all are equal."""
    rows = np.array(values, dtype=float)
    return rows[:1] if (rows == rows[:1]).all() else rows


def _set(kept: Array, new: Array, where: Mask) -> None:
    """Write new rows at the selected cells."""
    if where.all():
        kept[:] = new
    else:
        np.copyto(kept, new, where=where if kept.ndim == 1 else where[:, None])
