# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The thread that checks a path while the one that controls goes on.

Python's own pools wait for their threads when the process ends: a check that never ends would keep
a node alive that has let go of its arms. This thread ends with the process.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future, wait

from robot_dynamics.errors import RobotDynamicsError


class NotYetError(RobotDynamicsError):
    """A condition of a start that may be met in a moment."""


class CheckThread:
    """Does one check at a time."""

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
