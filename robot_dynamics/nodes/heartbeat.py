# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Protocol between controllers and the guard, which decides who commands the arms.

A controller publishes a heartbeat with its commands, several within the timeout of the guard and
at once when a field changes, and every 20 ms while it sends no commands. The guard takes over when
heartbeats stop, when commands stop although heartbeats say that arms rely on them, and at once
after a heartbeat that says that the controller ends. It commands the arms until it is reset, and
its reports say so. Two processes must not both send torques for longer than a message takes:

- A watching guard publishes no command.
- A controller publishes no command after a report of a guard in charge.
- A controller that was suspended for longer than the timeout does not know the state of the guard,
  and the reports that it reads next can be older. It publishes no command until a report answers a
  heartbeat sent since, or until no report has come for `REPORT_S`.
- After a reset the guard stays in charge until a heartbeat says that a controller commands.

There can be several controllers, such as a second one on standby. Each heartbeat names its sender.
The guard watches the first sender that commands, and takes over when this sender stops, whatever
others send. A controller publishes no command while reports say that the guard watches another.

Times are seconds of a steady clock. Only `GuardLink` depends on ROS.
"""

from __future__ import annotations

import math
import secrets
import time
from collections.abc import Sequence
from enum import IntEnum
from typing import NamedTuple

from rclpy.duration import Duration
from rclpy.node import Node
from std_msgs.msg import UInt64MultiArray

from robot_dynamics.app.recordings import topic_names as topics
from robot_dynamics.control.control_loop import ControlLoop
from robot_dynamics.control.faults import Cause, State
from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.nodes.conversions import NumberWriter
from robot_dynamics.nodes.topics import STREAM, Inbox

REPORT_S = 0.5  # time without a report after which the guard counts as missing
_COUNTED_S = 1.0  # time over which a guard counts reports to find another guard
_SUSPENDED = 0.5  # fraction of the timeout after which the guard itself counts as suspended
_IDLE_BEAT_S = 0.01  # age of the last heartbeat after which idle work sends one
_BEAT_FRACTION = 0.1  # age of the last heartbeat, in timeouts, after which a command sends one


class GuardError(RobotDynamicsError):
    """A refused reset of the guard, or a start refused because of the guard."""


class Beat(NamedTuple):
    """A heartbeat of a controller.

    Attributes:
        number: Steady clock of the sender [ns]; it increases with every heartbeat, even across
            restarts.
        sender: Identifies the controller; not 0, and new for every configuration of a controller.
        commanding: Whether the arms rely on torques that it sends.
        ready: Whether no fault is latched, so that the arms can be handed to it.
        held: Whether it assumes that the object is held.
        ends: Whether it has sent its last command, and this is its last heartbeat.
    """

    number: int
    sender: int
    commanding: bool
    ready: bool
    held: bool
    ends: bool = False

    @classmethod
    def of(cls, values: Sequence[int]) -> Beat | None:
        """Return the heartbeat of a message's numbers; None if they are invalid."""
        if len(values) != len(cls._fields) or any(value > 1 for value in values[2:]):
            return None
        number, sender = int(values[0]), int(values[1])
        return cls(number, sender, *(bool(value) for value in values[2:])) if sender else None


class GuardState(IntEnum):
    """The state of a guard."""

    WATCHING = 0
    IN_CHARGE = 1
    HANDING_BACK = 2


class GuardReport(NamedTuple):
    """A report of the guard: 50 times a second, and at once when it changes.

    Attributes:
        heard: Number of the last heartbeat of the watched sender, or of any sender if none is
            watched; 0 before the first.
        sender: The watched sender; 0 if none has commanded yet.
        state: Its state.
        able: Whether it has joint states of every arm, so that it can take over.
    """

    heard: int
    sender: int
    state: GuardState
    able: bool

    @classmethod
    def of(cls, values: Sequence[int]) -> GuardReport | None:
        """Return the report of a message's numbers; None if they are invalid."""
        if len(values) != len(cls._fields) or values[2] > max(GuardState) or values[3] > 1:
            return None
        heard, sender, state, able = (int(value) for value in values)
        return cls(heard, sender, GuardState(state), bool(able))


