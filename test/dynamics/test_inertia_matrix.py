# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The joint-space inertia matrix against inverse dynamics, Pinocchio and kinetic energy."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from support.mechanisms import random_state, random_tree

from robot_dynamics.dynamics.inertia_matrix import (
    composite_inertia_matrix,
    inertia_matrix,
    inertia_times,
)
from robot_dynamics.dynamics.inverse import inverse_dynamics
from robot_dynamics.dynamics.kinematics import body_velocities, joint_transforms
from robot_dynamics.model import build
from robot_dynamics.model.parameters import parameters_of

TOL = 1e-12  # max-norm relative: some hundred roundings of 1e-16


@pytest.mark.book("F2")
def test_equals_pinocchio_on_real_robots(real, rng):
    """H of 1000 random states of each robot is made of Pinocchio's inverse dynamics."""
    robot, oracle = real
    q, _, _ = random_state(rng, robot.model, 1000)
    H = robot.inertia_matrix(q)
    worst = 0.0
    for ours, q_i in zip(H, q, strict=True):
        theirs = oracle.inertia_matrix(q_i)
        worst = max(worst, np.max(np.abs(ours - theirs)) / np.max(np.abs(theirs)))
    assert worst < TOL


@pytest.mark.book("F2")
def test_columns_are_inverse_dynamics(tree, rng):
    """Column j is the force of a unit acceleration of variable j at rest without gravity (6.1)."""
    mechanism, _ = tree
    model = build(mechanism, gravity=(0.0, 0.0, 0.0))
    parameters, rest = parameters_of(model), [0.0] * model.nv
    q = random_state(rng, model)[0].tolist()
    H = np.array(inertia_matrix(model, q, parameters))
    columns = [
        inverse_dynamics(model, q, rest, unit, parameters) for unit in np.eye(model.nv).tolist()
    ]
    assert_allclose(H, np.array(columns).T, atol=TOL * np.abs(H).max())


def test_is_symmetric_and_positive_definite(tree, rng):
    """H equals its transpose exactly and has a Cholesky factor."""
    _, model = tree
    q = random_state(rng, model)[0].tolist()
    H = np.array(inertia_matrix(model, q, parameters_of(model)))
    assert (H == H.T).all()
    np.linalg.cholesky(H)


@pytest.mark.book("F2")
def test_makes_the_kinetic_energy(tree, rng):
    """qd^T H qd is the sum of v_i^T I_i v_i."""
    _, model = tree
    q, qd, _ = (x.tolist() for x in random_state(rng, model))
    parameters = parameters_of(model)
    Xup = joint_transforms(model, q)
    H = np.array(composite_inertia_matrix(model, Xup, parameters))
    v = body_velocities(model, Xup, qd)
    energy = sum(w.dot(I * w) for w, I in zip(v, parameters.inertias, strict=True))
    assert_allclose(np.array(qd) @ H @ qd, energy, rtol=TOL)


@pytest.mark.book("F2")
def test_branches_do_not_meet(tree, rng):
    """Entries of joints on different branches are the constant 0.0, and no others."""
    _, model = tree
    H = inertia_matrix(model, random_state(rng, model)[0].tolist(), parameters_of(model))
    for i, at_i in enumerate(model.v_slices):
        for j, at_j in enumerate(model.v_slices):
            meets = i in model.support(j) or j in model.support(i)
            if not meets:
                assert all(x == 0.0 for row in H[at_i] for x in row[at_j])


@pytest.mark.book("F1")
def test_differential_inverse_dynamics(tree, rng):
    """ID_delta is H times a vector, without H (Table 6.1)."""
    _, model = tree
    q, x, _ = (v.tolist() for v in random_state(rng, model))
    x = [*rng.normal(size=model.nv)]
    parameters = parameters_of(model)
    H = np.array(inertia_matrix(model, q, parameters))
    assert_allclose(
        inertia_times(model, q, x, parameters), H @ x, atol=TOL * np.abs(H).max() * model.nv
    )


def test_deep_trees_use_base_coordinates(rng):
    """On a long chain, columns are those of inverse dynamics, relative to the largest entry."""
    types = ["floating", *["revolute", "prismatic", "revolute"] * 15]
    trunk = build(random_tree(rng, types, chain=True), gravity=(0.0, 0.0, 0.0))
    q = random_state(rng, trunk)[0]
    H = np.array(inertia_matrix(trunk, q.tolist(), parameters_of(trunk)))
    rest = [0.0] * trunk.nv
    columns = [
        inverse_dynamics(trunk, q.tolist(), rest, unit, parameters_of(trunk))
        for unit in np.eye(trunk.nv).tolist()
    ]
    # Products of up to 46 transforms, in another order.
    np.testing.assert_allclose(H, np.array(columns).T, rtol=0, atol=1e-13 * np.abs(H).max())
    some = composite_inertia_matrix(
        trunk, joint_transforms(trunk, q.tolist()), parameters_of(trunk), q.tolist(), [0, 7, 40]
    )
    rows = [i for at in (0, 7, 40) for i in range(trunk.nv)[trunk.v_slices[at]]]
    expected = np.zeros_like(H)
    expected[np.ix_(rows, rows)] = H[np.ix_(rows, rows)]
    np.testing.assert_array_equal(np.array(some, dtype=float), expected)
