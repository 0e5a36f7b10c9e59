# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Gains and limits of the hybrid law: its parameters in addition to those of the model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from robot_dynamics.arrays import Array
from robot_dynamics.control.gains import posture_gains, servo_gains
from robot_dynamics.control.settings import ControlSettings, SafetySettings

# Represents "no limit": kernels compute with it.
_LARGE = 1e18
# Bounds of integral terms, of the object's acceleration [rad/s^2, m/s^2] and of internal forces
# [N].
_LARGEST_CORRECTION, _LARGEST_FORCE = 10.0, 100.0


@dataclass(frozen=True)
class HybridGains:
    """Gains, limits and times; arrays over the arm joints (n,) in the order of the arms' model.

    Attributes:
        proportional: Gain of the object's pose error [1/s^2].
        derivative: Gain of its velocity error [1/s].
        integral: Gain of the integral of its pose error [1/s^3].
        contact_integral: K_IF, gain of the integral of the contact force's error [1/s].
        contact_error: Bound of the contact force's error in the integral [N].
        contact_bound: Bound of its integral term [N].
        gated: 1 if it is integrated in contact only and while no limit is active, 0 if always.
        internal_integral: K_II, gain of the integral of the internal force's error [1/s].
        internal_bound: Bound of its integral term [N].
        motion_bound: Bound of the integral term of the pose error [m/s^2, rad/s^2].
        posture_proportional: Gain of the arms' distance from their posture [1/s^2].
        posture_derivative: Gain of the velocity of their self-motion [1/s].
        hand_proportional: Gain of a hand's offset from its grasp in free directions [1/s^2].
        hand_derivative: Gain of its velocity relative to the object in these directions [1/s].
        limit_proportional: Gain of a joint's distance into the margin of its limits [1/s^2].
        limit_margin: That margin [rad or m].
        avoidance: Gain of the gradient of the arms' manipulability [rad^2/s^2].
        safe_pivot: Smallest relative pivot of the arms that is not damped.
        touch: Force at which a contact begins [N].
        lost_after: Time without force after which it ends [s].
        touch_within: Distance before a surface within which an estimated force is touch [m].
        period: Control period [s].
        lead: Time by which the model is evaluated ahead of the measurement [s].
        trend: Factor of the last change of the accelerations, added to the last ones for their
            mean over that time.
        friction_share: Compensated share of the joints' known friction.
        friction_velocity: Speed at which Coulomb friction is at 71 % of its value [rad/s or m/s].
        torque_rate: Largest change of a torque [N m/s or N/s].
        damping: b of each surface; b times the velocity into it is subtracted from u2 (C,) [N
            s/m].
        effort: Largest torque of each arm joint [N m or N].
        posture: Positions near which the arms stay.
        lower: Lower limits of the joints.
        upper: Upper limits of the joints.
    """

    proportional: Any
    derivative: Any
    integral: Any
    contact_integral: Any
    contact_error: Any
    contact_bound: Any
    gated: Any
    internal_integral: Any
    internal_bound: Any
    motion_bound: Any
    posture_proportional: Any
    posture_derivative: Any
    hand_proportional: Any
    hand_derivative: Any
    limit_proportional: Any
    limit_margin: Any
    avoidance: Any
    safe_pivot: Any
    touch: Any
    lost_after: Any
    touch_within: Any
    period: Any
    lead: Any
    trend: Any
    friction_share: Any
    friction_velocity: Any
    torque_rate: Any
    damping: Any
    effort: Any
    posture: Any
    lower: Any
    upper: Any

    def pack(self) -> Array:
        """Return the gains as a block, in the order of the fields."""
        values = [np.atleast_1d(np.asarray(getattr(self, f.name), float)) for f in fields(self)]
        return np.clip(np.concatenate(values), -_LARGE, _LARGE)

    @classmethod
    def unpack(
        cls, block: Sequence[Any], joints: int, surfaces: int
    ) -> tuple[HybridGains, list[Any]]:
        """Return the gains of a block and the rest of it."""
        rest, values = list(block), {}
        for f in fields(cls):
            if f.name == "damping":
                values[f.name], rest = rest[:surfaces], rest[surfaces:]
            elif f.name in ("effort", "posture", "lower", "upper"):
                values[f.name], rest = rest[:joints], rest[joints:]
            else:
                values[f.name], rest = rest[0], rest[1:]
        return cls(**values), rest

    @classmethod
    def size(cls, joints: int, surfaces: int) -> int:
        """Return the length of the block."""
        return len(fields(cls)) - 5 + 4 * joints + surfaces


def hybrid_gains(
    settings: ControlSettings,
    safety: SafetySettings,
    damping: Array,
    posture: Array,
    limits: Mapping[str, Array],
) -> HybridGains:
    """Return the gains that settings ask for.

    Args:
        settings: Rate and servos.
        safety: Limits of torque and of its rate.
        damping: b of each surface (C,) [N s/m].
        posture: Positions that the arms stay near (n,).
        limits: "lower", "upper" and "effort" of the joints (n,).
    """
    servo, contact = servo_gains(settings.object), settings.contact_force
    hand, posture_servo = posture_gains(settings.hand), posture_gains(settings.posture)
    literal = contact.law == "literal"
    return HybridGains(
        proportional=servo.proportional,
        derivative=servo.derivative,
        integral=servo.integral,
        contact_integral=contact.bandwidth,
        contact_error=np.inf if literal else contact.error_limit_n,
        contact_bound=np.inf if literal else contact.integral_limit_n,
        gated=float(not literal),
        internal_integral=settings.internal_force.bandwidth,
        internal_bound=_LARGEST_FORCE,
        motion_bound=_LARGEST_CORRECTION,
        posture_proportional=posture_servo.proportional,
        posture_derivative=posture_servo.derivative,
        hand_proportional=hand.proportional,
        hand_derivative=hand.derivative,
        limit_proportional=settings.posture.limit_bandwidth**2,
        limit_margin=settings.posture.limit_margin,
        avoidance=settings.posture.singularity_avoidance,
        safe_pivot=settings.safe_pivot,
        touch=contact.touch_n,
        lost_after=contact.lost_after_s,
        touch_within=contact.touch_within_m,
        period=settings.period,
        lead=(settings.command_delay_periods + 0.5) * settings.period,
        trend=acceleration_trend(settings.command_delay_periods),
        friction_share=settings.friction.share,
        friction_velocity=settings.friction.velocity,
        torque_rate=safety.torque_rate,
        damping=damping,
        effort=safety.effort_fraction * limits["effort"],
        posture=posture,
        lower=limits["lower"],
        upper=limits["upper"],
    )


def acceleration_trend(delay: int) -> float:
    """Return the factor that gives the mean acceleration until the torque's middle.

    A command acts for a period, `delay` periods after its measurement. Until its middle the last
    `delay` commands act for a period each, then the command itself for half a period. With a_1 the
    acceleration of the last command and a_2 that of the one before, the next is extrapolated as
    a_1 + (a_1 - a_2). The mean is a_1 + trend (a_1 - a_2).

    Args:
        delay: Control periods between a measurement and the command's action on it.
    """
    return (1.0 - delay * (delay - 1.0)) / (2.0 * delay + 1.0)
