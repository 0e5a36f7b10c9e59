# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The slow step is the fast one where both exist, and goes on where constraints depend."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.integrate import solve_ivp
from scipy.spatial.transform import Rotation
from support import linkages
from support.mechanisms import consistent_velocity, two_arms

from robot_dynamics.model import JointElement, LinkElement, LoopElement, Mechanism, build, pose
from robot_dynamics.robot import Robot
from robot_dynamics.simulation.step import Drives, singular_step, step_parameters, step_program

H = 0.002


@pytest.fixture(scope="module")
def setup():
    """Return two arms that hold a box, drives with friction and limits, and a moving state."""
    system, q, _ = two_arms()
    rng = np.random.default_rng(6)
    robot = Robot(system.model)
    inertia, _, K, _, _, _ = robot.constraint_terms(q, np.zeros(20))
    qd = consistent_velocity(inertia, K, rng.normal(size=20))
    drives = Drives(system.v_index, np.full(14, 20.0), np.full(14, 0.2), np.full(14, 0.1), 0.02)
    return robot, drives, q, qd, 10 * rng.normal(size=14)


def fast_step(model, drives):
    """Return the step of `step.py`, interpreted, as a function of q, qd and torque."""
    program = step_program(model, drives.v_index.tolist())
    parameters = step_parameters(model, drives, H)
    return lambda q, qd, torque: program.evaluate(q, qd, torque, parameters=parameters)


def test_equals_the_kernel_at_regular_states(setup):
    """Over ten steps the two give the same motion, forces and errors."""
    robot, drives, q, qd, torque = setup
    step = fast_step(robot.model, drives)
    fast = slow = (q, qd)
    for _ in range(10):
        fast = step(*fast[:2], torque)
        slow = singular_step(robot, drives, H, *slow[:2], torque)
        for ours, theirs in zip(slow, fast[:5], strict=True):
            # Conditions of 1e6 on numbers up to a hundred; errors are differences of such.
            assert_allclose(ours, theirs, atol=1e-9 * max(1.0, np.max(np.abs(theirs))))


def test_the_same_weld_twice_moves_alike(setup):
    """With a redundant weld the motion is that without it, and nothing is not a number."""
    robot, drives, q, qd, torque = setup
    model = robot.model
    twice = replace(model, loops=(*model.loops, replace(model.loops[0], name="again")))
    step = fast_step(model, drives)
    one = two = (q, qd)
    for _ in range(5):
        one = step(*one[:2], torque)
        two = singular_step(Robot(twice), drives, H, *two[:2], torque)
    assert_allclose(two[0], one[0], atol=1e-9)
    assert_allclose(two[1], one[1], atol=1e-9 * np.max(np.abs(one[1])))
    multipliers = two[2].reshape(3, 6)
    scale = np.max(np.abs(one[2]))
    assert_allclose(multipliers[0] + multipliers[2], one[2][:6], atol=1e-8 * scale)
    # And the fast step says that it cannot be trusted.
    assert not fast_step(twice, drives)(q, qd, torque)[5] >= 1e-10


