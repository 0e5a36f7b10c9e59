# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Measurements of a held object in a task."""

import numpy as np
import pytest

from robot_dynamics.control.task.held_law import require_grip, require_push
from robot_dynamics.errors import RobotDynamicsError


def test_palms_do_not_pull():
    """Beyond 5 N, whatever grippers measure: a sensor's sign is wrong."""
    wrenches = np.zeros((2, 6))
    wrenches[:, 5] = -80.0, -4.9
    require_push({1: "right"}, wrenches)
    wrenches[1, 5] = -5.1
    with pytest.raises(RobotDynamicsError, match=r"wrist sensor of arm 'right' .* pull of 5.1 N"):
        require_push({1: "right"}, wrenches)


def test_palms_that_hold_push():
    """With a quarter of their squeeze or more, whatever grippers measure."""
    squeezes = np.array([80.0, 40.0])
    require_grip({1: "right"}, np.array([0.0, 10.1]), squeezes)
    expected = "arm 'right' pushes with 9.9 N, expected at least 10 N .* wrist sensor is dead"
    with pytest.raises(RobotDynamicsError, match=expected):
        require_grip({1: "right"}, np.array([80.0, 9.9]), squeezes)
