# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Measurements of a held object in a task."""

import numpy as np
import pytest

from robot_dynamics.control.task.held_law import require_push
from robot_dynamics.errors import RobotDynamicsError


def test_palms_do_not_pull():
    """Beyond 5 N, whatever grippers measure: a sensor's sign is wrong."""
    wrenches = np.zeros((2, 6))
    wrenches[:, 5] = -80.0, -4.9
    require_push({1: "right"}, wrenches)
    wrenches[1, 5] = -5.1
    with pytest.raises(RobotDynamicsError, match=r"wrist sensor of arm 'right' .* pull of 5.1 N"):
        require_push({1: "right"}, wrenches)
