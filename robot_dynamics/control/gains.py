# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Gains from bandwidths, and their stability margins under sampling and delay.

The linearising law makes every coordinate of the object a double integrator, and the servo on it
is `u = kp e + kd e' + ki integral(e)`. The torque is held over a period h and acts d periods after
its measurement, so that the open loop is

    L(s) = (kd s^2 + kp s + ki) / s^3 (1 - exp(-s h)) / (s h) exp(-s d h).

The internal force follows the torque without dynamics; with its integrator the open loop is K_II /
s with the same hold and delay.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from math import hypot, inf, pi, sin, sqrt

import numpy as np

from robot_dynamics.control.jointed_settings import JointedControlSettings
from robot_dynamics.control.settings import (
    ControlSettings,
    HandSettings,
    PostureSettings,
    ServoSettings,
)
from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.wording import counted

# Least bandwidth by which null-space motion is damped [rad/s]: with a bandwidth of 0 it still
# comes to rest within seconds.
LEAST_DAMPED_BANDWIDTH = 1.0
_BISECTIONS = 60  # until neighbouring numbers


class GainError(RobotDynamicsError):
    """Gains that are unstable with sampling and delay.

    Attributes:
        servo: Name of the servo.
        bandwidth: Its bandwidth [rad/s]; of force servos the integral gain [1/s].
        largest: Largest stable value, in the same unit.
    """

    def __init__(
        self, servo: str, bandwidth: float, largest: float, circumstances: str, unit: str = "rad/s"
    ) -> None:
        self.servo, self.bandwidth, self.largest = servo, bandwidth, largest
        super().__init__(
            f"{servo}: a bandwidth of {bandwidth:g} {unit} is too high {circumstances}; "
            f"expected at most {largest:.3g} {unit}."
        )


@dataclass(frozen=True)
class PidGains:
    """Gains of a servo on a double integrator.

    Attributes:
        proportional: kp [1/s^2].
        derivative: kd [1/s].
        integral: ki [1/s^3].
    """

    proportional: float
    derivative: float
    integral: float = 0.0


def servo_gains(settings: ServoSettings) -> PidGains:
    """Return the gains that give the error the poles of the settings.

    The error obeys `(s^2 + 2 zeta w s + w^2)(s + w_i) = 0`; without integral action w_i = 0.
    """
    w, zeta, w_i = settings.bandwidth, settings.damping_ratio, settings.integral
    return PidGains(w * w + 2.0 * zeta * w * w_i, 2.0 * zeta * w + w_i, w * w * w_i)


def posture_gains(settings: PostureSettings | HandSettings) -> PidGains:
    """Return the gains of null-space motion, of the arms' posture or of the hands.

    `s^2 + 2 zeta w s + w^2 = 0`, with damping of at least `LEAST_DAMPED_BANDWIDTH`.
    """
    w, zeta = settings.bandwidth, settings.damping_ratio
    return PidGains(w * w, 2.0 * zeta * max(w, LEAST_DAMPED_BANDWIDTH))


def jointed_servos(own: JointedControlSettings) -> dict[str, PidGains]:
    """Return the servos of a jointed object's parts and of the arms' posture, by their keys."""
    return {
        "jointed.position": PidGains(own.position_gain, own.velocity_gain, own.position_integral),
        "jointed.posture": PidGains(own.posture_gain, own.posture_damping),
    }


def delay_margins(settings: ControlSettings, delay_periods: float) -> dict[str, float]:
    """Return the delay margin of each servo of object and forces [s], by its key.

    Args:
        settings: The gains.
        delay_periods: Periods between a measurement and the torque computed from it.
    """
    servos = {"object": servo_gains(settings.object)}
    force, K = "internal_force", settings.internal_force.bandwidth
    if settings.law_facts.jointed:
        servos = jointed_servos(settings.jointed)
        force, K = "jointed.force_integral", settings.jointed.force_integral
    period = settings.period
    margins = {key: delay_margin(gains, period, delay_periods) for key, gains in servos.items()}
    return {**margins, force: force_delay_margin(K, period, delay_periods)}


def largest_sample_age(settings: ControlSettings) -> tuple[str, float]:
    """Return the age of samples at which the least delay margin is one period [s], and its servo.

    After the age, the command takes up to a period (none if `command_delay_periods` is 0). A
    longer command delay, which counts from the measurement too, contains the age. The age is
    infinite for laws without a servo of the object.
    """
    facts = settings.law_facts
    if not (facts.jointed or (facts.holds_object and "object" in facts.gains)):
        return "", inf
    margins = delay_margins(settings, min(settings.command_delay_periods, 1))
    servo = min(margins, key=margins.__getitem__)
    return servo, margins[servo] - settings.period


def delay_margin(gains: PidGains, period: float = 0.0, delay_periods: float = 0.0) -> float:
    """Return the delay margin: the additional delay at which the loop becomes unstable [s].

    It is the phase margin over the crossover frequency, and the smallest one of all crossovers.
    Negative if the loop is unstable already.

    Args:
        gains: Of the servo.
        period: Control period [s]; 0 for a continuous loop.
        delay_periods: Periods between a measurement and the torque computed from it.
    """
    kp, kd, ki = gains.proportional, gains.derivative, gains.integral
    # |L| = 1 without the hold: x^3 = kd^2 x^2 + (kp^2 - 2 kd ki) x + ki^2 with x = w^2
    squares = np.roots([1.0, -kd * kd, 2.0 * kd * ki - kp * kp, -ki * ki])
    margins = []
    for square in squares:
        if abs(square.imag) > 1e-9 * abs(square) or square.real <= 0.0:
            continue
        w = _with_hold(float(np.sqrt(square.real)), gains, period)
        lead = np.arctan2(kp * w, ki - kd * w * w)  # of the controller; 1 / s^3 lags by 3 pi / 2
        margins.append((lead - pi / 2.0) / w - period * (0.5 + delay_periods))
    return float(min(margins, default=inf))


