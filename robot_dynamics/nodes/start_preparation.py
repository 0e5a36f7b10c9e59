# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Conditions of a start, and the check of the path, while the fallback is in charge.

The controller can be holding the arms up before its start: it sends commands and heartbeats
meanwhile. It waits for conditions that can be met in a moment: samples of a simulator that was
reset, arms that come to rest, a guard that hands back, the discovery of nodes. The check of the
whole path takes a tenth of a second, on a busy machine seconds. It runs in another thread, with a
time limit. Every poll sleeps for a moment, so that this thread makes progress.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, wait

from rclpy.node import Node

from robot_dynamics.control.control_loop import ControlLoop
from robot_dynamics.control.faults import StaleStreamError
from robot_dynamics.control.gains import largest_sample_age
from robot_dynamics.control.planned_law import PlannedLaw
from robot_dynamics.control.resume import Way
from robot_dynamics.control.start_check import NotAtRestError
from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.nodes.command_topics import CommandPublisherMonitor
from robot_dynamics.nodes.drives import DriveProperties
from robot_dynamics.nodes.heartbeat import GuardError, GuardLink

_FRESH_S = 0.25  # longest wait for a state that is newer than the request of a start
PATIENCE_S = 1.0  # longest wait for messages in transit
SETTLE_S = 4.0  # longest wait for arms to come to rest, and for the discovery of nodes
_PAUSE_S = 0.002  # pause between polls without other work
_LEAST_SHARE = 0.1  # share of the processor that a busy machine leaves to this process
_SLEEP_S = 0.001  # sleep of a poll, for the thread of the check: a twentieth of the loop's time


class NotYetError(RobotDynamicsError):
    """A condition of a start that can be met in a moment."""


class CheckThread:
    """Runs one check at a time in a daemon thread.

    Python's thread pools wait for their threads at the end of the process: a check without end
    would keep the process alive.
    """

    def __init__(self) -> None:
        self._last: Future[None] | None = None

    def require_idle(self) -> None:
        """Refuse a start while an earlier check runs: two starts must not share the law.

        Raises:
            NotYetError: If one runs.
        """
        if self._last is not None and not self._last.done():
            raise NotYetError(
                "start refused: the path check of an earlier start still runs; expected its end: "
                "try again later."
            )

    def submit(self, check: Callable[[], None]) -> Future[None]:
        """Begin a check while none runs; return the future of its outcome."""
        self._last = outcome = Future[None]()
        threading.Thread(
            target=_do, args=(check, outcome), name="start check", daemon=True
        ).start()
        return outcome

    def close(self, patience_s: float) -> None:
        """Wait for a running check, up to a timeout [s]."""
        if self._last is not None:
            wait([self._last], patience_s)


def _do(check: Callable[[], None], outcome: Future[None]) -> None:
    try:
        check()
    except BaseException as error:
        outcome.set_exception(error)
    else:
        outcome.set_result(None)


class StartConditions:
    """The conditions of a start: guard, other publishers, drives, rates and ages of samples.

    Args:
        node: The controller's node.
        loop: The control loop.
        link: Its heartbeats to a guard; None without one.
        publisher_monitor: Finds other publishers of commands.
        facts: Properties of the drives.
        joint_state_topics: Topics of joint states.
        received_at: Returns the time of the last joint states, by the steady clock [s].
    """

    def __init__(
        self,
        node: Node,
        loop: ControlLoop,
        link: GuardLink | None,
        publisher_monitor: CommandPublisherMonitor,
        facts: DriveProperties,
        joint_state_topics: Sequence[str],
        received_at: Callable[[], float],
    ) -> None:
        self._node, self._loop, self._link = node, loop, link
        self._publisher_monitor, self._facts = publisher_monitor, facts
        self._topics, self._heard_at = tuple(joint_state_topics), received_at

    def guard_refusal(self) -> str:
        """Return why the guard does not allow a start; empty if it does."""
        return "" if self._link is None else self._link.refusal

    def require(self) -> bool:
        """Refuse a start if a condition is violated.

        Returns:
            Whether all conditions could be checked.

        Raises:
            GuardError: If the guard is in charge, or is required and missing.
            OtherPublisherError: If another node publishes commands.
            SafetyError: If properties of the drives are not stated.
            NotYetError: If the rate of samples is too low, or their age too large for the gains.
        """
        if self._link is not None:
            self._link.require_guard()
        known = self._publisher_monitor.require_none()
        if self._loop.clock.lockstep:
            return True  # simulated time waits
        known &= self._facts.require_known(self._node, self._topics)
        slow = self._loop.joint_states.rate_warning
        if slow:
            raise NotYetError(f"start refused: {slow}")
        if not self._loop.joint_states.rates_known:  # nor a mean of the ages
            return False
        self._require_recent_samples()
        return known

    def _require_recent_samples(self) -> None:
        """Refuse samples whose age leaves less than a period of delay margin."""
        law = self._loop.law
        if not isinstance(law, PlannedLaw):
            return
        servo, largest = largest_sample_age(law.requested_settings)
        old = self._loop.joint_states.age_warning(largest)
        if old:
            raise NotYetError(
                f"start refused: {old} with the gains of control.{servo.partition('.')[0]}: "
                "raise realtime_priority, lower these gains, use a faster topic, or synchronise "
                "the clocks."
            )

    def require_known(self, asked_at: float) -> None:
        """Refuse a start until all conditions are checked, with states received after a time [s].

        Raises:
            RobotDynamicsError: As `require` does.
            NotYetError: If a condition cannot be checked yet.
        """
        if not self.require():
            raise NotYetError(
                "start refused: publishers of commands and joint states, or the rate of samples, "
                "are not known yet; expected both: try again later."
            )
        if self._heard_at() < asked_at and time.monotonic() < asked_at + _FRESH_S:
            raise NotYetError(
                "start refused: no joint states since the request; expected new joint states of "
                "all arms."
            )


