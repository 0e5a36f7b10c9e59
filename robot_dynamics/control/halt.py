# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Coming to rest on a reference whose continuation is not to be followed any more."""

from __future__ import annotations

import numpy as np
from numpy.polynomial import Polynomial
from numpy.typing import ArrayLike

from robot_dynamics.arrays import Array
from robot_dynamics.control.reference import ACCELERATION, FORCE, TWIST, HasRows

# Elapsed path time over the halt's duration; its rate falls smoothly from 1 to 0.
_PROGRESS = Polynomial([0.0, 1.0, 0.0, -1.0, 0.5])
_RATE, _SECOND = _PROGRESS.deriv(1), _PROGRESS.deriv(2)


class Halt:
    """A reference slowed down to rest on its own path, with the internal force of the beginning.

    The reference stays on the path that was checked before the start. Velocity and acceleration
    are continuous where the halt begins. The squeeze stays at its last value.

    Args:
        reference: Reference followed so far.
        time: Beginning of the halt, on the reference [s].
        duration: Time to come to rest [s]; the path time advances by half of it.
    """

    def __init__(self, reference: HasRows, time: float, duration: float = 0.4) -> None:
        self.reference, self.time, self.duration = reference, time, duration
        self._force = reference.rows([time])[0][FORCE]

    def rows(self, times: ArrayLike) -> Array:
        """Return rows as `Reference.rows` does.

        Args:
            times: Times on the reference's clock (N,) [s], not before the halt.
        """
        t = np.atleast_1d(np.asarray(times, dtype=float))
        u = np.clip((t - self.time) / self.duration, 0.0, 1.0)
        gone = self.time + self.duration * _PROGRESS(u)
        rows = at_pace(self.reference, gone, _RATE(u), _SECOND(u) / self.duration)
        rows[:, FORCE] = self._force
        return rows


def at_pace(reference: HasRows, times: Array, rate: Array, second: Array) -> Array:
    """Return rows of a reference whose time runs at another pace.

    Args:
        reference: The reference.
        times: Its times (N,) [s].
        rate: Their rate (N,); 1 is the reference's own pace.
        second: The rate of that (N,) [1/s].
    """
    rows = reference.rows(times)
    rate, second = rate[:, None], second[:, None]
    # x(s(t))' = x' s' and x'' = x'' s'^2 + x' s''; turns are about fixed axes, so that the
    # same holds for angular velocity and acceleration.
    rows[:, ACCELERATION] = rows[:, ACCELERATION] * rate**2 + rows[:, TWIST] * second
    rows[:, TWIST] = rows[:, TWIST] * rate
    return rows
