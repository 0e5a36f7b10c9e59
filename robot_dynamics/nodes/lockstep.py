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

import numpy as np
from numpy.typing import NDArray

from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.nodes.conversions import answers

Array = NDArray[np.float64]

REPEAT_AFTER_S = 0.2  # wall-clock time without an answer after which a state is repeated


class CommandError(RobotDynamicsError):
    """A command that a drive must not take.

    Attributes:
        arm: Name of the arm.
    """

    def __init__(self, arm: str, cause: str) -> None:
        self.arm = arm
        super().__init__(f"{arm}/commands: {cause}")


class CommandGate:
    """The simulator's side: collects the commands of all arms.

    An empty command says that the arm's drive is on its own: its last torque stays.

    Attributes:
        torque: The commanded torques (na,), of the arms that have come and of before.
        tick: The tick whose commands are awaited.

    Args:
        arms: Names of the arms.
        slices: Where each arm stands in vectors over the arm joints.
    """

    def __init__(self, arms: Sequence[str], slices: Sequence[slice]) -> None:
        self._slices = dict(zip(arms, slices, strict=True))
        self._count = slices[-1].stop
        self.expect(0)
        self.torque = np.zeros(self._count)

    def expect(self, tick: int) -> None:
        """Wait for the commands of a tick."""
        self.tick = tick
        self._missing = set(self._slices)

    def forget(self) -> None:
        """Forget all torques and wait for tick 0."""
        self.torque = np.zeros(self._count)
        self.expect(0)

    @property
    def complete(self) -> bool:
        """Whether the commands of all arms are there."""
        return not self._missing

    @property
    def incomplete(self) -> bool:
        """Whether the commands of some arms have come and those of others have not."""
        return 0 < len(self._missing) < len(self._slices)

    @property
    def missing(self) -> tuple[str, ...]:
        """Names of the arms whose commands are awaited."""
        return tuple(arm for arm in self._slices if arm in self._missing)

    @property
    def arrived(self) -> tuple[int, ...]:
        """Indices of the arms whose commands are there."""
        return tuple(i for i, arm in enumerate(self._slices) if arm not in self._missing)

    def offer(self, arm: str, number: int | None, torque: Array) -> None:
        """Take a command, unless it answers another tick: then it is a repetition.

        Args:
            arm: Name of the arm.
            number: The tick it answers, modulo 2^32; None takes it whatever it answers.
            torque: Torques of the arm's joints (n,), or none.

        Raises:
            CommandError: If the number of torques is wrong or one is not finite; nothing of the
                command is taken then.
        """
        if number is not None and not answers(number, self.tick):
            return
        own = self._slices[arm]
        if torque.size:
            if torque.shape != (own.stop - own.start,):
                raise CommandError(
                    arm, f"{torque.size} torques, expected {own.stop - own.start} or none."
                )
            if not np.isfinite(torque).all():
                at = int(np.argmin(np.isfinite(torque)))
                raise CommandError(arm, f"torque {at} is {torque[at]}; expected a finite number.")
            self.torque[own] = torque
        self._missing.discard(arm)


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
