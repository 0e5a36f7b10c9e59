# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What simulated drives do when commands stop, as those of real arms do one thing or another."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from robot_dynamics.nodes.conversions import is_ahead

Array = NDArray[np.float64]

Behaviour = Literal["brake", "zero", "hold"]


_SILENT_PERIODS = 5  # without a command, after which the others' commands do not wait for it


class Drives:
    """Torques for every control period, whether commands have come or not.

    Before the first command the brakes hold. An arm without a new command keeps its last torque
    for a while; then the behaviour sets in. Brakes hold all arms, and stay on until `reset`; the
    other behaviours let a new command through at once.

    Attributes:
        braked: Whether the brakes hold the arms.

    Args:
        arms: Where each arm stands in vectors over the arm joints.
        behaviours: What happens when the commands of each arm have stopped.
        timeout_periods: Control periods without a command after which they have.
    """

    def __init__(
        self, arms: Sequence[slice], behaviours: Sequence[Behaviour], timeout_periods: int
    ) -> None:
        self._arms, self._behaviours = tuple(arms), tuple(behaviours)
        self._timeout = timeout_periods
        self.reset()

    def reset(self) -> None:
        """Return to brakes and no command."""
        self._torque = np.zeros(self._arms[-1].stop)
        self._ages = [0] * len(self._arms)
        self.braked = True

    @property
    def lost(self) -> bool:
        """Whether the commands of any arm have stopped."""
        return any(age > self._timeout for age in self._ages)

    def is_silent(self, arm: int) -> bool:
        """Return whether an arm has had no command for some periods."""
        return self._ages[arm] > _SILENT_PERIODS

    def command(self, torque: Array, arms: Iterable[int]) -> None:
        """Take new torques (na,) for some arms."""
        if self.lost and self.braked:
            return
        for arm in arms:
            own = self._arms[arm]
            self._torque[own] = torque[own]
            self._ages[arm] = 0
        self.braked = False

    def next(self) -> Array | None:
        """Return the torque (na,) of the next control period; None if the brakes hold."""
        if self.braked:
            return None
        for arm, own in enumerate(self._arms):
            self._ages[arm] += 1
            if self._ages[arm] > self._timeout:
                if self._behaviours[arm] == "brake":
                    self.braked = True
                    return None
                if self._behaviours[arm] == "zero":
                    self._torque[own] = 0.0
        return self._torque.copy()


class EarlierRun:
    """Tells commands of a run that was before a reset: they are for arms that are elsewhere.

    Those who go on to command after it number their commands by what they have answered last:
    by a tick that is still to come, and by the same one until they follow the new run. Who does
    not number commands sends zeros, which are taken.
    """

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    @property
    def number(self) -> int | None:
        """A number that was refused, if any was."""
        return next(iter(self._numbers.values()), None)

    def has(self, arm: str, number: int, tick: int) -> bool:
        """Return whether a command belongs to it.

        Args:
            arm: Name of the arm.
            number: The tick that the command answers, modulo 2^32.
            tick: The present one.
        """
        if self._numbers.get(arm) == number:
            return True
        if is_ahead(number, tick):
            self._numbers[arm] = number
            return True
        self._numbers.pop(arm, None)
        return False
