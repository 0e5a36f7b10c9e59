# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Absolute and relative motion of two hands: closed form, finite differences, as targets."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.spatial.transform import Rotation
from support.mechanisms import plain_arm

from robot_dynamics.errors import ArgumentError, UnknownNameError
from robot_dynamics.model import joined, pose
from robot_dynamics.robot import Robot

HANDS = ("left_tool", "right_tool")
_H = 1e-6  # of central differences: truncation and rounding are both near 1e-10


@pytest.fixture(scope="module")
def robot():
    left, right = (plain_arm(name) for name in ("left", "right"))
    cell = joined("cell", [(left, np.eye(4), "fixed"), (right, pose((0.8, 0, 0)), "fixed")])
    return Robot.from_mechanism(cell)


@pytest.fixture
def rng():
    return np.random.default_rng(3)


def state(robot, rng):
    return rng.uniform(-1.0, 1.0, robot.model.nq), rng.normal(size=robot.model.nv)


def test_poses_of_hands_that_are_known(robot, rng):
    """Half way by SciPy's spherical interpolation, and one hand in the other."""
    q, _ = state(robot, rng)
    first, second = (robot.pose(name, q) for name in HANDS)
    task = robot.cooperative_task(*HANDS, q)
    both = Rotation.from_matrix([first[:3, :3], second[:3, :3]])
    half = both[0] * Rotation.from_rotvec(0.5 * (both[0].inv() * both[1]).as_rotvec())
    assert_allclose(task.absolute, pose((first + second)[:3, 3] / 2, half.as_matrix()), atol=1e-14)
    assert_allclose(first @ task.relative, second, atol=1e-14)
    assert (half.inv() * both[1]).magnitude() == pytest.approx((both[0].inv() * half).magnitude())
    assert task.velocity is None
    assert task.bias is None


def test_jacobian_and_rates_are_derivatives(robot, rng):
    """Of the poses by positions, and of the velocities by time; also where the hands coincide."""
    for _ in range(3):
        q, qd = state(robot, rng)
        task = robot.cooperative_task(*HANDS, q, qd)
        ends = [robot.cooperative_task(*HANDS, q + s * _H * qd, qd) for s in (1.0, -1.0)]
        assert_allclose(task.velocity, task.jacobian @ qd, atol=1e-13)
        change = []
        for name in ("absolute", "relative"):
            a, b = (getattr(end, name) for end in ends)
            turn = Rotation.from_matrix(a[:3, :3] @ b[:3, :3].T).as_rotvec()
            change += [*(turn / (2 * _H)), *((a - b)[:3, 3] / (2 * _H))]
        assert_allclose(task.velocity, change, atol=1e-8)
        rate = (ends[0].velocity - ends[1].velocity) / (2 * _H)
        assert_allclose(task.bias, rate, atol=1e-7)


def test_hands_on_one_rigid_object(robot, rng):
    """They have no relative motion, and the absolute angular velocity is that of the object."""
    q, _ = state(robot, rng)
    J = robot.cooperative_task(*HANDS, q).jacobian
    kernel = np.linalg.svd(J[6:])[2][6:]  # motions of the joints that keep the hands' distance
    qd = kernel.T @ rng.normal(size=len(kernel))
    task = robot.cooperative_task(*HANDS, q, qd)
    omega = [robot.velocity(name, q, qd, "aligned") for name in HANDS]
    assert_allclose(task.velocity[6:], 0.0, atol=1e-13)
    assert_allclose(omega[0][:3], omega[1][:3], atol=1e-13)
    assert_allclose(task.velocity[:6], (omega[0] + omega[1]) / 2, atol=1e-13)


def test_the_mean_of_angular_velocities_is_not_the_rate_of_half_way(robot, rng):
    """It is where they differ about the axis of the relative rotation alone."""
    q, qd = state(robot, rng)
    task = robot.cooperative_task(*HANDS, q, qd)
    omega = [robot.velocity(name, q, qd, "aligned")[:3] for name in HANDS]
    off = task.velocity[:3] - np.mean(omega, axis=0)
    k = Rotation.from_matrix(task.relative[:3, :3]).as_rotvec()
    axis = robot.pose(HANDS[0], q)[:3, :3] @ k / np.linalg.norm(k)
    expected = -0.5 * np.tan(np.linalg.norm(k) / 4) * np.cross(axis, omega[1] - omega[0])
    assert_allclose(off, expected, atol=1e-13)
    assert np.linalg.norm(off) > 0.01


def test_many_states_at_once(robot, rng):
    """Leading dimensions are kept."""
    q, qd = rng.uniform(-1, 1, (2, 3, 14)), rng.normal(size=(2, 3, 14))
    many = robot.cooperative_task(*HANDS, q, qd)
    one = robot.cooperative_task(*HANDS, q[1, 2], qd[1, 2])
    for together, alone in zip(many, one, strict=True):
        assert together.shape == (2, 3, *alone.shape)
        assert_allclose(together[1, 2], alone, atol=1e-13)


def test_cooperative_frames_are_targets_of_inverse_kinematics(robot, rng):
    """Both parts, one of them, a position of them, or beside the target of a hand."""
    there, _ = state(robot, rng)
    task = robot.cooperative_task(*HANDS, there)
    near = there + 0.1 * rng.normal(size=14)
    wanted = {"absolute": task.absolute, "relative": task.relative}
    found = robot.inverse_kinematics(HANDS, wanted, near)
    assert found.converged
    reached = robot.cooperative_task(*HANDS, found.q)
    assert_allclose(reached.absolute, task.absolute, atol=2e-6)
    assert_allclose(reached.relative, task.relative, atol=2e-6)
    assert set(found.position_errors) == {
        "left_tool and right_tool, absolute", "left_tool and right_tool, relative"
    }  # fmt: skip
    mixed = {
        HANDS: {"relative": task.relative[:3, 3]},
        "left_tool": robot.pose("left_tool", there),
    }
    found = robot.inverse_kinematics(mixed, q0=near)
    assert found.converged
    reached = robot.cooperative_task(*HANDS, found.q)
    assert_allclose(reached.relative[:3, 3], task.relative[:3, 3], atol=2e-6)


def test_singular_and_unknown_cooperative_frames_are_refused(robot):
    """Half way of a half turn, frames that are not there, and targets without a part."""
    q = np.zeros(14)
    turned = robot.with_frame("back", "left_tool", pose((0, 0, 0), np.diag([-1.0, -1.0, 1.0])))
    with pytest.raises(ArgumentError, match=r"180 degrees .*with_frame"):
        turned.cooperative_task("left_tool", "back", q)
    with pytest.raises(UnknownNameError, match="middle_tool"):
        robot.cooperative_task("left_tool", "middle_tool", q)
    with pytest.raises(ArgumentError, match="frame 3; expected the name"):
        robot.cooperative_task("left_tool", 3, q)
    with pytest.raises(ArgumentError, match=r"\bq\b.*\(3,\).*\(\.\.\., 14\)"):
        robot.cooperative_task(*HANDS, np.zeros(3))
    for target in (np.eye(4), {}, {"mean": np.eye(4)}):
        with pytest.raises(ArgumentError, match=r"'absolute'.*'relative'"):
            robot.inverse_kinematics(HANDS, target, q)
    with pytest.raises(ArgumentError, match="'left_tool'"):
        robot.inverse_kinematics({("left_tool",): np.eye(4)}, q0=q)
