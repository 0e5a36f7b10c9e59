# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Errors of a pose, against SciPy's rotations."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation as Turn

from robot_dynamics.control.pose_error import pose_error
from robot_dynamics.spatial import Rotation, Transform, Vector3


def test_errors_and_the_measured_pose():
    """The rotation vector of R_d R^T, the displacement, and the pose that is seen."""
    rng = np.random.default_rng(5)
    for _ in range(50):
        wanted = np.concatenate([rng.normal(size=3), Turn.random(rng=rng).as_quat()])
        away = Turn.from_rotvec(rng.normal(size=3) * rng.choice([1e-9, 0.1, 0.9]))
        seen = away.inv() * Turn.from_quat(wanted[3:])
        place = rng.normal(size=3)
        E = Rotation.of(seen.as_matrix().T.tolist())
        error, pose = pose_error(wanted.tolist(), Transform(E, Vector3.of(place.tolist())))
        # Angles are to rounding of sine and cosine.
        np.testing.assert_allclose(error[:3], away.as_rotvec(), atol=1e-12)
        np.testing.assert_allclose(error[3:], wanted[:3] - place, atol=1e-15)
        np.testing.assert_allclose(pose[:3], place, atol=1e-15)
        same = Turn.from_quat(pose[3:]).inv() * seen
        assert same.magnitude() < 1e-12
        assert np.dot(pose[3:], wanted[3:]) > 0.0  # its sign is the reference's


def test_half_a_turn_is_an_error_too():
    """Upside down the error is pi, and the measured pose is where it is."""
    wanted = np.array([0.1, 0.2, 0.3, *Turn.from_rotvec([0.3, -0.2, 0.5]).as_quat()])
    for short in (1e-3, 1e-6, 1e-9, 0.0):
        away = Turn.from_rotvec((np.pi - short) * np.array([0.6, -0.48, 0.64]))
        seen = away.inv() * Turn.from_quat(wanted[3:])
        E = Rotation.of(seen.as_matrix().T.tolist())
        error, pose = pose_error(wanted.tolist(), Transform(E, Vector3.of(wanted[:3].tolist())))
        # Angles are to rounding of sine and cosine, as above.
        assert np.linalg.norm(error[:3]) == pytest.approx(np.pi - short, abs=1e-12)
        assert np.linalg.norm(pose[3:]) == pytest.approx(1.0, abs=1e-12)
        assert (Turn.from_quat(pose[3:]).inv() * seen).magnitude() < 1e-12
