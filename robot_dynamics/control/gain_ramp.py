# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""From one set of gains to another while control runs, without a jump of the torque."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any, TypeVar

from robot_dynamics.control.settings import ControlSettings

RAMP_S = 0.25  # from the old gains to the new ones

_Settings = TypeVar("_Settings")


class GainRamp:
    """Transition of the servos of a controller from one setting to another.

    The poles of the error move, not the gains, so that all intermediate gains are servos.

    Attributes:
        end: Final settings.

    Args:
        begin: Initial settings.
        end: Final settings; see `with_gains`.
        periods: Duration in control periods.
    """

    def __init__(self, begin: ControlSettings, end: ControlSettings, periods: int) -> None:
        self._begin, self.end = begin, end
        self._periods, self._gone = max(1, periods), 0

    @property
    def over(self) -> bool:
        """Whether the end is reached."""
        return self._gone >= self._periods

    def advance(self) -> ControlSettings:
        """Return the settings of the next control period."""
        self._gone += 1
        if self.over:
            return self.end
        share = self._gone / self._periods
        between = {
            name: _between(getattr(self._begin, name), getattr(self.end, name), share)
            for name in (
                "object",
                "internal_force",
                "posture",
                "friction",
                "impedance",
                "admittance",
                "jointed",
            )
        }
        return replace(self.end, **between)


def with_gains(settings: ControlSettings, other: ControlSettings) -> ControlSettings:
    """Return settings with the servos and the friction of others, and all else as it is."""
    bandwidth = other.internal_force.bandwidth
    return replace(
        settings,
        object=other.object,
        internal_force=replace(settings.internal_force, bandwidth=bandwidth),
        posture=other.posture,
        friction=other.friction,
        impedance=other.impedance,
        admittance=other.admittance,
        jointed=replace(other.jointed, lead_periods=settings.jointed.lead_periods),
    )


def carried_over(integral: Any, before: float, after: float, end: float) -> Any:
    """Return an integral with the same contribution to the torque with another gain.

    Args:
        integral: Integral so far.
        before: Gain so far.
        after: Gain from now on.
        end: Gain at the end of the ramp; if it is zero, the integral fades.
    """
    if before == 0.0:
        return 0.0 * integral  # nobody has looked at it
    return integral if end == 0.0 else integral * (before / after)


def _between(begin: _Settings, end: _Settings, share: float) -> _Settings:
    """Return settings whose numbers are between those of two others."""
    numbers: dict[str, Any] = {}
    for field in fields(end):  # type: ignore[arg-type]
        a, b = getattr(begin, field.name), getattr(end, field.name)
        if isinstance(b, float) and a != b:
            numbers[field.name] = (1.0 - share) * a + share * b
        elif isinstance(b, tuple) and a != b:
            numbers[field.name] = tuple(
                (1.0 - share) * x + share * y for x, y in zip(a, b, strict=True)
            )
    return replace(end, **numbers) if numbers else end  # type: ignore[type-var]
