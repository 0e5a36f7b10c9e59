# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Derivatives of the dynamics against Pinocchio, differences and a pendulum's closed form."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from support.linkages import bricard, four_bar, slider_crank
from support.mechanisms import random_state
from support.oracle import robot_file

from robot_dynamics.compile import trace
from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.model import JointElement, LinkElement, Mechanism
from robot_dynamics.robot import Robot
from robot_dynamics.scalar.functions import sin, sqrt

STEP = 1e-5
TOL = 1e-7  # relative: of central differences with that step, STEP^2 and 1e-16 / STEP


def by_differences(function, model, q):
    """Return the derivative of a function of positions along each velocity."""
    columns = []
    for e in STEP * np.eye(model.nv):
        ends = [np.asarray(function(np.array(model.integrate(q, s * e)))) for s in (1.0, -1.0)]
        columns.append((ends[0] - ends[1]) / (2.0 * STEP))
    return np.stack(columns, axis=-1)


def by_differences_of_vector(function, x):
    """Return the derivative of a function of a vector."""
    columns = [
        (np.asarray(function(x + e)) - np.asarray(function(x - e))) / (2.0 * STEP)
        for e in STEP * np.eye(len(x))
    ]
    return np.stack(columns, axis=-1)


def assert_near(ours, theirs, tolerance=TOL):
    """Check a relative difference in the largest norm."""
    assert np.shape(ours) == np.shape(theirs)
    if np.size(theirs):
        assert np.abs(ours - theirs).max() <= tolerance * max(1.0, np.abs(theirs).max())


@pytest.mark.usefixtures("interpreted")
def test_real_robots_equal_pinocchio(real, rng):
    """Inverse dynamics, and forward dynamics of those without gears, to rounding."""
    import pinocchio

    robot, oracle = real
    order = oracle.v_of(np.arange(robot.model.nv)).astype(int)
    for _ in range(5):
        q, qd, x = random_state(rng, robot.model)
        state = oracle.q_of(q), oracle.v_of(qd), oracle.v_of(x)
        theirs = pinocchio.computeRNEADerivatives(oracle.theirs, oracle.data, *state)
        ours = robot.inverse_dynamics_derivatives(q, qd, x)
        for found, expected in zip(ours[:2], theirs[:2], strict=True):
            assert_near(found[np.ix_(order, order)], expected, 1e-11)
        if not robot.model.constraint_count:
            theirs = pinocchio.computeABADerivatives(oracle.theirs, oracle.data, *state)
            found = robot.forward_dynamics_derivatives(q, qd, x)
            for ours, expected in zip(found[:2], theirs[:2], strict=True):
                assert_near(ours[np.ix_(order, order)], expected, 1e-9)


@pytest.mark.parametrize("arm", ["panda", pytest.param("xarm7", marks=pytest.mark.slow)])
@pytest.mark.usefixtures("interpreted")
def test_two_arms_and_an_object_equal_pinocchio(arm):
    """Accelerations and the forces of both grasps, to rounding.

    Pinocchio's forces act on the arms, in the frames of their tools, linear parts first. Ours act
    on the object, in its frames: where a motion opens the loops they are turned besides.
    """
    pytest.importorskip("pinocchio", exc_type=ImportError)
    robot_file(arm)  # or skip
    from benchmarks.two_arms import two_arms

    case = two_arms(arm)
    robot, peer = case.robot, case.peer
    order, rows = peer.reordered(np.arange(20.0)).astype(int), np.r_[3:6, 0:3, 9:12, 6:9]
    for q, qd, tau in case.states[3::60]:
        theirs = peer.derivatives(q, peer.reordered(qd), peer.reordered(tau))
        *of_qdd, lambda_q, lambda_qd, lambda_tau = robot.forward_dynamics_derivatives(q, qd, tau)
        for ours, expected in zip(of_qdd, theirs[:3], strict=True):
            assert_near(ours[np.ix_(order, order)], expected, 1e-11)
        _, multipliers, *_ = robot.closed_loop(q, qd, tau)
        _, _, K, *_ = robot.constraint_terms(q, np.zeros(20))
        turned = lambda_q.copy()  # K dq is the small motion of a frame on the object, m x* f
        for at in (slice(0, 6), slice(6, 12)):
            moment, force = np.split(multipliers[at], 2)
            turn, shift = K[at][:3].T, K[at][3:].T
            turned[at] += np.hstack(
                [np.cross(turn, moment) + np.cross(shift, force), np.cross(turn, force)]
            ).T
        of_forces = turned, lambda_qd, lambda_tau
        for ours, expected in zip(of_forces, theirs[3:], strict=True):
            assert_near(-ours[np.ix_(rows, order)], expected, 1e-11)


