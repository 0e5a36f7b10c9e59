# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The experiments' paths and forces are those of the paper."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from robot_dynamics.reproductions.yoshikawa_zheng.tasks import DURATION, task


@pytest.mark.parametrize("number", [1, 2, 3])
def test_velocities_and_accelerations_are_derivatives(number):
    """Central differences of the path agree with its rates."""
    what, h = task(number), 1e-6
    for time in np.linspace(0.011, DURATION - 0.011, 83):
        before, at, after = (what.wanted(t) for t in (time - h, time, time + h))
        assert_allclose((after.r - before.r) / (2 * h), at.rd, atol=1e-8)
        # Where the jerk jumps, by 40 m/s^3, the difference is off by that times h.
        assert_allclose((after.rd - before.rd) / (2 * h), at.rdd, atol=1e-4)


def test_distances_and_forces():
    """0.05 m along x in 0.8 s; 0.025 m forth and back along y; the forces of Table 2."""
    slide, free = task(1), task(2)
    assert_allclose(slide.wanted(DURATION).r - slide.wanted(0.0).r, [0.05, 0.0, 0.0], atol=1e-15)
    assert_allclose(free.wanted(DURATION / 2).r[1] - free.wanted(0.0).r[1], 0.025, atol=1e-15)
    assert_allclose(free.wanted(DURATION).r[1], free.wanted(0.0).r[1], atol=1e-15)
    forces = [(slide.wanted(t).press, slide.wanted(t).squeeze) for t in (0.0, 0.268, 0.27, 0.53)]
    assert forces == [(0.5, 0.8), (0.5, 0.8), (0.75, 1.0), (0.5, 0.8)]


def test_the_wall_is_met_at_the_speed_of_impact():
    """The tip would be on the wall, with 0.068 m/s, when the third task meets and leaves it."""
    what = task(3)
    meeting, leaving = what.wanted(what.meeting), what.wanted(what.leaving)
    assert_allclose(meeting.rd[1], 0.068, rtol=1e-9)
    assert_allclose(leaving.rd[1], -0.068, rtol=1e-9)
    for at in (meeting, leaving):
        assert_allclose(at.r[1] + 0.03, what.wall, atol=1e-12)
    assert_allclose(what.meeting, 0.0873, atol=1e-4)
