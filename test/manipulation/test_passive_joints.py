# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Joints without drives follow those with one, as the closed-loop engine has it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from support.hybrid_systems import passive_joints_of
from support.linkage_arms import five_bar_arm, linkage_robot, random_drives
from support.linkages import stewart_platform, turned_four_bar

from robot_dynamics.control.hybrid.state import ArmState
from robot_dynamics.description import load_description
from robot_dynamics.errors import ArgumentError, RobotDynamicsError
from robot_dynamics.manipulation.hybrid.system import Arms
from robot_dynamics.manipulation.passive_joints import DEAD_POINT, PassiveJoints
from robot_dynamics.model.parameters import pack, unpack
from robot_dynamics.robot import Robot


@pytest.fixture
def rng():
    return np.random.default_rng(5)


def test_loops_close_wherever_drives_are(rng):
    """Position errors and velocities across the pins are those of rounding; drives as asked."""
    robot, arms = linkage_robot(2), passive_joints_of(2)
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
    """From 2 ms ago, with drives at 2 and at 10 rad/s: each Newton step squares the error."""
    arms = passive_joints_of(1)
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
    robot, arms = linkage_robot(1), passive_joints_of(1)
    parameters = unpack(arms.model, pack(arms.model).tolist())
    for _ in range(3):
        y, yd, tau = random_drives(1, rng), rng.standard_normal(6), np.zeros(8)
        tau[list(arms.drives)] = 10.0 * rng.standard_normal(6)
        q = arms.positions(y)
        near = q[list(arms.indices)].tolist()
        state = ArmState.of(arms, y.tolist(), yd.tolist(), parameters, near)
        expected = robot.forward_dynamics(q, arms.rates(q, yd), tau)
        drives = list(arms.drives)
        followed = state.driven
        qdd = np.array(followed.columns).T @ expected[drives] + followed.g
        size = np.abs(expected).max()
        assert_allclose(qdd, expected, atol=1e-10 * size)
        M, h = state.equation(arms.model, parameters)
        # To 1e-16 times the condition of M, of some 1e4.
        ydd = np.linalg.solve(M, tau[drives] - h)
        assert_allclose(ydd, expected[drives], atol=1e-10 * size)
        assert followed.opening < 1e-14
        assert followed.pivot > 0.1


@pytest.fixture(scope="module")
def parallelogram():
    """Return the shipped arm, where its joints stand by name, and its passive_joints."""
    mechanism = load_description("urdf/parallelogram_arm.urdf").mechanism
    robot = Robot.from_mechanism(mechanism)
    index = {name.removeprefix("joint_"): i for i, name in enumerate(robot.model.joint_names)}
    names = ("turn", "near", "crank", "roll", "bend", "twist")
    drives = sorted(index[name] for name in names)
    return robot, index, PassiveJoints.of(robot.model, drives, flat(index, 0.1, 0.5))


def flat(index, near, crank):
    """Return positions (8,) of the parallelogram in closed form, for scalars or arrays."""
    q = np.zeros((*np.shape(crank), 8))
    q[..., index["near"]], q[..., index["crank"]] = near, crank
    q[..., index["fore"]], q[..., index["rod"]] = crank - near, near - crank
    return q


def test_a_parallelogram_follows_its_closed_form(rng, parallelogram):
    """Of the shipped arm fore turns as crank does, rod as near; its pin is a hinge."""
    _, index, arms = parallelogram
    for _ in range(10):
        q = arms.positions(np.array(rng.uniform(-0.6, 0.9, 6)))
        assert q[index["fore"]] == pytest.approx(q[index["crank"]] - q[index["near"]], abs=1e-12)
        assert q[index["rod"]] == pytest.approx(q[index["near"]] - q[index["crank"]], abs=1e-12)


def test_linkages_stay_assembled_up_to_their_dead_points(parallelogram):
    """All over its limits the parallelogram is one; angles beyond the flat one are refused."""
    _, index, arms = parallelogram
    for near in np.linspace(-0.69, 0.99, 15):
        for crank in np.linspace(-0.89, 1.19, 19):
            expected, before = flat(index, near, crank), np.pi / 2 - abs(crank - near)
            y = expected[list(arms.drives)]
            # Pivots are 0.63 times that angle, and 1e-3 is the least.
            if before > 2e-3:
                assert_allclose(arms.positions(y), expected, atol=1e-12)
            elif before < 1e-3:
                with pytest.raises(RobotDynamicsError, match="reach a dead point"):
                    arms.positions(y)


def test_the_pivot_tells_of_the_dead_point(parallelogram):
    """It goes to zero as the weakest action of the loops does, and is negative beyond."""
    robot, index, arms = parallelogram
    parameters = unpack(arms.model, pack(arms.model).tolist())
    ratios = []
    for before in (0.1, 1e-2, 1e-3, 1e-6, -1e-3, -0.1):
        q = flat(index, -0.5, np.pi / 2 - 0.5 - before)
        drives, others = list(arms.drives), list(arms.indices)
        y, near = q[drives].tolist(), q[others].tolist()
        state = ArmState.of(arms, y, [0.0] * 6, parameters, near)
        K = robot.constraint_terms(q, np.zeros(8))[2][:, others]
        weakest = np.linalg.svd(K, compute_uv=False)[1]
        ratios.append(float(state.driven.pivot) / (np.sign(before) * weakest))
        assert float(state.driven.pivot) == pytest.approx(np.sin(before) * 0.63, rel=0.02)
    # Both are the same small number, each over a length of its own.
    assert_allclose(ratios, ratios[0], rtol=0.01)


