# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Phases of motion control and of force control along a surface's normal."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from robot_dynamics.control.hybrid.surface_forces import contact_step
from robot_dynamics.errors import ArgumentError


class Phase(Enum):
    """Controlled quantity along a surface's normal."""

    FREE = "free"  # motion
    CONTACT = "contact"  # force


@dataclass(frozen=True)
class ContactPhaseSettings:
    """Limits at which a contact begins and ends.

    Attributes:
        touch: Force at which a contact begins [N].
        lost_after: Time without force after which the contact ends [s]; a bounce is shorter.
    """

    touch: float
    lost_after: float = float("inf")

    def __post_init__(self) -> None:
        if not (self.touch > 0.0 and self.lost_after > 0.0):
            raise ArgumentError(
                f"touch is {self.touch:g} N and lost_after {self.lost_after:g} s, expected "
                "positive numbers."
            )


class ContactPhase:
    """Switches from motion to force when a surface is touched, and back when it is left.

    Args:
        settings: Limits at which a contact begins and ends.
        period: Of control [s].
    """

    def __init__(self, settings: ContactPhaseSettings, period: float) -> None:
        self._settings, self._period = settings, period
        self.phase = Phase.FREE
        self._without = 0.0

    def step(self, force: float, *, approaching: bool) -> bool:
        """Take the force of one sample and return whether the phase changed with it.

        Args:
            force: Measured on the surface [N].
            approaching: Whether contact is desired; if not, the surface is left at once.
        """
        before = self.phase
        touched, without = contact_step(
            float(before is Phase.CONTACT),
            self._without,
            force,
            float(approaching),
            self._settings.touch,
            self._settings.lost_after,
            self._period,
        )
        self._without = float(without)
        self.phase = Phase.CONTACT if touched else Phase.FREE
        return self.phase is not before