class HeartbeatMonitor:
    """The guard's side of the protocol: times of taking over and handing back.

    Attributes:
        state: The state of the guard.
        watches: Whether a controller has commanded; the guard then watches this controller.
        beat: The last heartbeat of the watched controller, or of any if none is watched; None
            before the first.
        missing: Cause of the last takeover: missing "heartbeat", missing "command", or
            "controller" if the last heartbeat said that the controller ends.
        silence: Time without the missing messages at the last takeover [s].
        conflicts: Number of heartbeats of controllers that commanded although the guard was in
            charge, or watched another controller.

    Args:
        timeout: Time without a heartbeat after which the guard takes over [s].
        command_timeout: Time without a command after which the guard takes over while heartbeats
            say that arms rely on commands [s].
    """

    def __init__(self, timeout: float, command_timeout: float = math.inf) -> None:
        self.timeout, self.command_timeout = timeout, command_timeout
        self.state = GuardState.WATCHING
        self.watches = False
        self.beat: Beat | None = None
        self.missing, self.silence = "heartbeat", 0.0
        self.conflicts = 0
        self._commanded_at = 0.0  # or time of the first heartbeat that arms rely on commands
        self._received_at = self._awake_since = self._checked_at = 0.0
        self._other: Beat | None = None  # last heartbeat of any other controller
        self._other_at = 0.0
        self._conflict_at = -math.inf

    @property
    def sender(self) -> int:
        """The watched sender; 0 for none."""
        return self.beat.sender if self.watches and self.beat is not None else 0

    def age(self, now: float) -> float:
        """Return the time since the last heartbeat of the watched controller [s]."""
        return now - self._received_at

    def has_conflict(self, now: float) -> bool:
        """Return whether a controller has recently commanded without authority."""
        return now - self._conflict_at <= REPORT_S

    def receive(self, beat: Beat, now: float) -> bool:
        """Take a heartbeat; return whether it completes handing back the arms."""
        other = self.sender not in (0, beat.sender)
        handed_back = beat.commanding and self.state is GuardState.HANDING_BACK
        if other and not handed_back:
            self._other, self._other_at = beat, now
        else:
            if self.beat is None or beat.sender != self.beat.sender or not self.beat.commanding:
                self._commanded_at = now
            self.beat, self._received_at = beat, now
            self.watches |= beat.commanding
        if handed_back:
            self.state = GuardState.WATCHING
        elif beat.commanding and (other or self.state is GuardState.IN_CHARGE):
            self.conflicts += 1
            self._conflict_at = now
        return handed_back

    def commanded(self, now: float) -> None:
        """Note that a command has come."""
        self._commanded_at = now

    def check(self, now: float) -> bool:
        """Return whether to take over now; must be called once in a control period.

        A guard that was itself suspended waits for another timeout: it has not read the heartbeats
        sent meanwhile.
        """
        if now - self._checked_at > _SUSPENDED * self.timeout:
            self._awake_since = now
        self._checked_at = now
        if not self.watches or self.state is GuardState.IN_CHARGE or self.beat is None:
            return False
        if self.beat.ends:
            self.state = GuardState.IN_CHARGE
            self.missing, self.silence = "controller", self.age(now)
            return True
        for missing, at, timeout in (
            ("heartbeat", self._received_at, self.timeout),
            ("command", self._commanded_at, self.command_timeout),
        ):
            relied = missing == "heartbeat" or self.beat.commanding
            if relied and now - max(at, self._awake_since) > timeout:
                self.state = GuardState.IN_CHARGE
                self.missing, self.silence = missing, now - at
                return True
        return False

    def reset(self, now: float) -> None:
        """Hand back the arms when a controller commands them.

        Raises:
            GuardError: If the guard is not in charge, or no controller can take the arms.
        """
        if self.state is not GuardState.IN_CHARGE:
            raise GuardError(
                f"reset refused: the guard is {self.state.name.lower().replace('_', ' ')}; "
                "expected it in charge: there is nothing to reset."
            )
        if self._is_gone(now) and self._other is not None:
            # Another controller can get the arms.
            self.beat, self._received_at, self._other = self._other, self._other_at, None
        if self.beat is None or self._is_gone(now):
            ended = self.beat is not None and self.beat.ends
            silent = f"no heartbeat for {self.age(now):.3g} s"
            found = "the controller has ended" if ended else silent
            raise GuardError(f"reset refused: {found}; expected a running controller: start one.")
        if not self.beat.ready:
            raise GuardError(
                "reset refused: a fault is latched in the controller; expected a controller "
                "without faults: call its reset first."
            )
        self.state = GuardState.HANDING_BACK

    def _is_gone(self, now: float) -> bool:
        """Return whether the watched controller has ended or sends no heartbeats."""
        return self.age(now) > self.timeout or (self.beat is not None and self.beat.ends)


