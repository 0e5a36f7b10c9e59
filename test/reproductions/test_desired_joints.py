# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Joints follow the object's path: it is where they say, and moves as they say."""

from __future__ import annotations

import numpy as np
import pytest
from control.jointed.situations import FIRST, MODEL, POSES, START, SYSTEM, path
from numpy.testing import assert_allclose

from robot_dynamics.control.jointed.object_path import ObjectPath
from robot_dynamics.control.settings import ReferenceSettings, SegmentSettings
from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.reproductions.desired_joints import DesiredJoints
from robot_dynamics.reproductions.parts_motion import PartPoses, parts_motion


def test_joints_follow_the_path():
    """Positions bring the parts where the path is, velocities are their derivative."""
    joints, way, h = DesiredJoints(MODEL, START), path(), 1e-3
    parts = PartPoses(SYSTEM)
    before = None
    for time in (0.2, 0.2 + h, 0.2 + 2 * h):
        motion = parts_motion(way, time)[0]
        q, qd, terms = joints.at(motion)
        assert_allclose(motion.error(parts.poses(terms), terms.centers), 0.0, atol=1e-9)
        assert_allclose(terms.gap, 0.0, atol=1e-9)
        assert_allclose(terms.velocity, motion.velocity, atol=1e-9)
        if time == 0.2:
            before = q
        elif time == 0.2 + h:
            middle = qd
    # Central differences over 2 ms.
    assert_allclose((q - before) / (2 * h), middle, atol=1e-4)


def test_places_out_of_reach_are_refused():
    """Unreachable places end in a sentence, not in a wrong answer."""
    far = ReferenceSettings((SegmentSettings(1.0, move=(0.0, 0.0, 5.0)),))
    way = ObjectPath(SYSTEM, POSES, far, ReferenceSettings())
    with pytest.raises(RobotDynamicsError):
        DesiredJoints(MODEL, START).at(parts_motion(way, 1.0)[0])
    assert FIRST.segments
    assert np.isfinite(START).all()
