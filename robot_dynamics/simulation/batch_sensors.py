# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Sensors of N cells: the operations of `plant.Sensors`, with the settings of each cell."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from robot_dynamics.arrays import Array
from robot_dynamics.simulation.settings import SensorSettings

Cells = NDArray[np.intp] | slice

_NOISE_ROWS = 32  # control periods for which noise is drawn at once


class BatchSensors:
    """Sensors of N cells. Rows of arrays are cells.

    Attributes:
        q: Last measured positions of the arm joints (N, na).
        qd: Last measured velocities (N, na).
        wrenches: Last measured grasp wrenches (N, k, 6).
        latest: Largest delay of wrist sensors that a cell can have, in control periods.

    Args:
        arms: Slice of each arm in vectors over the arm joints, by its name.
        settings: Sensors of each cell.
        seeds: Seeds of the noise of each cell.
        period: Control period [s].
    """

    def __init__(
        self,
        arms: Mapping[str, slice],
        settings: Sequence[SensorSettings],
        seeds: Sequence[int],
        period: float,
    ) -> None:
        count, na, k = len(settings), max(own.stop for own in arms.values()), len(arms)
        self._arms, self._period = tuple(arms), period
        self.q, self.qd, self.wrenches = (np.zeros((count, *s)) for s in ((na,), (na,), (k, 6)))
        slow = settings[0].sample_periods
        self._slow = [(arms[arm], periods) for arm, periods in slow.items() if periods > 1]
        self._blind = not settings[0].velocities
        self.latest = max(one.wrench_delay_periods for one in settings)
        self._before = np.zeros((self.latest + 1, count if self.latest else 0, k, 6))
        self._noise = np.zeros((0, _NOISE_ROWS, 6 * k + 2 * na))
        self._random: list[np.random.Generator] = [np.random.default_rng(0)] * count
        self.set(settings, seeds)

    def set(self, settings: Sequence[SensorSettings], seeds: Sequence[int]) -> None:
        """Take settings and seeds of all cells; None stands for errors that no cell has."""
        k, na = self.wrenches.shape[1], self.q.shape[1]
        self._seeds = np.array(seeds)
        self._deviation: Array | None = None
        if any(s.position or s.velocity or s.force or s.moment for s in settings):
            of_wrench = np.array([[s.moment] * 3 + [s.force] * 3 for s in settings])
            joints = [[s.position] * na + [s.velocity] * na for s in settings]
            self._deviation = np.hstack([np.tile(of_wrench, (1, k)), np.array(joints)])
            if not len(self._noise):
                self._noise = np.zeros((len(settings), *self._noise.shape[1:]))
        bias = np.array([[*s.moment_bias, *s.force_bias] for s in settings])
        self._bias = bias[:, None, :] if bias.any() else None
        scale = np.array([[s.wrench_scale.get(arm, 1.0) for arm in self._arms] for s in settings])
        self._scale = scale[:, :, None] if (scale != 1.0).any() else None
        drift = np.array([[0.0, 0.0, 0.0, *s.force_drift] for s in settings])
        self._drift = drift[:, None, :] if drift.any() else None
        step = np.array([s.encoder_step for s in settings])
        self._encoder = step[:, None] if step.any() else None
        late = np.array([s.wrench_delay_periods for s in settings])
        self._late = late if self.latest else None

    def begin(self, cells: NDArray[np.intp], seeds: Sequence[int] | None) -> None:
        """Restart the noise of some cells, with other seeds if given."""
        if self._deviation is not None:
            for i, cell in enumerate(cells.tolist()):
                seed = self._seeds[cell] if seeds is None else seeds[i]
                self._random[cell] = np.random.default_rng(seed)

    def measure(
        self, cells: Cells, tick: NDArray[np.int64], q: Array, qd: Array, wrenches: Array
    ) -> None:
        """Measure the true state of some cells.

        Args:
            cells: Their numbers.
            tick: Control periods since the start of each (n,).
            q: True positions of the arm joints (n, na).
            qd: True velocities (n, na).
            wrenches: True grasp wrenches (n, k, 6).
        """
        number = np.arange(len(self.q))[cells]
        if self._late is not None:
            depth = len(self._before)
            self._before[tick % depth, number] = wrenches
            late = np.minimum(self._late[cells], tick)
            wrenches = self._before[(tick - late) % depth, number]
        if self._scale is not None:
            wrenches = wrenches * self._scale[cells]
        if self._drift is not None:  # rounded as by `Sensors`
            error = (tick * self._period)[:, None, None] * self._drift[cells]
            wrenches = wrenches + (error if self._bias is None else self._bias[cells] + error)
        elif self._bias is not None:
            wrenches = wrenches + self._bias[cells]
        if self._deviation is not None:
            noise = self._draw(number, tick) * self._deviation[cells]
            own, na = wrenches[0].size, q.shape[1]
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
            for new, last in ((q, self.q), (qd, self.qd)):
                new[:, own_joints] = np.where(
                    stands, last[cells][:, own_joints], new[:, own_joints]
                )
        self.q[cells], self.qd[cells], self.wrenches[cells] = q, qd, wrenches

    def _draw(self, number: NDArray[np.intp], tick: NDArray[np.int64]) -> Array:
        """Return standard normal numbers of each cell's own generator, in its order (n, any)."""
        row = tick % _NOISE_ROWS
        for cell in number[row == 0].tolist():
            self._random[cell].standard_normal(out=self._noise[cell])
        return np.asarray(self._noise[number, row])
