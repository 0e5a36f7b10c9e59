# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Sampled control decouples motion, contact force and internal force, on the closed-loop engine.

Steps of 10 mm, 10 N and 10 N, smoothed over 50 ms. What a step is not about moves by less than
0.05 mm, and by less than 0.05 N in the mean over every control period; and it moves by half if the
period is half. Within a period forces stray by more, as the arms move on under a torque that is
held; that halves as well. The figures are in docs/hybrid_control.md.
"""

from __future__ import annotations

import pytest
from support.hybrid_systems import GRASPS, SURFACES
from support.sampled_decoupling import run

LENGTH, FORCE = 5e-5, 0.05
# Ratios of deviations between periods: half, with what the next order adds or takes.
HALVES = (1.6, 5.0)


def check(count, kind, surfaces, joints):
    """Assert the bars for all steps."""
    for what in ("motion", "contact", "internal") if surfaces else ("motion", "internal"):
        slow, fast = (run(count, kind, surfaces, joints, what, T) for T in (2e-3, 1e-3))
        assert slow.position < LENGTH
        if what != "contact":
            assert slow.mean_contact < FORCE
        if what != "internal":
            assert slow.mean_force < FORCE
        if what == "motion":
            assert HALVES[0] < slow.force / fast.force < HALVES[1]
            assert HALVES[0] < slow.position / fast.position < HALVES[1]
            if surfaces:
                assert HALVES[0] < slow.contact / fast.contact < HALVES[1]


def test_steps_disturb_nothing_else():
    """Two arms of seven joints that hold rigidly and slide on a plane."""
    check(2, "rigid", 1, 7)


@pytest.mark.slow
@pytest.mark.parametrize("joints", [6, 7])
@pytest.mark.parametrize("surfaces", SURFACES)
@pytest.mark.parametrize(("count", "kind"), GRASPS)
def test_steps_disturb_nothing_else_anywhere(count, kind, surfaces, joints):
    """The same in every combination of arms, contacts and planes."""
    check(count, kind, SURFACES[surfaces], joints)
