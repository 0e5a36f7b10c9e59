# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Faults of a simulated plant that are switched on while it runs, and since when they show."""

from __future__ import annotations

import time

from robot_dynamics.simulation.faults import Faults, fault_of


class FaultSwitch:
    """Switches faults, and notes when messages show them first.

    Args:
        faults: Those of the plant.
        in_lockstep: Whether times are told as control ticks, or by the steady clock [ns].
    """

    def __init__(self, faults: Faults, *, in_lockstep: bool) -> None:
        self._faults, self._in_lockstep = faults, in_lockstep
        self.forget()

    def forget(self) -> None:
        """Forget what was shown."""
        self._began: int | None = None
        self._shown: int | None = None
        self._told: int | None = None

    @property
    def active(self) -> bool:
        """Whether any fault is on."""
        return bool(self._faults.active)

    @property
    def untold(self) -> bool:
        """Whether a fault shows that `figures` have not told of."""
        return self._told != self._shown

    def switch(self, text: str) -> None:
        """Have the faults that a text names, separated by commas, and no others.

        Raises:
            RobotDynamicsError: If one is none.
        """
        texts = [part for part in text.split(",") if part.strip()]
        if texts or self._faults.active:
            self._faults.switch([fault_of(part) for part in texts])

    def note(self, tick: int) -> None:
        """Note that the state of a tick was published."""
        if self._began != self._faults.began:
            self._began = self._faults.began
            self._shown = tick if self._in_lockstep else time.monotonic_ns()

    def figures(self) -> dict[str, object]:
        """Return since when a fault shows, for the diagnostics; empty if none has shown."""
        self._told = self._shown
        if self._shown is None:
            return {}
        return {
            "simulated fault since": self._shown,
            "simulated fault is on": self._faults.active,
        }
