# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Interface of the phases of a task while it runs.

A phase moves a reference in every control period, and decides by measurements when it is over.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

from robot_dynamics.arrays import Array

_PATIENCE_S = 5.0  # default time limit of a phase beyond its planned duration
_Z = 5  # force along z in a wrench
#: Time for which a contact must last, and in which forces settle [s].
SETTLE_S = 0.1


class PhaseFailed(Exception):
    """A phase that cannot go on; its message is a sentence with the reason."""


@dataclass(slots=True)
class Now:
    """State that a phase sees in a control period.

    Attributes:
        time: Since the beginning of the phase [s].
        q: Measured positions of the arm joints (na,).
        qd: Measured velocities (na,).
        wrenches: Measured grasp wrenches (k, 6), in tool frames; None if they are not measured.
        last: Torque that was sent last (na,).
    """

    time: float
    q: Array
    qd: Array
    wrenches: Array | None
    last: Array

    def pressing(self, arm: int) -> float:
        """Return the force by an arm along the z axis of its tool [N]."""
        return 0.0 if self.wrenches is None else float(self.wrenches[arm, _Z])


class TaskPhase(ABC):
    """A phase of a task.

    Attributes:
        name: Its key in the settings.
        planned_s: Planned duration [s]; for the phase after `begin`.
        limit_s: Longest duration [s]; None for 5 s more than planned.
        awaited: Reason why it is not over after its planned duration, for its failure; or empty.
        added_s: Time that the phase takes beside its plan, which no limit counts [s].
        on_failure: Name of the safe end after a failure.
        safe_end: Its phases; none for "hold".
        for_operator: Whether it lasts until an operator lets the task go on.
    """

    planned_s = added_s = 0.0
    awaited = ""
    safe_end: tuple[TaskPhase, ...] = ()
    for_operator = False

    def __init__(self, name: str, limit_s: float | None = None, on_failure: str = "hold") -> None:
        self.name, self.limit_s, self.on_failure = name, limit_s, on_failure

    @property
    def longest_s(self) -> float:
        """Time limit [s]."""
        return self.planned_s + _PATIENCE_S if self.limit_s is None else self.limit_s

    def prepare(self, now: Now) -> bool:
        """Do a part of the work of `begin` in the phase before; return whether all is done."""
        return True

    @abstractmethod
    def begin(self, now: Now) -> None:
        """Begin, at the time 0 of the phase."""

    @abstractmethod
    def advance(self, now: Now) -> bool:
        """Move the reference for a period; return whether the phase is over.

        Raises:
            PhaseFailed: If it cannot go on.
        """


class Wait(TaskPhase):
    """A pause in which free arms stay where they are, for a time or for an operator."""

    def __init__(self, duration: float, *, for_operator: bool = False) -> None:
        super().__init__("wait")
        self.planned_s, self.for_operator = duration, for_operator

    def begin(self, now: Now) -> None:
        """See `TaskPhase`; the reference is at rest already."""

    def advance(self, now: Now) -> bool:
        """See `TaskPhase`."""
        return now.time >= self.planned_s
