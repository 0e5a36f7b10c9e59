# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Dynamics with q = gamma(y) (C12) against the constrained equation and golden case N10."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from support import closures, golden, linkages

from robot_dynamics.dynamics.closure_composition import compose
from robot_dynamics.dynamics.explicit_form import (
    explicit_forward_dynamics,
    explicit_inverse_dynamics,
    explicit_terms,
)
from robot_dynamics.model.parameters import parameters_of
from robot_dynamics.robot import Robot

# N10 is printed to eleven or twelve digits; its numbers are below twenty.
DIGITS = 1.5e-11


@pytest.fixture(scope="module")
def book():
    model = golden.actuated_arm_model()
    closure = compose(model, [closures.actuated_arm_function()])
    return model, closure, parameters_of(model)


def test_forward_dynamics_of_the_golden_case(book):
    """C12, N10: ydd and qdd = G ydd + g to the printed digits."""
    model, closure, parameters = book
    tau = golden.ordered(model, golden.TAU).tolist()
    y, yd = golden.Y.tolist(), golden.YD.tolist()
    ydd = explicit_forward_dynamics(closure, y, yd, tau, parameters)
    assert_allclose(ydd, golden.YDD, atol=DIGITS)
    motion = closure.motion(y, yd)
    qdd = np.array(motion.G) @ ydd + motion.g
    assert_allclose(qdd[golden.order(model)], golden.QDD, atol=DIGITS)


def test_multipliers_of_the_golden_case(book):
    """N10: K^T lambda = H qdd + C - tau; of minimum norm it has the printed digits."""
    model, *_ = book
    robot, order = Robot(model), golden.order(model)
    explicit = robot.with_closure(closures.actuated_arm_function())
    tau = golden.ordered(model, golden.TAU)
    ydd = explicit.forward_dynamics(golden.Y, golden.YD, tau)
    q, qd, qdd = explicit.motion(golden.Y, golden.YD, ydd)
    H, C, K, k, *_ = robot.constraint_terms(q, qd)
    assert_allclose(H[np.ix_(order, order)], golden.H, atol=DIGITS)
    assert_allclose(C[order], golden.C, atol=DIGITS)
    assert_allclose(K[2:4][:, order], golden.K, atol=DIGITS)
    assert_allclose(k[2:4], golden.SMALL_K, atol=DIGITS)
    multipliers, *_ = np.linalg.lstsq(K.T, H @ qdd + C - tau, rcond=None)
    assert_allclose(multipliers, [0.0, 0.0, *golden.MULTIPLIERS, 0.0][:5], atol=DIGITS)


def test_inverse_dynamics_of_the_golden_case(book):
    """C12, N10: tau_ID, G^T tau_ID, and drives at joints 3 and 4, of the printed acceleration."""
    model, closure, parameters = book
    order = golden.order(model)
    y, yd = golden.Y.tolist(), golden.YD.tolist()
    ydd = explicit_forward_dynamics(
        closure, y, yd, golden.ordered(model, golden.TAU).tolist(), parameters
    )
    motion = closure.motion(y, yd)
    G = np.array(motion.G, dtype=float)
    tau_id = Robot(model).inverse_dynamics(motion.q, motion.qd, G @ ydd + motion.g)
    assert_allclose(tau_id[order], golden.TAU_ID, atol=DIGITS)
    effort = explicit_inverse_dynamics(closure, y, yd, ydd, parameters)
    assert_allclose(effort, golden.EFFORT, atol=DIGITS)
    # Eq 8.63, and the closed form of Example 8.2.
    G_u = G[order][2:]
    assert_allclose(np.linalg.solve(G_u.T, effort), golden.U, atol=DIGITS)
    u1, u2 = G[order][1:3, 0]
    by_hand = np.array([[1 / u2, u1 / u2, 1, 0], [0, 0, 0, 1]]) @ tau_id[order]
    assert_allclose(by_hand, golden.U, atol=DIGITS)


@pytest.mark.parametrize("name", closures.CLOSED)
def test_equals_the_constrained_equation(name):
    """G ydd + g is the acceleration of the rank-revealing solution, on every mechanism."""
    mechanism, functions = closures.CLOSED[name]
    robot = Robot.from_mechanism(mechanism)
    explicit = robot.with_closure(*functions)
    rng = np.random.default_rng(8)
    for y in explicit.check(count=5, seed=1).samples:
        yd = rng.normal(size=len(explicit.names))
        tau = rng.normal(size=robot.model.nv)
        q, qd, G, g = explicit.derivatives(y, yd)
        qdd = G @ explicit.forward_dynamics(y, yd, tau) + g
        M, _ = explicit.terms(y, yd)
        expected = robot.constrained_motion(q, qd, tau).qdd
        # Both solve systems of about the condition of M.
        bound = 1e-13 * np.linalg.cond(M) * (1.0 + np.abs(expected).max())
        assert_allclose(qdd, expected, atol=bound)


