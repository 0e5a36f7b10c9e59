# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Precision of placements, from the decimals in the file."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from support import linkages

from robot_dynamics.description.orientations import rotation_of_rpy
from robot_dynamics.model import pose
from robot_dynamics.model.precision import placement_precision


def with_placement(frame, **options):
    b = linkages.Builder("arm")
    b.add("link", "base", **options)
    mechanism = b.done()
    (joint,) = mechanism.joints
    return replace(mechanism, joints=(replace(joint, placement=frame),))


@pytest.mark.parametrize(
    ("angles", "unit"),
    [
        ((1.5708, 0.0, 0.0), 1e-4),
        ((0.0, 1.5708, 0.0), 1e-4),  # past a right angle, where roll and yaw turn round
        ((1.5708, 1.5708, 0.0), 1e-4),
        ((0.1, -1.5708, 3.14159), 1e-4),
        ((0.0, 0.0, 1.5707963), 1e-7),
        ((0.0, 0.0, 1.57), 1e-2),
        ((0.5, 0.2, 0.0), 0.0),
        ((np.pi / 2, 0.0, -np.pi / 3), 0.0),
        ((0.0, 0.0, 0.0), 0.0),
    ],
)
def test_decimals_of_angles_are_found_in_the_matrix(angles, unit):
    """The decimals of roll, pitch and yaw are found in the matrix."""
    frame = pose((0.3, 0.0, 0.0), rotation_of_rpy(angles))
    assert placement_precision(with_placement(frame)) == pytest.approx(unit)


@pytest.mark.parametrize(
    ("length", "unit"),
    [(0.3, 0.0), (0.0475, 0.0), (0.31623, 1e-5), (1e-5, 1e-5), (12.345, 1e-3), (1 / 3, 0.0)],
)
def test_short_lengths_and_full_precision_are_exact(length, unit):
    """Short lengths are exact, and so are those with all digits."""
    assert placement_precision(with_placement(pose((length, 0.0, 0.0)))) == pytest.approx(unit)


def test_axes_and_loop_joints():
    """The components of axes count, and the frames of loop joints."""
    axis = (0.7071, 0.7071, 0.0)
    assert placement_precision(with_placement(np.eye(4), axis=axis)) == pytest.approx(1e-4)
    pinned = linkages.four_bar(ground=0.912345)
    assert placement_precision(pinned) == pytest.approx(1e-6)
    assert placement_precision(linkages.four_bar()) == 0.0