def test_a_planar_ring_swings_on():
    """Four bars in a plane, three constraints too many: the ring stays closed, energy stays."""
    corners = np.array([0.3, 1.0, np.pi - 1.0, 1.0])
    links = [LinkElement("base")] + [
        LinkElement(f"bar{i}", 1.0, (0.25, 0.0, 0.0), np.diag([0.001, 0.02, 0.02]))
        for i in range(4)
    ]
    at = [np.eye(4)] + [pose((0.5, 0.0, 0.0))] * 3
    joints = [
        JointElement(f"hinge{i}", "revolute", links[i].name, f"bar{i}", at[i]) for i in range(4)
    ]
    turned = Rotation.from_euler("z", -corners.sum()).as_matrix()
    loop = LoopElement("ring", "fixed", "bar3", "base", pose((0.5, 0.0, 0.0), turned), np.eye(4))
    # Hinges along gravity: what swings keeps its kinetic energy.
    model = build(Mechanism("ring", tuple(links), tuple(joints), (loop,)))
    robot = Robot(model)
    rest = Drives(np.arange(4), np.full(4, np.inf), np.zeros(4), np.zeros(4), 0.01)
    q, qd = corners, 2.0 * np.array([1.0, -1.0, 1.0, -1.0])
    inertia = robot.inertia_matrix(q)
    start = 0.5 * qd @ inertia @ qd
    for _ in range(100):
        q, qd, multipliers, closure, drift = singular_step(robot, rest, H, q, qd, np.zeros(4))
    end = 0.5 * qd @ robot.inertia_matrix(q) @ qd
    assert np.max(np.abs(closure)) < 1e-9
    assert np.max(np.abs(drift)) < 1e-8
    assert np.isfinite(multipliers).all()
    assert_allclose(end, start, rtol=1e-7)
    assert abs(q[0] - corners[0]) > 0.1


# Bennett's linkage: four hinges in space whose closure leaves one freedom because sides and
# twists are in proportion; by count it could not move.
SIDE, TWIST, OTHER_TWIST = 0.5, 0.7, 1.2
OTHER_SIDE = SIDE * np.sin(OTHER_TWIST) / np.sin(TWIST)
BENNETT = np.sin(0.5 * (OTHER_TWIST + TWIST)) / np.sin(0.5 * (OTHER_TWIST - TWIST))


def bennett_linkage():
    """Return the linkage, and its angles at a first one of 1 rad."""

    def side(length, twist):
        return pose((length, 0.0, 0.0), Rotation.from_euler("x", twist).as_matrix())

    short, long = side(SIDE, TWIST), side(OTHER_SIDE, OTHER_TWIST)
    inertia = np.diag([0.01, 0.03, 0.03])
    links = [LinkElement("base")] + [
        LinkElement(f"link{i}", 1.0, (0.2, 0.05, 0.02), inertia) for i in range(4)
    ]
    joints = [
        JointElement(f"hinge{i}", "revolute", links[i].name, f"link{i}", at)
        for i, at in enumerate((np.eye(4), short, long, short))
    ]
    loop = LoopElement("ring", "fixed", "link3", "base", long, np.eye(4))
    mechanism = Mechanism("bennett", tuple(links), tuple(joints), (loop,))
    second = 2.0 * np.arctan(BENNETT / np.tan(0.5))
    return build(mechanism, gravity=(0.0, 0.0, 0.0)), np.array([1.0, second, -1.0, -second])


def test_bennetts_linkage_moves_as_it_must():
    """Constraints that only depend on one another when closed do not stop the motion: angles
    keep Bennett's relation, and the energy stays.
    """
    model, q = bennett_linkage()
    robot = Robot(model)
    assert robot.constrained_motion(q, np.zeros(4), np.zeros(4)).rank == 3
    _, _, K, *_ = robot.constraint_terms(q, np.zeros(4))
    qd = np.linalg.svd(K)[2][-1]
    qd = qd / qd[0]
    rest = Drives(np.arange(4), np.full(4, np.inf), np.zeros(4), np.zeros(4), 0.01)
    start = qd @ robot.inertia_matrix(q) @ qd
    for _ in range(100):
        q, qd, multipliers, closure, _ = singular_step(robot, rest, H, q, qd, np.zeros(4))
    assert q[0] > 1.15
    assert np.max(np.abs(closure)) < 1e-12
    assert np.max(np.abs(multipliers)) < 1.0
    assert_allclose(qd @ robot.inertia_matrix(q) @ qd, start, rtol=1e-9)
    assert_allclose(np.tan(0.5 * q[0]) * np.tan(0.5 * q[1]), BENNETT, rtol=1e-10)
    assert_allclose(q[2:], -q[:2], atol=1e-12)


