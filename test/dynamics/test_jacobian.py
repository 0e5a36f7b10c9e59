# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Jacobians make velocities, and are Pinocchio's."""

from __future__ import annotations

import numpy as np
from numpy.testing import assert_allclose
from support.mechanisms import random_state

from robot_dynamics.dynamics.inverse import velocities_and_accelerations
from robot_dynamics.dynamics.jacobian import (
    classical_acceleration,
    columns_in_frame,
    link_jacobian,
)
from robot_dynamics.dynamics.kinematics import (
    body_transforms,
    body_velocities,
    joint_transforms,
)
from robot_dynamics.model import WORLD
from robot_dynamics.spatial import Transform, Vector3

TOL = 1e-13  # a dozen products of rotations


def test_equals_pinocchio_on_trees(tree, rng):
    """The Jacobian of every link in its own coordinates is Pinocchio's, angular part first."""
    from support.oracle import Pinocchio

    mechanism, model = tree
    oracle = Pinocchio.of_mechanism(mechanism, model)
    q = random_state(rng, model)[0]
    Xup = joint_transforms(model, q.tolist())
    for link in model.links:
        J = np.array(link_jacobian(model, link, Xup))
        assert_allclose(J, oracle.jacobian(link.name, q), atol=TOL * 10)


def test_makes_the_velocity_of_the_link(tree, rng):
    """J qd is the link's velocity in link coordinates."""
    _, model = tree
    q, qd, _ = random_state(rng, model)
    Xup = joint_transforms(model, q.tolist())
    v = body_velocities(model, Xup, qd.tolist())
    for link in model.links:
        J = np.array(link_jacobian(model, link, Xup))
        expected = np.zeros(6)
        if link.body != WORLD:
            expected = (link.placement * v[link.body]).components()
        assert_allclose(J @ qd, expected, atol=1e-12)


def test_only_joints_towards_the_base_move_a_body(tree, rng):
    """Columns of joints that do not support the body are the constant 0.0."""
    _, model = tree
    Xup = joint_transforms(model, random_state(rng, model)[0].tolist())
    for link in model.links:
        supporting = {
            j for body in model.support(link.body) for j in range(model.nv)[model.v_slices[body]]
        }
        rows = link_jacobian(model, link, Xup)
        for j in set(range(model.nv)) - supporting:
            assert all(isinstance(row[j], float) and row[j] == 0.0 for row in rows)


def test_columns_relative_to_an_ancestor(tree, rng):
    """With a root the columns are those of the joints beyond it, unchanged."""
    _, model = tree
    Xup = joint_transforms(model, random_state(rng, model)[0].tolist())
    tip = max(range(len(model.bodies)), key=lambda body: len(model.support(body)))
    root = model.support(tip)[0]
    all_columns = columns_in_frame(model, tip, Xup, Transform.identity())
    beyond = columns_in_frame(model, tip, Xup, Transform.identity(), root)
    own = range(model.nv)[model.v_slices[root]]
    assert set(beyond) == set(all_columns) - set(own)
    assert all(beyond[j] == all_columns[j] for j in beyond)


def test_classical_accelerations_are_derivatives(tree, rng):
    """With a body's velocities they are the rate of [omega; v] of its origin, gravity or not."""
    _, model = tree
    q, qd, _ = random_state(rng, model)
    h = 1e-5

    def world_axes(at):
        Xup = joint_transforms(model, at.tolist())
        frames = body_transforms(model, Xup)
        return Xup, [Transform(X.E.transpose(), Vector3.zero()) for X in frames]

    def velocities(at):
        Xup, turned = world_axes(at)
        moving = body_velocities(model, Xup, qd.tolist(), at.tolist())
        return np.array([(X * v).components() for X, v in zip(turned, moving, strict=True)])

    step = (h * qd).tolist()
    after = np.array(model.integrate(q.tolist(), step))
    before = np.array(model.integrate(q.tolist(), [-x for x in step]))
    expected = (velocities(after) - velocities(before)) / (2 * h)
    Xup, turned = world_axes(q)
    for gravity in (Vector3.zero(), Vector3(1.0, -2.0, 3.0)):
        v, avp = velocities_and_accelerations(model, Xup, qd.tolist(), None, gravity, q.tolist())
        for i, X in enumerate(turned):
            found = classical_acceleration(X * avp[i], X * v[i], gravity)
            # Central differences leave h^2 times third derivatives of order 10.
            assert_allclose(found, expected[i], atol=1e-7)
