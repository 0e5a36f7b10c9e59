# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Paths that arms cannot follow, found a little at a time."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from two_arms import BOX, two_arms

from robot_dynamics.control.link_distance import Proximity
from robot_dynamics.control.settings import SafetySettings
from robot_dynamics.control.streamed.reach_check import ReachCheck
from robot_dynamics.control.streamed.trajectory import ObjectTrajectory, TrajectoryError
from robot_dynamics.manipulation.assembly import closed_configuration
from robot_dynamics.robot import Robot

SYSTEM = two_arms()
HELD = closed_configuration(SYSTEM, BOX)[SYSTEM.q_index]
TERMS = Robot(SYSTEM.model).constraint_terms


def check(move, duration, **limits):
    """Return the check of a straight path."""
    settings = replace(SafetySettings(), **limits)
    proximity = Proximity(SYSTEM, settings)
    proximity.begin(HELD, BOX)
    end = BOX.copy()
    end[:3] += move
    path = ObjectTrajectory([0.0, duration], [BOX, end])
    return ReachCheck(SYSTEM, settings, TERMS, proximity, [path], HELD)


def test_a_good_path_is_looked_at_in_pieces():
    """Until all of it has been seen."""
    found, pieces = check([0.0, 0.0, 0.05], 2.0), 0
    while not found.done:
        found.advance(4)
        pieces += 1
    assert pieces == 11  # 41 points, 0.05 s apart


@pytest.mark.parametrize(
    ("move", "duration", "limits", "words"),
    [
        ([2.0, 0.0, 0.0], 20.0, {}, "after "),
        ([0.0, 0.0, 0.3], 0.1, {}, "would move at"),
        ([0.0, 0.0, 0.05], 2.0, {"position_margin": 3.0}, "after 0.00 s joint 'left_joint1'"),
        ([0.0, 0.0, 0.05], 2.0, {"link_radius_m": 0.3}, "expected at least 0.02 m"),
    ],
)
def test_reach_speed_limits_and_distances_are_checked(move, duration, limits, words):
    """Reach, speed, position limits, and links that come too close."""
    found = check(move, duration, **limits)
    with pytest.raises(TrajectoryError) as caught:
        found.advance(1000)
    assert str(caught.value).startswith("reference refused: after ")
    assert words in str(caught.value)


def test_a_pose_that_is_no_number():
    """Nothing passes that cannot be compared."""
    found = check([0.0, 0.0, 0.05], 1.0)
    found._rows[0][3, 0] = np.nan
    with pytest.raises(TrajectoryError):
        found.advance(1000)
