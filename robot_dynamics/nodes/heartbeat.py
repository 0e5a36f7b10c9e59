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
- After a reset the guard goes on until a beat says that a controller commands.

There may be more than one controller, as a second one that waits beside the first. Each beat names
its sender. The guard relies on one sender, the first that commands, and its silence alone counts:
what others say keeps no arms up. A controller that hears that the guard relies on another one
publishes no command either.

Times are seconds of a steady clock. Nothing here knows ROS.
"""

from __future__ import annotations

import math
import secrets
import time
from collections.abc import Sequence
from enum import IntEnum
from typing import NamedTuple

from rclpy.node import Node
from std_msgs.msg import UInt64MultiArray

from robot_dynamics.app import topic_names as topics
from robot_dynamics.control.faults import Cause, State
from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.nodes.control_loop import ControlLoop
from robot_dynamics.nodes.conversions import NumberWriter
from robot_dynamics.nodes.topics import STREAM, Inbox

REPORT_S = 0.5  # without a report after which a guard counts as missing
_SLEPT = 0.5  # part of the timeout after which who looks has slept itself


class GuardError(RobotDynamicsError):
    """A reset of the guard, or a start beside it, that is refused."""


class Beat(NamedTuple):
    """What a controller says with every heartbeat.

    Attributes:
        number: Steady clock of the sender [ns]: larger for every beat, also after a restart.
        sender: Who sends it; not 0, and another one after every configuration of a controller.
        commanding: Whether the arms rely on torques that it sends.
        ready: Whether no fault is latched, so that it can be given the arms.
        held: Whether it takes the object to be held.
    """

    number: int
    sender: int
    commanding: bool
    ready: bool
    held: bool

    @classmethod
    def of(cls, values: Sequence[int]) -> Beat | None:
        """Return the beat of a message's numbers; None if they are none."""
        if len(values) != len(cls._fields) or any(value > 1 for value in values[2:]):
            return None
        number, sender = int(values[0]), int(values[1])
        return cls(number, sender, *(bool(value) for value in values[2:])) if sender else None


class GuardState(IntEnum):
    """What a guard does."""

    WATCHING = 0
    IN_CHARGE = 1
    HANDING_BACK = 2


class GuardReport(NamedTuple):
    """What a guard says: 50 times a second, and at once when it changes.

    Attributes:
        heard: Number of the last beat of the sender that it relies on, of anybody while it relies
            on none; 0 before the first.
        sender: Whom it relies on; 0 if nobody has commanded yet.
        state: What it does.
        able: Whether it has heard of every arm, so that it can take over.
    """

    heard: int
    sender: int
    state: GuardState
    able: bool

    @classmethod
    def of(cls, values: Sequence[int]) -> GuardReport | None:
        """Return the report of a message's numbers; None if they are none."""
        if len(values) != len(cls._fields) or values[2] > max(GuardState) or values[3] > 1:
            return None
        heard, sender, state, able = (int(value) for value in values)
        return cls(heard, sender, GuardState(state), bool(able))


