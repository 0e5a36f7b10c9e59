# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What spare joints do: stay near their posture, and away from limits and singularities."""

from __future__ import annotations

import numpy as np
from numpy.testing import assert_allclose

from robot_dynamics.control.hybrid.gains import hybrid_gains
from robot_dynamics.control.hybrid.posture_motion import desired_posture_motion
from robot_dynamics.control.hybrid.settings import HybridSettings
from robot_dynamics.control.settings import ControlSettings, PostureSettings, SafetySettings

LIMITS = {
    "lower": np.array([-1.0, -1.0, -np.inf]),
    "upper": np.array([1.0, 1.0, np.inf]),
    "effort": np.ones(3),
}


def wish(q, qd, away=(0.0, 0.0, 0.0), **changes):
    """Return the wish with a servo of 2 rad/s."""
    settings = ControlSettings(posture=PostureSettings(bandwidth=2.0))
    hybrid = HybridSettings(limit_margin=0.1, limit_bandwidth=3.0, **changes)
    gains = hybrid_gains(settings, SafetySettings(), hybrid, np.zeros(0), np.zeros(3), LIMITS)
    return desired_posture_motion(gains, q, qd, away)


def test_it_is_the_posture_and_the_limits():
    """Within the margin of a limit a joint is driven back in proportion to how far it is."""
    acceleration, velocity = wish([0.95, -0.97, 0.5], [0.1, 0.0, 0.0])
    limits = np.array([-9.0 * 0.05, 9.0 * 0.07, 0.0])
    pull = limits - 4.0 * np.array([0.95, -0.97, 0.5])
    assert_allclose(acceleration, pull - 4.0 * np.array([0.1, 0.0, 0.0]))
    assert_allclose(velocity, pull / 4.0)


def test_it_goes_away_from_singularities():
    """The way out is followed with its gain."""
    acceleration, _ = wish([0.0] * 3, [0.0] * 3, (1.0, -2.0, 0.0), avoidance=5.0)
    assert_allclose(acceleration, [5.0, -10.0, 0.0])
