# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The arm whose link bends."""

import numpy as np

from robot_dynamics.reproductions.flexible_link import clamped_beam, run


def test_its_claims_hold():
    """A short version: frequencies of beam theory, and a slew that hardly rings."""
    told = []
    outcome = run(True, lambda done, doing: told.append(done))
    assert outcome.ok, [str(check) for check in outcome.checks]
    assert any("in fast motion" in check.claim for check in outcome.checks)
    assert told == sorted(told)
    assert 0.0 <= told[0] <= told[-1] <= 1.0 + 1e-9
    vibration = outcome.figures["vibration of the tip after the slew [mm]"]
    assert vibration["in one"] > 50.0  # there is something to keep quiet


def test_theory_is_the_textbook():
    """The roots of 1 + cos(x) cosh(x) = 0, and the first frequency of 2 Hz that was chosen."""
    roots = np.sqrt(clamped_beam() * 2.0 * np.pi / np.sqrt(12.8))
    np.testing.assert_allclose(1.0 / np.cosh(roots) + np.cos(roots), 0.0, atol=1e-9)
    assert abs(clamped_beam()[0] - 2.0) < 0.01
