# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Streams of samples from outside: matched by name, finite, in order of time, and fresh.

Times are integers in the unit of a `clock.Clock`: `stamp` is the sample's own time, `now` the
receiver's.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics.arrays import Array
from robot_dynamics.control.clock import Clock
from robot_dynamics.errors import RobotDynamicsError

# Samples that are older than the last one by up to this were overtaken in transport [s].
_LATEST_S = 0.5
WINDOW_S = 0.5  # over which the rate of samples is measured


class StreamError(RobotDynamicsError):
    """A sample is refused.

    Attributes:
        stream: Name of the stream.
        cause: The error, without the stream's name.
    """

    def __init__(self, stream: str, cause: str) -> None:
        self.stream, self.cause = stream, cause
        super().__init__(f"{stream}: {cause}")


class StreamWatch:
    """Freshness of a stream.

    Attributes:
        stamp: Time stamp of the last sample; None before one.
        arrival: Time of its arrival.
        old_samples: Number of samples that were not newer than the one before.
        hz: New samples a second in the last half second or more; None before it is over.

    Args:
        name: The stream's name, for messages.
        stale_after_s: Time without a new sample after which the stream counts as lost [s].
        clock: Meaning of times.
    """

    def __init__(self, name: str, stale_after_s: float, clock: Clock) -> None:
        self.name, self._clock = name, clock
        self.stale_after = max(1, clock.count(stale_after_s))
        self._overtaken = max(1, clock.count(min(stale_after_s, _LATEST_S)))
        self.stamp: int | None = None
        self.arrival: int | None = None
        self.old_samples = 0
        self.hz: float | None = None
        self._window = clock.count(WINDOW_S)
        self._counted_from: int | None = None
        self._counted_to = 0
        self._count = 0

    def forget(self) -> None:
        """Reset: the next sample is the first."""
        self.stamp = self.arrival = None

    def follow(self, stamp: int) -> None:
        """Accept a jump of time: a simulator was reset, or a clock was set.

        Small steps back count as well: a simulator may be reset soon after it began.
        """
        if self.stamp is not None and (stamp < self.stamp or self.jumps(stamp)):
            self.forget()

    def jumps(self, stamp: int) -> bool:
        """Return whether a sample's time has jumped from that of the last one.

        Messages overtake each other by short times. Time that goes back further is a clock that
        was set, or a simulator that was reset; the limit does not depend on the time after which a
        stream is stale.
        """
        if self.stamp is None:
            return False
        step = stamp - self.stamp
        return step > self.stale_after or -step > self._overtaken

    def advance(self, stamp: int, now: int) -> bool:
        """Register a sample; return whether it is newer than the last one.

        Old samples and repetitions are counted and otherwise ignored: without newer samples the
        stream becomes stale.

        Raises:
            StreamError: If the stamp jumped.
        """
        if self.stamp is not None:
            step = stamp - self.stamp
            if self.jumps(stamp):
                way = "ahead" if step > 0 else "back"
                raise StreamError(
                    self.name,
                    f"its time jumped {way} by {self._seconds(abs(step))}; expected steps of at "
                    f"most {self._seconds(self.stale_after if step > 0 else self._overtaken)}.",
                )
            if step <= 0:
                self.old_samples += 1
                return False
        self.stamp, self.arrival = stamp, now
        self._count_sample(now)
        return True

    def _count_sample(self, now: int) -> None:
        """Measure the rate; samples of one instant are one."""
        if self._counted_from is None:
            self._counted_from = self._counted_to = now
        elif now != self._counted_to:
            self._counted_to = now
            self._count += 1
            passed = now - self._counted_from
            if passed >= self._window:
                self.hz = self._count / self._clock.seconds(passed)
                self._counted_from, self._count = now, 0

    def is_stale(self, now: int) -> bool:
        """Return whether the stream has had no new sample for too long, or none at all."""
        return self.arrival is None or now - self.arrival > self.stale_after

    def staleness(self, now: int) -> str:
        """Return a sentence about the stream's age."""
        if self.arrival is None:
            return "no sample has come yet."
        return (
            f"no new sample for {self._seconds(now - self.arrival)}; expected one within "
            f"{self._seconds(self.stale_after)}."
        )

    def _seconds(self, time: int) -> str:
        return f"{self._clock.seconds(time):.4g} s"


class VectorStream:
    """A stream of vectors of fixed length: wrenches, streamed references.

    Attributes:
        values: The last good sample (n,); zero before the first.

    Args:
        name: The stream's name, for messages.
        size: Number of entries.
        stale_after_s: See `StreamWatch`.
        clock: See `StreamWatch`.
    """

    def __init__(self, name: str, size: int, stale_after_s: float, clock: Clock) -> None:
        self.watch = StreamWatch(name, stale_after_s, clock)
        self.values = np.zeros(size)

    @property
    def name(self) -> str:
        """The stream's name."""
        return self.watch.name

    def accept(self, stamp: int, values: ArrayLike, now: int) -> bool:
        """Take a sample; return whether it is newer than the last one.

        Raises:
            StreamError: If it has the wrong length, is not finite, or its time jumped; the last
                sample stays then.
        """
        array = _finite(self.name, "values", values, self.values.size)
        if not self.watch.advance(stamp, now):
            return False
        self.values[:] = array
        return True


def of_length(stream: str, what: str, values: ArrayLike, length: int) -> Array:
    """Return the values as an array (length,).

    Raises:
        StreamError: If they are more or fewer.
    """
    array = np.asarray(values, dtype=float)
    if array.shape != (length,):
        count = array.size if array.ndim == 1 else f"shape {array.shape}"
        hint = " A velocity is needed for every joint." if what == "velocity" else ""
        raise StreamError(stream, f"{what} has {count} entries, expected {length}.{hint}")
    return array


def _finite(stream: str, what: str, values: ArrayLike, length: int) -> Array:
    """Return the values as an array (length,) of finite numbers."""
    array = of_length(stream, what, values, length)
    if not np.isfinite(array).all():
        at = int(np.argmin(np.isfinite(array)))
        raise StreamError(
            stream, f"entry {at} of {what} is {array[at]}; expected a finite number."
        )
    return array
