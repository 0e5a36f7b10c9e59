# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Predicted states, and the commanded motion of the centre of mass."""

from __future__ import annotations

import numpy as np
from numpy.testing import assert_allclose
from scipy.spatial.transform import Rotation

from robot_dynamics.control.hybrid.servo import ObjectTarget
from robot_dynamics.control.hybrid.state import predicted_object
from robot_dynamics.manipulation.hybrid.object_observer import ObjectEstimate, pose_transform
from robot_dynamics.spatial import Motion, Vector3


def ahead(lead, start, twist, acceleration):
    """Return centre of mass, orientation and twist, in the object's axes, after a time."""
    x, quaternion = start
    seen = ObjectEstimate(pose_transform(x, quaternion), quaternion, Motion.of(twist), [])
    then = predicted_object(lead, seen, acceleration)
    return np.array(list(then.pose.r)), np.array(then.pose.E.rows).T, then.twist.components()


def test_the_object_moves_as_its_acceleration_says():
    """One step and two half ones differ by an eighth when halved: each is of second order."""
    rng = np.random.default_rng(1)
    start = rng.standard_normal(3).tolist(), Rotation.random(random_state=1).as_quat().tolist()
    twist, a = rng.standard_normal((2, 6)).tolist()
    gaps = []
    for h in (0.02, 0.01):
        whole = ahead(h, start, twist, a)
        x, R, moving = ahead(0.5 * h, start, twist, a)
        # The acceleration stays in the world: its components turn with the object.
        R0 = Rotation.from_quat(start[1]).as_matrix()
        turned = [*(R.T @ R0 @ a[:3]), *(R.T @ R0 @ a[3:])]
        half = ahead(
            0.5 * h, (x.tolist(), Rotation.from_matrix(R).as_quat().tolist()), moving, turned
        )
        gaps.append([np.abs(np.subtract(p, q)).max() for p, q in zip(whole, half, strict=True)])
    ratios = np.divide(*gaps)
    assert np.all(ratios > [7.0, 7.0, 3.5])


def test_the_centre_of_mass_follows_the_origin():
    """Its velocity and acceleration are those of a point of the body, by differences."""
    rng = np.random.default_rng(2)
    c, x, v, a, omega, alpha = rng.standard_normal((6, 3))
    R = Rotation.random(random_state=2)

    def center(t):
        turn = Rotation.from_rotvec(omega * t + 0.5 * alpha * t * t)
        return x + v * t + 0.5 * a * t * t + (turn * R).apply(c)

    target = ObjectTarget.of(
        [*x, *R.as_quat()], [*omega, *v], [*alpha, *a], Vector3.of(c.tolist())
    )
    h = 1e-4
    assert_allclose(list(target.x), center(0.0), atol=1e-12)
    assert_allclose(target.twist[3:], (center(h) - center(-h)) / (2 * h), atol=1e-6)
    second = (center(h) - 2.0 * center(0.0) + center(-h)) / h**2
    assert_allclose(target.acceleration[3:], second, atol=1e-6)
