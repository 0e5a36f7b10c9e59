# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The worked case with six joints an arm at rest, and a small motion of its object."""

from __future__ import annotations

import numpy as np
from manipulation.jointed_object.cases import CASE, state_of, system_of

from robot_dynamics.control.jointed.object_path import ObjectPath
from robot_dynamics.control.settings import ReferenceSettings, SegmentSettings, TurnSettings
from robot_dynamics.reproductions.joint_space import JointSpaceModel

SYSTEM = system_of(CASE)
MODEL = JointSpaceModel(SYSTEM)
START = state_of(CASE)[0]
AT_REST = MODEL.terms(START, 0.0 * START)
FIRST = ReferenceSettings(
    (SegmentSettings(0.5, move=(0.015, 0.02, 0.0), rotate=TurnSettings((0.0, 1.0, 1.0), 4.0)),)
)
SECOND = ReferenceSettings((SegmentSettings(0.4, rotate=TurnSettings((1.0, 0.0, 1.0), 6.0)),))
FORCE = np.array([5.0, -3.0, 8.0])


POSES = SYSTEM.part_poses(START)


def path():
    """Return a motion by 25 mm and some degrees, of both parts."""
    return ObjectPath(SYSTEM, POSES, FIRST, SECOND)
