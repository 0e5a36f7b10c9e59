# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The study `fold`."""

from robot_dynamics.reproductions.fold import run


def test_its_claims_hold():
    """A short version: motion and force within their bounds."""
    told = []
    outcome = run(True, lambda done, doing: told.append(done))
    assert outcome.ok, [str(check) for check in outcome.checks if not check.ok]
    assert any("in fast motion" in check.claim for check in outcome.checks)
    assert told == sorted(told)
    assert 0.0 <= told[0] <= told[-1] <= 1.0
