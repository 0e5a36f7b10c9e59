# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Joints without drives follow those with one, as the closed-loop engine has it."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from support.hybrid_systems import followers_of
from support.linkage_arms import five_bar_arm, linkage_robot, random_drives
from support.linkages import stewart_platform

from robot_dynamics.control.hybrid.state import ArmState
from robot_dynamics.description import load_description
from robot_dynamics.errors import ArgumentError, RobotDynamicsError
from robot_dynamics.manipulation.followers import Followers
from robot_dynamics.model.parameters import pack, unpack
from robot_dynamics.robot import Robot


@pytest.fixture
def rng():
    return np.random.default_rng(5)


def test_loops_close_wherever_drives_are(rng):
    """Position errors and velocities across the pins are those of rounding; drives as asked."""
    robot, arms = linkage_robot(2), followers_of(2)
    drives = list(arms.drives)
    for _ in range(20):
        y, yd = random_drives(2, rng), rng.standard_normal(12)
        q = arms.positions(y)
        qd = arms.rates(q, yd)
        _, _, _, _, position, velocity = robot.constraint_terms(q, qd)
        assert_allclose(q[drives], y, atol=0)
        assert_allclose(qd[drives], yd, rtol=1e-15)
        # Lengths of 0.3 m, and conditions of a few, to rounding.
        assert_allclose(position, 0.0, atol=1e-14)
        assert_allclose(velocity, 0.0, atol=1e-13)
        # Nothing depends on where it was looked for.
        assert_allclose(arms.positions(y, arms.positions(0.5 * y)), q, atol=1e-12)


def test_a_step_of_control_closes_them_to_rounding(rng):
    """From 2 ms ago, with drives at 2 and at 10 rad/s: each Newton step squares what is left."""
    arms = followers_of(1)
    parameters = unpack(arms.model, pack(arms.model).tolist())
    for moved, left in ((0.004, 1e-14), (0.02, 1e-9)):
        for _ in range(5):
            y = random_drives(1, rng)
            before = arms.positions(y - moved * rng.choice([-1.0, 1.0], 6))
            near = before[list(arms.indices)].tolist()
            q = np.array(arms.closed(y.tolist(), near, parameters))
            assert_allclose(q, arms.positions(y), atol=left)


def test_motion_is_that_of_the_closed_loop_engine(rng):
    """qdd = G ydd + g, with the drives' accelerations of forward dynamics, are all of them."""
    robot, arms = linkage_robot(1), followers_of(1)
    parameters = unpack(arms.model, pack(arms.model).tolist())
    for _ in range(3):
        y, yd, tau = random_drives(1, rng), rng.standard_normal(6), np.zeros(8)
        tau[list(arms.drives)] = 10.0 * rng.standard_normal(6)
        q = arms.positions(y)
        near = q[list(arms.indices)].tolist()
        state = ArmState.of(arms, y.tolist(), yd.tolist(), parameters, near)
        expected = robot.forward_dynamics(q, arms.rates(q, yd), tau)
        drives = list(arms.drives)
        followed = state.followed
        qdd = np.array(followed.columns).T @ expected[drives] + followed.g
        size = np.abs(expected).max()
        assert_allclose(qdd, expected, atol=1e-10 * size)
        M, h = state.equation(arms.model, parameters)
        # To 1e-16 times the condition of M, of some 1e4.
        ydd = np.linalg.solve(M, tau[drives] - h)
        assert_allclose(ydd, expected[drives], atol=1e-10 * size)
        assert followed.opening < 1e-14
        assert followed.pivot > 0.1


def test_a_parallelogram_follows_its_closed_form(rng):
    """Of the shipped arm fore turns as crank does, rod as near; its pin is a hinge."""
    mechanism = load_description("urdf/parallelogram_arm.urdf").mechanism
    model = Robot.from_mechanism(mechanism).model
    index = {name.removeprefix("joint_"): i for i, name in enumerate(model.joint_names)}
    names = ("turn", "near", "crank", "roll", "bend", "twist")
    drives = sorted(index[name] for name in names)
    at = np.zeros(8)
    at[[index["near"], index["crank"], index["fore"], index["rod"]]] = 0.1, 0.5, 0.4, -0.4
    arms = Followers.of(model, drives, at)
    for _ in range(10):
        q = arms.positions(np.array(rng.uniform(-0.6, 0.9, 6)))
        assert q[index["fore"]] == pytest.approx(q[index["crank"]] - q[index["near"]], abs=1e-12)
        assert q[index["rod"]] == pytest.approx(q[index["near"]] - q[index["crank"]], abs=1e-12)


def test_arms_without_loops_are_left_alone():
    """Every joint is a drive: positions and velocities are handed on as they are."""
    model = Robot.from_mechanism(five_bar_arm("arm0")).model
    arms = Followers.of_tree(model)
    y = [float(i) for i in range(8)]
    parameters = unpack(model, pack(model).tolist())
    assert arms.closed(y, [], parameters) == y
    assert arms.velocities([], y, parameters) == y
    assert arms.followed([], [], [], parameters) is None
    assert_allclose(arms.positions(np.array(y)), y)


def test_what_cannot_follow_is_refused():
    """Open loops, drives that do not tell, joints of several freedoms; and where none closes."""
    model = Robot.from_mechanism(five_bar_arm("arm0")).model
    drives = list(followers_of(1).drives)
    off = np.zeros(8)
    off[2] = 0.1
    with pytest.raises(ArgumentError, match=r"open by .* said to be assembled"):
        Followers.of(model, drives, off)
    with pytest.raises(RobotDynamicsError, match="cannot stand for the motion here"):
        Followers.of(model, drives[:-1], np.zeros(8))
    platform = Robot.from_mechanism(stewart_platform()).model
    with pytest.raises(ArgumentError, match="one degree of freedom each"):
        Followers.of(platform, [0], platform.neutral())
    arms = followers_of(1)
    y = np.zeros(6)
    y[1], y[5] = 0.5, -0.5
    with pytest.raises(RobotDynamicsError, match=r"stay open by .*arm0_near 0\.5"):
        arms.positions(y)
    for far in (np.nan, 1e300):
        with pytest.raises(RobotDynamicsError, match="from where they are known to close"):
            arms.positions(np.full(6, far))
    with pytest.raises(ArgumentError, match="one for each drive"):
        arms.positions(y[:3])
