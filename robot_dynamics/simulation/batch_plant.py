# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Many plants of one scene at once: command delay, integration steps and sensors of N cells.

What a cell computes are the operations of `RigidEngine` with its parameters, in its order, so that
results agree to the last bit. Rows of arrays are cells. Parts of the cells may be advanced by
different threads at the same time.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from robot_dynamics.dynamics.full_rank import SMALLEST_PIVOT
from robot_dynamics.errors import ArgumentError
from robot_dynamics.simulation.engine import CORRECTION
from robot_dynamics.simulation.rigid_engine import RigidEngine
from robot_dynamics.simulation.settings import PlantSettings, SensorSettings

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

#: Settings that may differ from cell to cell.
OWN_SETTINGS = (
    "object_mass_scale", "link_mass_scale", "grasp_error", "damping_scale", "friction_scale",
    "friction_velocity", "command_delay_periods", "torque_limit", "sensors", "seed",
)  # fmt: skip
#: Settings of sensors that may not.
_COMMON_SENSORS = ("velocities", "sample_periods")
_NOISE_ROWS = 32  # control periods for which noise is drawn at once


@dataclass(frozen=True)
class PlantCell:
    """What one cell is made of.

    Attributes:
        settings: Delay and sensors.
        block: Parameters of its step.
        q: Positions at the start (nq,).
        multipliers: Forces in the loops there, brakes on (n^c,).
        told: `Truth.values` there.
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


class BatchPlant:
    """N cells of arms that hold an object by rigid grasps.

    Attributes:
        q: True positions (N, nq).
        qd: True velocities (N, nv).
        twist: Of the object, world axes (N, 6).
        gaps: Distance [m] and angle [rad] between the sides of a grasp at most, and the last
            projection of the positions (N, 3).
        internal_force: Internal force (N, m).
        torque: Applied over the last period (N, na).
        seen_q, seen_qd, seen_wrenches: What the sensors said last (N, na), (N, na), (N, k, 6).
        tick: Control periods since each cell's start (N,).
        bytes_per_cell: Of memory that a cell takes here.

    Args:
        motion: Of one cell: programs, and where everything stands.
        cells: The cells.
        period: Control period [s].

    Raises:
        ArgumentError: If cells differ in what all have in common, or something fails in one of
            them by plan: faults are of single runs.
    """

    def __init__(self, motion: RigidEngine, cells: Sequence[PlantCell], period: float) -> None:
        self._require_alike([cell.settings for cell in cells])
        settings = [cell.settings for cell in cells]
        count, system = len(cells), motion.scene.system
        self.count, self.period, self.substeps = count, period, motion.substeps
        self._q_at, self._v_at = motion.joints_at
        self._object_q = system.object_q
        self._cells = list(cells)
        self._step = motion.batch_step(np.array([cell.block for cell in cells]))
        na, k = len(system.joint_names), len(system.arms)
        self._wrench_columns = 6 * k
        self._start = _rows([cell.q for cell in cells])
        self._start_multipliers = _rows([cell.multipliers for cell in cells])
        self._start_told = _rows([cell.told for cell in cells])
        self._effort = _rows([cell.effort for cell in cells])
        self._delay = np.array([one.command_delay_periods for one in settings])
        self._same_delay = bool((self._delay == self._delay[0]).all())
        self._torques = np.zeros((int(self._delay.max()) + 1, count, na))
        latest = max(one.sensors.wrench_delay_periods for one in settings)
        self._wrenches = np.zeros((latest + 1, count, k, 6)) if latest else np.zeros((1, 0))
        periods = dict(zip([arm.name for arm in system.arms], system.arm_slices, strict=True))
        self._names = tuple(arm.name for arm in system.arms)
        slow = settings[0].sensors.sample_periods
        self._slow = [(periods[arm], p) for arm, p in slow.items() if p > 1]
        self._blind = not settings[0].sensors.velocities
        self._noise = np.zeros((0, _NOISE_ROWS, 6 * k + 2 * na))
        self._set_sensors([one.sensors for one in settings])
        self._seeds = np.array([one.seed for one in settings])
        self._random: list[np.random.Generator] = [np.random.default_rng(0)] * count
        nq, nv, nc = motion.model.nq, motion.model.nv, motion.model.constraint_count
        self._widths = (na, nq, nv, nc, len(cells[0].told))
        self._own = threading.local()
        self.q, self.qd, self._multipliers = (np.zeros((count, s)) for s in (nq, nv, nc))
        self._told, self.torque = (np.zeros((count, s)) for s in (len(cells[0].told), na))
        # In the order of `Truth.values`, whose pose `object_pose` has as well.
        self.gaps, self.twist = self._told[:, :3], self._told[:, 10:16]
        self.internal_force = self._told[:, 16:]
        self.seen_q, self.seen_qd = np.zeros((count, na)), np.zeros((count, na))
        self.seen_wrenches = np.zeros((count, k, 6))
        self.tick = np.zeros(count, dtype=np.int64)
        arrays = [value for value in vars(self).values() if isinstance(value, np.ndarray)]
        own = [a for a in arrays if count in a.shape and a.base is None]
        self.bytes_per_cell = sum(a.nbytes for a in own) // count + self._step.bytes_per_state
        self.reset(np.arange(count))

    @staticmethod
    def _require_alike(settings: Sequence[PlantSettings]) -> None:
        first = settings[0]
        if first.faults:
            raise ArgumentError(
                "plant.faults of a batch: faults are simulated one cell at a time; expected none."
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

    def _set_sensors(self, sensors: Sequence[SensorSettings]) -> None:
        """Take what sensors make of what is true; None where they do nothing to it."""
        k, na = self._wrench_columns // 6, self._torques.shape[2]
        self._deviation: Array | None = None
        if any(s.position or s.velocity or s.force or s.moment for s in sensors):
            of_wrench = np.array([[s.moment] * 3 + [s.force] * 3 for s in sensors])
            joints = [[s.position] * na + [s.velocity] * na for s in sensors]
            self._deviation = np.hstack([np.tile(of_wrench, (1, k)), np.array(joints)])
            if not len(self._noise):
                self._noise = np.zeros((len(sensors), *self._noise.shape[1:]))
        bias = np.array([[*s.moment_bias, *s.force_bias] for s in sensors])
        self._bias = bias[:, None, :] if bias.any() else None
        scale = np.array([[s.wrench_scale.get(arm, 1.0) for arm in self._names] for s in sensors])
        self._scale = scale[:, :, None] if (scale != 1.0).any() else None
        drift = np.array([[0.0, 0.0, 0.0, *s.force_drift] for s in sensors])
        self._drift = drift[:, None, :] if drift.any() else None
        step = np.array([s.encoder_step for s in sensors])
        self._encoder = step[:, None] if step.any() else None
        late = np.array([s.wrench_delay_periods for s in sensors])
        self._late = late if len(self._wrenches) > 1 else None

    @property
    def object_pose(self) -> Array:
        """True pose x y z qx qy qz qw of the object in each cell (N, 7); a view."""
        return self.q[:, self._object_q]

    def reset(self, cells: NDArray[np.intp], seeds: Sequence[int] | None = None) -> None:
        """Return cells to the start at rest, brakes on, and measure there.

        Args:
            cells: Their numbers.
            seeds: Of their noise; those of the settings by default.
        """
        for rows, start in (
            (self.q, self._start),
            (self._multipliers, self._start_multipliers),
            (self._told, self._start_told),
        ):
            rows[cells] = start[cells] if len(start) > 1 else start
        for rows in (self.qd, self.torque):
            rows[cells] = 0.0
        self.tick[cells] = 0
        if self._deviation is not None:
            for i, cell in enumerate(cells.tolist()):
                seed = self._seeds[cell] if seeds is None else seeds[i]
                self._random[cell] = np.random.default_rng(seed)
        self._measure(cells)

    def change(self, numbers: NDArray[np.intp], cells: Sequence[PlantCell]) -> None:
        """Let some cells be others; they have to be reset then.

        Args:
            numbers: Of the cells.
            cells: What they are from now on.

        Raises:
            ArgumentError: If one has another step, or is later than any cell was at first.
        """
        settings = [cell.settings for cell in cells]
        self._require_alike([self._cells[0].settings, *settings])
        for name, delays, most in (
            ("command_delay_periods", [s.command_delay_periods for s in settings], self._torques),
            ("sensors.wrench_delay_periods", [s.sensors.wrench_delay_periods for s in settings],
             self._wrenches),
        ):  # fmt: skip
            if max(delays) >= len(most):
                raise ArgumentError(
                    f"plant.{name} of {max(delays)}, expected at most {len(most) - 1}, the "
                    "largest of the batch at first."
                )
        self._step.change(numbers, np.array([cell.block for cell in cells]))
        for cell, number in zip(cells, numbers.tolist(), strict=True):
            self._cells[number] = cell
        for name, rows in (
            ("_start", [cell.q for cell in cells]),
            ("_start_multipliers", [cell.multipliers for cell in cells]),
            ("_start_told", [cell.told for cell in cells]),
            ("_effort", [cell.effort for cell in cells]),
        ):
            kept, new = getattr(self, name), np.array(rows)
            if len(kept) == 1 and (new == kept).all():
                continue
            kept = np.array(np.broadcast_to(kept, (self.count, new.shape[1])))
            kept[numbers] = new
            setattr(self, name, kept)
        self._delay[numbers] = [one.command_delay_periods for one in settings]
        self._same_delay = bool((self._delay == self._delay[0]).all())
        self._seeds[numbers] = [one.seed for one in settings]
        self._set_sensors([cell.settings.sensors for cell in self._cells])

    def advance(self, own: slice, torque: Array, alive: Mask) -> Mask:
        """Advance cells by one control period, and measure there.

        Args:
            own: Which cells.
            torque: Their new commands (n, na).
            alive: Which of them move; the others stay as they are.

        Returns:
            Which of the moving ones could not go on (n,): constraints depend on one another there,
            or the motion has no bound.
        """
        tick, delay, depth = self.tick[own], self._delay[own], len(self._torques)
        first = int(tick[0])
        together = self._same_delay and bool((tick == first).all())
        if depth == 1:
            applied = torque
        elif together:
            self._torques[first % depth, own] = torque
            applied = self._torques[(first - int(delay[0])) % depth, own]
        else:
            cells = np.arange(own.start, own.stop)
            self._torques[tick % depth, cells] = torque
            applied = self._torques[(tick - delay) % depth, cells]
        effort = self._effort if len(self._effort) == 1 else self._effort[own]
        limited, q, qd, multipliers, told, pivot = self._buffers(len(tick))
        np.minimum(np.maximum(applied, -effort, out=limited), effort, out=limited)
        lost = np.zeros(len(tick), dtype=bool)
        moving = alive & (tick >= delay)
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
        """Return in short, and in a sentence, why a cell could not go on."""
        until = (int(self.tick[cell]) + 1) * self.period
        return "simulation", (
            f"the simulated motion grew without bound before {until:g} s, or constraints depend "
            "on one another there; expected torques that keep it bounded."
        )

    def _buffers(self, count: int) -> tuple[Array, ...]:
        """Return where a step of some cells is written: the same memory in each of a thread."""
        held: tuple[Array, ...] = getattr(self._own, "buffers", ())
        if not held or len(held[0]) < count:
            held = (*(np.empty((count, size)) for size in self._widths), np.empty(count))
            self._own.buffers = held
        return tuple(rows[:count] for rows in held)

    def _measure(self, cells: NDArray[np.intp] | slice) -> None:
        """Let sensors say what they do of the present state of some cells."""
        q, qd = self.q[cells][:, self._q_at], self.qd[cells][:, self._v_at]
        wrenches = self._multipliers[cells][:, : self._wrench_columns]
        wrenches = wrenches.reshape(-1, *self.seen_wrenches.shape[1:])
        tick = self.tick[cells]
        if self._late is not None:
            depth = len(self._wrenches)
            number = np.arange(self.count)[cells]
            self._wrenches[tick % depth, number] = wrenches
            late = np.minimum(self._late[cells], tick)
            wrenches = self._wrenches[(tick - late) % depth, number]
        if self._scale is not None:
            wrenches = wrenches * self._scale[cells]
        if self._drift is not None:  # rounded as by `Sensors`
            error = (tick * self.period)[:, None, None] * self._drift[cells]
            wrenches = wrenches + (error if self._bias is None else self._bias[cells] + error)
        elif self._bias is not None:
            wrenches = wrenches + self._bias[cells]
        if self._deviation is not None:
            noise = self._draw(cells, tick) * self._deviation[cells]
            own, na = self._wrench_columns, q.shape[1]
            wrenches = wrenches + noise[:, :own].reshape(wrenches.shape)
            q, qd = q + noise[:, own : own + na], qd + noise[:, own + na :]
        if self._encoder is not None:
            step = self._encoder[cells]
            with np.errstate(divide="ignore", invalid="ignore"):
                q = np.where(step > 0.0, step * np.round(q / step), q)
        if self._blind:
            qd = np.full(qd.shape, np.nan)
        for own_joints, periods in self._slow:
            stands = (tick % periods != 0)[:, None]
            q, qd = q.copy(), qd.copy()
            for new, last in ((q, self.seen_q), (qd, self.seen_qd)):
                new[:, own_joints] = np.where(
                    stands, last[cells][:, own_joints], new[:, own_joints]
                )
        self.seen_q[cells], self.seen_qd[cells], self.seen_wrenches[cells] = q, qd, wrenches

    def _draw(self, cells: NDArray[np.intp] | slice, tick: NDArray[np.int64]) -> Array:
        """Return standard normal numbers of each cell's own generator, in its order (n, any)."""
        number, row = np.arange(self.count)[cells], tick % _NOISE_ROWS
        for cell in number[row == 0].tolist():
            self._random[cell].standard_normal(out=self._noise[cell])
        return np.asarray(self._noise[number, row])


def _rows(values: Sequence[Array]) -> Array:
    """Return one row for each cell, or one alone if all are equal."""
    rows = np.array(values, dtype=float)
    return rows[:1] if (rows == rows[:1]).all() else rows


def _set(kept: Array, new: Array, where: Mask) -> None:
    """Write new rows where they are to be taken."""
    if where.all():
        kept[:] = new
    else:
        np.copyto(kept, new, where=where if kept.ndim == 1 else where[:, None])
