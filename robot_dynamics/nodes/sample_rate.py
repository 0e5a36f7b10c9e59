# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""How often a stream brings something new."""

from __future__ import annotations

WINDOW_S = 0.5


class SampleRate:
    """Counts samples over windows of time.

    Attributes:
        hz: Samples a second in the last whole window; None before there is one.

    Args:
        unit_s: Unit of times [s].
    """

    def __init__(self, unit_s: float) -> None:
        self._unit_s = unit_s
        self.hz: float | None = None
        self._began: int | None = None
        self._last: int | None = None
        self._count = 0

    def note(self, now: int) -> None:
        """Count a sample that has come; those of one instant are one."""
        if now == self._last:
            return
        self._last = now
        if self._began is None:
            self._began = now
            return
        self._count += 1
        seconds = (now - self._began) * self._unit_s
        if seconds >= WINDOW_S:
            self.hz = self._count / seconds
            self._began, self._count = now, 0
