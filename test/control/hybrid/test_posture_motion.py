# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Redundant joints keep near their posture, and away from limits and singularities."""

from __future__ import annotations

import numpy as np
from numpy.testing import assert_allclose

from robot_dynamics.control.hybrid.gains import hybrid_gains
from robot_dynamics.control.hybrid.servo import PostureMotion, hand_motion
from robot_dynamics.control.settings import (
    ControlSettings,
    HandSettings,
    PostureSettings,
    SafetySettings,
)

LIMITS = {
    "lower": np.array([-1.0, -1.0, -np.inf]),
    "upper": np.array([1.0, 1.0, np.inf]),
    "effort": np.ones(3),
}


def gains_of(**changes):
    """Return gains with servos of 2 rad/s for the posture and of 5 rad/s for hands."""
    posture = PostureSettings(2.0, limit_margin=0.1, limit_bandwidth=3.0, **changes)
    settings = ControlSettings(posture=posture, hand=HandSettings(5.0, damping_ratio=0.7))
    return hybrid_gains(settings, SafetySettings(), np.zeros(0), np.zeros(3), LIMITS)


def motion(q, qd, away=(0.0, 0.0, 0.0), **changes):
    """Return acceleration and velocity of the posture."""
    found = PostureMotion.of(gains_of(**changes), q, qd, away)
    return found.acceleration, found.velocity


def test_it_is_the_posture_and_the_limits():
    """Within the margin of a limit a joint is driven back in proportion to how far it is."""
    acceleration, velocity = motion([0.95, -0.97, 0.5], [0.1, 0.0, 0.0])
    limits = np.array([-9.0 * 0.05, 9.0 * 0.07, 0.0])
    pull = limits - 4.0 * np.array([0.95, -0.97, 0.5])
    assert_allclose(acceleration, pull - 4.0 * np.array([0.1, 0.0, 0.0]))
    assert_allclose(velocity, pull / 4.0)


def test_it_goes_away_from_singularities():
    """The way out is followed with its gain."""
    acceleration, _ = motion([0.0] * 3, [0.0] * 3, (1.0, -2.0, 0.0), singularity_avoidance=5.0)
    assert_allclose(acceleration, [5.0, -10.0, 0.0])


def test_hands_return_to_their_grasps():
    """e'' + 2 z w e' + w^2 e = 0, and motion away from limits moves hands as well."""
    gains, J = gains_of(), [[1.0, 2.0, 0.0]]
    acceleration, velocity = hand_motion(gains, [0.1], [0.2], J, [0.0] * 3)
    assert_allclose(acceleration, -25.0 * 0.1 - 7.0 * 0.2)
    assert_allclose(velocity, -25.0 / 7.0 * 0.1)
    at_limits = PostureMotion.of(gains, [0.95, -0.97, 0.5], [0.0] * 3, [0.0] * 3).avoidance
    assert_allclose(at_limits, [-9.0 * 0.05, 9.0 * 0.07, 0.0])
    acceleration, velocity = hand_motion(gains, [0.0], [0.0], J, at_limits)
    assert_allclose(acceleration, -0.45 + 2.0 * 0.63)
    assert_allclose(velocity, (-0.45 + 2.0 * 0.63) / 4.0)
