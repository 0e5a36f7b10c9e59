# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Errors of a pose, against SciPy's rotations."""

import numpy as np
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