class HeartbeatWatch:
    """The guard's side: when to take over, and when to let go.

    Attributes:
        state: What the guard does.
        relied: Whether the arms have relied on a controller.
        beat: The last beat of that controller, of anybody before; None before the first.
        silence: How long that controller had been silent when the guard took over last [s].
        conflicts: Beats of a controller that commanded although the guard was in charge, or
            although the guard relied on another one.

    Args:
        timeout: Time without a beat after which the guard takes over [s].
    """

    def __init__(self, timeout: float) -> None:
        self.timeout = timeout
        self.state = GuardState.WATCHING
        self.relied = False
        self.beat: Beat | None = None
        self.silence = 0.0
        self.conflicts = 0
        self._heard_at = self._awake_since = self._looked_at = 0.0
        self._other: Beat | None = None  # the last one of anybody but whom it relies on
        self._other_at = 0.0
        self._conflict_at = -math.inf

    @property
    def sender(self) -> int:
        """Whom the arms rely on; 0 for nobody."""
        return self.beat.sender if self.relied and self.beat is not None else 0

    def age(self, now: float) -> float:
        """Return how long ago the last beat of the controller that it relies on came [s]."""
        return now - self._heard_at

    def contested(self, now: float) -> bool:
        """Return whether somebody has commanded of late who should not."""
        return now - self._conflict_at <= REPORT_S

    def hear(self, beat: Beat, now: float) -> bool:
        """Take a beat; return whether the guard's part ends with it."""
        other = self.sender not in (0, beat.sender)
        handed_back = beat.commanding and self.state is GuardState.HANDING_BACK
        if other and not handed_back:
            self._other, self._other_at = beat, now
        else:
            self.beat, self._heard_at = beat, now
            self.relied |= beat.commanding
        if handed_back:
            self.state = GuardState.WATCHING
        elif beat.commanding and (other or self.state is GuardState.IN_CHARGE):
            self.conflicts += 1
            self._conflict_at = now
        return handed_back

    def look(self, now: float) -> bool:
        """Return whether to take over now; to be called once a control period.

        A guard that was not run itself for a while gives the controller a whole timeout more:
        what was sent meanwhile may not have been read yet.
        """
        if now - self._looked_at > _SLEPT * self.timeout:
            self._awake_since = now
        self._looked_at = now
        if not self.relied or self.state is GuardState.IN_CHARGE or self.beat is None:
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
        if self.age(now) > self.timeout and self._other is not None:
            # The one that it relied on is gone; another one may get the arms.
            self.beat, self._heard_at, self._other = self._other, self._other_at, None
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
        sender: What its beats name as their sender.
        report: The guard's last report; None before the first.
        slept: How long the controller had not run when it last found that it had slept [s].

    Args:
        timeout: The time after which the guard takes over [s].
    """

    def __init__(self, timeout: float) -> None:
        self._timeout = timeout
        self.sender = secrets.randbits(63) + 1
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
        answers = report.sender in (0, self.sender)
        if self._asked is not None and answers and report.heard >= self._asked:
            self._asked = None

    def guard_is_there(self, now: float) -> bool:
        """Return whether a guard has reported of late, and could take over."""
        report = self.report
        return report is not None and report.able and now - self._heard_at <= REPORT_S

    def lost_to(self, now: float) -> str:
        """Return who has the arms, the guard or another controller; empty if nobody is known."""
        report = self.report
        if report is None or now - self._heard_at > REPORT_S:
            return ""
        if report.state is GuardState.IN_CHARGE:
            return "the guard"
        watches = report.able and report.state is GuardState.WATCHING
        return "another controller" if watches and report.sender not in (0, self.sender) else ""

    def is_taken(self, now: float) -> bool:
        """Return whether the guard or another controller commands, as far as is known."""
        if self._beat is not None and now - self._beat_at > self._timeout:
            self.slept = now - self._beat_at
            self._asked, self._asked_at = round(now * 1e9), now
        if self.report is None:
            return False
        if self._asked is not None:
            if now - self._asked_at <= REPORT_S:
                return True
            self._asked = None  # nobody answers
        return bool(self.lost_to(now))

    def next_beat(self, now: float, commanding: bool, ready: bool, held: bool) -> Beat:
        """Return the beat to send now; `is_taken` is to be asked before."""
        self._beat = Beat(round(now * 1e9), self.sender, commanding, ready, held)
        self._beat_at = now
        return self._beat


_BEAT_S = 0.01  # since the last beat, after which idle work sends one
_OFTEN = 0.1  # part of the timeout after which a command is accompanied by a beat


class GuardLink:
    """Heartbeats of a controller, and what follows from the reports of its guard.

    Args:
        node: The controller's node.
        inbox: Its subscriptions; the reports are to be the first of them.
        loop: The controller.
        timeout: Time without a beat after which the guard takes over [s].
        required: Whether control must not start without a guard.
    """

    def __init__(
        self, node: Node, inbox: Inbox, loop: ControlLoop, timeout: float, *, required: bool
    ) -> None:
        self._node, self._loop, self._required = node, loop, required
        self._custody = Custody(timeout)
        self._timeout = timeout
        self._lost_to = ""
        self._beat_at = 0.0
        self._every = min(_BEAT_S, _OFTEN * timeout)
        self._said: tuple[bool, bool, bool] | None = None
        self._topic = node.create_publisher(UInt64MultiArray, topics.HEARTBEAT, STREAM)
        self._writer = NumberWriter(Beat._fields)
        inbox.subscribe(UInt64MultiArray, topics.GUARD, self._on_report, STREAM, awaited=False)

    def destroy(self) -> None:
        """Take its topic off the node."""
        self._node.destroy_publisher(self._topic)

    def may_command(self, now: int) -> bool:
        """Return whether torques may be sent; latch a fault if the guard has taken over.

        Args:
            now: The present time of the safety layer.
        """
        custody, present = self._custody, time.monotonic()
        taken = custody.is_taken(present)
        lost_to = custody.lost_to(present)
        if lost_to and not self._lost_to:
            why = f"; it did not run for {custody.slept:.3g} s" if custody.slept else ""
            self._loop.fall_back(
                now,
                Cause.TAKEN_OVER,
                "controller",
                f"{lost_to} has taken over{why}; expected a heartbeat within {self._timeout:g} s.",
            )
        self._lost_to = lost_to
        return not taken

    def beat(self, *, commanding: bool) -> None:
        """Send a heartbeat."""
        self._said = self._state(commanding)
        self._beat_at = time.monotonic()
        self._topic.publish(self._writer.fill(self._custody.next_beat(self._beat_at, *self._said)))

    def accompany(self) -> None:
        """Send a heartbeat with a command, if it says something new or none was sent of late.

        To publish costs a good part of a control period.
        """
        new = self._said != self._state(True)
        if new or time.monotonic() - self._beat_at >= self._every:
            self.beat(commanding=True)

    def _state(self, commanding: bool) -> tuple[bool, bool, bool]:
        """Return whether arms rely on commands, no fault is latched, and the object is held."""
        safety = self._loop.safety
        ready = safety.state not in (State.FALLBACK, State.STOPPED)
        return commanding and safety.in_charge, ready, safety.object_held

    def keep_beating(self, now: int) -> None:
        """Send a heartbeat if none was sent with a command of late."""
        commanding = self.may_command(now)
        if time.monotonic() - self._beat_at > _BEAT_S:
            self.beat(commanding=commanding)

    def require_guard(self) -> None:
        """Refuse a start while the guard has the arms, or without one where it is needed.

        Raises:
            GuardError: If that is so.
        """
        if self._lost_to:
            wanted = "a reset of it" if self._lost_to == "the guard" else "one controller alone"
            raise GuardError(f"start refused: {self._lost_to} is in charge; expected {wanted}.")
        if self._required and not self._custody.guard_is_there(time.monotonic()):
            raise GuardError(f"start refused: {self._missing()}")

    @property
    def warning(self) -> str:
        """A sentence about a guard that is in charge or missing; empty if all is well."""
        if self._lost_to:
            return f"{self._lost_to} is in charge"
        if not self._custody.guard_is_there(time.monotonic()):
            return self._missing()
        return ""

    def _missing(self) -> str:
        report = self._custody.report
        if report is not None and not report.able:
            return "the guard has not heard of every arm, and could not take over."
        return "there is no guard; expected its reports, because nothing else holds the arms up."

    def _on_report(self, message: UInt64MultiArray) -> None:
        report = GuardReport.of(message.data)
        if report is not None:
            self._custody.hear(report, time.monotonic())