class OtherGuard:
    """Finds another guard, because more reports are received than sent.

    Reports do not name their sender, and the graph of ROS lists killed processes for some time.
    """

    def __init__(self) -> None:
        self._sent = self._received = 0
        self._since, self._there = 0.0, False

    def sent(self) -> None:
        """Count a report of this guard."""
        self._sent += 1

    def received(self) -> None:
        """Count a report of any guard, also of this one."""
        self._received += 1

    def is_there(self, now: float) -> bool:
        """Return whether another guard has reported recently."""
        if now - self._since >= _COUNTED_S:
            self._there = self._received > 1.5 * self._sent + 5
            self._sent = self._received = 0
            self._since = now
        return self._there


class CommandAuthority:
    """The controller's side of the protocol: permission to command, and presence of a guard.

    Attributes:
        sender: The sender of its heartbeats.
        report: The guard's last report; None before the first.
        suspended_s: Duration of the controller's last suspension [s]; 0 if the guard has answered
            since that it watches this controller: a later takeover has another cause.

    Args:
        timeout: Time without a heartbeat after which the guard takes over [s].
    """

    def __init__(self, timeout: float) -> None:
        self._timeout = timeout
        self.sender = secrets.randbits(63) + 1
        self.report: GuardReport | None = None
        self.suspended_s = 0.0
        self._report_at = 0.0
        self._beat: Beat | None = None
        self._beat_at = 0.0
        self._awaited: int | None = None  # number of the first heartbeat after a suspension
        self._awaited_since = 0.0

    def receive(self, report: GuardReport, now: float) -> None:
        """Take a report of the guard."""
        self.report, self._report_at = report, now
        answers = report.sender in (0, self.sender)
        if self._awaited is not None and answers and report.heard >= self._awaited:
            self._awaited = None
        if self._awaited is None and answers and report.state is GuardState.WATCHING:
            self.suspended_s = 0.0

    def hands_back(self, now: float) -> bool:
        """Return whether the guard hands back: it commands until a controller does."""
        report = self.report
        recent = report is not None and now - self._report_at <= REPORT_S
        return recent and report is not None and report.state is GuardState.HANDING_BACK

    def guard_is_there(self, now: float) -> bool:
        """Return whether a guard that could take over has reported recently."""
        report = self.report
        return report is not None and report.able and now - self._report_at <= REPORT_S

    def lost_to(self, now: float) -> str:
        """Return the process that has taken the arms; empty if none is known."""
        report = self.report
        if report is None or now - self._report_at > REPORT_S:
            return ""
        if report.state is GuardState.IN_CHARGE:
            return "the guard"
        watches = report.able and report.state is GuardState.WATCHING
        return "another controller" if watches and report.sender not in (0, self.sender) else ""

    def is_lost(self, now: float) -> bool:
        """Return whether another process commands the arms or could do so."""
        if self._beat is not None and now - self._beat_at > self._timeout:
            self.suspended_s = now - self._beat_at
            self._awaited, self._awaited_since = round(now * 1e9), now
        if self.report is None:
            return False
        if self._awaited is not None:
            if now - self._awaited_since <= REPORT_S:
                return True
            self._awaited = None  # no guard answers
        return bool(self.lost_to(now))

    def next_beat(
        self, now: float, commanding: bool, ready: bool, held: bool, ends: bool = False
    ) -> Beat:
        """Return the heartbeat to send now; `is_lost` must be called before."""
        self._beat = Beat(round(now * 1e9), self.sender, commanding, ready, held, ends)
        self._beat_at = now
        return self._beat


