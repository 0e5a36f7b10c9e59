# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A step states the admitted part, and has a value for each column of a recording."""

from __future__ import annotations

import numpy as np
import pytest
from support.hybrid_step import INSTANT, bare_gains, law_of
from support.hybrid_systems import environment_of, state_of

from robot_dynamics.control.hybrid.law_inputs import Layout
from robot_dynamics.control.hybrid.step import HybridStep
from robot_dynamics.errors import RobotDynamicsError

# The part of the task that asks for too much, and where its scale stands in `SCALES`.
TOO_MUCH = {
    "squeeze": (0, {"internal": 1e4}),
    "motion": (1, {"acceleration": 1e4}),
    "rate": (2, {"internal": 1.0}),
    "contact force": (5, {"contact": 1e6}),
}


@pytest.mark.parametrize("part", TOO_MUCH)
def test_every_part_counts_in_the_task_scale(part):
    """The smallest of squeeze, motion, rate and contact force; not the load, the pivot or the
    posture, which the task does without.
    """
    at, asked = TOO_MUCH[part]
    state = state_of(2, "rigid", 6, environment_of(1), np.random.default_rng(1))
    rate = 1e-3 / INSTANT if part == "rate" else np.inf
    gains = bare_gains(state.system, effort=np.full(12, 1e4), torque_rate=rate)
    layout = Layout.of(state.system)
    told = law_of(2, "rigid", 6, 1, compiled=False).run(state, gains=gains, **asked)
    outputs = np.concatenate([told[name] for name in layout.outputs])
    step = HybridStep(np.zeros(12), np.zeros(1), outputs, np.zeros(1), layout, np.zeros(6))
    scales = told["scales"]
    assert scales[at] < 0.9
    assert step.effort_scale == min(scales[[0, 1, 5]])
    assert step.task_scale == min(scales[[0, 1, 2, 5]]) == scales[at]
    assert step.support_torque_ratio == scales[3]
    assert step.outputs.contact_force == told["contact_force"]


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
    """By 1e-3, and by their motion in four periods; beyond dead points they are refused."""
    layout = Layout(joints=12, directions=12, surfaces=1, arms=2, passive_joints=4)
    outputs = np.zeros(layout.size(layout.outputs))
    outputs[layout.outputs["linkage"]] = linkage
    step = HybridStep(np.zeros(12), np.zeros(1), outputs, np.zeros(1), layout, np.zeros(6))
    if fault is None:
        step.require_linkages()
    else:
        with pytest.raises(RobotDynamicsError, match=fault):
            step.require_linkages()
