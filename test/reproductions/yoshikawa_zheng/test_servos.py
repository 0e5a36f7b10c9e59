# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The servo (41) to (43): its poles, its limits, and when it does not integrate."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from robot_dynamics.errors import ArgumentError
from robot_dynamics.reproductions.yoshikawa_zheng.law import (
    CoordinateServo,
    CoordinateServoSettings,
    ForceServo,
    ForceServoParameters,
)


def test_errors_of_motion_obey_a_second_order_equation():
    """A double integrator under u1 follows e'' + K_V e' + K_P e = 0: critical damping here."""
    servo = CoordinateServo(CoordinateServoSettings([20.0], [100.0], 1e-4))
    position, velocity, h = 1.0, 0.0, 1e-4
    for _ in range(10000):
        (u,) = servo.step([0.0], [-velocity], [-position])
        velocity += h * float(u)
        position += h * velocity
    # (1 + 10 t) e^(-10 t) at t = 1; Euler's method with 1e-4 is off by 1e-3 of it.
    assert_allclose(position, 11.0 * np.exp(-10.0), rtol=0.02)


def test_an_integral_adds_a_pole_and_removes_what_a_constant_push_leaves():
    """From rest under a push of 1: the error is that of (s + 5)(s + 10)^2, and none remains."""
    h = 1e-4
    servo = CoordinateServo(CoordinateServoSettings([20.0], [100.0], h, integral=5.0))
    position, velocity, path = 0.0, 0.0, []
    for _ in range(30000):
        (u,) = servo.step([0.0], [-velocity], [-position])
        velocity += h * (float(u) + 1.0)
        position += h * velocity
        path.append(position)
    t = h * np.arange(1, 30001)
    # The inverse Laplace transform of 1 / ((s + 5)(s + 10)^2).
    exact = (np.exp(-5 * t) - np.exp(-10 * t)) / 25 - t * np.exp(-10 * t) / 5
    assert_allclose(path, exact, atol=2e-3 * exact.max())
    assert abs(path[-1]) < 1e-7 < 1.0 / 100.0  # which is what the printed law keeps


def test_the_integral_of_motion_is_bounded_and_forgotten_where_nothing_is_controlled():
    """A limit holds it, and a closed gate empties it, each coordinate by itself."""
    servo = CoordinateServo(
        CoordinateServoSettings([0.0] * 2, [100.0] * 2, 0.1, 10.0, [30.0, 5.0])
    )
    still = np.zeros(2)
    for _ in range(10):
        u = servo.step(still, still, [0.1, 0.1])
    assert_allclose(u, [10.0 + 30.0, 10.0 + 5.0])
    assert_allclose(servo.step(still, still, still, [True, False]), [30.0, 0.0])
    with pytest.raises(ArgumentError, match="expected a positive period"):
        CoordinateServoSettings([1.0], [1.0], 0.0)


def test_a_constant_error_decays_with_the_pole_of_sampling():
    """Against f = u + 1 the error shrinks by 1 - K T each sample: 0.8 for 100 1/s and 2 ms."""
    servo = ForceServo(ForceServoParameters(100.0, 2e-3), 1)
    force, errors = 1.0, []
    for _ in range(10):
        force = float(servo.step([0.0], [force])[0]) + 1.0
        errors.append(force)
    assert_allclose(np.divide(errors[1:], errors[:-1]), 0.8, rtol=1e-12)


@pytest.mark.parametrize("delay", [0, 1, 3])
def test_the_late_comparison_does_not_answer_to_steps_that_are_followed(delay):
    """A force that is u of some samples ago leaves no integral behind a step of f_d."""
    settings = ForceServoParameters(100.0, 2e-3, late=1 + delay)
    literal = ForceServoParameters(100.0, 2e-3)
    for chosen, left in ((settings, 0.0), (literal, 0.2 * (1 + delay))):
        servo, past = ForceServo(chosen, 1), [0.0] * (1 + delay)
        largest = 0.0
        for k in range(20):
            u = float(servo.step([1.0 if k >= 10 else 0.0], [past.pop(0)])[0])
            past.append(u)
            largest = max(largest, float(np.abs(servo.integral).max()))
        assert_allclose(largest, left, atol=1e-12)


def test_limits_and_gate():
    """Errors and integrals stop at their limits, and a closed gate adds nothing."""
    servo = ForceServo(ForceServoParameters(100.0, 2e-3, error_limit=0.5, integral_limit=0.3), 2)
    assert_allclose(servo.step([0.0, 0.0], [-5.0, 5.0]), [0.1, -0.1])
    assert_allclose(servo.step([0.0, 0.0], [-5.0, 5.0], [False, True]), [0.1, -0.2])
    for _ in range(10):
        servo.step([0.0, 0.0], [-5.0, 5.0])
    assert_allclose(servo.integral, [0.3, -0.3])
    servo.reset()
    assert_allclose(servo.integral, 0.0)


def test_settings_that_are_refused():
    """Negative gains, periods, limits and lateness are answered in one sentence."""
    for wrong in (
        {"gain": -1.0, "period": 1e-3},
        {"gain": 1.0, "period": 0.0},
        {"gain": 1.0, "period": 1e-3, "error_limit": 0.0},
        {"gain": 1.0, "period": 1e-3, "late": -1},
    ):
        with pytest.raises(ArgumentError, match="force servo"):
            ForceServoParameters(**wrong)
