# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Clocks of the control loop: simulated time, or a steady clock.

Times are integers; samples and faults of a control loop have the same unit.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod

SECOND = 1_000_000_000  # [ns]


def stamp_of(tick: int, period: float) -> int:
    """Return the time [ns] of a control tick: never a sum, so that it does not drift.

    Args:
        tick: Control periods since the start of simulated time.
        period: Control period [s].
    """
    return round(tick * period * SECOND)


def tick_of(stamp: int, period: float) -> int:
    """Return the control tick that a time [ns] belongs to: the nearest."""
    return round(stamp / (period * SECOND))


class Clock(ABC):
    """Clock of a control loop.

    Attributes:
        unit_s: Unit of times [s].
        lockstep: Whether the simulator waits for the commands of every tick.
        tick: Control tick of the last control instant; -1 before the first.

    Args:
        period: Control period [s].
    """

    unit_s: float
    lockstep: bool

    def __init__(self, period: float) -> None:
        self.period = period
        self.tick = -1

    @abstractmethod
    def now(self) -> int:
        """Return the current time."""

    @abstractmethod
    def times_of(self, stamp: int) -> tuple[int, int]:
        """Return the time of a sample and of its arrival, which is now.

        Args:
            stamp: Time stamp of the sample's message [ns].
        """

    @abstractmethod
    def message_time(self, ros_time: int) -> int:
        """Return the present time in time stamps of messages [ns].

        Args:
            ros_time: The present time of ROS [ns].
        """

    @abstractmethod
    def stamp_seconds(self, now: int) -> float:
        """Return a recent time on the clock of the stamps of samples [s].

        Args:
            now: The time.
        """

    def count(self, seconds: float) -> int:
        """Return a duration in units of this clock."""
        return round(seconds / self.unit_s)

    def seconds(self, units: int) -> float:
        """Return a duration in seconds."""
        return units * self.unit_s


class LockstepClock(Clock):
    """Simulated time: the unit is the control period, and the time is the tick.

    It stands still until the simulator has the commands of the tick.
    """

    lockstep = True

    def __init__(self, period: float) -> None:
        super().__init__(period)
        self.unit_s = period

    def now(self) -> int:
        """Return the tick of the last control instant."""
        return self.tick

    def times_of(self, stamp: int) -> tuple[int, int]:
        """Return the sample's tick twice: samples arrive in their tick."""
        tick = tick_of(stamp, self.period)
        return tick, tick

    def message_time(self, ros_time: int) -> int:
        """Return the time stamp of the present tick [ns]."""
        return stamp_of(self.tick, self.period)

    def stamp_seconds(self, now: int) -> float:
        """Return the time of the tick [s]."""
        return self.seconds(now)


class WallClock(Clock):
    """A steady clock in nanoseconds, which never stops or jumps."""

    lockstep = False
    unit_s = 1.0 / SECOND

    def now(self) -> int:
        """Return the steady clock [ns]."""
        return time.monotonic_ns()

    def times_of(self, stamp: int) -> tuple[int, int]:
        """Return the sample's own time stamp, and the steady clock [ns]."""
        return stamp, time.monotonic_ns()

    def message_time(self, ros_time: int) -> int:
        """Return the time of ROS [ns]."""
        return ros_time

    def stamp_seconds(self, now: int) -> float:
        """Return the time by the system clock [s], as in stamps of real drivers."""
        return self.seconds(now) + (time.time() - time.monotonic())
