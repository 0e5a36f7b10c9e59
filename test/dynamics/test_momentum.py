# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Momentum against sums over bodies, and its conservation."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from support.mechanisms import random_link, random_state, random_tree

from robot_dynamics.model import JointElement, LinkElement, Mechanism, build
from robot_dynamics.robot import Robot
from robot_dynamics.simulation.integrators import integrate


@pytest.mark.book("B5")
def test_a_body_by_hand():
    """Mass times velocity of the centre, and inertia times spin plus the moment of the former."""
    rng = np.random.default_rng(0)
    link = random_link(rng, "body")
    free = JointElement("free", "floating", "world", "body")
    robot = Robot(build(Mechanism("b", (LinkElement("world"), link), (free,))))
    q = np.array(robot.model.normalized([0.4, -0.2, 0.7, *rng.normal(size=4)]))
    qd = rng.normal(size=6)
    there = robot.pose("body", q)
    R, center = there[:3, :3], there[:3, :3] @ link.center + there[:3, 3]
    spin = R @ qd[:3]
    velocity = R @ qd[3:] + np.cross(spin, R @ link.center)
    linear = link.mass * velocity
    angular = R @ link.inertia @ R.T @ spin + np.cross(center, linear)
    assert_allclose(robot.momentum(q, qd), [*angular, *linear], rtol=1e-12)


@pytest.mark.book("B5")
def test_a_free_tree_keeps_it():
    """Whatever the joints do, the momentum of a mechanism in space stays."""
    rng = np.random.default_rng(1)
    tree = random_tree(
        rng, ["floating", "revolute", "spherical", "prismatic", "universal"], chain=True
    )
    robot = Robot(build(tree, gravity=(0, 0, 0)))
    model = robot.model
    push = np.where(model.active, 1.0, 0.0) * rng.normal(size=model.nv)
    motion = integrate(robot, model.neutral(), 0.3 * rng.normal(size=model.nv), 1.0, tau=push)
    h = robot.momentum(motion.q, motion.qd)
    assert np.ptp(motion.kinetic) > 0.1 * motion.kinetic[0]
    # An integrator of eighth order over a thousand steps.
    assert_allclose(h, np.broadcast_to(h[0], h.shape), atol=1e-11 * np.max(np.abs(h)))


def test_its_rate_is_gravity():
    """Of a falling mechanism the linear momentum grows by its weight."""
    rng = np.random.default_rng(2)
    tree = random_tree(rng, ["floating", "revolute", "revolute"], chain=True)
    robot = Robot(build(tree))
    model = robot.model
    mass = sum(body.inertia.mass for body in model.bodies)
    motion = integrate(robot, model.neutral(), rng.normal(size=model.nv), 0.5)
    h = robot.momentum(motion.q, motion.qd)
    assert_allclose(h[-1, 3:] - h[0, 3:], [0.0, 0.0, -0.5 * 9.81 * mass], atol=1e-9 * mass)


@pytest.mark.book("B5")
@pytest.mark.usefixtures("interpreted")
def test_centroidal_matrices_are_pinocchios(tree, rng):
    """The matrix of the momentum about the centre of mass, and its rate, are Pinocchio's."""
    from support.oracle import Pinocchio, pin

    mechanism, model = tree
    robot, oracle = Robot(model), Pinocchio.of_mechanism(mechanism, model)
    q, qd, _ = random_state(rng, model)
    pin.dccrba(oracle.theirs, oracle.data, oracle.q_of(q), oracle.v_of(qd))
    for ours, theirs in (
        (robot.centroidal_momentum_matrix(q), oracle.data.Ag),
        (robot.centroidal_momentum_matrix_rate(q, qd), oracle.data.dAg),
    ):
        expected = theirs[[3, 4, 5, 0, 1, 2]][:, oracle.at_v]
        assert_allclose(ours, expected, rtol=0, atol=1e-12 * np.abs(expected).max() * 10)


@pytest.mark.book("B5")
@pytest.mark.usefixtures("interpreted")
def test_momentum_about_the_centre(tree, rng):
    """A qd is the momentum about the origin, moved; its linear part that of the centre of mass."""
    _, model = tree
    robot = Robot(model)
    q, qd, _ = random_state(rng, model, 3)
    A, h, c = robot.centroidal_momentum_matrix(q), robot.momentum(q, qd), robot.center_of_mass(q)
    expected = h.copy()
    expected[:, :3] -= np.cross(c, h[:, 3:])
    size = np.abs(h).max()
    assert_allclose(np.einsum("nij,nj->ni", A, qd), expected, rtol=0, atol=1e-13 * size * 10)
    linear = A[:, 3:] / robot.total_mass
    assert_allclose(linear, robot.center_of_mass_jacobian(q), atol=1e-13)
