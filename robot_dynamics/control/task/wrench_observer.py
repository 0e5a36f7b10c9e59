# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Wrenches of tools without wrist sensors, from the torques of the joints.

The generalized momentum p = H qd of an arm whose tool exerts a wrench f on something obeys

    pdot = tau + C(q, qd)^T qd - g(q) - friction - J^T f.

The residual of De Luca and Mattone, "Sensorless robot collision detection and hybrid force/motion
control" (ICRA 2005),

    r = K (integral of (tau + C^T qd - g - friction - r) - p),    rdot = K (J^T f - r),

follows J^T f without accelerations. With dp/dt = H qdd + (C + C^T) qd, a control period T of it
needs inverse dynamics with the mean acceleration alone:

    r += (1 - exp(-K T)) (tau - ID(q, qd, change of qd / T) - friction - r).
"""

from __future__ import annotations

from collections import deque

import numpy as np

from robot_dynamics.arrays import Array
from robot_dynamics.control.task.free_arms import FreeArms

_RATE = 50.0  # K by default [1/s]


class WrenchObserver:
    """Wrenches of the arms' tools on touched objects, estimated from torques.

    A model that is wrong by a torque, or friction that it does not know, looks like a wrench:
    `tare` takes the present estimate as zero.

    Args:
        arms: Dynamics of the arms.
        period: Control period [s].
        delay: Control periods from a measurement to the action of its command.
        rate: K, at which the residual follows [1/s].
    """

    def __init__(self, arms: FreeArms, period: float, delay: int, rate: float = _RATE) -> None:
        self._arms, self._period, self._rate = arms, period, rate
        self._sent: deque[Array] = deque(maxlen=delay + 1)
        self.forget()
        self.begin()

    def forget(self) -> None:
        """Assume free tools."""
        self._residual = self._offset = np.zeros(len(self._arms.effort))

    def begin(self) -> None:
        """Begin with the measurement that comes next, and with the last wrenches."""
        self._qd: Array | None = None
        self._sent.clear()

    def sent(self, torque: Array) -> None:
        """Take the torque (na,) that was sent in answer to the last measurement."""
        self._sent.append(torque)

    def tare(self) -> None:
        """Take the present residual for an error of the model."""
        self._offset = self._residual

    def wrenches(self, q: Array, qd: Array, periods: int = 1) -> Array:
        """Return the wrenches (k, 6) by the tools on touched objects, in tool frames.

        Args:
            q: Measured positions of the arm joints (na,).
            qd: Measured velocities (na,).
            periods: Control periods since the last call; more than 1 if some were lost.
        """
        arms, before, self._qd = self._arms, self._qd, qd
        if before is not None and len(self._sent) == self._sent.maxlen:
            passed = periods * self._period
            tool_torque = self._sent[0] - arms.moving_torque(q, qd, (qd - before) / passed)
            share = -np.expm1(-self._rate * passed)
            self._residual = self._residual + share * (tool_torque - self._residual)
        return arms.tool_wrenches(q, self._residual - self._offset)
