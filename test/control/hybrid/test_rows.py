# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Rows that are followed: compared late, and taken over without a jump."""

from __future__ import annotations

import numpy as np
from numpy.testing import assert_allclose
from scipy.spatial.transform import Rotation

from robot_dynamics.control.hybrid.law_inputs import Layout
from robot_dynamics.control.hybrid.rows import blended, with_compared

LAYOUT = Layout(joints=14, directions=12, surfaces=1, arms=2)
WIDTH = LAYOUT.reference["internal"].stop
FORCES = np.r_[LAYOUT.reference["contact"], LAYOUT.reference["internal"]]


class Ramp:
    """A plan on which every number is the time."""

    def rows(self, times):
        """Return rows of the time."""
        return np.repeat(np.asarray(times, dtype=float)[:, None], WIDTH, axis=1)


def test_measured_forces_are_compared_with_what_they_answer():
    """Two samples late, across the rows that were followed before; the first row at the start."""
    rows = Ramp().rows(np.arange(4.0))
    alone = with_compared(rows, rows[:0], LAYOUT.reference, 2)
    assert_allclose(alone[:, LAYOUT.reference["compared_contact"]].ravel(), [0, 0, 0, 1])
    before = Ramp().rows(np.array([7.0, 8.0, 9.0]))
    after = with_compared(rows, before, LAYOUT.reference, 2)
    assert_allclose(after[:, LAYOUT.reference["compared_internal"]][:, 0], [8, 9, 0, 1])


def test_a_new_plan_takes_over_smoothly():
    """Pose, twist and acceleration begin with the old row and end with the new plan's.

    In between they are each other's derivatives, by differences of a millisecond.
    """
    h, count = 1e-3, 601
    t = np.arange(count) * h
    rows = np.zeros((count, WIDTH))
    rows[:, 0], rows[:, 10] = 0.3 * t, 0.3
    rows[:, 3:7] = Rotation.from_rotvec(np.outer(0.5 * t, [0.0, 0.0, 1.0])).as_quat()
    rows[:, 9] = 0.5
    rows[:, FORCES] = 10.0
    last = np.zeros(WIDTH)
    last[:3], last[10:13], last[16:19] = [0.1, -0.2, 0.3], [0.2, 0.1, 0.0], [1.0, 0.0, -2.0]
    last[3:7] = Rotation.from_rotvec([0.0, 0.0, -0.4]).as_quat()
    last[9], last[15] = -0.3, 0.7
    last[FORCES] = 25.0
    got = blended(rows, last, h, 0.4, FORCES)
    assert_allclose(got[0], last, atol=1e-12)
    assert_allclose(got[400:], rows[400:], atol=1e-12)
    turn = Rotation.from_quat(got[:, 3:7])
    spin = (turn[2:] * turn[:-2].inv()).as_rotvec() / (2 * h)
    assert_allclose(spin[:398], got[1:399, 7:10], atol=1e-4)
    assert_allclose(np.gradient(got[:399, 0], h)[1:-1], got[1:398, 10], atol=1e-4)
    assert_allclose(np.gradient(got[:399, 10], h)[1:-1], got[1:398, 16], atol=1e-3)
    assert np.all(np.diff(got[:400, FORCES[0]]) < 0.0)


def test_turns_about_different_axes_are_mixed_exactly():
    """Half a radian aside, about another axis: twist and its rate are those of the poses."""
    h, count = 1e-3, 301
    rows = np.zeros((count, WIDTH))
    rows[:, 3:7] = Rotation.from_rotvec(np.outer(np.arange(count) * h, [0.8, 0, 0])).as_quat()
    rows[:, 7] = 0.8
    last = np.zeros(WIDTH)
    last[3:7] = Rotation.from_rotvec([0.0, 0.5, 0.0]).as_quat()
    last[9] = -0.6
    got = blended(rows, last, h, 0.3, FORCES)
    turn = Rotation.from_quat(got[:, 3:7])
    spin = (turn[2:] * turn[:-2].inv()).as_rotvec() / (2 * h)
    # Central differences err by h^2 / 6 times third derivatives, of 1e3 rad/s^3 at most.
    assert_allclose(spin[:297], got[1:298, 7:10], atol=5e-4)
    assert_allclose((got[2:299, 7:10] - got[:297, 7:10]) / (2 * h), got[1:298, 13:16], atol=2e-2)


def test_a_short_plan_is_held_at_its_end():
    """A plan of one row is taken over in the same time."""
    rows = np.zeros((1, WIDTH))
    rows[:, 6] = 1.0
    last = rows[0].copy()
    last[0] = 0.1
    got = blended(rows, last, 0.01, 0.1, FORCES)
    assert len(got) == 11
    assert_allclose(got[-1], rows[0])