@pytest.mark.parametrize("name", closures.CLOSED)
def test_inverse_dynamics_undoes_forward_dynamics(name):
    """G^T tau comes back from the acceleration it makes; M and c are its parts."""
    mechanism, functions = closures.CLOSED[name]
    explicit = Robot.from_mechanism(mechanism).with_closure(*functions)
    rng = np.random.default_rng(9)
    y = explicit.check(count=2, seed=4).samples[0]
    yd, tau = rng.normal(size=len(explicit.names)), rng.normal(size=explicit.model.nv)
    ydd = explicit.forward_dynamics(y, yd, tau)
    effort = explicit.inverse_dynamics(y, yd, ydd)
    _, _, G, _ = explicit.derivatives(y, yd)
    M, c = explicit.terms(y, yd)
    size = 1e-12 * (1.0 + np.abs(M @ ydd).max() + np.abs(c).max())
    assert_allclose(effort, G.T @ tau, atol=size)
    assert_allclose(effort, M @ ydd + c, atol=size)


def test_floating_base_with_loops():
    """A four-bar on a floating base moves as the constrained equation says."""
    mechanism = linkages.four_bar()
    heavy = replace(mechanism.links[0], mass=2.0, inertia=0.1 * np.eye(3))
    mechanism = replace(mechanism, links=(heavy, *mechanism.links[1:]))
    mechanism = linkages.tilted(mechanism, np.eye(3), kind="floating")
    robot = Robot.from_mechanism(mechanism)
    explicit = robot.with_closure(closures.four_bar_function())
    rng = np.random.default_rng(0)
    y = explicit.check(count=1).samples[0]
    yd, tau = rng.normal(size=7), rng.normal(size=robot.model.nv)
    q, qd, G, g = explicit.derivatives(y, yd)
    expected = robot.constrained_motion(q, qd, tau).qdd
    qdd = G @ explicit.forward_dynamics(y, yd, tau) + g
    assert_allclose(qdd, expected, atol=1e-10 * np.abs(expected).max())


def test_springs_and_dampers_of_loop_joints_act():
    """A spring and a damper in the loop's hinge move the mechanism as the constrained equation."""
    plain = golden.actuated_arm()
    sprung = replace(plain.loops[0], stiffness=30.0, rest=0.4, damping=2.0)
    tau = np.zeros(4)
    accelerations = []
    for loop in (plain.loops[0], sprung):
        robot = Robot.from_mechanism(replace(plain, loops=(loop,)), gravity=golden.GRAVITY)
        explicit = robot.with_closure(closures.actuated_arm_function())
        ydd = explicit.forward_dynamics(golden.Y, golden.YD, tau)
        q, qd, qdd = explicit.motion(golden.Y, golden.YD, ydd)
        # Two solutions of well-conditioned systems, of numbers below a hundred.
        assert_allclose(qdd, robot.constrained_motion(q, qd, tau).qdd, atol=1e-11)
        assert_allclose(explicit.inverse_dynamics(golden.Y, golden.YD, ydd), 0.0, atol=1e-11)
        accelerations.append(ydd)
    assert np.abs(accelerations[0] - accelerations[1]).max() > 0.1


def test_the_power_balance_holds(book):
    """dT/dt + dV/dt = tau . qd along the motion, by differences of the energies."""
    model, _, _ = book
    robot = Robot(model)
    explicit = robot.with_closure(closures.actuated_arm_function())
    tau = golden.ordered(model, golden.TAU)
    ydd = explicit.forward_dynamics(golden.Y, golden.YD, tau)
    h = 1e-5

    def energy(t):
        y, yd = golden.Y + t * golden.YD + t * t / 2 * ydd, golden.YD + t * ydd
        q, qd, _ = explicit.motion(y, yd, np.zeros(2))
        return sum(robot.energies(q, qd))

    power = tau @ golden.ordered(model, golden.QD)
    # Truncation h^2, rounding 1e-16 * 20 J / h.
    assert (energy(h) - energy(-h)) / (2 * h) == pytest.approx(power, abs=1e-8)


def test_terms_are_the_reduced_ones(book):
    """M = G^T H G and c = G^T (C + H g)."""
    model, closure, parameters = book
    terms = explicit_terms(closure, golden.Y.tolist(), golden.YD.tolist(), parameters)
    motion = terms.motion
    H, C, *_ = Robot(model).constraint_terms(motion.q, motion.qd)
    G, g = np.array(motion.G), np.array(motion.g)
    assert_allclose(terms.M, G.T @ H @ G, atol=1e-13)
    assert_allclose(terms.c, G.T @ (C + H @ g), atol=1e-12)
    assert_allclose(terms.effort(golden.TAU.tolist()), G.T @ golden.TAU, atol=1e-14)
