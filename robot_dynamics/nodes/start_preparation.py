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

import time
from collections.abc import Callable
from concurrent.futures import Future

from robot_dynamics.control.faults import StaleStreamError
from robot_dynamics.control.start_check import NotAtRestError
from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.nodes.check_thread import CheckThread, NotYetError
from robot_dynamics.nodes.control_loop import ControlLoop
from robot_dynamics.nodes.heartbeat import GuardError

PATIENCE_S = 1.0  # for messages that are on their way
SETTLE_S = 4.0  # for arms to come to rest, and for other nodes to be known
_PAUSE_S = 0.002  # between looks of who waits for nothing but the check
_GIVEN_S = 0.001  # to the thread of the check by a look: one twentieth of the control loop's time


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
        now: The present time of the safety layer.
        thread: Does the check of the path.
        limit_s: How long that may take [s].
        meanwhile: Called again and again until the path is checked, where simulated time waits for
            that; None to look again later.
    """

    def __init__(
        self,
        loop: ControlLoop,
        conditions: Callable[[], object],
        now: Callable[[], int],
        thread: CheckThread,
        limit_s: float,
        meanwhile: Callable[[], None] | None = None,
    ) -> None:
        self._loop, self._conditions, self._now = loop, conditions, now
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
            now = self._now()
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
