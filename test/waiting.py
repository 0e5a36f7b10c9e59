# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Tests wait for what other threads and processes do in one way."""

from __future__ import annotations

import time
from collections.abc import Callable

PATIENCE_S = 120.0  # for what takes some seconds at most where the machine has time
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
        meanwhile: What is done between looks.
        seconds: How long is waited [s].
        words: Returns what the failure tells.
    """
    until = time.monotonic() + seconds
    while not happened():
        assert time.monotonic() < until, words()
        meanwhile()
