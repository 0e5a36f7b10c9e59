# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Gains and delay margins, against the poles of sampled loops and a simulated one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from robot_dynamics.control.gains import (
    GainError,
    PidGains,
    check_gains,
    delay_margin,
    force_delay_margin,
    largest_bandwidth,
    largest_sample_age,
    posture_gains,
    sampled_spectral_radius,
    servo_gains,
)
from robot_dynamics.control.hybrid.gains import hybrid_gains
from robot_dynamics.control.settings import (
    ControlSettings,
    ForceServoSettings,
    HandSettings,
    PostureSettings,
    SafetySettings,
    ServoSettings,
)

SERVOS = [
    ServoSettings(30.0, 1.0, 10.0),
    ServoSettings(20.0, 0.7, 0.0),
    ServoSettings(60.0, 0.5, 30.0),
    ServoSettings(15.0, 2.0, 5.0),
]


def margin_by_bisection(gains, period, delay_periods):
    """Return the delay at which the exact sampled loop loses stability, less the delay given."""
    low, high = delay_periods, delay_periods + 1.0
    while sampled_spectral_radius(gains, period, high) < 1.0:
        low, high = high, 2.0 * high
    for _ in range(15):
        middle = 0.5 * (low + high)
        if sampled_spectral_radius(gains, period, middle) < 1.0:
            low = middle
        else:
            high = middle
    return (low - delay_periods) * period


@pytest.mark.parametrize("servo", SERVOS)
def test_poles_are_where_the_settings_say(servo):
    """The error's characteristic polynomial has the poles of bandwidth, damping and integral."""
    g = servo_gains(servo)
    w, zeta = servo.bandwidth, servo.damping_ratio
    poles = np.append(np.roots([1.0, 2 * zeta * w, w * w]), -servo.integral)
    expected = np.real(np.poly(poles))
    np.testing.assert_allclose(
        [1.0, g.derivative, g.proportional, g.integral], expected, rtol=1e-12, atol=1e-9
    )


@pytest.mark.parametrize("kind", [PostureSettings, HandSettings])
def test_a_posture_without_bandwidth_is_only_damped(kind):
    """Critical damping is 2 w; below 1 rad/s it is that of 1 rad/s, which bandwidth 0 leaves."""
    assert posture_gains(kind(0.0)) == PidGains(0.0, 2.0)
    assert posture_gains(kind(0.5, 0.5)) == PidGains(0.25, 1.0)
    assert posture_gains(kind(5.0)) == PidGains(25.0, 10.0)


def test_the_law_has_the_gains_that_are_checked():
    """Of the object, of the posture and of the hands."""
    settings = ControlSettings(
        object=SERVOS[0], posture=PostureSettings(0.0, 0.7), hand=HandSettings(3.0)
    )
    nothing = np.zeros(0)
    limits = dict.fromkeys(("lower", "upper", "effort"), nothing)
    found = hybrid_gains(settings, SafetySettings(), nothing, nothing, limits)
    posture, hand = posture_gains(settings.posture), posture_gains(settings.hand)
    assert found.proportional == servo_gains(settings.object).proportional
    assert (found.posture_proportional, found.posture_derivative) == (0.0, posture.derivative)
    assert (found.hand_proportional, found.hand_derivative) == (9.0, hand.derivative)


@pytest.mark.parametrize("servo", SERVOS)
@pytest.mark.parametrize("delay", [0, 1, 2])
def test_the_margin_is_where_the_sampled_loop_turns_unstable(servo, delay):
    """The formula meets the exact sampled loop with a delay of any length."""
    gains, h = servo_gains(servo), 0.002
    exact = margin_by_bisection(gains, h, delay)
    # The formula treats the sampler as a delay of half a period and sampled velocity as exact;
    # crossovers here are below w h = 0.25, and what is left out is of second order in that.
    assert delay_margin(gains, h, delay) == pytest.approx(exact, rel=0.03)


@pytest.mark.parametrize("servo", SERVOS)
def test_the_margin_of_a_continuous_loop(servo):
    """It is the limit of the sampled margin when the period shrinks."""
    gains = servo_gains(servo)
    # the sampler's half period of 0.5 ms is a twentieth of the smallest margin here
    assert margin_by_bisection(gains, 1e-3, 0) == pytest.approx(delay_margin(gains), rel=0.05)