@pytest.mark.usefixtures("interpreted")
def test_trees_of_all_joints(tree, rng):
    """Inverse and forward dynamics of random trees, along the velocities of their joints."""
    robot = Robot(tree[1])
    q, qd, x = random_state(rng, robot.model)
    tau_q, tau_qd, tau_qdd = robot.inverse_dynamics_derivatives(q, qd, x)
    inverse = robot.inverse_dynamics
    assert_near(tau_q, by_differences(lambda q: inverse(q, qd, x), robot.model, q))
    assert_near(tau_qd, by_differences_of_vector(lambda qd: inverse(q, qd, x), qd))
    assert_near(tau_qdd, robot.inertia_matrix(q), 1e-12)
    found = robot.forward_dynamics_derivatives(q, qd, x)
    forward = robot.forward_dynamics
    assert_near(found.qdd_q, by_differences(lambda q: forward(q, qd, x), robot.model, q))
    assert_near(found.qdd_qd, by_differences_of_vector(lambda qd: forward(q, qd, x), qd))
    assert_near(found.qdd_tau @ robot.inertia_matrix(q), np.eye(robot.model.nv), 1e-9)
    assert found.lambda_q.shape == (0, robot.model.nv)


def closed_state(mechanism, rng):
    """Return a robot with a state that closes its loops, and joint forces."""
    robot = Robot.from_mechanism(mechanism, gravity=(0.3, -9.0, -2.0))
    guess = robot.assemble().q
    guess = robot.assemble(
        np.array(robot.model.integrate(guess, 0.2 * rng.normal(size=robot.model.nv)))
    ).q
    state = robot.assemble(guess, velocities=rng.normal(size=robot.model.nv))
    return robot, state.q, state.qd, rng.normal(size=robot.model.nv)


@pytest.mark.parametrize("mechanism", [slider_crank, four_bar], ids=lambda f: f.__name__)
@pytest.mark.usefixtures("interpreted")
def test_closed_loops_and_their_forces(mechanism, rng):
    """Accelerations and multipliers at full rank."""
    robot, q, qd, tau = closed_state(mechanism(), rng)
    found = robot.forward_dynamics_derivatives(q, qd, tau)
    for name, at in (("qdd", 0), ("lambda", 1)):
        by_q = by_differences(lambda q, i=at: robot.closed_loop(q, qd, tau)[i], robot.model, q)
        assert_near(getattr(found, f"{name}_q"), by_q, 1e-6)
        by_qd = by_differences_of_vector(lambda qd, i=at: robot.closed_loop(q, qd, tau)[i], qd)
        assert_near(getattr(found, f"{name}_qd"), by_qd, 1e-6)
        by_tau = by_differences_of_vector(lambda t, i=at: robot.closed_loop(q, qd, t)[i], tau)
        assert_near(getattr(found, f"{name}_tau"), by_tau, 1e-6)


@pytest.mark.parametrize("mechanism", [four_bar, slider_crank, bricard], ids=lambda f: f.__name__)
@pytest.mark.usefixtures("interpreted")
def test_linearisation_of_closed_loops(mechanism, rng):
    """Of linkages with redundant constraints, in motion: that of the motion on the loops."""
    robot, q, qd, tau = closed_state(mechanism(), rng)
    found = robot.linearize(q, qd, tau)
    names = list(found.names)
    at = [robot.model.joint_names.index(name) for name in names]

    def motion(x):
        """Return ydd of y and yd."""
        y, yd = np.split(x, 2)
        near = q + found.G @ (y - q[at])
        near[at] = y
        closed = robot.assemble(near, held=names).q
        form = robot.independent_form(closed, np.zeros_like(qd), names)
        return robot.constrained_motion(closed, form.G @ yd, tau).qdd[at]

    m, x = len(names), np.concatenate([q[at], qd[at]])
    assert_near(found.A[m:], by_differences_of_vector(motion, x), 1e-5)
    assert_near(found.ydd, motion(x), 1e-8)
    by_tau = by_differences_of_vector(lambda t: robot.constrained_motion(q, qd, t).qdd[at], tau)
    assert_near(found.B[m:], by_tau, 1e-7)


