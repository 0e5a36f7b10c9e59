# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Timeouts of the controller: late commands, and missing joint states."""

from __future__ import annotations

import time
from collections.abc import Mapping

from robot_dynamics.control.control_loop import ControlLoop, Outcome
from robot_dynamics.control.faults import Cause
from robot_dynamics.nodes.process import RunError
from robot_dynamics.wording import apart


class CommandTimeout:
    """Ends control when no command was sent for longer than the timeout of the drives.

    A drive that holds its last torque has no timeout. Other drives brake or go to zero torque:
    control would end later, with a misleading cause.

    Args:
        loop: The control loop.
        without_commands: Reaction of each arm's drives when commands stop, by the arm's name.
        timeout_s: Timeout of the drives [s].
    """

    def __init__(
        self, loop: ControlLoop, without_commands: Mapping[str, str], timeout_s: float
    ) -> None:
        arms = [arm for arm, does in without_commands.items() if does != "hold"]
        self._loop, self._arms, self._timeout = loop, ", ".join(arms), timeout_s
        self.reset()

    def reset(self) -> None:
        """Start with the next command."""
        self._sent_at: float | None = None

    def command_sent(self) -> None:
        """Store the time of commands that were sent."""
        self._sent_at = time.monotonic()

    def check(self, now: int) -> None:
        """Hand over to the fallback if control runs and the last command is too old."""
        if self._sent_at is None or not self._arms or not self._loop.safety.law_runs:
            return
        late = time.monotonic() - self._sent_at
        if late > self._timeout:
            found, limit = apart(late, self._timeout)
            sentence = (
                f"no command was sent for {found} s; expected one within {limit} s, the timeout "
                f"of the drives of {self._arms}."
            )
            self._loop.fall_back(now, Cause.CONTROLLER_FAILED, "controller", sentence)


class SilenceMonitor:
    """Measures the time without joint states.

    On the wall clock stale streams end control; this monitor finds only a run that never begins.

    Attributes:
        sentence: The problem; empty if there is none.

    Args:
        loop: The control loop.
        limit_s: Time without joint states after which the simulator counts as lost [s].
        patience_s: Longest wait for the first joint states [s]; None without a limit.
    """

    def __init__(self, loop: ControlLoop, limit_s: float, patience_s: float | None) -> None:
        self._loop, self._limit, self._patience = loop, limit_s, patience_s
        self.sentence = ""
        self.reset()

    def reset(self) -> None:
        """Measure from now on."""
        self._since = time.monotonic()

    def check(self, received_at: float) -> Outcome | None:
        """Return the outcome to send if the simulator was just lost; else None.

        Args:
            received_at: Time of the last joint states, by the steady clock [s].

        Raises:
            RunError: If no joint states came in time.
        """
        silent = time.monotonic() - max(received_at, self._since)
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
        if self.sentence or not self._loop.clock.lockstep:
            return None
        found, limit = apart(silent, self._limit)
        self.sentence = (
            f"no joint states for {found} s of wall-clock time; expected some within {limit} s: "
            "the simulator was lost."
        )
        outcome = None
        for arm in self._loop.system.arms:
            outcome = self._loop.fall_back(
                self._loop.clock.now(), Cause.ARM_LOST, arm.name, self.sentence
            )
        return outcome
