# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Who commands the arms: the agreement between a controller and the guard that watches it.

The controller sends a beat with its commands, several in the time that the guard waits and at
once when it says something new, and every 20 ms when it has nothing to command.
The guard takes over when beats cease, and keeps the arms until it is reset; its reports say so.
Two processes must not both send torques for longer than a message takes:

- While the guard watches, it publishes no command.
- A controller that hears that the guard is in charge publishes none.
- A controller that finds that it has slept for longer than the guard waits cannot know what has
  happened meanwhile, and what it hears next may be older than its sleep. It publishes nothing
  until a report comes that answers a beat which it has sent since, or none comes at all.
- After a reset the guard goes on until a beat says that the controller commands.

Times are seconds of a steady clock. Nothing here knows ROS.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum
from typing import NamedTuple

from robot_dynamics.errors import RobotDynamicsError

REPORT_S = 0.5  # without a report after which a guard counts as missing
_SLEPT = 0.5  # part of the timeout after which who looks has slept itself


class GuardError(RobotDynamicsError):
    """A reset of the guard, or a start beside it, that is refused."""


class Beat(NamedTuple):
    """What a controller says with every heartbeat.

    Attributes:
        number: Steady clock of the sender [ns]: larger for every beat, also after a restart.
        commanding: Whether the arms rely on torques that it sends.
        ready: Whether no fault is latched, so that it can be given the arms.
        held: Whether it takes the object to be held.
    """

    number: int
    commanding: bool
    ready: bool
    held: bool

    @classmethod
    def of(cls, values: Sequence[int]) -> Beat | None:
        """Return the beat of a message's numbers; None if they are none."""
        if len(values) != len(cls._fields) or any(value > 1 for value in values[1:]):
            return None
        return cls(int(values[0]), *(bool(value) for value in values[1:]))


class GuardState(IntEnum):
    """What a guard does."""

    WATCHING = 0
    IN_CHARGE = 1
    HANDING_BACK = 2


class GuardReport(NamedTuple):
    """What a guard says: 50 times a second, and at once when it changes.

    Attributes:
        heard: Number of the last beat that it has heard; 0 before the first.
        state: What it does.
        able: Whether it has heard of every arm, so that it can take over.
    """

    heard: int
    state: GuardState
    able: bool

    @classmethod
    def of(cls, values: Sequence[int]) -> GuardReport | None:
        """Return the report of a message's numbers; None if they are none."""
        if len(values) != len(cls._fields) or values[1] > max(GuardState) or values[2] > 1:
            return None
        return cls(int(values[0]), GuardState(int(values[1])), bool(values[2]))


class HeartbeatWatch:
    """The guard's side: when to take over, and when to let go.

    Attributes:
        state: What the guard does.
        beat: The last beat; None before the first.
        silence: How long no beat had come when it took over last [s].
        conflicts: Beats of a controller that commanded although the guard was in charge.

    Args:
        timeout: Time without a beat after which the guard takes over [s].
    """

    def __init__(self, timeout: float) -> None:
        self.timeout = timeout
        self.state = GuardState.WATCHING
        self.beat: Beat | None = None
        self.silence = 0.0
        self.conflicts = 0
        self._heard_at = self._awake_since = self._looked_at = 0.0
        self._relied = False

    def age(self, now: float) -> float:
        """Return how long ago the last beat came [s]."""
        return now - self._heard_at

    def hear(self, beat: Beat, now: float) -> bool:
        """Take a beat; return whether the guard's part ends with it."""
        self._heard_at, self.beat = now, beat
        self._relied |= beat.commanding
        if beat.commanding and self.state is GuardState.IN_CHARGE:
            self.conflicts += 1
        if beat.commanding and self.state is GuardState.HANDING_BACK:
            self.state = GuardState.WATCHING
            return True
        return False

    def look(self, now: float) -> bool:
        """Return whether to take over now; to be called once a control period.

        A guard that was not run itself for a while gives the controller a whole timeout more:
        what was sent meanwhile may not have been read yet.
        """
        if now - self._looked_at > _SLEPT * self.timeout:
            self._awake_since = now
        self._looked_at = now
        if not self._relied or self.state is GuardState.IN_CHARGE or self.beat is None:
            return False
        if now - max(self._heard_at, self._awake_since) <= self.timeout:
            return False
        self.state = GuardState.IN_CHARGE
        self.silence = self.age(now)
        return True

    def reset(self, now: float) -> None:
        """Let go of the arms as soon as a controller commands them.

        Raises:
            GuardError: If the guard is not in charge, or there is nobody to hand back to.
        """
        if self.state is not GuardState.IN_CHARGE:
            raise GuardError("reset refused: the guard is not in charge.")
        if self.beat is None or self.age(now) > self.timeout:
            raise GuardError(
                f"reset refused: no heartbeat for {self.age(now):.3g} s; expected a controller "
                "that lives."
            )
        if not self.beat.ready:
            raise GuardError(
                "reset refused: a fault is latched in the controller; expected a call of its "
                "reset before this one."
            )
        self.state = GuardState.HANDING_BACK


class Custody:
    """The controller's side: whether it may command, and whether a guard is there.

    Attributes:
        report: The guard's last report; None before the first.
        slept: How long the controller had not run when it last found that it had slept [s].

    Args:
        timeout: The time after which the guard takes over [s].
    """

    def __init__(self, timeout: float) -> None:
        self._timeout = timeout
        self.report: GuardReport | None = None
        self.slept = 0.0
        self._heard_at = 0.0
        self._beat: Beat | None = None
        self._beat_at = 0.0
        self._asked: int | None = None  # number of the first beat after a sleep
        self._asked_at = 0.0

    def hear(self, report: GuardReport, now: float) -> None:
        """Take a report of the guard."""
        self.report, self._heard_at = report, now
        if self._asked is not None and report.heard >= self._asked:
            self._asked = None

    def guard_is_there(self, now: float) -> bool:
        """Return whether a guard has reported of late, and could take over."""
        report = self.report
        return report is not None and report.able and now - self._heard_at <= REPORT_S

    def is_taken(self, now: float) -> bool:
        """Return whether the guard commands, as far as is known."""
        if self._beat is not None and now - self._beat_at > self._timeout:
            self.slept = now - self._beat_at
            self._asked, self._asked_at = round(now * 1e9), now
        if self.report is None:
            return False
        if self._asked is not None:
            if now - self._asked_at <= REPORT_S:
                return True
            self._asked = None  # nobody answers
        return self.report.state is GuardState.IN_CHARGE and now - self._heard_at <= REPORT_S

    def next_beat(self, now: float, commanding: bool, ready: bool, held: bool) -> Beat:
        """Return the beat to send now; `is_taken` is to be asked before."""
        self._beat = Beat(round(now * 1e9), commanding, ready, held)
        self._beat_at = now
        return self._beat
