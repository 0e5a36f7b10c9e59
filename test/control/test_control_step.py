# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What the safety layer reads from a step."""

import numpy as np

from robot_dynamics.control.control_step import ControlStep


def test_scales_have_names():
    """The task's parts are the first three, the support's load is the fourth."""
    values = {name: np.zeros(1) for name in ControlStep._fields}
    step = ControlStep(**values | {"scales": np.array([0.9, 0.5, 0.7, 1.25, 0.01])})
    assert step.task_scale == 0.5
    assert step.support_torque_ratio == 1.25
