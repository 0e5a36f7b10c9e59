# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Pace of a task: it comes to rest in a pause, and continues after it."""

from __future__ import annotations

_RAMP_S = 0.4  # in which the pace changes, as that of a `Halt`


class Pace:
    """Rate of the time of a task's phases: 1 while they run, 0 in a pause, smooth in between.

    Attributes:
        value: Present rate.
        rate: Its own rate [1/s].

    Args:
        period: Control period [s].
    """

    def __init__(self, period: float) -> None:
        self._period = period
        self.reset()

    def reset(self) -> None:
        """Run from now on."""
        self.value, self.rate = 1.0, 0.0
        self._begin = self._end = self._done = 1.0

    def change(self, value: float) -> None:
        """Begin to change to another rate."""
        self._begin, self._end, self._done = self.value, value, 0.0

    @property
    def changing(self) -> bool:
        """Whether it changes."""
        return self._done < 1.0

    def advance(self) -> None:
        """Advance by a control period."""
        if not self.changing:
            return
        u = self._done = min(self._done + self._period / _RAMP_S, 1.0)
        way = self._end - self._begin
        self.value = self._begin + way * u**2 * (3.0 - 2.0 * u) if u < 1.0 else self._end
        self.rate = way * 6.0 * u * (1.0 - u) / _RAMP_S