def _with_hold(w: float, gains: PidGains, period: float) -> float:
    """Return the crossover of the loop with the hold, given the one without, `w`."""

    def excess(x: float) -> float:
        numerator = hypot(gains.integral - gains.derivative * x * x, gains.proportional * x)
        half = 0.5 * x * period
        return numerator * (sin(half) / half if half else 1.0) - x**3

    high = w if period == 0.0 else min(w, 2.0 * pi / period)  # the hold passes nothing there
    low = 1e-3 * high
    if excess(low) <= 0.0 or excess(high) >= 0.0:
        return w
    # By bisection: to import SciPy's solvers would take a tenth of the time to the first torque.
    for _ in range(_BISECTIONS):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if excess(middle) > 0.0 else (low, middle)
    return low


def force_delay_margin(bandwidth: float, period: float = 0.0, delay_periods: float = 0.0) -> float:
    """Return the delay margin of the servo of the internal force [s].

    Args:
        bandwidth: K_II [1/s].
        period: Control period [s].
        delay_periods: Periods between a measurement and the torque computed from it.
    """
    if bandwidth == 0.0:
        return inf
    return pi / (2.0 * bandwidth) - period * (0.5 + delay_periods)


def sampled_spectral_radius(gains: PidGains, period: float, delay_periods: float) -> float:
    """Return the largest magnitude of a pole of the sampled loop; below 1 it is stable.

    The loop is exact: a double integrator under a held torque, which arrives after a delay that
    need not be a whole number of periods.

    Args:
        gains: Of the servo; its integral is summed after use, `I += h e`.
        period: Control period h [s].
        delay_periods: Delay in periods, from 0.
    """
    whole = int(np.floor(delay_periods))
    late = delay_periods - whole  # part of the period that still sees the torque before
    h, rest = period, period * (1.0 - late)
    # State: error, its rate, its integral, then the torques on their way, latest first.
    n = 3 + whole + 1
    A = np.zeros((n, n))
    A[0, :2], A[1, 1] = (1.0, h), 1.0
    A[2, 0], A[2, 2] = h, 1.0
    # Effect of the new torque if it arrives within this period, and of the one before it.
    new = np.array([0.5 * rest * rest, rest])
    old = np.array([0.5 * h * h, h]) - new
    command = np.zeros(n)
    command[:3] = -gains.proportional, -gains.derivative, -gains.integral
    if whole == 0:
        A[:2] += np.outer(new, command)
        A[:2, 3] += old
    else:
        A[:2, 3 + whole - 1] += new
        A[:2, 3 + whole] += old
    A[3] = command
    for i in range(4, n):
        A[i, i - 1] = 1.0
    if gains.integral == 0.0:  # nobody looks at the integral then; it would show a pole at 1
        A = np.delete(np.delete(A, 2, axis=0), 2, axis=1)
    return float(np.max(np.abs(np.linalg.eigvals(A))))


def largest_bandwidth(
    bandwidth: float, gains: PidGains, period: float, delay_periods: int
) -> float:
    """Return the bandwidth [rad/s] at which the delay margin has fallen to one period.

    Args:
        bandwidth: Of the servo [rad/s].
        gains: Of the servo: all poles move in proportion to the bandwidth.
        period: Control period [s].
        delay_periods: Periods between a measurement and the torque computed from it.
    """
    low, high = 0.0, 10.0 / period
    for _ in range(25):
        middle = 0.5 * (low + high)
        s = middle / bandwidth
        scaled = PidGains(gains.proportional * s**2, gains.derivative * s, gains.integral * s**3)
        if _bears(scaled, period, delay_periods):
            low = middle
        else:
            high = middle
    return low


def check_gains(settings: ControlSettings) -> None:
    """Refuse servos of the law that would be unstable with the loss of one more sample.

    Raises:
        GainError: If a delay margin is below one period, or the sampled loop is unstable.
    """
    period, delay = settings.period, settings.command_delay_periods
    circumstances = f"at {settings.rate_hz:g} Hz with {counted(delay, 'period')} of command delay"
    if settings.law_facts.jointed:
        own = settings.jointed
        servos = jointed_servos(own)
        bandwidths = [sqrt(gains.proportional) for gains in servos.values()]
        force, K = "jointed.force_integral", own.force_integral
    else:
        servos = {
            "object": servo_gains(settings.object),
            "posture": posture_gains(settings.posture),
            "hand": posture_gains(settings.hand),
        }
        bandwidths = [
            settings.object.bandwidth, settings.posture.bandwidth, settings.hand.bandwidth
        ]  # fmt: skip
        force, K = "internal_force", settings.internal_force.bandwidth
    for (name, gains), bandwidth in zip(servos.items(), bandwidths, strict=True):
        if bandwidth > 0.0 and not _bears(gains, period, delay):
            largest = largest_bandwidth(bandwidth, gains, period, delay)
            raise GainError(name, bandwidth, largest, circumstances)
    if K > 0.0 and force_delay_margin(K, period, delay) < period:
        largest = pi / (period * (3.0 + 2.0 * delay))
        raise GainError(force, K, largest, circumstances, "1/s")


@lru_cache(maxsize=256)
def _bears(gains: PidGains, period: float, delay_periods: int) -> bool:
    """Return whether the sampled loop is stable, also with one more period of delay."""
    return delay_margin(gains, period, delay_periods) >= period and all(
        sampled_spectral_radius(gains, period, d) < 1.0 for d in (delay_periods, delay_periods + 1)
    )
