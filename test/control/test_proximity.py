# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Links that come too close while control runs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from two_arms import BASE, BOX, two_arms

from robot_dynamics.control.faults import Cause
from robot_dynamics.control.link_distance import Proximity
from robot_dynamics.control.settings import SafetySettings
from robot_dynamics.manipulation.assembly import closed_configuration

SYSTEM = two_arms()
HELD = closed_configuration(SYSTEM, BOX)[SYSTEM.q_index]


def test_arms_at_their_grasps_are_far_enough_apart():
    """Nothing is found where a run starts."""
    watch = Proximity(SYSTEM, SafetySettings())
    watch.begin(HELD, BOX)
    assert watch.finding(HELD, BOX) is None


def test_an_arm_across_the_other_one():
    """The finding names both links, how close they are, and what was expected."""
    watch = Proximity(SYSTEM, SafetySettings())
    watch.begin(HELD, BOX)
    across = np.zeros(14)
    across[0], across[1] = -np.pi / 2, np.pi / 2
    found = watch.finding(across, BOX)
    assert found.cause is Cause.TOO_CLOSE
    assert found.subject.startswith("left_joint")
    assert "after 'right_joint" in found.sentence
    assert "expected at least 0.02 m (links of radius 0.06 m)" in found.sentence


def test_different_arms_are_never_neighbours():
    """Also where they start too close: only capsules of one arm may overlap there."""
    wide = replace(SafetySettings(), link_radius_m=0.3)
    watch = Proximity(SYSTEM, wide)
    watch.begin(HELD, BOX)
    assert watch.finding(HELD, BOX).cause is Cause.TOO_CLOSE


def test_the_object_has_a_distance_of_its_own():
    """An object that comes to an upper arm."""
    box = np.array([[-0.1, -0.1, -0.1], [0.1, 0.1, 0.1]])
    watch = Proximity(SYSTEM, SafetySettings(), box)
    watch.begin(HELD, BOX)
    assert watch.finding(HELD, BOX) is None
    at_the_base = np.array([0.0, BASE, 0.3, 0.0, 0.0, 0.0, 1.0])
    found = watch.finding(HELD, at_the_base)
    assert "m from the object, expected at least 0 m" in found.sentence
    assert Proximity(SYSTEM, SafetySettings()).finding(HELD, at_the_base) is None


def test_what_is_no_number_is_too_close():
    """Comparisons are written so that a NaN never passes."""
    watch = Proximity(SYSTEM, SafetySettings())
    watch.begin(HELD, BOX)
    assert watch.finding(np.full(14, np.nan), BOX) is not None
