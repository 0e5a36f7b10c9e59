# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""When to control the motion towards a surface, and when the force on it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from robot_dynamics.errors import ArgumentError
from robot_dynamics.scalar.functions import maximum, minimum
from robot_dynamics.spatial import Scalar

# Turns a positive number into 1: forces and times above 1e-290 are beyond it by far.
_TRUE = 1e300


class Phase(Enum):
    """What is controlled along a surface's normal."""

    FREE = "free"  # motion
    CONTACT = "contact"  # force


@dataclass(frozen=True)
class ContactSettings:
    """When a contact begins and ends.

    Attributes:
        touch: Force at which a contact is taken to have begun [N].
        lost_after: How long there may be no force before the contact is given up [s]; a bounce is
            shorter.
    """

    touch: float
    lost_after: float = float("inf")

    def __post_init__(self) -> None:
        if not (self.touch > 0.0 and self.lost_after > 0.0):
            raise ArgumentError(
                f"contact from {self.touch:g} N on, lost after {self.lost_after:g} s, expected "
                "positive numbers."
            )


def contact_step(
    touched: Scalar,
    without: Scalar,
    force: Scalar,
    approaching: Scalar,
    touch: Scalar,
    lost_after: Scalar,
    period: Scalar,
) -> tuple[Scalar, Scalar]:
    """Return whether a surface is touched after a sample, and for how long there was no force.

    Args:
        touched: 1 if it was touched before, 0 if not.
        without: How long there was no force before [s].
        force: Measured on the surface [N].
        approaching: 1 if contact is wanted; if 0, the surface is left at once.
        touch: Force at which a contact begins [N].
        lost_after: Time without force after which it is given up [s].
        period: Of control [s].
    """
    without = (1.0 - positive(force)) * (without + period)
    lost = positive(without - lost_after)
    touched = approaching * (1.0 - lost) * maximum(touched, positive(force - touch))
    return touched, without


def positive(value: Scalar) -> Scalar:
    """Return 1 for a positive number, 0 for one that is not."""
    return minimum(1.0, maximum(0.0, value) * _TRUE)


class ContactPhase:
    """Switches from motion to force when a surface is touched, and back when it is left.

    Args:
        settings: When.
        period: Of control [s].
    """

    def __init__(self, settings: ContactSettings, period: float) -> None:
        self._settings, self._period = settings, period
        self.phase = Phase.FREE
        self._without = 0.0

    def step(self, force: float, *, approaching: bool) -> bool:
        """Take the force of one sample and return whether the phase changed with it.

        Args:
            force: Measured on the surface [N].
            approaching: Whether contact is wanted; if not, the surface is left at once.
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
