# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The factors of H that the articulated-body algorithm has, and rings solved with them."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from support.mechanisms import random_state, random_tree

from robot_dynamics.dynamics.articulated_factors import articulated_factors
from robot_dynamics.dynamics.closed_loop import (
    FactoredTerms,
    closed_loop_terms,
    full_rank_motion,
    terms_to_solve,
)
from robot_dynamics.dynamics.inertia_matrix import inertia_matrix
from robot_dynamics.dynamics.kinematics import (
    body_transforms,
    joint_transforms,
    link_pose,
    motion_subspaces,
)
from robot_dynamics.model import LoopElement, build
from robot_dynamics.model.parameters import parameters_of
from robot_dynamics.robot import Robot
from robot_dynamics.scalar.linear_algebra import factor


def ring(rng, count):
    """Return a chain whose last link is fixed to the base, and positions that close it."""
    chain = random_tree(rng, ["revolute"] * count, chain=True)
    model = build(chain)
    q = random_state(rng, model)[0].tolist()
    last = f"link{count - 1}"
    at = link_pose(model.link(last), body_transforms(model, joint_transforms(model, q)))
    loop = LoopElement("closure", "fixed", "base", last, np.array(at, dtype=float), np.eye(4))
    mechanism = replace(chain, loops=(loop,))
    return mechanism, build(mechanism, gravity=(1.0, -2.0, -9.0)), q


def test_solve_with_the_inertia_matrix(tree, rng):
    """H x = b and products of halves are those of the matrix; sparse vectors stay sparse."""
    _, model = tree
    q = random_state(rng, model)[0].tolist()
    parameters = parameters_of(model)
    H = np.array(inertia_matrix(model, q, parameters), dtype=float)
    factors = articulated_factors(
        model, joint_transforms(model, q), motion_subspaces(model, q), parameters
    )
    b, c = rng.normal(size=(2, model.nv)).tolist()
    tolerance = 1e-15 * np.linalg.cond(H)
    exact = np.linalg.solve(H, b)
    assert_allclose(factors.solve(b), exact, rtol=0, atol=tolerance * np.abs(exact).max())
    product = np.dot(factors.half_solve(c), factors.scale(factors.half_solve(b)))
    size = np.linalg.norm(c) * np.linalg.norm(exact)
    assert product == pytest.approx(np.dot(c, exact), abs=tolerance * size)
    unit = [1.0, *[0.0] * (model.nv - 1)]  # nothing beyond the first joint feels it
    assert np.count_nonzero(factors.half_solve(unit)) <= model.bodies[0].joint.type.nv


def test_pivots_are_those_of_the_matrix(rng):
    """The smallest pivot, relative to the diagonal of H, is that of the dense factors."""
    model = build(random_tree(rng, ["revolute", "prismatic"] * 4, chain=True))
    q = random_state(rng, model)[0].tolist()
    parameters = parameters_of(model)
    factors = articulated_factors(
        model, joint_transforms(model, q), motion_subspaces(model, q), parameters
    )
    dense = factor(inertia_matrix(model, q, parameters))
    assert factors.smallest_pivot == pytest.approx(dense.smallest_pivot, rel=1e-9)
    assert_allclose(factors.inverse_diagonal, dense.inverse_diagonal, rtol=1e-9)


def test_a_ring_equals_the_dense_solution(rng):
    """Accelerations, multipliers and the pivot of a ring of 30 are those of the whole matrices."""
    _, model, q = ring(rng, 30)
    qd, tau = rng.normal(size=(2, model.nv)).tolist()
    parameters = parameters_of(model)
    terms = terms_to_solve(model, q, qd, parameters)
    assert isinstance(terms, FactoredTerms)
    dense = closed_loop_terms(model, q, qd, parameters)
    n, K = model.nv, np.array(dense.loops.K)
    matrix = np.block([[np.array(dense.H), K.T], [K, np.zeros((len(K), len(K)))]])
    exact = np.linalg.solve(matrix, [*np.subtract(tau, dense.C), *dense.loops.k])
    qdd, multipliers, pivot = full_rank_motion(model, terms, tau)
    # Rounding of H by 1e-16 changes the solution by as much times its condition.
    tolerance = 1e-15 * np.linalg.cond(np.array(dense.H))
    assert_allclose(qdd, exact[:n], rtol=0, atol=tolerance * np.abs(exact[:n]).max())
    assert_allclose(multipliers, -exact[n:], rtol=0, atol=tolerance * np.abs(exact[n:]).max())
    _, _, expected = full_rank_motion(model, dense, tau)
    assert pivot == pytest.approx(expected, rel=1e-6)
    wrong = replace(terms, C=[1.01 * c for c in terms.C])
    assert np.abs(np.subtract(full_rank_motion(model, wrong, tau)[0], qdd)).max() > 1e3 * tolerance


@pytest.mark.slow
def test_a_long_ring_is_pinocchios(rng):
    """Forward dynamics of a ring of 100, compiled and by the public method, is Pinocchio's."""
    from support.oracle import Pinocchio

    mechanism, model, q = ring(rng, 100)
    robot, qd, tau = Robot(model), np.zeros(model.nv), rng.normal(size=model.nv)
    theirs = Pinocchio.of_mechanism(mechanism, model).closed_loop(q, qd, tau)
    H = np.array(robot.inertia_matrix(q))
    tolerance = 1e-15 * np.linalg.cond(H) * np.abs(theirs).max()
    assert_allclose(robot.forward_dynamics(q, qd, tau), theirs, rtol=0, atol=tolerance)
