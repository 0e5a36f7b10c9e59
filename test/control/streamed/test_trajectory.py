# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Paths through streamed points: points that are met, and refusals."""

from __future__ import annotations

import numpy as np
import pytest

from robot_dynamics.control.reference import ACCELERATION, POSE, TWIST
from robot_dynamics.control.rotation_path import turn
from robot_dynamics.control.streamed.trajectory import (
    HALT_S,
    ObjectTrajectory,
    TrajectoryError,
    WithForces,
)

HERE = [0.6, 0.0, 0.8, 0.0, 0.0, 0.0, 1.0]


def pose(x, degrees=0.0):
    """Return a pose at a height, turned about y."""
    quaternion = turn(np.array([0.0, 1.0, 0.0]), np.radians(degrees))
    return [0.6, 0.0, x, *quaternion]


def test_points_are_met_with_their_motion():
    """To rounding; the sign of a quaternion does not matter."""
    poses = np.array([pose(0.8), pose(0.9, 30.0), pose(1.0, 60.0)])
    poses[1, 3:] *= -1.0
    twists = np.array([[0.0] * 6, [0.0, 0.4, 0.0, 0.0, 0.0, 0.2], [0.0] * 6])
    path = ObjectTrajectory([0.0, 1.0, 2.0], poses, twists)
    rows = path.rows([0.0, 1.0, 2.0, 5.0])
    expected = poses.copy()
    expected[1, 3:] *= -1.0
    assert np.allclose(rows[:3, POSE], expected, rtol=0.0, atol=1e-14)
    assert np.allclose(rows[:3, TWIST], twists, rtol=0.0, atol=1e-13)
    assert np.allclose(rows[:3, ACCELERATION], 0.0, atol=1e-12)
    assert np.array_equal(rows[3, TWIST.start :], np.zeros(12))
    assert path.duration == 2.0
    assert not path.moving_end


def test_acceleration_is_continuous():
    """Nowhere does it change within a millisecond by more than its largest slope explains."""
    path = ObjectTrajectory(
        [0.0, 0.5, 1.1, 2.0], [pose(0.8 + 0.1 * i, 20.0 * i) for i in range(4)]
    )
    rows = path.rows(np.arange(0.0, 2.2, 1e-3))
    jerk = np.abs(np.diff(rows[:, ACCELERATION], axis=0)).max() / 1e-3
    finer = path.rows(np.arange(0.0, 2.2, 1e-4))
    assert np.abs(np.diff(finer[:, ACCELERATION], axis=0)).max() < 1.5e-4 * jerk


def test_velocity_is_the_derivative_of_the_path():
    """By central differences, also where twists were left out."""
    path = ObjectTrajectory([0.0, 0.7, 1.5], [pose(0.8), pose(0.9, 40.0), pose(0.85, 80.0)])
    t, h = np.linspace(0.1, 1.4, 14), 1e-5
    positions = [path.rows(t + d)[:, :3] for d in (-h, h)]
    # Truncation h^2 and rounding 1e-16 / h.
    assert np.allclose(path.rows(t)[:, 10:13], (positions[1] - positions[0]) / (2 * h), atol=1e-8)


def test_a_single_point_is_stood_at():
    """From the beginning on."""
    path = ObjectTrajectory([0.0], [HERE])
    rows = path.rows([0.0, 3.0])
    assert np.array_equal(rows[:, POSE], [HERE, HERE])
    assert not rows[:, TWIST.start :].any()
    assert path.duration == 0.0


def test_a_last_point_that_moves_is_followed_by_a_halt():
    """It comes to rest half as far on as the speed would take it in that time."""
    twist = [0.0, 0.0, 0.0, 0.1, 0.0, 0.0]
    path = ObjectTrajectory([0.0], [HERE], [twist])
    assert path.moving_end
    assert path.duration == HALT_S
    begin, end = path.rows([0.0, HALT_S])
    assert np.allclose(begin[TWIST], twist, atol=1e-14)
    assert not end[TWIST].any() or np.abs(end[TWIST]).max() < 1e-14
    assert end[0] == pytest.approx(HERE[0] + 0.05 * HALT_S)


@pytest.mark.parametrize(
    ("times", "poses", "twists", "words"),
    [
        ([], [], None, "0 points; expected 1 to"),
        ([0.0, 0.0], [HERE, HERE], None, "point 1: its time is 0 s"),
        ([-1.0], [HERE], None, "point 0: its time is -1 s"),
        ([np.nan], [HERE], None, "its time is nan s"),
        ([0.0], [[np.inf, *HERE[1:]]], None, "is not finite"),
        ([0.0], [[*HERE[:6], 2.0]], None, "point 0: its quaternion has length 2"),
        ([0.0], [[*HERE[:6], 0.0]], None, "length 0"),
        ([0.0, 1.0], [HERE, pose(0.8, 170.0)], None, "point 1: it is 170 degrees from"),
        ([0.0], [HERE], [[0.0] * 5 + [np.nan]], "twist"),
        ([0.0], [HERE], [[0.0] * 5], "twist of shape"),
    ],
)
def test_invalid_points_are_refused_with_their_index(times, poses, twists, words):
    """In one sentence, with the point."""
    with pytest.raises(TrajectoryError) as caught:
        ObjectTrajectory(times, poses, twists)
    assert str(caught.value).startswith("reference refused: ")
    assert words in str(caught.value)


def test_delays():
    """A part that is over is left out, and one that has yet to begin is waited for."""
    path = ObjectTrajectory([0.0, 1.0], [[0, 0, 0, 0, 0, 0, 1.0], [1.0, 0, 0, 0, 0, 0, 1.0]])
    late, early = WithForces(path, [], -0.5), WithForces(path, [], 0.5)
    assert late.rows([0.0])[0, 0] == pytest.approx(0.5)
    assert late.duration == 0.5
    assert early.rows([0.25])[0, 0] == 0.0
    assert early.duration == 1.5
    assert early.settled_intervals(0.0) == [(1.5, 1.5)]
