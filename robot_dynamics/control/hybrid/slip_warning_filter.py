# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What a monitor says of slip in every control period, told once for each time that it comes."""

from __future__ import annotations

import numpy as np

from robot_dynamics.control.hybrid.slip_monitor import SlipReport

_MOST = 20  # sentences that are remembered
# Without danger, after which it is over: margins cross their threshold back and forth [s].
_OVER_S = 0.5


class SlipWarningFilter:
    """Tells of contacts that come near to slipping.

    Attributes:
        told: What has been told since `forget`.

    Args:
        period: Of control [s].
    """

    def __init__(self, period: float) -> None:
        self._period = period
        self._over = round(_OVER_S / period)
        self.forget()

    def forget(self) -> None:
        """Begin anew."""
        self.told: list[str] = []
        self._present: dict[int, str] = {}
        self._seen: dict[int, int] = {}  # when each of these was in danger last

    @property
    def present(self) -> tuple[str, ...]:
        """What was told of the contacts that are in danger now."""
        return tuple(self._present.values())

    def take(self, tick: int, report: SlipReport) -> None:
        """Take what the monitor says at a tick."""
        if report.warnings:
            short = np.flatnonzero(np.isfinite(report.when))
            for i, sentence in zip(short.tolist(), report.warnings, strict=True):
                self._seen[i] = tick
                if i not in self._present:
                    self._present[i] = f"at {tick * self._period:.3g} s: {sentence}"
                    if len(self.told) < _MOST:
                        self.told.append(self._present[i])
        if self._present:
            over = [i for i in self._present if tick - self._seen[i] > self._over]
            for i in over:
                del self._present[i], self._seen[i]