class GuardLink:
    """Sends the heartbeats of a controller, and acts on the reports of its guard.

    Args:
        node: The controller's node.
        inbox: Its subscriptions; reports must be the first.
        loop: The control loop.
        timeout: Time without a heartbeat after which the guard takes over [s].
        required: Whether control must not start without a guard.
    """

    def __init__(
        self, node: Node, inbox: Inbox, loop: ControlLoop, timeout: float, *, required: bool
    ) -> None:
        self._node, self._loop, self._required = node, loop, required
        self._authority = CommandAuthority(timeout)
        self._timeout = timeout
        self._lost_to = ""
        self._beat_at = 0.0
        self._interval = min(_IDLE_BEAT_S, _BEAT_FRACTION * timeout)
        self._sent: tuple[bool, bool, bool] | None = None
        self._topic = node.create_publisher(UInt64MultiArray, topics.HEARTBEAT, STREAM)
        self._writer = NumberWriter(Beat._fields)
        inbox.subscribe(UInt64MultiArray, topics.GUARD, self._on_report, STREAM, awaited=False)

    def destroy(self) -> None:
        """Destroy the publisher."""
        self._node.destroy_publisher(self._topic)

    def may_command(self, now: int) -> bool:
        """Return whether the node can send torques; latch a fault if another process took over.

        Args:
            now: The present time of the safety layer.
        """
        authority, clock = self._authority, time.monotonic()
        lost = authority.is_lost(clock)
        lost_to = authority.lost_to(clock)
        if lost_to and not self._lost_to:
            suspended = authority.suspended_s
            why = f": this process did not run for {suspended:.3g} s" if suspended else ""
            self._loop.fall_back(
                now,
                Cause.TAKEN_OVER,
                "controller",
                f"{lost_to} has taken over{why}; expected a heartbeat within {self._timeout:g} s, "
                "and commands.",
            )
        self._lost_to = lost_to
        return not lost

    def beat(self, *, commanding: bool) -> None:
        """Send a heartbeat."""
        self._sent = self._state(commanding)
        self._beat_at = time.monotonic()
        beat = self._authority.next_beat(self._beat_at, *self._sent)
        self._topic.publish(self._writer.fill(beat))

    def say_goodbye(self) -> None:
        """Send the last heartbeat."""
        _, _, held = self._state(False)
        beat = self._authority.next_beat(time.monotonic(), False, False, held, ends=True)
        self._topic.publish(self._writer.fill(beat))

    def wait_for_delivery(self, seconds: float) -> None:
        """Return when all heartbeats are acknowledged, or after a timeout [s]."""
        self._topic.wait_for_all_acked(Duration(seconds=seconds))

    def beat_with_command(self) -> None:
        """Send a heartbeat with a command if a field has changed or the last heartbeat is old.

        A heartbeat with every command would take much of a control period.
        """
        changed = self._sent != self._state(True)
        if changed or time.monotonic() - self._beat_at >= self._interval:
            self.beat(commanding=True)

    def beat_when_idle(self, now: int) -> None:
        """Send a heartbeat if none was sent with a command recently."""
        commanding = self.may_command(now)
        if time.monotonic() - self._beat_at > _IDLE_BEAT_S:
            self.beat(commanding=commanding)

    def _state(self, commanding: bool) -> tuple[bool, bool, bool]:
        """Return the fields `commanding`, `ready` and `held` of a heartbeat."""
        safety = self._loop.safety
        ready = safety.state not in (State.FALLBACK, State.STOPPED)
        # Arms that are all released to their drives rely on no commands.
        relied = safety.in_charge and len(safety.released) < len(self._loop.system.arms)
        return commanding and relied, ready, safety.object_held

    def require_guard(self) -> None:
        """Refuse a start while another process is in charge, or without a required guard.

        Raises:
            GuardError: If the start is refused.
        """
        if self.refusal:
            raise GuardError(self.refusal)

    @property
    def hands_back(self) -> bool:
        """Whether the guard hands back: it commands until this controller does."""
        return self._authority.hands_back(time.monotonic())

    @property
    def refusal(self) -> str:
        """Why a start is refused; empty if it is not."""
        if self._lost_to:
            wanted = "its reset" if self._lost_to == "the guard" else "only one controller"
            return f"start refused: {self._lost_to} is in charge; expected {wanted}."
        missing = self._missing() if self._required else ""
        return f"start refused: {missing}" if missing else ""

    @property
    def warning(self) -> str:
        """Warning of another process in charge or a missing guard; empty if all is well."""
        return f"{self._lost_to} is in charge" if self._lost_to else self._missing()

    def _missing(self) -> str:
        """Return why no guard can take over; empty if one can."""
        if self._authority.guard_is_there(time.monotonic()):
            return ""
        report = self._authority.report
        if report is not None and not report.able:
            return (
                "the guard is inactive or lacks joint states of an arm; expected one that can "
                "take over."
            )
        return (
            f"there is no guard, as no report came for {REPORT_S:g} s; expected one that can take "
            "over: start it."
        )

    def _on_report(self, message: UInt64MultiArray) -> None:
        report = GuardReport.of(message.data)
        if report is not None:
            self._authority.receive(report, time.monotonic())
