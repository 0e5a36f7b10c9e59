# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The study `unseren`."""

import numpy as np

from robot_dynamics.reproductions.joint_space import JointSpaceModel
from robot_dynamics.reproductions.jointed_systems import worked_case
from robot_dynamics.reproductions.unseren import Family, run


def test_its_claims_hold():
    """A short version: motion and force within their bounds."""
    told = []
    outcome = run(True, lambda done, doing: told.append(done))
    assert outcome.ok, [str(check) for check in outcome.checks if not check.ok]
    assert any("in fast motion" in check.claim for check in outcome.checks)
    assert told == sorted(told)
    assert 0.0 <= told[0] <= told[-1] <= 1.0


def test_wrong_models_are_told_from_perfect_ones():
    """Claims about perfect models would not hold for wrong ones."""
    outcome = run(True, lambda done, doing: None)
    right, wrong = (outcome.figures[name]["position [mm]"] for name in ("perfect", "random 1"))
    assert wrong > 100.0 * right


def test_least_torque_is_least():
    """Of all torques that hold the object, those of the chosen force are larger."""
    family = Family.of(worked_case())
    assert family.same < 1e-9
    terms = JointSpaceModel(worked_case().system).terms(
        worked_case().start, 0.0 * worked_case().start
    )
    still = 0.0 * worked_case().start
    for axis in range(3):
        for sign in (-1.0, 1.0):
            f = family.force + 0.1 * sign * np.eye(3)[axis]
            assert np.linalg.norm(terms.inverse(still, f)) > family.least
