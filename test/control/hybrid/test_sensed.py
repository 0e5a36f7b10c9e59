# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Impossible measurements of sensors are refused."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from robot_dynamics.control.hybrid.sensed import unit_pose
from robot_dynamics.errors import ArgumentError


@pytest.mark.parametrize("size", [1e-200, 0.5, 1.0005, 1e200])
def test_quaternions_are_made_unit_ones(size):
    """Whatever their length is, the orientation is theirs."""
    pose = unit_pose([1.0, 2.0, 3.0, *(size * np.array([0.0, 0.6, 0.0, 0.8]))])
    assert_allclose(pose, [1.0, 2.0, 3.0, 0.0, 0.6, 0.0, 0.8], rtol=1e-15)


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ([0.0] * 7, "quaternion of zeros"),
        ([np.nan, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0], "finite"),
        ([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, np.inf], "finite"),
        ([0.0] * 6, r"shape \(6,\), expected \(7,\)"),
        ("nowhere", "expected 7 numbers"),
        (3.0, r"shape \(1,\), expected \(7,\)"),
    ],
)
def test_poses_that_are_none_are_refused(values, sentence):
    """Each with a sentence that has the expected value."""
    with pytest.raises(ArgumentError, match=sentence):
        unit_pose(values)


def test_the_given_pose_stays_as_it_is():
    """The result is a copy."""
    given = np.array([1.0, 2.0, 3.0, 0.0, 0.0, 0.0, 2.0])
    assert unit_pose(given)[6] == 1.0
    assert given[6] == 2.0
