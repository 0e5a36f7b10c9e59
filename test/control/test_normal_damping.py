# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The normal damping that an integrating force servo needs, and the warning about it."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from robot_dynamics.control.hybrid.contact_damping import gain_warnings, normal_damping
from robot_dynamics.errors import ArgumentError


@pytest.mark.parametrize("stiffness", [1e3, 1e4, 1e5])
@pytest.mark.parametrize("damping", [10.0, 16.0, 17.0, 40.0])
def test_the_warning_is_the_criterion_of_stability(stiffness, damping):
    """It is given exactly if m s^3 + (c + b) s^2 + k s + K k has a root to the right."""
    mass, gain, own = 0.165, 100.0, 2.0
    roots = np.roots([mass, own + damping, stiffness, gain * stiffness])
    unstable = bool(np.max(roots.real) > 0.0)
    assert bool(gain_warnings(mass, gain, damping, own)) == unstable


def test_the_default():
    """It is 2.5 m K, less where that times the latency comes near m, and then it is said."""
    chosen = normal_damping(0.165, 100.0, 3e-3)
    assert_allclose(chosen.damping, 2.5 * 0.165 * 100.0)
    assert chosen.warnings == ()
    slower = normal_damping(0.165, 100.0, 5e-3)
    assert_allclose(slower.damping, 0.8 * 0.165 / 5e-3)
    assert ["more would excite the contact" in text for text in slower.warnings] == [True]
    hopeless = normal_damping(0.165, 100.0, 9e-3)
    assert "bounces on any elastic wall" in hopeless.warnings[0]
    with pytest.raises(ArgumentError, match="expected a positive mass"):
        normal_damping(0.0, 100.0, 1e-3)
