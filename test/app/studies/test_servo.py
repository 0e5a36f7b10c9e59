# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Smooth paths and servos."""

import numpy as np
from numpy.testing import assert_allclose
from scipy.spatial.transform import Rotation

from robot_dynamics.app.studies.servo import PoseServo, smooth
from robot_dynamics.model import JointElement, LinkElement, Mechanism, build, pose
from robot_dynamics.robot import Robot
from robot_dynamics.simulation.integrators import integrate


def test_paths_are_smooth():
    """From rest to rest; rates and accelerations are differences of what comes before."""
    path = smooth(1.0, 2.0, np.array([0.4, -1.0]), np.array([1.0, 2.0]))
    assert_allclose(path(0.5)[0], [1.0, 2.0])
    assert_allclose(path(9.0)[0], [1.4, 1.0])
    h = 1e-6
    for time in (1.3, 2.0, 2.9):
        before, now, after = (path(time + s) for s in (-h, 0.0, h))
        assert_allclose((after[0] - before[0]) / (2 * h), now[1], rtol=1e-7)
        assert_allclose((after[1] - before[1]) / (2 * h), now[2], rtol=1e-7, atol=1e-8)
    for time in (1.0, 3.0):
        assert_allclose(path(time)[1:], 0.0, atol=1e-12)


def test_a_body_follows_its_path():
    """On its path it stays there exactly; beside it, it comes back at the servo's rate."""
    links = (LinkElement("world"), LinkElement("body", 1.0, inertia=np.eye(3)))
    free = JointElement("free", "floating", "world", "body")
    robot = Robot(build(Mechanism("b", links, (free,)), gravity=(0, 0, 0)))
    start = pose((0.3, 0.2, 0.1), Rotation.from_rotvec([0.3, -0.2, 0.9]).as_matrix())
    servo = PoseServo(start, smooth(0.0, 2.0, np.array([0.5, 1.0, -0.4, 1.0, 2.0, 3.0])), 5.0)

    def there(q):
        return pose(q[:3], Rotation.from_quat(q[3:]).as_matrix())

    def force(time, q, qd):
        a = servo.acceleration(time, there(q), qd)
        return robot.inverse_dynamics(q, qd, a)

    q = np.concatenate([start[:3, 3], Rotation.from_matrix(start[:3, :3]).as_quat()])
    motion = integrate(robot, q, np.zeros(6), 2.0, tau=force, step=0.01)
    for time, at in zip(motion.t, motion.q, strict=True):
        assert_allclose(there(at), servo.wanted(time), atol=1e-9)
    off = integrate(robot, q + 0.1 * np.eye(7)[0], np.zeros(6), 2.0, tau=force, step=0.01)
    left = off.q[:, 0] - motion.q[:, 0]
    assert_allclose(left, 0.1 * (1.0 + 5.0 * off.t) * np.exp(-5.0 * off.t), atol=1e-8)
