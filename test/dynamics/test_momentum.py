# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Momentum against sums over bodies, and as what motion conserves."""

import numpy as np
from numpy.testing import assert_allclose
from support.mechanisms import random_link, random_tree

from robot_dynamics.model import JointElement, LinkElement, Mechanism, build
from robot_dynamics.robot import Robot
from robot_dynamics.simulation.integrators import integrate


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
