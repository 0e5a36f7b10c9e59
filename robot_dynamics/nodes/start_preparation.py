# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What has to be so before control starts, looked at while the fallback goes on.

Arms may hang on the controller that is asked to start: it commands and beats meanwhile. What comes
about by itself is waited for: samples of a simulator that was reset, arms that come to rest, a
guard that hands back, the names of nodes. The check of the whole path takes a tenth of a second,
on a busy machine seconds, and is done by another thread. That thread gets time from every look,
so that it comes to an end beside a control loop that never rests; and it must end within a limit.
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

_FRESH_S = 0.25  # within which a state comes that is newer than the wish to start
PATIENCE_S = 1.0  # for messages that are on their way
SETTLE_S = 4.0  # for arms to come to rest, and for other nodes to be known
_PAUSE_S = 0.002  # between looks of who waits for nothing but the check
_GIVEN_S = 0.001  # to the thread of the check by a look: one twentieth of the control loop's time


class NotYetError(RobotDynamicsError):
    """A condition of a start that may be met in a moment."""


class CheckThread:
    """Does one check at a time, beside control.

    Python's own pools wait for their threads when the process ends: a check that never ends would
    keep a node alive that has let go of its arms. This thread ends with the process.
    """

    def __init__(self) -> None:
        self._last: Future[None] | None = None

    def submit(self, check: Callable[[], None]) -> Future[None]:
        """Begin a check; return what will hold its outcome.

        Raises:
            NotYetError: If the one before is not over: nobody waits for it any more, but what it
                works on must not be used twice.
        """
        if self._last is not None and not self._last.done():
            raise NotYetError("start refused: the path of an earlier start is still checked.")
        self._last = outcome = Future[None]()
        threading.Thread(
            target=_do, args=(check, outcome), name="start check", daemon=True
        ).start()
        return outcome

    def close(self, patience_s: float) -> None:
        """Wait for a check that goes on, but not for ever."""
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
    """Guard, other commanders, drives, and the rates of samples.

    Args:
        node: The controller's node.
        loop: The controller.
        link: Its line to a guard, if there is to be one.
        publisher_monitor: Who else commands.
        facts: What the arms' drives do.
        joint_state_topics: Where joint states come from.
        heard_at: Returns when joint states came last, by the steady clock [s].
    """

    def __init__(
        self,
        node: Node,
        loop: ControlLoop,
        link: GuardLink | None,
        publisher_monitor: CommandPublisherMonitor,
        facts: DriveProperties,
        joint_state_topics: Sequence[str],
        heard_at: Callable[[], float],
    ) -> None:
        self._node, self._loop, self._link = node, loop, link
        self._publisher_monitor, self._facts = publisher_monitor, facts
        self._topics, self._heard_at = tuple(joint_state_topics), heard_at

    def about_guard(self) -> str:
        """Return what stands against a start about the guard; empty if nothing does."""
        try:
            if self._link is not None:
                self._link.require_guard()
        except RobotDynamicsError as error:
            return str(error)
        return ""

    def require(self) -> bool:
        """Refuse a start where it is known that something is wrong.

        Returns:
            Whether everything is known.

        Raises:
            GuardError: If the guard has the arms, or is needed and missing.
            OtherPublisherError: If somebody else commands them.
            SafetyError: If nobody has said what their drives do.
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
        """Refuse a start until everything is known, from states that came after a time [s].

        Raises:
            RobotDynamicsError: As `require` does.
            NotYetError: If something is not known yet.
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


#: What refuses a start only if it has not passed within `PATIENCE_S`, or `SETTLE_S`.
_ON_THEIR_WAY = (StaleStreamError, GuardError)
_SETTLING = (NotYetError, NotAtRestError)


class StartPreparation:
    """The way from the wish to start to a path that was checked.

    Args:
        loop: The controller.
        conditions: Raises what stands against a start outside the controller.
        thread: Does the check of the path.
        limit_s: How long that may take [s].
        meanwhile: Called again and again until the path is checked, where simulated time waits for
            that; None to look again later.
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

    @property
    def done(self) -> bool:
        """Whether the path was checked and found good."""
        check = self._check
        return check is not None and check.done() and check.exception() is None

    def look(self) -> bool:
        """Go on; return whether control may start now.

        Raises:
            RobotDynamicsError: If it must not; one sentence says why.
        """
        waited = time.monotonic() - self._asked_at
        try:
            self._go_on()
        except _ON_THEIR_WAY:
            if waited <= PATIENCE_S:
                return False
            raise
        except _SETTLING as error:
            if waited <= SETTLE_S:
                return False
            raise NotYetError(f"{error} It was waited for {SETTLE_S:g} s.") from error
        return self.done

    def finish(self, meanwhile: Callable[[], None]) -> None:
        """Return when control may start, where nothing comes about while one waits.

        Args:
            meanwhile: Called again and again until the path is checked.

        Raises:
            RobotDynamicsError: If it must not; one sentence says why.
        """
        self._meanwhile = meanwhile
        self._go_on()

    def _go_on(self) -> None:
        """Begin the check of the path when everything else is good; raise what it has found."""
        loop = self._loop
        loop.require_startable()
        if self._check is None:
            self._conditions()
            now = loop.clock.now()
            loop.require_samples(now)
            loop.forget_pause(now)
            self._check = self._thread.submit(loop.prepare(now))
            self._checked_from = time.monotonic()
        self._wait_for(self._check)

    def _wait_for(self, check: Future[None]) -> None:
        """Give the check some time, or all that it takes; raise what it has found."""
        if self._meanwhile is None and not check.done():
            time.sleep(_GIVEN_S)
        while not check.done():
            if time.monotonic() - self._checked_from > self._limit:
                raise SlowCheckError(
                    f"start refused: the check of the path was not over after {self._limit:.3g} "
                    "s; expected a shorter reference, or a machine with more time."
                )
            if self._meanwhile is None:
                return
            self._meanwhile()
            time.sleep(_PAUSE_S)
        check.result()
