# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Two arms on a vehicle."""

import numpy as np
from numpy.testing import assert_allclose

from robot_dynamics.reproductions import mobile_manipulator
from robot_dynamics.reproductions.unified import UnifiedTerms, forward_dynamics


def test_its_claims_hold():
    """The box keeps its path under the unified law; the other law loses it by millimetres."""
    outcome = mobile_manipulator.run(True, lambda done, doing: None)
    assert outcome.ok, [str(check) for check in outcome.checks]
    assert any("in fast motion" in check.claim for check in outcome.checks)
    assert outcome.figures["freedoms of the base"] == 3
    assert outcome.figures["error of the box's path at most [mm]"][mobile_manipulator.FIXED] > 0.5
    # Neither tool ever lets go.
    assert outcome.figures["least push of a tool on the box [N]"] > 50.0


def test_a_fixed_base_has_nothing_that_follows():
    """Section 8.1: with the base's blocks gone, H is J_q M_a^-1 J_q^T."""
    cell = mobile_manipulator._Vehicle(4.0)
    q = mobile_manipulator.held_at(
        cell.system, cell.robot, np.zeros(3), np.array([1.5, 0, 0, 0, 0, 0, 1.0])
    )
    terms = cell.system.terms(q, np.zeros(21))
    fixed = mobile_manipulator.on_fixed_base(terms)
    assert isinstance(fixed, UnifiedTerms)
    J, M = terms.parts.J_a, terms.parts.M_a
    assert_allclose(fixed.parts.H, J @ np.linalg.solve(M, J.T), rtol=1e-9, atol=1e-12)
    assert forward_dynamics(fixed, np.zeros(12)).following_accelerations.shape == (0,)
