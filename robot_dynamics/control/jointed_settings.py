# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Settings of the control of a jointed object."""

from __future__ import annotations

from dataclasses import dataclass

from robot_dynamics.control.touch_settings import HIGHEST_RATE
from robot_dynamics.errors import ArgumentError
from robot_dynamics.manipulation.contact_settings import number as _number


@dataclass(frozen=True)
class JointedControlSettings:
    """Servos of the object's motion and of the force in its joint.

    Attributes:
        position_gain: K_p of the object's motion [1/s^2].
        velocity_gain: K_v [1/s].
        position_integral: K_i of the integral of the error, 0 by default [1/s^3]; removes the
            offset of a wrong model. Stable below K_p K_v.
        force_integral: K_I of the force in the object's joint [1/s].
        force_bound: Bound of the integral term of each component [N or N m].
        posture_gain: K_p of the self-motion of redundant arms [1/s^2].
        posture_damping: K_v of the self-motion [1/s].
        lead_periods: Time by which the model and the desired acceleration are evaluated ahead, in
            periods. A torque is held for a period: with 0.5 it is exact for the middle of the
            period. With 0 it is exact at the measurement, and late on average.
    """

    position_gain: float = _number(4000.0, "1/s^2", minimum=0.0, maximum=HIGHEST_RATE**2)
    velocity_gain: float = _number(120.0, "1/s", minimum=0.0, maximum=HIGHEST_RATE)
    position_integral: float = _number(0.0, "1/s^3", minimum=0.0, maximum=HIGHEST_RATE**3)
    force_integral: float = _number(100.0, "1/s", minimum=0.0, maximum=HIGHEST_RATE)
    force_bound: float = _number(50.0, "N or N m", minimum=0.0)
    posture_gain: float = _number(100.0, "1/s^2", minimum=0.0, maximum=HIGHEST_RATE**2)
    posture_damping: float = _number(20.0, "1/s", minimum=0.0, maximum=HIGHEST_RATE)
    lead_periods: float = _number(0.5, "periods", minimum=0.0)

    def __post_init__(self) -> None:
        names = ("position_gain", "velocity_gain", "position_integral", "force_integral")
        for name in (*names, "force_bound", "posture_gain", "posture_damping", "lead_periods"):
            if not getattr(self, name) >= 0.0:
                raise ArgumentError(
                    f"{name} is {getattr(self, name)}, expected a number that is not negative."
                )
