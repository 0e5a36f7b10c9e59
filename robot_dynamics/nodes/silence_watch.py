# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A simulator that falls silent: in lockstep nothing but the wall clock would notice."""

from __future__ import annotations

import time

from robot_dynamics.control.faults import Cause
from robot_dynamics.nodes.control_loop import ControlLoop, Outcome
from robot_dynamics.nodes.process import RunError


class SilenceWatch:
    """Looks at how long no joint states have come.

    On the wall clock the streams' own staleness ends control; here only a run that never begins
    is noticed.

    Attributes:
        sentence: What is wrong; empty if nothing is.

    Args:
        loop: The controller.
        limit_s: Silence after which the simulator counts as gone [s].
        patience_s: How long to wait for it to appear [s]; None for ever.
        in_lockstep: Whether simulated time waits for commands.
    """

    def __init__(
        self, loop: ControlLoop, limit_s: float, patience_s: float | None, in_lockstep: bool
    ) -> None:
        self._loop, self._limit, self._patience = loop, limit_s, patience_s
        self._in_lockstep = in_lockstep
        self.sentence = ""
        self.forget()

    def forget(self) -> None:
        """Count silence from now on."""
        self._since = time.monotonic()

    def look(self, heard_at: float, tick: int) -> Outcome | None:
        """Return what to send because the simulator has just gone; None if it has not.

        Args:
            heard_at: When joint states came last, by the steady clock [s].
            tick: The control tick.

        Raises:
            RunError: If it has not appeared in time.
        """
        silent = time.monotonic() - max(heard_at, self._since)
        if self._loop.began is None:
            if self._patience is not None and silent > self._patience:
                raise RunError(
                    f"no joint states for {self._patience:g} s; expected a simulator of the same "
                    "scenario and mode in the same ROS domain."
                )
            return None
        if silent <= self._limit:
            self.sentence = ""
            return None
        if self.sentence or not self._in_lockstep:
            return None
        self.sentence = (
            f"no joint states for {silent:.2g} s of wall-clock time; the simulator is gone."
        )
        outcome = None
        for arm in self._loop.system.arms:
            outcome = self._loop.fall_back(tick, Cause.ARM_LOST, arm.name, self.sentence)
        return outcome
