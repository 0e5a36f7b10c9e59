# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Steps of a law for tests of the rules that judge them."""

from __future__ import annotations

import numpy as np

from robot_dynamics.control.control_law import HeldStep
from robot_dynamics.control.step_check import CellStep


def law_step(torque, arms=2, *, task_scale=1.0, support_torque_ratio=0.0, **fields):
    """Return a step that breaks no rule but by its torque, and by the fields that are given."""
    good = {
        "support": np.zeros(np.shape(torque)),
        "reference": np.zeros(0),
        "pose": np.array([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0]),
        "closure": np.zeros(6 * (arms - 1)),
        "internal_force": np.zeros(0),
        "held_body_wrenches": np.zeros((1, 18)),
    }
    step = HeldStep(torque=torque, **{**good, **fields})
    step.task_scale, step.support_torque_ratio = task_scale, support_torque_ratio
    return step


def judged(check, step, wrists=None):
    """Return the step that a check was asked about last, as its rules judge it."""
    q = np.zeros(len(step.torque))
    return CellStep(step, step.torque, q, check.figures(0), check.residuals, wrists)


def findings(check, step):
    """Return the findings about a step without measured wrenches, from zero torque."""
    q = np.zeros(len(step.torque))
    check.passes(step, step.torque, q, q, measured=False)
    return list(check.findings(judged(check, step)))