@pytest.mark.usefixtures("interpreted")
def test_columns_of_drives(rng):
    """Of a four-bar with a drive in its loop joint, by differences of the drives' efforts."""
    mechanism = four_bar()
    loops = tuple(replace(loop, active=True) for loop in mechanism.loops)
    robot, q, qd, tau = closed_state(replace(mechanism, loops=loops), rng)
    found = robot.linearize(q, qd, tau)
    at = [robot.model.joint_names.index(name) for name in found.names]
    loop_drives = robot.loop_drives(q)

    def motion(u):
        """Return ydd of the efforts of both drives."""
        forces = tau + robot.model.active * u[0] + loop_drives @ u[1:]
        return robot.constrained_motion(q, qd, forces).qdd[at]

    columns = np.hstack([found.B[:, robot.model.active], found.B @ loop_drives])
    assert columns.shape == (2 * len(at), 2)
    assert_near(columns[len(at) :], by_differences_of_vector(motion, np.zeros(2)), 1e-7)


def pendulum(kind="revolute", length=0.7, inertia=0.0):
    """Return a point mass on a rod that weighs nothing."""
    bob = LinkElement("bob", 2.0, (0.0, 0.0, -length), inertia * np.eye(3))
    joint = JointElement("pivot", kind, "base", "bob", np.eye(4), (0.0, 1.0, 0.0))
    return Robot.from_mechanism(Mechanism("pendulum", (LinkElement("base"), bob), (joint,)))


@pytest.mark.usefixtures("interpreted")
def test_a_linearised_pendulum_has_its_textbook_frequency():
    """At rest, below: its frequency is that of the textbook, and a moment acts on m l^2."""
    A, B, ydd, *_ = pendulum().linearize([0.0], [0.0], [0.0])
    assert_allclose(A, [[0.0, 1.0], [-9.81 / 0.7, 0.0]], rtol=1e-9, atol=1e-12)
    assert_allclose(B, [[0.0], [1.0 / (2.0 * 0.7**2)]], rtol=1e-9)
    assert_allclose(ydd, [0.0], atol=1e-12)


@pytest.mark.usefixtures("interpreted")
def test_a_controlled_pendulum():
    """With position and rate fed back, its stiffness and damping are added to those it has."""
    inertia = 2.0 * 0.7**2
    A, B, *_ = pendulum().linearize(
        [0.0], [0.0], [0.0], controller=lambda q, qd: -5.0 * np.sin(q) - 0.3 * qd
    )
    expected = [[0.0, 1.0], [-9.81 / 0.7 - 5.0 / inertia, -0.3 / inertia]]
    assert_allclose(A, expected, rtol=1e-8)  # of central differences
    assert_allclose(B, [[0.0], [1.0 / inertia]], rtol=1e-9)
    law = trace(
        lambda q, qd, _: {"tau": [-5.0 * sin(q[0]) - 0.3 * qd[0]]}, "law", {"q": 1, "qd": 1}
    )
    exact = pendulum().linearize([0.1], [0.0], [0.0], controller=law)
    near = [[0.0, 1.0], [-(9.81 / 0.7 + 5.0 / inertia) * np.cos(0.1), -0.3 / inertia]]
    assert_allclose(exact.A, near, rtol=1e-13)  # to rounding
    wrong = trace(lambda q, _: {"tau": q}, "wrong", {"q": 1})
    with pytest.raises(RobotDynamicsError, match=r"expected \(1\),\(1\)->\(1\) without"):
        pendulum().linearize([0.0], [0.0], [0.0], controller=wrong)
    kinked = trace(lambda q, qd, _: {"tau": [sqrt(q[0])]}, "kinked", {"q": 1, "qd": 1})
    with pytest.raises(RobotDynamicsError, match="no finite derivatives here"):
        pendulum().linearize([0.0], [0.0], [0.0], controller=kinked)
    with pytest.raises(RobotDynamicsError, match="controller's forces has shape"):
        pendulum().linearize([0.0], [0.0], [0.0], controller=lambda q, qd: np.zeros(2))


@pytest.mark.usefixtures("interpreted")
def test_states_without_derivatives_are_refused():
    """Forces of redundant constraints, open loops, quaternions in motion: a sentence each."""
    robot = Robot.from_mechanism(bricard())
    q, rest = robot.assemble().q, np.zeros(robot.model.nv)
    with pytest.raises(RobotDynamicsError, match="depend on one another here"):
        robot.forward_dynamics_derivatives(q, rest, rest)
    with pytest.raises(RobotDynamicsError, match="loops are open"):
        robot.linearize(q + 0.3, rest, rest)
    floating = pendulum("floating", inertia=0.1)
    still, twist = floating.model.neutral(), np.ones(6)
    assert floating.linearize(still, 0.0 * twist, twist).A.shape == (12, 12)
    with pytest.raises(RobotDynamicsError, match=r"'pivot'.*rest"):
        floating.linearize(still, twist, twist)