def rolling_body():
    """Return a body that rolls on a soft finger off its centre, closed and moving, no weight."""
    b = linkages.Builder("finger")
    b.add("body", "base", "floating")
    b.close("touch", "soft_finger", "base", "body", (0.3, 0.1, 0.0), (0.2, -0.1, 0.15))
    model = build(b.done(), gravity=(0.0, 0.0, 0.0))
    q = Robot(model).assemble(model.neutral()).q
    K, _ = Robot(model).closure(q)
    wish = np.array([5.0, -3.0, 0.0, 0.0, 0.0, 0.0])
    return model, q, consistent_velocity(Robot(model).inertia_matrix(q), K, wish)


@pytest.mark.parametrize("kind", ["fast", "slow"])
def test_a_soft_finger_rolls(kind):
    """The torsion row turns with the body: velocities keep to it, positions do not.

    The motion is that of the accelerations integrated to twelve digits; on its way the body turns
    about the normal although it never spins about it, which a constraint on positions would not
    let it do.
    """
    model, q, qd = rolling_body()
    robot = Robot(model)
    none = np.zeros(0)
    rest = Drives(np.zeros(0, dtype=np.intp), none, none, none, 0.01)
    step = fast_step(model, rest)
    start, energy, steps = q.copy(), qd @ robot.inertia_matrix(q) @ qd, 100

    def slope(_, state):
        at, v = state[:7], state[7:]
        rate = model.position_rate(at.tolist(), v.tolist())
        return np.concatenate([rate, robot.forward_dynamics(at, v, np.zeros(6))])

    exact = solve_ivp(slope, (0.0, steps * H), [*q, *qd], "DOP853", rtol=1e-12, atol=1e-13)
    for _ in range(steps):
        if kind == "fast":
            q, qd = step(q, qd, none)[:2]
        else:
            q, qd = singular_step(robot, rest, H, q, qd, none)[:2]
    K, error = robot.closure(q)
    assert_allclose(error, 0.0, atol=1e-12)
    assert_allclose(K @ qd, 0.0, atol=1e-12)
    # At 5 rad/s with steps of 2 ms the error of fourth order is (0.01)^4 / 120 each.
    assert_allclose(q, exact.y[:7, -1], atol=1e-9)
    assert_allclose(qd, exact.y[7:, -1], atol=5e-8)
    assert_allclose(qd @ robot.inertia_matrix(q) @ qd, energy, rtol=1e-8)
    turned = Rotation.from_quat(start[3:]).inv() * Rotation.from_quat(q[3:])
    assert abs(turned.as_rotvec()[2]) > 1e-3  # far above the errors


@pytest.mark.parametrize("kind", ["fast", "slow"])
def test_positions_are_projected_without_the_torsion(kind):
    """From an open contact one step closes it, by the smallest motion: one that also turns."""
    model, q, qd = rolling_body()
    robot = Robot(model)
    none = np.zeros(0)
    rest = Drives(np.zeros(0, dtype=np.intp), none, none, none, 0.01)
    opened = q.copy()
    opened[:3] += [1e-6, -2e-6, 1e-6]
    H_, _, K, _, delta, _ = robot.constraint_terms(opened, qd)
    HK = np.linalg.solve(H_, K[1:].T)
    smallest = -HK @ np.linalg.solve(K[1:] @ HK, delta[1:])
    tiny = 1e-12  # a step of no length: what is left of it is the projection
    if kind == "fast":
        program = step_program(model, [])
        parameters = step_parameters(model, rest, tiny)
        found = program.evaluate(opened, 0 * qd, none, parameters=parameters)[0]
    else:
        found = singular_step(robot, rest, tiny, opened, 0 * qd, none)[0]
    expected = np.array(model.integrate(opened.tolist(), smallest.tolist()))
    assert_allclose(found - opened, expected - opened, atol=1e-11)
    assert abs(K[0] @ smallest) > 1e-8
