# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Settings of contact with surfaces: times, forces, and their servo."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from robot_dynamics.errors import ArgumentError
from robot_dynamics.manipulation.contact_settings import number

LONGEST_S = 3600.0  # of anything that is planned ahead: all of its control periods are kept
# Largest bandwidth of a servo [rad/s or 1/s]: larger numbers are typing errors.
HIGHEST_RATE = 1e4


@dataclass(frozen=True)
class ContactForceSettings:
    """Servo of the force on surfaces, and detection of contact.

    Attributes:
        law: "damped": u_2 = f_d + K_IF integral(f_d - f) - b E_F v, integrated in contact only.
            "literal": Yoshikawa and Zheng's (42), without damping, gate or limits.
        bandwidth: K_IF [1/s].
        damping: b [N s/m]; by default computed from the mass behind the contact.
        error_limit_n: Bound of the error in the integral [N].
        integral_limit_n: Bound of the integral term [N].
        touch_n: Force from which a surface counts as touched [N].
        lost_after_s: Time without force after which the contact counts as lost, and the surface is
            approached again [s]; a bounce is shorter.
        touch_within_m: Distance before a surface of the model within which an estimated force
            counts as touch [m]; farther away it is an error of the estimate. A measured force
            counts anywhere.
    """

    law: Literal["damped", "literal"] = "damped"
    bandwidth: float = number(20.0, "1/s", minimum=0.0, maximum=HIGHEST_RATE)
    damping: float | None = number(None, "N s/m", minimum=0.0)
    error_limit_n: float = number(10.0, "N", above=0.0)
    integral_limit_n: float = number(20.0, "N", minimum=0.0)
    touch_n: float = number(0.5, "N", above=0.0)
    lost_after_s: float = number(0.1, "s", above=0.0)
    touch_within_m: float = number(0.05, "m", above=0.0)


@dataclass(frozen=True)
class TouchForceSettings:
    """A smooth change of the force on a surface.

    Attributes:
        time_s: Its beginning, from the start of the reference [s].
        force_n: New force by the object on the surface [N]; negative only on a line, a hole or a
            hinge, which hold the object.
        along_n: New force along x and y of the surface's frame, if the object sticks; on a line
            and a hinge, whose `force_n` is along x, along y and z [N].
        duration_s: Duration of the change [s].
    """

    time_s: float = number(0.0, "s", minimum=0.0, maximum=LONGEST_S)
    force_n: float = number(0.0, "N")
    duration_s: float = number(0.5, "s", above=0.0, maximum=LONGEST_S)
    along_n: tuple[float, float] = field(default=(0.0, 0.0), metadata={"unit": "N"})


@dataclass(frozen=True)
class TouchSettings:
    """Interval in which the object must touch a surface.

    Motion towards the surface is controlled until it is touched, the force on it from then on.
    Other forces of the surface, such as moments of a face or forces of the sides of a hole, are
    controlled to zero.

    Attributes:
        surface: Its name.
        from_s: Time from which contact is expected [s]; earlier contact is an accident.
        until_s: Time at which the object leaves it [s]; the force fades in the last tenth of a
            second.
        force_n: Initial normal force, without a tangential one; sign as in `changes` [N].
        changes: Changes of the force, in the order of time.
    """

    surface: str
    from_s: float = number(0.0, "s", minimum=0.0, maximum=LONGEST_S)
    until_s: float = number(LONGEST_S, "s", above=0.0, maximum=LONGEST_S)
    force_n: float = number(0.0, "N")
    changes: tuple[TouchForceSettings, ...] = ()

    def __post_init__(self) -> None:
        if not self.from_s < self.until_s:
            raise ArgumentError(
                f"surface {self.surface!r} is touched from {self.from_s:g} s until "
                f"{self.until_s:g} s; expected an end after the beginning."
            )
        free_from = self.from_s
        for number_, change in enumerate(self.changes, start=1):
            if change.time_s < free_from:
                raise ArgumentError(
                    f"change {number_} of the force on surface {self.surface!r} begins at "
                    f"{change.time_s:g} s, expected at least {free_from:g} s: changes are in the "
                    "order of time and do not overlap."
                )
            free_from = change.time_s + change.duration_s
