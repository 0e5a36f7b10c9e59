# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Commands that were late: what arms do after that is their drives' doing, and not the law's."""

from __future__ import annotations

import time
from collections.abc import Mapping

from robot_dynamics.control.faults import Cause
from robot_dynamics.nodes.control_loop import ControlLoop


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
        """Hand over to the fallback if control runs and the last command is too long ago.

        Args:
            now: The present time of the safety layer.
        """
        if self._sent_at is None or not self._arms or not self._loop.safety.law_runs:
            return
        late = time.monotonic() - self._sent_at
        if late > self._timeout:
            sentence = (
                f"no command was sent for {late:.3g} s; expected one within {self._timeout:g} s, "
                f"after which the drives of {self._arms} act on their own."
            )
            self._loop.fall_back(now, Cause.CONTROLLER_FAILED, "controller", sentence)
