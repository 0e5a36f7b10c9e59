# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The lockstep protocol: which messages belong together, and what to do about lost ones.

The simulator publishes the state of tick n, stamped n times the period: a joint state and a wrench
for each arm. It steps when the commands of all arms for that tick are there, and repeats the state
when they are not after a while. The controller computes when all messages of a tick are there,
and repeats its answer when a state is repeated. Nothing depends on the wall clock but when a
message is repeated, and repetitions change nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum


class Action(Enum):
    """What the controller does when it has read all messages."""

    WAIT = "wait"
    COMPUTE = "compute"
    REPEAT = "repeat the last answer"


class StateGate:
    """The controller's side: collects the messages of a tick.

    Attributes:
        tick: The tick that is being collected.

    Args:
        parts: Names of the messages that make a state.
    """

    def __init__(self, parts: Sequence[str]) -> None:
        self._parts = frozenset(parts)
        self.forget()

    def forget(self) -> None:
        """Begin anew: a state that is repeated is taken and answered as if it were new."""
        self.tick = -1
        self._missing = set(self._parts)
        self._answered = self._again = False

    @property
    def missing(self) -> tuple[str, ...]:
        """Names of the messages that are awaited."""
        return tuple(sorted(self._missing))

    @property
    def incomplete(self) -> bool:
        """Whether some messages of the tick have come and others have not."""
        return bool(self._missing) and not self._answered and self.tick >= 0

    def offer(self, part: str, tick: int) -> bool:
        """Note a message of a tick; return whether it is the first of its kind for this tick."""
        if tick != self.tick:  # also an earlier one: the simulator was reset
            self.tick = tick
            self._missing = set(self._parts)
            self._answered = self._again = False
        if part in self._missing:
            self._missing.discard(part)
            return True
        self._again = True
        return False

    def decide(self) -> Action:
        """Return what to do now that all messages have been read.

        A message that comes again before the others have come was repeated: those were lost, or
        do not exist, and the answer is computed without them.
        """
        again, self._again = self._again, False
        if self._answered:
            return Action.REPEAT if again else Action.WAIT
        if self._missing and not again:
            return Action.WAIT
        self._answered = True
        return Action.COMPUTE
