# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A floating base without a joint is the base on a floating joint, and keeps its momentum."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from support.mechanisms import random_state, random_tree

from robot_dynamics.dynamics.floating_base import (
    floating_forward_dynamics,
    floating_inverse_dynamics,
    floating_jacobian,
    floating_terms,
)
from robot_dynamics.dynamics.forward import forward_dynamics
from robot_dynamics.dynamics.frame_motion import frame_velocity
from robot_dynamics.dynamics.inertia_matrix import inertia_matrix
from robot_dynamics.dynamics.inverse import bias_forces, inverse_dynamics
from robot_dynamics.dynamics.kinematics import body_transforms, joint_transforms
from robot_dynamics.dynamics.momentum import momentum
from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.model import JointElement, Mechanism, build
from robot_dynamics.model.parameters import parameters_of

TOL = 1e-12  # times cond(H): what a backward stable solution may lose


@pytest.fixture(params=[True, False])
def floating(request, rng):
    """Return a model on a floating base, its parameters, a state and joint forces."""
    carried = random_tree(
        rng, ["revolute", "prismatic", "revolute", "revolute"], chain=request.param
    )
    base = random_tree(rng, ["floating"])
    joints = [
        JointElement(f"arm{j.name}", j.type, "link0" if j.parent == "base" else f"arm{j.parent}",
                     f"arm{j.child}", j.placement, j.axis, armature=0.1)
        for j in carried.joints
    ]  # fmt: skip
    renamed = [
        type(link)(f"arm{link.name}", link.mass, link.center, link.inertia)
        for link in carried.links[1:]
    ]
    mechanism = Mechanism("m", (*base.links, *renamed), (*base.joints, *joints))
    model = build(mechanism, gravity=(1.0, -2.0, -9.0))
    q, qd, tau = (x.tolist() for x in random_state(rng, model))
    tau[:6] = [0.0] * 6
    return model, parameters_of(model), q, qd, tau


def condition(model, q):
    return np.linalg.cond(np.array(inertia_matrix(model, q, parameters_of(model))))


@pytest.mark.book("B1")
def test_terms_are_those_of_the_joint(floating):
    """I0, F, H, p0 and C (9.13) are the blocks of H and C with a floating joint."""
    model, parameters, q, qd, _ = floating
    terms = floating_terms(model, q, qd, parameters)
    H, C = np.array(inertia_matrix(model, q, parameters)), bias_forces(model, q, qd, parameters)
    ours = np.block(
        [[np.array(terms.I0), np.array(terms.F)], [np.array(terms.F).T, np.array(terms.H)]]
    )
    assert_allclose(ours, H, rtol=0, atol=1e-13 * np.abs(H).max())
    assert_allclose([*terms.p0, *terms.C], C, rtol=0, atol=1e-12 * np.abs(C).max())


@pytest.mark.book("B2")
def test_forward_dynamics_both_ways(floating):
    """Tables 9.4 and 9.5 and the floating joint give one acceleration."""
    model, parameters, q, qd, tau = floating
    expected = np.array(forward_dynamics(model, q, qd, tau, parameters))
    tol = TOL * condition(model, q) * np.abs(expected).max()
    ours = floating_forward_dynamics(model, q, qd, tau[6:], parameters)
    assert_allclose(ours, expected, rtol=0, atol=tol)
    ours = floating_terms(model, q, qd, parameters).forward_dynamics(tau[6:])
    assert_allclose(ours, expected, rtol=0, atol=tol)


@pytest.mark.book("B3")
def test_inverse_dynamics_undo_forward_dynamics(floating):
    """Table 9.6 undoes forward dynamics: the base's acceleration and the forces come back."""
    model, parameters, q, qd, tau = floating
    qdd = floating_forward_dynamics(model, q, qd, tau[6:], parameters)
    a0, forces = floating_inverse_dynamics(model, q, qd, qdd[6:], parameters)
    tol = TOL * condition(model, q)
    assert_allclose(a0, qdd[:6], rtol=0, atol=tol * np.abs(qdd).max())
    assert_allclose(forces, tau[6:], rtol=0, atol=tol * np.abs(tau).max())
    full = inverse_dynamics(model, q, qd, [*a0, *qdd[6:]], parameters)
    assert_allclose(full[:6], 0.0, atol=tol * 100)  # nothing pushes the base


@pytest.mark.book("B4")
def test_reduced_matrices_are_schur_complements(floating):
    """H^fl qdd + C^fl = tau is the equation of the joints alone; H^fl is a Schur complement."""
    model, parameters, q, qd, tau = floating
    H, C = floating_terms(model, q, qd, parameters).reduced()
    qdd = forward_dynamics(model, q, qd, tau, parameters)[6:]
    tol = TOL * condition(model, q) * np.abs(tau).max() * 100
    assert_allclose(np.array(H) @ qdd + C, tau[6:], rtol=0, atol=tol)
    inverse = np.linalg.inv(inertia_matrix(model, q, parameters))[6:, 6:]
    assert_allclose(np.linalg.inv(H), inverse, rtol=0, atol=1e-10 * np.abs(inverse).max())


@pytest.mark.book("B4", "B5")
def test_frames_move_at_the_floating_jacobian_without_momentum(floating, rng):
    """With the base moving so that momentum is zero, frames move at J^fl qd (Example 9.4)."""
    model, parameters, q, _, _ = floating
    terms = floating_terms(model, q, [0.0] * model.nv, parameters)
    rates = rng.normal(size=model.nv - 6)
    v0 = -np.array(terms.momentum_shares()).T @ rates
    qd = [*v0, *rates]
    assert_allclose(momentum(model, q, qd, parameters).components(), 0.0, atol=1e-11)
    for link in model.links[1:]:
        J = floating_jacobian(model, link, q, parameters)
        moves = frame_velocity(model, link, q, qd, "local").components()
        assert_allclose(np.array(J) @ rates, moves, rtol=0, atol=1e-11)


@pytest.mark.book("B5")
def test_momentum_by_the_terms(floating):
    """I0 v0 + F qd is the momentum of all bodies (Example 9.3), in base coordinates."""
    model, parameters, q, qd, _ = floating
    terms = floating_terms(model, q, qd, parameters)
    h = np.array(terms.I0) @ qd[:6] + np.array(terms.F) @ qd[6:]
    X = body_transforms(model, joint_transforms(model, q))[0]
    expected = (X * momentum(model, q, qd, parameters)).components()
    assert_allclose(h, expected, rtol=0, atol=1e-12 * np.abs(expected).max())


def test_a_fixed_base_is_refused(rng):
    """A mechanism on the ground is named."""
    model = build(random_tree(rng, ["revolute"]))
    with pytest.raises(RobotDynamicsError, match=r"random.*floating"):
        floating_terms(model, [0.0], [0.0], parameters_of(model))
