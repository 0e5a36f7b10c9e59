# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Steps of a law for tests of the rules that judge them."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np

from robot_dynamics.control.step_check import CellStep


def law_step(torque, arms=2, **fields):
    """Return a step that breaks no rule but by its torque, and by the fields that are given."""
    good = {
        "support": np.zeros(np.shape(torque)),
        "support_torque_ratio": 0.0,
        "pose": np.array([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0]),
        "error": np.zeros(6),
        "closure": np.zeros(6 * (arms - 1)),
        "task_scale": 1.0,
        "held_body_wrenches": np.zeros((1, 18)),
        "tilts": np.zeros(1),
    }
    return SimpleNamespace(torque=torque, **{**good, **fields})


def judged(check, step, wrists=None):
    """Return the step that a check was asked about last, as its rules judge it."""
    q = np.zeros(len(step.torque))
    return CellStep(step, step.torque, q, check.figures(step, 0), check.residuals, wrists)


def findings(check, step):
    """Return the findings about a step without measured wrenches, from zero torque."""
    q = np.zeros(len(step.torque))
    check.passes(step, step.torque, q, q, measured=False)
    return list(check.findings(judged(check, step)))