class SlowCheckError(RobotDynamicsError):
    """A path check that exceeded its time limit."""


#: Errors that refuse a start only if they last longer than `PATIENCE_S`, or `SETTLE_S`.
_TRANSIENT = (StaleStreamError, GuardError)
_SETTLING = (NotYetError, NotAtRestError)


class StartPreparation:
    """Preparation of a start, from its request to the checked path.

    It chooses how the law begins, and must be over before another one does.

    Attributes:
        over: Whether `poll` has returned true, or has refused the start.

    Args:
        loop: The control loop.
        conditions: Raises an error if a condition outside the control loop is violated.
        thread: Runs the check of the path.
        limit_s: Limit of the check: processor time of this process [s], or ten times as long by
            the clock.
        meanwhile: Called repeatedly until the path is checked, in lockstep; with None `poll`
            returns at once.
        way: How control begins; see `FollowsPlan.choose_start`.
    """

    def __init__(
        self,
        loop: ControlLoop,
        conditions: Callable[[], object],
        thread: CheckThread,
        limit_s: float,
        meanwhile: Callable[[], None] | None = None,
        way: Way = "start",
    ) -> None:
        self._loop, self._conditions = loop, conditions
        self._thread, self._limit, self._meanwhile = thread, limit_s, meanwhile
        self._way: Way = way
        self.over = False
        self._check: Future[None] | None = None
        self._asked_at = self._checked_from = time.monotonic()
        self._used_before = 0.0

    @property
    def done(self) -> bool:
        """Whether the path was checked without an error."""
        check = self._check
        return check is not None and check.done() and check.exception() is None

    def poll(self) -> bool:
        """Continue; return whether control can start now.

        Raises:
            RobotDynamicsError: If the start is refused.
        """
        waited = time.monotonic() - self._asked_at
        self.over = True
        try:
            self._advance()
            self.over = self.done
        except _TRANSIENT:
            if waited > PATIENCE_S:
                raise
            self.over = False
        except _SETTLING as error:
            if waited > SETTLE_S:
                raise NotYetError(f"{error} The start waited for {SETTLE_S:g} s.") from error
            self.over = False
        return self.over

    def finish(self, meanwhile: Callable[[], None]) -> None:
        """Return when control can start, without waiting for conditions.

        Args:
            meanwhile: Called repeatedly until the path is checked.

        Raises:
            RobotDynamicsError: If the start is refused.
        """
        self._meanwhile = meanwhile
        self._advance()

    def _advance(self) -> None:
        """Begin the check of the path when all conditions are met; raise its error."""
        loop = self._loop
        loop.require_startable(self._way)
        if self._check is None:
            self._conditions()
            self._thread.require_idle()
            now = loop.clock.now()
            loop.require_samples(now)
            loop.forget_pause(now)
            self._check = self._thread.submit(loop.prepare(now, self._way))
            self._checked_from, self._used_before = time.monotonic(), time.process_time()
        self._wait_for(self._check)

    def _wait_for(self, check: Future[None]) -> None:
        """Wait for the check, for a moment or until it is over; raise its error."""
        if self._meanwhile is None and not check.done():
            time.sleep(_SLEEP_S)
        while not check.done():
            if time.process_time() - self._used_before > self._limit:
                raise SlowCheckError(
                    f"start refused: the path check takes more than {self._limit:.3g} s of "
                    "processor time; expected less: shorten the reference."
                )
            longest = self._limit / _LEAST_SHARE
            if time.monotonic() - self._checked_from > longest:
                raise SlowCheckError(
                    f"start refused: the path check takes more than {longest:.3g} s; expected "
                    "less: end other processes on this machine."
                )
            if self._meanwhile is None:
                return
            self._meanwhile()
            time.sleep(_PAUSE_S)
        check.result()
