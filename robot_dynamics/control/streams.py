# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Streams of samples from outside: matched by name, finite, in order of time, and fresh.

Times are integers of one unit for all streams of a controller: control ticks in lockstep, where
the wall clock must not matter, or nanoseconds of a steady clock. `stamp` is the sample's own time,
`now` the receiver's; `unit_s` is the unit in seconds.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robot_dynamics.errors import RobotDynamicsError, UnknownNameError

Array = NDArray[np.float64]

# Samples that are older than the last one by up to this have been overtaken on the way [s].
_LATEST_S = 0.5


class StreamError(RobotDynamicsError):
    """A sample that must not be used.

    Attributes:
        stream: Name of the stream.
        cause: What is wrong, without the stream's name.
    """

    def __init__(self, stream: str, cause: str) -> None:
        self.stream, self.cause = stream, cause
        super().__init__(f"{stream}: {cause}")


class StreamWatch:
    """When a stream last brought something new.

    Args:
        name: The stream's name, for messages.
        stale_after_s: Time without a new sample after which the stream counts as lost [s].
        unit_s: Unit of time stamps [s].
    """

    def __init__(self, name: str, stale_after_s: float, unit_s: float) -> None:
        self.name, self.unit_s = name, unit_s
        self.stale_after = max(1, round(stale_after_s / unit_s))
        self._overtaken = max(1, round(min(stale_after_s, _LATEST_S) / unit_s))
        self.stamp: int | None = None
        self.arrival: int | None = None
        self.old_samples = 0

    def forget(self) -> None:
        """Start anew: the next sample is the first."""
        self.stamp = self.arrival = None

    def jumps(self, stamp: int) -> bool:
        """Return whether a sample's time is out of all proportion with that of the last one.

        Messages overtake each other by little. What goes back further is a clock that was set, or
        a simulator that was reset, however patient one is with a stream that is silent.
        """
        if self.stamp is None:
            return False
        step = stamp - self.stamp
        return step > self.stale_after or -step > self._overtaken

    def advance(self, stamp: int, now: int) -> bool:
        """Note a sample; return whether it is newer than the last one.

        Old samples and repetitions are counted and otherwise ignored: if nothing newer comes, the
        stream grows stale.

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
        return True

    def is_stale(self, now: int) -> bool:
        """Return whether the stream has brought nothing new for too long, or nothing ever."""
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
        return f"{time * self.unit_s:.4g} s"


class VectorStream:
    """A stream of vectors of fixed length: wrenches, streamed references.

    Attributes:
        values: The last good sample (n,); zero before the first.

    Args:
        name: The stream's name, for messages.
        size: Number of entries.
        stale_after_s: See `StreamWatch`.
        unit_s: See `StreamWatch`.
    """

    def __init__(self, name: str, size: int, stale_after_s: float, unit_s: float) -> None:
        self.watch = StreamWatch(name, stale_after_s, unit_s)
        self.values = np.zeros(size)

    @property
    def name(self) -> str:
        """The stream's name."""
        return self.watch.name

    def accept(self, stamp: int, values: ArrayLike, now: int) -> bool:
        """Take a sample; return whether it is newer than the last one.

        Raises:
            StreamError: If it has the wrong length, is not finite, or its time jumped; nothing
                of it is kept then.
        """
        array = _finite(self.name, "values", values, self.values.size)
        if not self.watch.advance(stamp, now):
            return False
        self.values[:] = array
        return True


class JointStream:
    """The joint states of one arm, or of several, from messages that name their joints.

    The order of names is looked up once and again only when it changes. A bad sample changes
    nothing: `position` and `velocity` are always the last good ones.

    Attributes:
        joints: Names of the joints, in the order of the arrays.
        position: Last good positions (n,).
        velocity: Last good velocities (n,).

    Args:
        name: The arm's name, for messages.
        joints: Names of the joints.
        stale_after_s: See `StreamWatch`.
        unit_s: See `StreamWatch`.
        ignored: Joints that messages may hold besides: other arms', grippers', locked ones.
    """

    def __init__(
        self,
        name: str,
        joints: Sequence[str],
        stale_after_s: float,
        unit_s: float,
        ignored: Iterable[str] = (),
    ) -> None:
        self.watch = StreamWatch(name, stale_after_s, unit_s)
        self.joints = tuple(joints)
        self.position = np.zeros(len(self.joints))
        self.velocity = np.zeros(len(self.joints))
        self._ignored: Collection[str] = frozenset(ignored) - set(self.joints)
        self._names: list[str] = []
        self._order = np.zeros(0, dtype=np.intp)

    @property
    def name(self) -> str:
        """The arm's name."""
        return self.watch.name

    def accept(
        self,
        stamp: int,
        names: Sequence[str],
        position: ArrayLike,
        velocity: ArrayLike,
        now: int,
    ) -> bool:
        """Take a sample; return whether it is newer than the last one.

        Args:
            stamp: The sample's own time.
            names: Names of the joints in the message.
            position: Their positions [rad or m].
            velocity: Their velocities [rad/s or m/s].
            now: The time of its arrival.

        Raises:
            StreamError: If a joint is missing or there twice, if an array has the wrong length
                or a number of this arm that is not finite, or if the sample's time jumped.
            UnknownNameError: If a joint is neither this arm's nor among the ignored.
        """
        if names != self._names:
            self._order = self._order_of(names)
            self._names = list(names)
        count = len(self._names)
        q = _of_length(self.name, "position", position, count)[self._order]
        qd = _of_length(self.name, "velocity", velocity, count)[self._order]
        # Before anything else is done with them: a NaN passes through min and max.
        if not (np.isfinite(q).all() and np.isfinite(qd).all()):
            raise StreamError(self.name, self._not_finite(q, qd))
        if not self.watch.advance(stamp, now):
            return False
        self.position[:], self.velocity[:] = q, qd
        return True

    def _order_of(self, names: Sequence[str]) -> NDArray[np.intp]:
        names = list(names)
        known = set(self.joints)
        for i, name in enumerate(names):
            if name not in known and name not in self._ignored:
                raise UnknownNameError("joint", name, self.joints, self.name)
            if name in known and name in names[:i]:
                raise StreamError(self.name, f"joint {name!r} is there twice; expected once.")
        missing = [joint for joint in self.joints if joint not in names]
        if missing:
            raise StreamError(
                self.name,
                f"joint {missing[0]!r} is missing; expected all of {', '.join(self.joints)}.",
            )
        return np.array([names.index(joint) for joint in self.joints], dtype=np.intp)

    def _not_finite(self, q: Array, qd: Array) -> str:
        for what, values in (("position", q), ("velocity", qd)):
            for joint, value in zip(self.joints, values, strict=True):
                if not np.isfinite(value):
                    return f"{what} of joint {joint!r} is {value}; expected a finite number."
        return "a number is not finite."


def _of_length(stream: str, what: str, values: ArrayLike, length: int) -> Array:
    """Return the values as an array (length,)."""
    array = np.asarray(values, dtype=float)
    if array.shape != (length,):
        count = array.size if array.ndim == 1 else f"shape {array.shape}"
        hint = " A velocity is needed for every joint." if what == "velocity" else ""
        raise StreamError(stream, f"{what} has {count} entries, expected {length}.{hint}")
    return array


def _finite(stream: str, what: str, values: ArrayLike, length: int) -> Array:
    """Return the values as an array (length,) of finite numbers."""
    array = _of_length(stream, what, values, length)
    if not np.isfinite(array).all():
        at = int(np.argmin(np.isfinite(array)))
        raise StreamError(
            stream, f"entry {at} of {what} is {array[at]}; expected a finite number."
        )
    return array
