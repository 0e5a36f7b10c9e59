# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What stands between a plant and its controller: imperfect sensors and the command's delay."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from robot_dynamics.simulation.faults import Faults
from robot_dynamics.simulation.plant import Measurement
from robot_dynamics.simulation.settings import SensorSettings

Array = NDArray[np.float64]


class Sensors:
    """Measurements as real sensors make them, the same again after a `reset`.

    Args:
        settings: What they are like.
        seed: Of the noise.
        arms: By name, where each arm stands in vectors over the arm joints.
        faults: What goes wrong, at the control period that is measured.
    """

    def __init__(
        self, settings: SensorSettings, seed: int, arms: Mapping[str, slice], faults: Faults
    ) -> None:
        self._settings, self._seed, self._faults = settings, seed, faults
        self._arms = tuple(arms.items())
        self._bias = np.array([*settings.moment_bias, *settings.force_bias])
        self._slow = [(arms[arm], p) for arm, p in settings.sample_periods.items() if p > 1]
        self._noisy = any((settings.position, settings.velocity, settings.force, settings.moment))
        self._ideal = settings == SensorSettings()
        self.reset()

    def reset(self) -> None:
        """Begin the noise anew."""
        self._random = np.random.default_rng(self._seed)
        self._wrenches: deque[Array] = deque(maxlen=self._settings.wrench_delay_periods + 1)
        self._last: Measurement | None = None

    def measure(self, true: Measurement) -> Measurement:
        """Return what the sensors say of a true state, one control period after the other."""
        seen = true if self._ideal else self._imperfect(true)
        if self._faults.active:
            seen = self._faulty(seen)
        self._last = seen
        return seen

    def _imperfect(self, true: Measurement) -> Measurement:
        s = self._settings
        self._wrenches.append(true.wrenches)
        q, qd, wrenches = true.q, true.qd, self._wrenches[0] + self._bias
        if self._noisy:
            draw = self._random.standard_normal
            wrenches = wrenches + draw(wrenches.shape) * ([s.moment] * 3 + [s.force] * 3)
            q = q + s.position * draw(q.shape)
            qd = qd + s.velocity * draw(qd.shape)
        if s.encoder_step:
            q = s.encoder_step * np.round(q / s.encoder_step)
        if not s.velocities:
            qd = np.full(qd.shape, np.nan)
        for own, periods in self._slow:
            if self._last is not None and true.tick % periods:
                q, qd = q.copy(), qd.copy()
                q[own], qd[own] = self._last.q[own], self._last.qd[own]
        return true._replace(q=q, qd=qd, wrenches=wrenches)

    def _faulty(self, seen: Measurement) -> Measurement:
        """Return a measurement with what is wrong with it at present."""
        q, qd, wrenches = seen.q.copy(), seen.qd.copy(), seen.wrenches.copy()
        is_on, last = self._faults.is_on, self._last
        for i, (arm, own) in enumerate(self._arms):
            if last is not None and is_on("stuck_sensors", arm):
                q[own], qd[own], wrenches[i] = last.q[own], last.qd[own], last.wrenches[i]
            if is_on("position_nan", arm):
                q[own.start] = np.nan
            if is_on("velocity_inf", arm):
                qd[own.start] = np.inf
            if is_on("wrench_nan", arm):
                wrenches[i, 5] = np.nan
        return seen._replace(q=q, qd=qd, wrenches=wrenches)


class CommandDelay:
    """A queue between command and drive.

    Args:
        periods: Control periods from a measurement to the action of the torque computed from it.
    """

    def __init__(self, periods: int) -> None:
        self._periods = periods
        self.reset()

    def reset(self) -> None:
        """Empty the queue: no command has been given yet."""
        self._queue: deque[Array | None] = deque([None] * self._periods)

    def push(self, torque: Array) -> Array | None:
        """Take a new command and return the one that acts now, None before the first."""
        self._queue.append(torque)
        return self._queue.popleft()
