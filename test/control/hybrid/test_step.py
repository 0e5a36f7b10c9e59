# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A step says what limits let through, and has a value for each column of a recording."""

from __future__ import annotations

import numpy as np
import pytest

from robot_dynamics.control.hybrid.law_inputs import Layout
from robot_dynamics.control.hybrid.step import HybridStep
from robot_dynamics.errors import RobotDynamicsError


def test_the_contact_force_counts_in_the_task_scale():
    """The smallest of squeeze, motion, rate and contact force; not the load, the pivot or the
    posture, which the task does without.
    """
    layout = Layout(joints=14, directions=12, surfaces=1, arms=2)
    outputs = np.zeros(layout.size(layout.outputs))
    outputs[layout.outputs["scales"]] = [0.9, 0.8, 1.0, 0.5, 1e-3, 0.7, 0.2, 0.1]
    step = HybridStep(np.zeros(14), np.zeros(1), outputs, np.zeros(1), layout.outputs, np.zeros(6))
    assert step.task_scale == pytest.approx(0.7)
    assert step.effort_scale == pytest.approx(0.7)
    assert step.support_torque_ratio == pytest.approx(0.5)
    assert step.lost_acceleration == pytest.approx(0.2)
    outputs[layout.outputs["contact_force"]] = 4.0
    assert step.contact_force == [4.0]


@pytest.mark.parametrize(
    ("linkage", "fault"),
    [
        ((1e-9, 1.1e-3, 0.0), None),
        ((1e-9, 0.9e-3, 0.0), "dead points by 0.0009, expected at least 0.001"),
        ((1e-9, 0.02, 0.005), "dead points by 0.02, expected at least 0.021"),
        ((1e-9, -0.4, 0.0), "dead points by -0.4"),
        ((1e-5, 0.4, 0.0), "open by 1e-05 m or rad, expected at most 1e-06"),
        ((0.0, np.nan, 0.0), "dead points by nan"),
    ],
)
def test_linkages_are_off_their_dead_points_and_closed(linkage, fault):
    """By 1e-3, and by what they move in four periods; beyond dead points they are refused."""
    layout = Layout(joints=12, directions=12, surfaces=1, arms=2, passive_joints=4)
    outputs = np.zeros(layout.size(layout.outputs))
    outputs[layout.outputs["linkage"]] = linkage
    step = HybridStep(np.zeros(12), np.zeros(1), outputs, np.zeros(1), layout.outputs, np.zeros(6))
    if fault is None:
        step.require_linkages()
    else:
        with pytest.raises(RobotDynamicsError, match=fault):
            step.require_linkages()
