# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Two arms on springs and dampers."""

from robot_dynamics.reproductions import flexible_base


def test_its_claims_hold():
    """Frequencies of the closed form, peaks of the simulation, and a base that comes to rest."""
    outcome = flexible_base.run(True, lambda done, doing: None)
    assert outcome.ok, [str(check) for check in outcome.checks]
    assert any("in fast motion" in check.claim for check in outcome.checks)
    figures = outcome.figures
    # There is something to see, and gravity makes a difference.
    assert figures["base moved by at most [mm]"] > 5.0
    gravity = figures["natural frequencies, linear model with gravity [Hz]"]
    assert gravity != figures["without gravity [Hz]"]
