# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Forward dynamics undoes inverse dynamics, solves H qdd = tau - C, and equals Pinocchio's."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from support.mechanisms import random_state, random_tree

from robot_dynamics.dynamics.forward import forward_dynamics
from robot_dynamics.dynamics.inertia_matrix import inertia_matrix
from robot_dynamics.dynamics.inverse import bias_forces, inverse_dynamics
from robot_dynamics.model import build
from robot_dynamics.model.parameters import parameters_of
from robot_dynamics.spatial import Force

TOL = 1e-12  # times cond(H): what a backward stable solution may lose


@pytest.mark.book("F5")
def test_equals_pinocchio_on_real_robots(real, rng):
    """The accelerations of 1000 random states of each robot are Pinocchio's to cond(H)."""
    robot, oracle = real
    q, qd, tau = random_state(rng, robot.model, 1000)
    qdd = robot.tree_forward_dynamics(q, qd, tau)
    condition = np.linalg.cond(robot.inertia_matrix(q))
    for ours, bound, *state in zip(qdd, condition, q, qd, tau, strict=True):
        theirs = oracle.forward_dynamics(*state)
        assert np.max(np.abs(ours - theirs)) < TOL * bound * np.max(np.abs(theirs))


@pytest.mark.book("F5")
def test_undoes_inverse_dynamics(tree, rng):
    """ID(FD(tau)) = tau and FD(ID(qdd)) = qdd."""
    _, model = tree
    q, qd, qdd = (x.tolist() for x in random_state(rng, model))
    parameters = parameters_of(model)
    condition = np.linalg.cond(np.array(inertia_matrix(model, q, parameters)))
    tau = inverse_dynamics(model, q, qd, qdd, parameters)
    back = np.array(forward_dynamics(model, q, qd, tau, parameters))
    assert np.max(np.abs(back - qdd)) < TOL * condition * np.max(np.abs(qdd))
    forth = np.array(inverse_dynamics(model, q, qd, back.tolist(), parameters))
    assert np.max(np.abs(forth - tau)) < TOL * condition * np.max(np.abs(tau))


@pytest.mark.book("F5")
def test_solves_the_equation_of_motion(tree, rng):
    """The articulated-body algorithm equals a dense solution of H qdd = tau - C."""
    _, model = tree
    q, qd, tau = (x.tolist() for x in random_state(rng, model))
    parameters = parameters_of(model)
    H = np.array(inertia_matrix(model, q, parameters))
    C = np.array(bias_forces(model, q, qd, parameters))
    dense = np.linalg.solve(H, tau - C)
    qdd = np.array(forward_dynamics(model, q, qd, tau, parameters))
    assert np.max(np.abs(qdd - dense)) < TOL * np.linalg.cond(H) * np.max(np.abs(dense))


@pytest.mark.book("E3")
def test_external_forces_are_those_of_inverse_dynamics(tree, rng):
    """With outside forces the two still undo each other."""
    _, model = tree
    q, qd, qdd = (x.tolist() for x in random_state(rng, model))
    parameters = parameters_of(model)
    condition = np.linalg.cond(np.array(inertia_matrix(model, q, parameters)))
    external = [Force.of((10 * rng.normal(size=6)).tolist()) for _ in model.bodies]
    tau = inverse_dynamics(model, q, qd, qdd, parameters, external)
    back = np.array(forward_dynamics(model, q, qd, tau, parameters, external))
    assert np.max(np.abs(back - qdd)) < TOL * condition * np.max(np.abs(qdd) + np.abs(tau).max())


@pytest.mark.book("F5")
def test_free_bodies_fall(rng):
    """Without joint forces a floating tree at rest accelerates by gravity and does not fold."""
    model = build(random_tree(rng, ["floating", "revolute", "prismatic"], chain=True))
    q = random_state(rng, model)[0]
    rest = [0.0] * model.nv
    qdd = forward_dynamics(model, q.tolist(), rest, rest, parameters_of(model))
    body = model.bodies[0]
    to_body = np.array(body.joint.type.transform(q[:7].tolist()).compose(body.placement).E.rows)
    assert_allclose(qdd[:3], 0.0, atol=1e-11)
    assert_allclose(qdd[3:6], to_body @ [0.0, 0.0, -9.81], atol=1e-11)
    assert_allclose(qdd[6:], 0.0, atol=1e-10)
