# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What simulated drives do when commands stop, as those of real arms do one thing or another."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

Behaviour = Literal["brake", "zero", "hold"]


class Drives:
    """Torques for every control period, whether a command has come or not.

    Before the first command the brakes hold. Without a new command the last torque is held for
    a while; then the behaviour sets in. Brakes stay on until `reset`; the others let a new command
    through at once.

    Attributes:
        braked: Whether the brakes hold the arms.
        lost: Whether commands have stopped.

    Args:
        joint_count: Number of arm joints.
        behaviour: What happens when commands have stopped.
        timeout_periods: Control periods without a command after which they have.
    """

    def __init__(self, joint_count: int, behaviour: Behaviour, timeout_periods: int) -> None:
        self._count, self._behaviour, self._timeout = joint_count, behaviour, timeout_periods
        self.reset()

    def reset(self) -> None:
        """Return to brakes and no command."""
        self._torque = np.zeros(self._count)
        self._age = 0
        self.braked = True
        self.lost = False

    def command(self, torque: Array) -> None:
        """Take a new torque (na,)."""
        if self.lost and self.braked:
            return
        self._torque = np.array(torque)
        self._age = 0
        self.braked = self.lost = False

    def next(self) -> Array | None:
        """Return the torque (na,) of the next control period; None if the brakes hold."""
        if self.braked:
            return None
        self._age += 1
        if self._age > self._timeout and self._behaviour != "hold":
            self.lost = True
            if self._behaviour == "brake":
                self.braked = True
                return None
            self._torque = np.zeros(self._count)
        elif self._age > self._timeout:
            self.lost = True
        return self._torque
