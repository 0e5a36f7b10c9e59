# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What a user states about the control of a jointed object."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from robot_dynamics.errors import ArgumentError

ESTIMATES = ("feedback", "feed-forward")


@dataclass(frozen=True)
class JointedControlSettings:
    """Servos of the object's motion and of the force in its joint.

    Attributes:
        position_gain: K_p of the object's motion [1/s^2].
        velocity_gain: K_v [1/s].
        position_integral: K_i of the integral of the error, none by default [1/s^3]: what takes
            the offset away that a wrong model leaves. Stable below K_p K_v.
        force_integral: K_I of the force in the object's joint [1/s].
        force_bound: Largest integral term of a component [N or N m]: it stops there.
        posture_gain: K_p of the motion that redundant arms have left [1/s^2].
        posture_damping: K_v of that motion [1/s].
        estimates: Where the controller's model is evaluated: at the measured state ("feedback"),
            or at the desired one ("feed-forward").
        lead_periods: How far ahead the model and the desired acceleration are looked up. A torque
            is held for a period: half a period makes it that of the period's middle. At 0 the law
            is exact at the instant when it is evaluated, and late in the mean.
        conditioning_limit: Condition number of [A; B] from which pseudovelocities are chosen anew.
    """

    position_gain: float = 4000.0
    velocity_gain: float = 120.0
    position_integral: float = 0.0
    force_integral: float = 100.0
    force_bound: float = 50.0
    posture_gain: float = 100.0
    posture_damping: float = 20.0
    estimates: Literal["feedback", "feed-forward"] = "feedback"
    lead_periods: float = 0.5
    conditioning_limit: float = 300.0

    def __post_init__(self) -> None:
        if self.estimates not in ESTIMATES:
            raise ArgumentError(
                f"estimates {self.estimates!r}: expected one of {', '.join(ESTIMATES)}."
            )
        names = ("position_gain", "velocity_gain", "position_integral", "force_integral")
        for name in (*names, "force_bound", "posture_gain", "posture_damping", "lead_periods"):
            if not getattr(self, name) >= 0.0:
                raise ArgumentError(
                    f"{name} is {getattr(self, name)}, expected a number that is not negative."
                )
        if not self.conditioning_limit > 1.0:
            raise ArgumentError(
                f"conditioning_limit is {self.conditioning_limit}, expected a number above 1."
            )
