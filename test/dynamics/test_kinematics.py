# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Positions and velocities of bodies and links against Pinocchio and finite differences."""

from __future__ import annotations

import numpy as np
from numpy.testing import assert_allclose
from support.mechanisms import random_state

from robot_dynamics.dynamics.kinematics import (
    body_transforms,
    body_velocities,
    joint_transforms,
    link_pose,
    link_transform,
)
from robot_dynamics.model import pose_of, transform_of

TOL = 1e-13  # a dozen products of rotations


def test_poses_equal_pinocchio_on_trees(tree, rng):
    """Every link's pose in the world is Pinocchio's."""
    from support.oracle import Pinocchio

    mechanism, model = tree
    oracle = Pinocchio.of_mechanism(mechanism, model)
    q = random_state(rng, model)[0]
    X0 = body_transforms(model, joint_transforms(model, q.tolist()))
    for link in model.links:
        assert_allclose(link_pose(link, X0), oracle.pose(link.name, q), atol=TOL)


def test_poses_equal_pinocchio_on_real_robots(real, rng):
    """So are those of all links of real robots, merged ones included."""
    robot, oracle = real
    q = random_state(rng, robot.model)[0]
    X0 = body_transforms(robot.model, joint_transforms(robot.model, q.tolist()))
    for link in robot.model.links:
        # Placements that are a right angle to 1e-12 are made exact; arms are some metres long.
        assert_allclose(link_pose(link, X0), oracle.pose(link.name, q), atol=1e-11)


def test_link_transform_is_the_pose_the_other_way_round(tree, rng):
    """link_transform goes into the frame whose pose link_pose is; links of the base too."""
    _, model = tree
    q = random_state(rng, model)[0].tolist()
    X0 = body_transforms(model, joint_transforms(model, q))
    for link in model.links:
        X = link_transform(link, X0)
        assert_allclose(pose_of(transform_of(pose_of(X))), link_pose(link, X0), atol=1e-12)


def test_velocities_are_rates_of_poses(tree, rng):
    """The velocity of each body is the time derivative of its pose."""
    _, model = tree
    q, qd, _ = random_state(rng, model)
    rate = np.array(model.position_rate(q.tolist(), qd.tolist()))
    v = body_velocities(model, joint_transforms(model, q.tolist()), qd.tolist())

    def poses(q):
        X0 = body_transforms(model, joint_transforms(model, model.normalized(list(q))))
        return [pose_of(X) for X in X0]

    h = 1e-6
    for here, there, back, v_i in zip(
        poses(q), poses(q + h * rate), poses(q - h * rate), v, strict=True
    ):
        difference = np.linalg.inv(here) @ (there - back) / (2 * h)
        w, u = np.array(list(v_i.angular)), np.array(list(v_i.linear))
        skew = np.array([[0, -w[2], w[1]], [w[2], 0, -w[0]], [-w[1], w[0], 0]])
        # Order h^2 and roundings 1e-16 / h = 1e-10, of numbers up to ten.
        assert_allclose(difference[:3, :3], skew, atol=1e-7)
        assert_allclose(difference[:3, 3], u, atol=1e-7)
