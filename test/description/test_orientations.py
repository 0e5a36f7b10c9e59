# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Orientations in files, against those of SciPy."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from robot_dynamics.description.orientations import (
    is_unit,
    looks_like_degrees,
    matrix_of_pose,
    quaternion_of_rotation,
    rotation_of_quaternion,
    rotation_of_rpy,
    rpy_of_rotation,
    vector_of_pose,
)


def test_roll_pitch_yaw_turn_about_fixed_axes(rng):
    """The matrix is that of three rotations about the parent's axes, x first."""
    for rpy in rng.uniform(-3.0, 3.0, size=(20, 3)):
        expected = Rotation.from_euler("xyz", rpy).as_matrix()
        # A handful of products of numbers of size one.
        np.testing.assert_allclose(rotation_of_rpy(rpy.tolist()), expected, atol=1e-15)


def test_angles_are_found_again(rng):
    """Roll, pitch and yaw of a matrix are those it was made of, within half a turn."""
    for rpy in rng.uniform(-1.5, 1.5, size=(50, 3)):
        # A pitch of 1.5 rad leaves a cosine of 0.07 to find the other angles from.
        np.testing.assert_allclose(rpy_of_rotation(rotation_of_rpy(rpy)), rpy, atol=1e-14)


def test_a_quaternion_is_the_rotation_that_scipy_makes_of_it():
    """Of any length, since files print few digits; the last number is the scalar."""
    for quaternion in Rotation.random(20, random_state=1).as_quat():
        expected = Rotation.from_quat(quaternion).as_matrix()
        # Some products of numbers of size one.
        np.testing.assert_allclose(
            rotation_of_quaternion(1.0005 * quaternion), expected, atol=2e-15
        )


def test_a_rotation_comes_back_through_its_quaternion():
    """Random rotations, and half turns about every axis, where the scalar is zero."""
    turns = [*Rotation.random(200, random_state=2).as_matrix(), np.eye(3)]
    turns += [np.diag(signs) for signs in ([1.0, -1, -1], [-1.0, 1, -1], [-1.0, -1, 1])]
    turns.append(Rotation.from_rotvec(np.pi * np.array([0.6, 0.0, 0.8])).as_matrix())
    for turn in turns:
        quaternion = quaternion_of_rotation(turn)
        assert np.linalg.norm(quaternion) == pytest.approx(1.0, abs=1e-15)
        np.testing.assert_allclose(rotation_of_quaternion(quaternion), turn, atol=2e-15)


def test_a_pose_comes_back_through_its_matrix():
    """Up to the sign of the quaternion, to a few roundings."""
    pose = np.array([1.0, 2.0, 3.0, 0.1, -0.7, 0.5, 0.5])
    pose[3:] /= np.linalg.norm(pose[3:])
    matrix = matrix_of_pose(pose)
    np.testing.assert_allclose(
        matrix[:3, :3], Rotation.from_quat(pose[3:]).as_matrix(), atol=1e-15
    )
    back = vector_of_pose(matrix)
    assert np.allclose(back[:3], pose[:3], atol=0)
    assert abs(back[3:] @ pose[3:]) == pytest.approx(1.0, abs=1e-15)


def test_unit_length_is_that_of_printed_digits():
    """Four digits are enough; a quaternion twice as long is a mistake."""
    assert is_unit((0.7071, 0.0, 0.0, 0.7071))
    assert not is_unit((0.0, 0.0, 0.0, 2.0))
    assert not is_unit((0.0, 0.0, 0.0, 0.0))


@pytest.mark.parametrize("angle", [45, -90, 180, 30, 6.3])
def test_degrees_are_noticed(angle):
    """Angles of more than a whole turn; the largest is named."""
    assert f"an angle is {angle:g} rad" in looks_like_degrees((0.0, 1.0, angle))


@pytest.mark.parametrize("angle", [0.0, 1.5708, -3.1416, 6.2832, -2 * np.pi])
def test_radians_are_no_degrees(angle):
    """A whole turn and smaller angles, also when printed with few digits."""
    assert looks_like_degrees((angle, 0.0, angle)) == ""
