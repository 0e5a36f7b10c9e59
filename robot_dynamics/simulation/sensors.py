# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What stands between a plant and its controller: sensor noise and the command's delay."""

from __future__ import annotations

from collections import deque

import numpy as np
from numpy.typing import NDArray

from robot_dynamics.simulation.plant import Measurement
from robot_dynamics.simulation.settings import SensorSettings

Array = NDArray[np.float64]


class Sensors:
    """White noise on positions, velocities and wrenches, the same again after a `reset`.

    Args:
        settings: Standard deviations.
        seed: Of the noise.
    """

    def __init__(self, settings: SensorSettings, seed: int) -> None:
        self._settings, self._seed = settings, seed
        self._silent = not any(
            (settings.position, settings.velocity, settings.force, settings.moment)
        )
        self.reset()

    def reset(self) -> None:
        """Begin the noise anew."""
        self._random = np.random.default_rng(self._seed)

    def measure(self, true: Measurement) -> Measurement:
        """Return what the sensors say of a true state."""
        if self._silent:
            return true
        draw, s = self._random.standard_normal, self._settings
        wrench_noise = draw(true.wrenches.shape) * ([s.moment] * 3 + [s.force] * 3)
        return true._replace(
            q=true.q + s.position * draw(true.q.shape),
            qd=true.qd + s.velocity * draw(true.qd.shape),
            wrenches=true.wrenches + wrench_noise,
        )


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
