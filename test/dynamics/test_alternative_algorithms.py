# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Inverse and forward dynamics by other algorithms of the book are those of the compiled ones."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from support.mechanisms import random_state, random_tree

from robot_dynamics.dynamics.alternative_assembly import (
    assembled_inverse,
    bodies_in_world,
    forward_dynamics_by_assembly,
)
from robot_dynamics.dynamics.divide_and_conquer import (
    ArticulatedPart,
    divide_and_conquer,
    put_together,
)
from robot_dynamics.dynamics.forward import forward_dynamics
from robot_dynamics.dynamics.inertia_matrix import inertia_matrix
from robot_dynamics.dynamics.inverse import inverse_dynamics
from robot_dynamics.dynamics.luh_walker_paul import luh_walker_paul
from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.model import LinkElement, Mechanism, build
from robot_dynamics.model.parameters import parameters_of
from robot_dynamics.spatial import Force

TOL = 1e-12  # times cond(H): what a backward stable solution may lose


def condition(model, q):
    return np.linalg.cond(np.array(inertia_matrix(model, q, parameters_of(model))))


def rigid(rng):
    """Return the inverse inertia of some body."""
    a = rng.normal(size=(6, 6))
    return a @ a.T + np.eye(6)


@pytest.mark.book("E4")
@pytest.mark.parametrize("chain", [True, False])
def test_three_dimensional_form(rng, chain):
    """Torques by angular velocities and classical accelerations are those of spatial vectors."""
    model = build(random_tree(rng, ["revolute"] * 6, chain=chain), gravity=(1.0, -2.0, -9.0))
    state = [x.tolist() for x in random_state(rng, model)]
    expected = inverse_dynamics(model, *state, parameters_of(model))
    ours = luh_walker_paul(model, *state, parameters_of(model))
    assert_allclose(ours, expected, rtol=0, atol=1e-13 * np.abs(expected).max() * 10)


def test_three_dimensional_form_has_revolute_joints(rng):
    """Other joints are refused by name."""
    model = build(random_tree(rng, ["revolute", "prismatic"]))
    with pytest.raises(RobotDynamicsError, match="'joint1'"):
        luh_walker_paul(model, *([[0.0, 0.0]] * 3), parameters_of(model))


@pytest.mark.book("F7")
@pytest.mark.parametrize("variant", [1, 2])
def test_both_variants_of_table_7_2_equal_table_7_1(tree, rng, variant):
    """Both variants of Table 7.2 give the accelerations of Table 7.1, external forces included."""
    _, model = tree
    q, qd, tau = (x.tolist() for x in random_state(rng, model))
    parameters = parameters_of(model)
    external = [Force.of(rng.normal(size=6).tolist()) for _ in model.bodies]
    bodies = bodies_in_world(model, q, qd, tau, parameters, external)
    ours = forward_dynamics_by_assembly(model, bodies, parameters, variant)
    expected = np.array(forward_dynamics(model, q, qd, tau, parameters, external))
    tol = TOL * condition(model, q) * np.abs(expected).max()
    assert_allclose(ours, expected, rtol=0, atol=tol)


@pytest.mark.book("F8")
def test_divide_and_conquer(tree, rng):
    """Halves put together and taken apart give the accelerations of Table 7.1."""
    _, model = tree
    q, qd, tau = (x.tolist() for x in random_state(rng, model))
    parameters = parameters_of(model)
    external = [Force.of(rng.normal(size=6).tolist()) for _ in model.bodies]
    ours = divide_and_conquer(model, q, qd, tau, parameters, external)
    expected = np.array(forward_dynamics(model, q, qd, tau, parameters, external))
    tol = TOL * condition(model, q) * np.abs(expected).max()
    assert_allclose(ours, expected, rtol=0, atol=tol)


