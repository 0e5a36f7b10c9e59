# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Commands that were late, and a simulator that falls silent."""

from __future__ import annotations

import time
from collections.abc import Mapping

from robot_dynamics.control.control_loop import ControlLoop, Outcome
from robot_dynamics.control.faults import Cause
from robot_dynamics.nodes.process import RunError


class CommandPace:
    """Ends control when drives had no command for longer than they wait for one.

    A drive that holds its last torque changes nothing by itself. Others brake or let go, and
    control that goes on against that ends later, for reasons that mislead.

    Args:
        loop: The controller.
        without_commands: What each arm's drive does when commands stop, by the arm's name.
        timeout_s: How long drives wait [s].
    """

    def __init__(
        self, loop: ControlLoop, without_commands: Mapping[str, str], timeout_s: float
    ) -> None:
        arms = [arm for arm, does in without_commands.items() if does != "hold"]
        self._loop, self._arms, self._timeout = loop, ", ".join(arms), timeout_s
        self.forget()

    def forget(self) -> None:
        """Begin anew, with the next command."""
        self._sent_at: float | None = None

    def note_command(self) -> None:
        """Note that commands were sent."""
        self._sent_at = time.monotonic()

    def watch(self, now: int) -> None:
        """Hand over to the fallback if control runs and the last command is too long ago."""
        if self._sent_at is None or not self._arms or not self._loop.safety.law_runs:
            return
        late = time.monotonic() - self._sent_at
        if late > self._timeout:
            sentence = (
                f"no command was sent for {late:.3g} s; expected one within {self._timeout:g} s, "
                f"after which the drives of {self._arms} act on their own."
            )
            self._loop.fall_back(now, Cause.CONTROLLER_FAILED, "controller", sentence)


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
    """

    def __init__(self, loop: ControlLoop, limit_s: float, patience_s: float | None) -> None:
        self._loop, self._limit, self._patience = loop, limit_s, patience_s
        self.sentence = ""
        self.forget()

    def forget(self) -> None:
        """Count silence from now on."""
        self._since = time.monotonic()

    def look(self, heard_at: float) -> Outcome | None:
        """Return what to send because the simulator has just gone; None if it has not.

        Args:
            heard_at: When joint states came last, by the steady clock [s].

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
        if self.sentence or not self._loop.clock.lockstep:
            return None
        self.sentence = (
            f"no joint states for {silent:.2g} s of wall-clock time; the simulator is gone."
        )
        outcome = None
        for arm in self._loop.system.arms:
            outcome = self._loop.fall_back(
                self._loop.clock.now(), Cause.ARM_LOST, arm.name, self.sentence
            )
        return outcome
