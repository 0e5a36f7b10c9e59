# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The servo of motion is (41): reference acceleration, and gains times errors."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
from numpy.testing import assert_allclose
from scipy.spatial.transform import Rotation

from robot_dynamics.control.hybrid.servo import MotionServo
from robot_dynamics.manipulation.hybrid.object_observer import ObjectEstimate, pose_transform
from robot_dynamics.spatial import Motion, Vector3

GAIN = SimpleNamespace(proportional=100.0, derivative=20.0, integral=5.0)


def test_errors_ask_for_accelerations():
    """In world axes, of the centre of mass; an object that is turned says its twist in its own."""
    rng = np.random.default_rng(0)
    turn, R = Rotation.from_rotvec([0.1, -0.2, 0.3]), Rotation.random(random_state=1)
    x, c, off, twist, more, a, learned = (rng.standard_normal(n) for n in (3, 3, 3, 6, 6, 6, 6))
    there = turn * R
    r = there.apply(c)
    wanted = {"pose": [*x, *there.as_quat()], "twist": twist.tolist(), "acceleration": a.tolist()}
    of_center = np.concatenate([twist[:3], twist[3:] + np.cross(twist[:3], r)])
    is_moving = of_center - more
    own = np.concatenate([R.inv().apply(is_moving[:3]), R.inv().apply(is_moving[3:])])
    quaternion = R.as_quat().tolist()
    seen = ObjectEstimate(
        pose_transform((x + r - off).tolist(), quaternion), quaternion, Motion.of(own), []
    )
    servo = MotionServo.of(wanted, learned.tolist(), seen, Vector3.of(c.tolist()), GAIN)
    error = np.concatenate([turn.as_rotvec(), off])
    assert_allclose(servo.error, error, atol=1e-12)
    assert_allclose(servo.twist, is_moving, atol=1e-12)
    correction = 100.0 * error + 5.0 * learned
    planned = servo.target.acceleration
    assert_allclose(servo.acceleration, planned + 20.0 * more + correction, atol=1e-11)
    assert_allclose(servo.velocity, of_center + correction / 20.0, atol=1e-12)
