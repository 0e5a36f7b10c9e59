# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Damping of contacts: by default from the mass behind them, with a warning if less."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from support.hybrid_control import SETTINGS, START, SYSTEM, Q, floor

from robot_dynamics.control.hybrid.contact_damping import SingularArmError, contact_damping
from robot_dynamics.control.touch_settings import ContactForceSettings
from robot_dynamics.manipulation.grasping import hybrid_system
from robot_dynamics.manipulation.hybrid import surface_masses
from robot_dynamics.model import pose

HYBRID = hybrid_system(SYSTEM, None, floor(0.4))


def damping(**contact):
    """Return the damping on a floor."""
    settings = replace(SETTINGS, contact_force=ContactForceSettings(**contact))
    return contact_damping(HYBRID, settings, Q, START)


def test_it_is_two_and_a_half_times_what_is_stable():
    """b = 2.5 m K, with the mass of arms and object along the normal."""
    terms = HYBRID.terms(Q, np.zeros(14), pose(START[:3]), np.zeros(6))
    found = damping(bandwidth=20.0)
    assert found.values == pytest.approx(2.5 * 20.0 * surface_masses(terms))
    assert found.warnings == ()


def test_too_little_of_it_is_told():
    """K_IF above (c + b) / m: the literal law, and damping that somebody chose too small."""
    for found in (damping(law="literal"), damping(damping=10.0)):
        assert "bounces on any elastic wall" in found.warnings[0]
    assert damping(law="literal").values == [0.0]
    assert damping(damping=10.0).values == [10.0]


def test_without_surfaces_there_is_none():
    """An object in free space has no contact to damp."""
    found = contact_damping(hybrid_system(SYSTEM), SETTINGS, Q, START)
    assert found.values.shape == (0,)


def test_a_singular_posture_is_refused_with_its_arm():
    """The second arm stretched: the matrix of the masses has no inverse."""
    q = Q.copy()
    q[7:] = 0.0
    with pytest.raises(SingularArmError, match="the arm of tool 'arm1_tool' is at a singularity"):
        contact_damping(HYBRID, SETTINGS, q, START)
