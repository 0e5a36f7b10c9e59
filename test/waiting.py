# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Tests wait for other threads and processes in one way."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

PATIENCE_S = 240.0  # for what takes some seconds at most where the machine has time
_PAUSE_S = 0.01


def wait_until(
    happened: Callable[[], object],
    meanwhile: Callable[[], object] = lambda: time.sleep(_PAUSE_S),
    *,
    seconds: float = PATIENCE_S,
    words: Callable[[], object] = lambda: "",
) -> None:
    """Return when something has happened; fail if it does not in time.

    Args:
        happened: Returns whether it has.
        meanwhile: Called between looks.
        seconds: How long is waited [s].
        words: Returns the text of the failure.
    """
    until = time.monotonic() + seconds
    while not happened():
        assert time.monotonic() < until, words()
        meanwhile()


@contextmanager
def interrupted_when(
    happened: Callable[[], object], pause_s: float = 0.1, number: int = signal.SIGINT
) -> Iterator[None]:
    """Send this process a signal once something has happened, unless the body is over by then.

    A signal that comes after a test that failed would end all tests.

    Args:
        happened: Returns whether it has.
        pause_s: How long is waited after that [s].
        number: The signal.
    """
    over = threading.Event()

    def interrupt() -> None:
        while not happened():
            if over.wait(_PAUSE_S):
                return
        if not over.wait(pause_s):
            os.kill(os.getpid(), number)

    thread = threading.Thread(target=interrupt, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