@pytest.mark.parametrize("rate", [0.2, 1.0, 2.5])
def test_no_period_of_control_is_led_over_a_dead_point(parallelogram, rate):
    """From period to period the law goes on up to the dead point, and never on beyond it."""
    _, index, arms = parallelogram
    parameters = unpack(arms.model, pack(arms.model).tolist())
    drives, others = list(arms.drives), list(arms.indices)
    dead = np.pi / 2 - 0.5
    for offset in (0.0, 0.3, 0.6):
        cranks = dead + 0.002 * rate * (np.arange(-25, 20) + offset)
        expected = flat(index, -0.5, cranks)
        near, taken = expected[0][others].tolist(), []
        for crank, q in zip(cranks, expected, strict=True):
            y, yd = q[drives].tolist(), [0.0] * 6
            state = ArmState.of(arms, y, yd, parameters, near)
            near = [state.q[i] for i in others]
            opening, pivot, moved = state.driven.checked
            if opening <= 1e-6 and pivot >= DEAD_POINT + 4.0 * moved:
                # What three Newton steps leave at the limit of velocity, 2.5 rad/s: 1.6e-7 rad.
                assert_allclose(state.q, q, atol=5e-7)
                taken.append(crank)
        assert max(taken) < dead
        assert len(taken) > 10


def test_springs_count_in_the_drives_equation(parallelogram):
    """One of 200 N m/rad in a drive adds itself to the bias, as NumPy has it too."""
    robot, index, _ = parallelogram
    mechanism = load_description("urdf/parallelogram_arm.urdf").mechanism
    joints = [
        replace(joint, stiffness=200.0) if joint.name == "joint_near" else joint
        for joint in mechanism.joints
    ]
    sprung = Robot.from_mechanism(replace(mechanism, joints=tuple(joints))).model
    q, still = flat(index, 0.1, 0.5), [0.0] * 6
    bias = []
    for model in (robot.model, sprung):
        drives = [i for i in range(8) if i not in (index["fore"], index["rod"])]
        arms = PassiveJoints.of(model, drives, q)
        parameters = unpack(model, pack(model).tolist())
        near = q[list(arms.indices)].tolist()
        state = ArmState.of(arms, q[drives].tolist(), still, parameters, near)
        bias.append(np.array(state.equation(model, parameters)[1], dtype=float))
        names = tuple(model.joint_names[i] for i in drives)
        expected = Arms(model, ("tool",), names).terms(q, np.zeros(8)).h
        assert_allclose(bias[-1], expected, atol=1e-12)
    assert_allclose((bias[1] - bias[0])[drives.index(index["near"])], 20.0, rtol=1e-12)


def test_arms_without_loops_are_left_alone():
    """Every joint is a drive: positions and velocities are handed on as they are."""
    model = Robot.from_mechanism(five_bar_arm("arm0")).model
    arms = PassiveJoints.of_tree(model)
    y = [float(i) for i in range(8)]
    parameters = unpack(model, pack(model).tolist())
    assert arms.closed(y, [], parameters) == y
    assert arms.velocities([], y, parameters) == y
    assert arms.driven_motion([], [], [], parameters, y, []) is None
    assert_allclose(arms.positions(np.array(y)), y)


def test_undetermined_passive_joints_are_refused():
    """Open loops, drives that do not tell, joints of several freedoms; and where none closes."""
    model = Robot.from_mechanism(five_bar_arm("arm0")).model
    drives = list(passive_joints_of(1).drives)
    off = np.zeros(8)
    off[2] = 0.1
    with pytest.raises(ArgumentError, match=r"open by .* at `assembled`"):
        PassiveJoints.of(model, drives, off)
    with pytest.raises(RobotDynamicsError, match="cannot stand for the motion here"):
        PassiveJoints.of(model, drives[:-1], np.zeros(8))
    platform = Robot.from_mechanism(stewart_platform()).model
    with pytest.raises(ArgumentError, match="one degree of freedom each"):
        PassiveJoints.of(platform, [0], platform.neutral())
    arms = passive_joints_of(1)
    y = np.zeros(6)
    y[1], y[5] = 0.5, -0.5
    with pytest.raises(RobotDynamicsError, match=r"dead point \d+ % .*arm0_near 0\.5"):
        arms.positions(y)
    for far in (np.nan, 1e300):
        with pytest.raises(RobotDynamicsError, match="expected at most 20"):
            arms.positions(np.full(6, far))
    with pytest.raises(ArgumentError, match="one for each drive"):
        arms.positions(y[:3])


def test_a_pin_whose_axes_are_turned_is_no_dead_point():
    """A crank that can go round does, whatever axes its loop is told in, and comes back."""
    mechanism, here, _ = turned_four_bar()
    robot = Robot.from_mechanism(mechanism)
    names = list(robot.model.joint_names)
    drive = names.index("crank_joint")
    arms = PassiveJoints.of(robot.model, [drive], here[0])
    for q in here[::20]:
        assert_allclose(arms.positions([q[drive]]), q, atol=1e-11)