@pytest.mark.parametrize("delay", [0, 1, 3])
def test_the_spectral_radius_is_that_of_a_simulated_loop(delay):
    """A loop simulated step by step with queued commands decays at the rate of the radius."""
    gains, h = PidGains(900.0, 60.0, 500.0), 0.004
    e, v, integral, queue, sizes = 1.0, 0.0, 0.0, [0.0] * delay, []
    for _ in range(3000):
        u = -(gains.proportional * e + gains.derivative * v + gains.integral * integral)
        queue.append(u)
        a = queue.pop(0)
        integral += h * e
        e, v = e + h * v + 0.5 * h * h * a, v + h * a
        sizes.append(np.hypot(e, v / 30.0))
    rate = (sizes[-1] / sizes[-1001]) ** (1 / 1000)
    assert rate == pytest.approx(sampled_spectral_radius(gains, h, delay), abs=1e-4)


def test_a_fractional_delay_joins_the_whole_ones():
    """The radius is continuous in the delay across whole periods."""
    gains = servo_gains(SERVOS[0])
    for d in (1.0, 2.0):
        at = sampled_spectral_radius(gains, 0.002, d)
        for close in (d - 1e-9, d + 1e-9):
            assert sampled_spectral_radius(gains, 0.002, close) == pytest.approx(at, abs=1e-6)


def force_spectral_radius(bandwidth, period, delay_periods):
    """Return the largest magnitude of a pole of the sampled servo of the internal force."""
    n = delay_periods + 1  # the integral and the commands that do not act yet
    A = np.zeros((n, n))
    A[0, 0] = 1.0
    A[0, -1] -= bandwidth * period
    for i in range(1, n):
        A[i, i - 1] = 1.0
    return float(np.max(np.abs(np.linalg.eigvals(A))))


def test_the_force_servo():
    """Without delay its pole is 1 - K h; its margin is a quarter turn less hold and delay."""
    assert force_spectral_radius(100.0, 0.002, 0) == pytest.approx(0.8)
    K, h = 50.0, 0.002
    margin = force_delay_margin(K, h, 1)
    # the first whole delay beyond the margin makes the sampled loop unstable, the last within not
    assert force_spectral_radius(K, h, 1 + int(margin / h)) < 1.0
    assert force_spectral_radius(K, h, 2 + int(margin / h)) > 1.0
    assert force_delay_margin(0.0) == np.inf


def test_the_largest_bandwidth_is_the_last_that_is_accepted():
    """Just below it settings pass; just above they are refused, and told that bandwidth."""
    servo = ServoSettings(30.0, 1.0, 0.0)
    largest = largest_bandwidth(servo.bandwidth, servo_gains(servo), 0.002, 1)
    assert 60.0 < largest < 500.0
    check_gains(ControlSettings(object=ServoSettings(largest * 0.999, 1.0, 0.0)))
    with pytest.raises(GainError, match=r"object: .* 500 Hz with 1 period ") as caught:
        check_gains(ControlSettings(object=ServoSettings(largest * 1.001, 1.0, 0.0)))
    assert caught.value.largest == pytest.approx(largest, rel=1e-6)


def test_the_largest_age_of_samples_leaves_one_period_of_margin():
    """The sampled loop is stable with this age and 0.95 periods, and unstable with 1.05."""
    settings = ControlSettings(object=ServoSettings(40.0, 1.0, 20.0))
    servo, age = largest_sample_age(settings)
    assert servo == "object"
    for periods, stable in ((0.95, True), (1.05, False)):
        delay = settings.command_delay_periods + age / settings.period + periods
        radius = sampled_spectral_radius(servo_gains(settings.object), settings.period, delay)
        assert (radius < 1.0) == stable
    # The delay that is stated counts from the measurement: it contains the age.
    assert largest_sample_age(replace(settings, command_delay_periods=3)) == (servo, age)
    sooner = largest_sample_age(replace(settings, command_delay_periods=0))[1]
    assert sooner == pytest.approx(age + settings.period)
    forces = ControlSettings(internal_force=ForceServoSettings(100.0))
    assert largest_sample_age(forces)[0] == "internal_force"
    for law in ("gravity", "impedance"):
        assert largest_sample_age(ControlSettings(law=law)) == ("", np.inf)


def test_defaults_pass_and_other_servos_are_checked():
    """Defaults have margin to spare; posture and force servos are refused by their names."""
    check_gains(ControlSettings())
    assert delay_margin(servo_gains(ServoSettings()), 0.002, 1) > 0.005
    for wrong, name in (
        (ControlSettings(posture=PostureSettings(400.0)), "posture"),
        (ControlSettings(hand=HandSettings(400.0)), "hand"),
        (ControlSettings(internal_force=ForceServoSettings(400.0)), "internal_force"),
        (ControlSettings(rate_hz=50.0), "object"),
    ):
        with pytest.raises(GainError) as caught:
            check_gains(wrong)
        assert caught.value.servo == name
