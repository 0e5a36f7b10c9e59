# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Joint states of several arms from messages that hold the joints of one or of all of them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robot_dynamics.control.streams import JointStream, StreamError, StreamWatch
from robot_dynamics.errors import RobotDynamicsError, UnknownNameError

Complaint = Callable[[str, str, bool], None]


class JointSamples:
    """Hands every message to the arms whose joints it names; names decide, never the order.

    A message may hold further joints only if they were announced: a name that nobody knows is a
    typing error until somebody says otherwise. It is blamed on the arm that lacks a joint, or on
    all arms of the message if none does.

    Attributes:
        streams: The stream of each arm, by its name.
        unknown_joints: A sentence about messages that hold no joint of any arm; empty without any.

    Args:
        arms: Names of the joints by arm name.
        stale_after_s: Time after which an arm counts as lost [s].
        unit_s: Unit of time stamps [s].
        ignored: Joints that messages may hold besides.
        complain: Called with the arm, what is wrong with its sample, and whether time jumped.
    """

    def __init__(
        self,
        arms: Mapping[str, Sequence[str]],
        stale_after_s: float,
        unit_s: float,
        ignored: Iterable[str],
        complain: Complaint,
    ) -> None:
        every = {joint for joints in arms.values() for joint in joints}
        self._known: Collection[str] = every | set(ignored)
        self._complain = complain
        self.streams = {
            name: JointStream(name, joints, stale_after_s, unit_s, self._known)
            for name, joints in arms.items()
        }
        self.unknown_joints = ""
        self._names: list[str] | None = None
        self._concerned: list[JointStream] = []
        self._unaffected: list[JointStream] = []
        self._kept = np.zeros(0, dtype=np.intp)

    def accept(
        self,
        topic: str,
        stamp: int,
        names: list[str],
        position: ArrayLike,
        velocity: ArrayLike,
        now: int,
        *,
        follow: bool = False,
    ) -> bool:
        """Take a message; return whether any arm has a newer sample because of it.

        Args:
            topic: Where it came from.
            stamp: Its own time.
            names: Names of its joints.
            position: Their positions [rad or m].
            velocity: Their velocities [rad/s or m/s].
            now: The time of its arrival.
            follow: Whether the time of its arms may jump; other arms' messages are of other times.
        """
        if names != self._names:
            self._sort(topic, names)
        if follow:
            follow_time(stamp, (stream.watch for stream in (*self._concerned, *self._unaffected)))
        newer = False
        for stream in self._concerned:
            newer |= self._offer(stream, stamp, names, position, velocity, now)
        if self._unaffected:
            kept = self._kept
            own = [names[i] for i in kept]
            q, qd = np.asarray(position), np.asarray(velocity)
            if q.shape == qd.shape == (len(names),):  # else the blamed arm has said so
                for stream in self._unaffected:
                    newer |= self._offer(stream, stamp, own, q[kept], qd[kept], now)
        return newer

    def _offer(
        self,
        stream: JointStream,
        stamp: int,
        names: Sequence[str],
        position: ArrayLike,
        velocity: ArrayLike,
        now: int,
    ) -> bool:
        try:
            return stream.accept(stamp, names, position, velocity, now)
        except StreamError as error:
            self._complain(stream.name, error.cause, stream.watch.jumps(stamp))
        except RobotDynamicsError as error:
            self._complain(stream.name, str(error).removeprefix(f"{stream.name}: "), False)
        return False

    def _sort(self, topic: str, names: list[str]) -> None:
        """Decide whom a message with these names concerns."""
        self._names = list(names)
        inside = set(names)
        concerned = [s for s in self.streams.values() if not inside.isdisjoint(s.joints)]
        unknown = [name for name in names if name not in self._known]
        incomplete = [s for s in concerned if not inside.issuperset(s.joints)]
        self._concerned, self._unaffected = concerned, []
        if unknown and incomplete:
            self._concerned = incomplete
            self._unaffected = [s for s in concerned if s not in incomplete]
            at = [i for i, name in enumerate(names) if name in self._known]
            self._kept = np.array(at, dtype=np.intp)
        self.unknown_joints = ""
        if unknown and not concerned:
            own = [joint for s in self.streams.values() for joint in s.joints]
            self.unknown_joints = str(UnknownNameError("joint", unknown[0], own, topic))


def follow_time(stamp: int, watches: Iterable[StreamWatch]) -> None:
    """Let time jump where nothing depends on it: simulators are reset, clocks are set.

    Time that goes back by little counts as well: a simulator may be reset soon after it began.
    """
    for watch in watches:
        if watch.jumps(stamp) or (watch.stamp is not None and stamp < watch.stamp):
            watch.forget()


def stacked(streams: Iterable[JointStream]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return last good positions and velocities (na,) of all arms, in their order."""
    positions, velocities = zip(*((s.position, s.velocity) for s in streams), strict=True)
    return np.concatenate(positions), np.concatenate(velocities)
