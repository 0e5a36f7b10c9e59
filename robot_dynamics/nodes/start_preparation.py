# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Conditions of a start, and the check of the path, while the fallback goes on.

The controller that is asked to start may hold the arms up: it sends commands and heartbeats
meanwhile. Conditions that may be met in a moment are waited for: samples of a simulator that was
reset, arms that come to rest, a guard that hands back, the discovery of nodes. The check of the
whole path takes a tenth of a second, on a busy machine seconds, and runs in another thread. Every
poll sleeps for a moment, so that this thread makes progress; it must end within a limit.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, wait

from rclpy.node import Node

from robot_dynamics.control.control_loop import ControlLoop
from robot_dynamics.control.faults import StaleStreamError
from robot_dynamics.control.start_check import NotAtRestError
from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.nodes.command_topics import CommandPublisherMonitor
from robot_dynamics.nodes.drives import DriveProperties
from robot_dynamics.nodes.heartbeat import GuardError, GuardLink

_FRESH_S = 0.25  # within which a state comes that is newer than the request of a start
PATIENCE_S = 1.0  # for messages in transit
SETTLE_S = 4.0  # for arms to come to rest, and for other nodes to be known
_PAUSE_S = 0.002  # between polls where nothing else is done
_LEAST_SHARE = 0.1  # of the processor that a busy machine leaves to this process
_SLEEP_S = 0.001  # of a poll, for the thread of the check: a twentieth of the loop's time


class NotYetError(RobotDynamicsError):
    """A condition of a start that may be met in a moment."""


class CheckThread:
    """Runs one check at a time in a daemon thread.

    Python's own pools wait for their threads when the process ends: a check that never ends would
    keep the process alive.
    """

    def __init__(self) -> None:
        self._last: Future[None] | None = None

    def submit(self, check: Callable[[], None]) -> Future[None]:
        """Begin a check; return the future of its outcome.

        Raises:
            NotYetError: If an earlier one is not over: two must not use the law at a time.
        """
        if self._last is not None and not self._last.done():
            raise NotYetError("start refused: the path of an earlier start is still checked.")
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
    """The conditions of a start: guard, other publishers of commands, drives, rates of samples.

    Args:
        node: The controller's node.
        loop: The control loop.
        link: Its heartbeats to a guard; None without one.
        publisher_monitor: Finds other publishers of commands.
        facts: Properties of the drives.
        joint_state_topics: Where joint states come from.
        received_at: Returns when joint states came last, by the steady clock [s].
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
            NotYetError: If samples come too slowly.
        """
        if self._link is not None:
            self._link.require_guard()
        known = self._publisher_monitor.require_none()
        if self._loop.clock.lockstep:
            return True  # a simulator's time waits for everything
        known &= self._facts.require_known(self._node, self._topics)
        slow = self._loop.joint_states.rate_warning
        if slow:
            raise NotYetError(f"start refused: {slow}")
        return known and self._loop.joint_states.rates_known

    def require_known(self, asked_at: float) -> None:
        """Refuse a start until all conditions are checked, with states received after a time [s].

        Raises:
            RobotDynamicsError: As `require` does.
            NotYetError: If a condition cannot be checked yet.
        """
        if not self.require():
            raise NotYetError(
                "start refused: it is not known yet which nodes there are, or how often arms are "
                "sampled."
            )
        if self._heard_at() < asked_at and time.monotonic() < asked_at + _FRESH_S:
            raise NotYetError("start refused: no joint states have come since it was asked for.")


class SlowCheckError(RobotDynamicsError):
    """A check that was not over in time."""


#: Errors that refuse a start only if they last longer than `PATIENCE_S`, or `SETTLE_S`.
_TRANSIENT = (StaleStreamError, GuardError)
_SETTLING = (NotYetError, NotAtRestError)


class StartPreparation:
    """From the request of a start to a checked path.

    Args:
        loop: The control loop.
        conditions: Raises an error if a condition outside the control loop is violated.
        thread: Runs the check of the path.
        limit_s: Processor time of this process that it may take [s]; ten times as long by the
            clock.
        meanwhile: Called repeatedly until the path is checked, in lockstep; None if `poll` is to
            return at once.
    """

    def __init__(
        self,
        loop: ControlLoop,
        conditions: Callable[[], object],
        thread: CheckThread,
        limit_s: float,
        meanwhile: Callable[[], None] | None = None,
    ) -> None:
        self._loop, self._conditions = loop, conditions
        self._thread, self._limit, self._meanwhile = thread, limit_s, meanwhile
        self._check: Future[None] | None = None
        self._asked_at = self._checked_from = time.monotonic()
        self._used_before = 0.0

    @property
    def done(self) -> bool:
        """Whether the path was checked and found good."""
        check = self._check
        return check is not None and check.done() and check.exception() is None

    def poll(self) -> bool:
        """Continue; return whether control may start now.

        Raises:
            RobotDynamicsError: If it must not.
        """
        waited = time.monotonic() - self._asked_at
        try:
            self._advance()
        except _TRANSIENT:
            if waited <= PATIENCE_S:
                return False
            raise
        except _SETTLING as error:
            if waited <= SETTLE_S:
                return False
            raise NotYetError(f"{error} It was waited for {SETTLE_S:g} s.") from error
        return self.done

    def finish(self, meanwhile: Callable[[], None]) -> None:
        """Return when control may start, without waiting for conditions.

        Args:
            meanwhile: Called repeatedly until the path is checked.

        Raises:
            RobotDynamicsError: If it must not.
        """
        self._meanwhile = meanwhile
        self._advance()

    def _advance(self) -> None:
        """Begin the check of the path when all conditions are met; raise its error."""
        loop = self._loop
        loop.require_startable()
        if self._check is None:
            self._conditions()
            now = loop.clock.now()
            loop.require_samples(now)
            loop.forget_pause(now)
            self._check = self._thread.submit(loop.prepare(now))
            self._checked_from, self._used_before = time.monotonic(), time.process_time()
        self._wait_for(self._check)

    def _wait_for(self, check: Future[None]) -> None:
        """Wait for the check, for a moment or until it is over; raise its error."""
        if self._meanwhile is None and not check.done():
            time.sleep(_SLEEP_S)
        while not check.done():
            if time.process_time() - self._used_before > self._limit:
                raise SlowCheckError(
                    f"start refused: the check of the path was not over after {self._limit:.3g} s "
                    "of processor time; expected a shorter reference."
                )
            longest = self._limit / _LEAST_SHARE
            if time.monotonic() - self._checked_from > longest:
                raise SlowCheckError(
                    f"start refused: the check of the path was not over after {longest:.3g} s; "
                    "expected a machine with more time."
                )
            if self._meanwhile is None:
                return
            self._meanwhile()
            time.sleep(_PAUSE_S)
        check.result()