@pytest.mark.book("F8")
def test_parts_with_two_handles_are_joined_by_eq_7_63(rng):
    """Two parts with two handles each are put together as Eq 7.63 says, block by block."""
    model = build(random_tree(rng, ["revolute"], chain=True))
    q, qd, tau = (x.tolist() for x in random_state(rng, model))
    joint = bodies_in_world(model, q, qd, tau, parameters_of(model))[0]
    ab, cd = (
        np.block([[P, P @ R], [(P @ R).T, R.T @ P @ R + np.eye(6)]])
        for P, R in ((rigid(rng), rng.normal(size=(6, 6))) for _ in range(2))
    )
    b = rng.normal(size=(4, 6))
    first = ArticulatedPart(((7, True), (0, False)), ab, b[:2].ravel())
    second = ArticulatedPart(((0, True), (8, False)), cd, b[2:].ravel())
    ours = put_together(first, second, 0, joint)
    one, two = slice(0, 6), slice(6, 12)
    f2, f3 = -joint.f, joint.f  # the active force, as forces from outside
    b1, b2 = b[0] + ab[one, two] @ f2, b[1] + ab[two, two] @ f2
    b3, b4 = b[2] + cd[one, one] @ f3, b[3] + cd[two, one] @ f3
    W = joint.T @ np.linalg.inv(joint.T.T @ (ab[two, two] + cd[one, one]) @ joint.T) @ joint.T.T
    beta = joint.c - b3 + b2
    across = ab[one, two] @ W @ cd[one, two]
    expected = np.block(
        [
            [ab[one, one] - ab[one, two] @ W @ ab[two, one], across],
            [across.T, cd[two, two] - cd[two, one] @ W @ cd[one, two]],
        ]
    )
    assert ours.handles == ((7, True), (8, False))
    assert_allclose(ours.Phi, expected, rtol=0, atol=1e-11 * np.abs(expected).max())
    biases = [*(b1 - ab[one, two] @ W @ beta), *(b4 + cd[two, one] @ W @ beta)]
    assert_allclose(ours.b, biases, rtol=0, atol=1e-10 * np.abs(biases).max())


@pytest.mark.book("F7")
def test_a_body_that_is_not_free(rng):
    """By variant 1 a body on the base, whose inverse inertia is singular, carries another."""
    model = build(random_tree(rng, ["revolute", "revolute"], chain=True), gravity=(0, 0, 0))
    q, qd, tau = (x.tolist() for x in random_state(rng, model))
    one, two = bodies_in_world(model, q, qd, tau, parameters_of(model))
    base = (np.zeros((6, 6)), np.zeros(6))
    free = [(np.linalg.inv(body.I), -np.linalg.solve(body.I, body.p)) for body in (one, two)]
    # The body as the base carries it: what the base does not let it do is gone from Phi.
    held, _ = assembled_inverse(free[0], base, one)
    assert np.linalg.matrix_rank(held, tol=1e-9) == 1
    b = free[0][1]
    z = one.T.T @ (one.c - b - free[0][0] @ one.f)
    Y = one.T.T @ free[0][0] @ one.T
    held_b = b + free[0][0] @ (one.f + one.T @ np.linalg.solve(Y, z))
    Phi, b_A = assembled_inverse((held, held_b), free[1], two)
    # The first body's acceleration without further forces, by Table 7.1.
    qdd = forward_dynamics(model, q, qd, tau, parameters_of(model))
    expected = one.S @ qdd[:1] + one.c
    assert_allclose(b_A, expected, rtol=0, atol=1e-10 * np.abs(expected).max())
    assert np.linalg.matrix_rank(Phi, tol=1e-9) == 1


@pytest.mark.book("F8")
def test_joints_that_block_twice(rng):
    """A joint between parts that are held already is reported, and bodies without inertia."""
    model = build(random_tree(rng, ["revolute"], chain=True))
    joint = bodies_in_world(model, [0.1], [0.0], [0.0], parameters_of(model))[0]
    still = np.zeros((6, 6)), np.zeros(6)
    held = ArticulatedPart(((0, False),), *still), ArticulatedPart(((0, True),), *still)
    with pytest.raises(RobotDynamicsError, match="blocked already"):
        put_together(*held, 0, joint)
    tree = random_tree(rng, ["revolute", "revolute"], chain=True)
    links = (*tree.links[:1], LinkElement("link0"), *tree.links[2:])
    model = build(Mechanism("m", links, tree.joints))
    with pytest.raises(RobotDynamicsError, match=r"'link0'.*inertia"):
        divide_and_conquer(model, *([[0.0, 0.0]] * 3), parameters_of(model))
