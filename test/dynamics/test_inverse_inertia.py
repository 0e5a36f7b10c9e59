# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The inverse inertia matrix, inertias at frames, and articulated bodies, each in another way."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from support.mechanisms import random_state, random_tree

from robot_dynamics.errors import ArgumentError, UnknownNameError
from robot_dynamics.model import build
from robot_dynamics.robot import Robot

pytestmark = pytest.mark.usefixtures("interpreted")
TOL = 1e-12  # times cond(H): what a backward stable solution may lose


def floating(rng):
    types = ["floating", "revolute", "prismatic", "revolute", "revolute", "revolute", "revolute"]
    return random_tree(rng, types)


@pytest.mark.book("F6")
def test_inverse_is_that_of_pinocchio(tree, rng):
    """H^-1 is Pinocchio's, and times H the identity, on all kinds of trees."""
    from support.oracle import Pinocchio, pin

    mechanism, model = tree
    robot, oracle = Robot(model), Pinocchio.of_mechanism(mechanism, model)
    q = random_state(rng, model)[0]
    ours, H = robot.inverse_inertia_matrix(q), robot.inertia_matrix(q)
    assert (ours == ours.T).all()
    tol = TOL * np.linalg.cond(H)
    assert_allclose(ours @ H, np.eye(model.nv), rtol=0, atol=tol)
    upper = np.triu(pin.computeMinverse(oracle.theirs, oracle.data, oracle.q_of(q)))
    theirs = (upper + np.triu(upper, 1).T)[np.ix_(oracle.at_v, oracle.at_v)]
    assert_allclose(ours, theirs, rtol=0, atol=tol * np.abs(theirs).max())


@pytest.mark.book("F6")
@pytest.mark.parametrize("axes", ["local", "world", "aligned"])
def test_inertia_at_frames(rng, axes):
    """For one frame and for two it is (J H^-1 J^T)^-1 with dense matrices, also in batches."""
    robot = Robot(build(floating(rng)))
    q = random_state(rng, robot.model, 3)[0]
    for names in ("link0", ["link0"], ["link2", "link0"]):
        frames = [names] if isinstance(names, str) else names
        W = robot.operational_space_inertia(names, q, axes, inverse=True)
        J = np.concatenate([robot.jacobian(name, q, axes) for name in frames], axis=-2)
        H = robot.inertia_matrix(q)
        expected = J @ np.linalg.solve(H, np.swapaxes(J, -1, -2))
        tol = TOL * np.linalg.cond(H).max() * np.abs(expected).max()
        assert_allclose(W, expected, rtol=0, atol=tol)
    inertia = robot.operational_space_inertia("link0", q, axes)
    W = robot.operational_space_inertia("link0", q, axes, inverse=True)
    assert_allclose(inertia @ W, np.broadcast_to(np.eye(6), W.shape), atol=1e-9)


def test_frames_that_are_not_free(rng):
    """Frames that cannot move in all directions have only the inverse; names are checked."""
    robot = Robot(build(random_tree(rng, ["revolute"] * 3, chain=True)))
    q = np.array([0.1, 0.2, 0.3])
    with pytest.raises(ArgumentError, match="'link2'"):
        robot.operational_space_inertia("link2", q)
    assert robot.operational_space_inertia("link2", q, inverse=True).shape == (6, 6)
    with pytest.raises(ArgumentError, match="'base'"):
        robot.operational_space_inertia("base", q)
    with pytest.raises(ArgumentError, match="frames are none"):
        robot.operational_space_inertia([], q)
    with pytest.raises(ArgumentError, match=r"\bq\b.*finite"):
        robot.operational_space_inertia("link2", q * np.nan)
    with pytest.raises(UnknownNameError, match=r"axes.*'up'"):
        robot.operational_space_inertia("link2", q, "up")
    with pytest.raises(UnknownNameError, match="tip"):
        robot.operational_space_inertia("tip", q)


@pytest.mark.book("F6")
def test_articulated_inertia_is_that_of_the_frame(rng):
    """Of a body that floats, I^A is the operational-space inertia of its link (7.12)."""
    robot = Robot(build(floating(rng)))
    q, qd, tau = random_state(rng, robot.model)
    inertias, _ = robot.articulated_bodies(q, qd, tau)
    expected = robot.operational_space_inertia("link0", q)
    assert_allclose(inertias[0], expected, rtol=0, atol=1e-11 * np.abs(expected).max())


@pytest.mark.book("F6", "E5")
def test_articulated_bodies_bear_what_joints_transmit(rng):
    """f = I^A a + p^A (7.25) is the force that inverse dynamics finds in each joint."""
    model = build(random_tree(rng, ["floating", "revolute", "floating", "prismatic"]))
    robot = Robot(model)
    q, qd, tau = random_state(rng, model)
    qdd = robot.tree_forward_dynamics(q, qd, tau)
    inertias, biases = robot.articulated_bodies(q, qd, tau)
    wrenches = robot.joint_wrenches(q, qd, qdd)
    tol = TOL * np.linalg.cond(robot.inertia_matrix(q)) * np.abs(wrenches).max() * 10
    for i, body in enumerate(model.bodies):
        a = robot.acceleration(body.name, q, qd, qdd)
        a[3:] -= robot.pose(body.name, q)[:3, :3].T @ model.gravity
        assert_allclose(inertias[i] @ a + biases[i], wrenches[i], rtol=0, atol=tol)
