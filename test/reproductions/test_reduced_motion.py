# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The reduced model moves as the closed-loop engine does, to the order of its scheme."""

from __future__ import annotations

import numpy as np
import pytest
from manipulation.jointed_object.cases import CASE, state_of, system_of
from scipy.integrate import solve_ivp

from robot_dynamics.errors import UnknownNameError
from robot_dynamics.reproductions.joint_space import JointSpaceModel
from robot_dynamics.reproductions.jointed_plants import ReducedMotion, ReducedState
from robot_dynamics.reproductions.pseudovelocities import ConstantVelocities
from robot_dynamics.reproductions.unseren_pseudovelocities import SecondExample
from robot_dynamics.robot import Robot

DURATION = 0.1


@pytest.fixture(scope="module")
def system():
    return system_of(CASE)


@pytest.fixture(scope="module")
def torque(system):
    """Return torques that hold the system up: the motion stays tame."""
    q, qd, _ = state_of(CASE)
    terms = JointSpaceModel(system).terms(q, 0.1 * qd)
    return terms.inverse(np.zeros(len(q)), np.zeros(3))


@pytest.fixture(scope="module")
def truth(system, torque):
    """Return the final state of the closed-loop engine, integrated to twelve digits."""
    q, qd, _ = state_of(CASE)
    robot, n = Robot(system.model), len(q)

    def rate(t, y):
        return np.concatenate([y[n:], robot.forward_dynamics(y[:n], y[n:], torque)])

    options = {"method": "DOP853", "rtol": 1e-12, "atol": 1e-12}
    return solve_ivp(rate, (0.0, DURATION), np.concatenate([q, 0.1 * qd]), **options).y[:n, -1]


def end_of(system, torque, scheme, steps, choice=None):
    """Return the positions at the end, and how far the joint is open there [m]."""
    q, qd, _ = state_of(CASE)
    model = JointSpaceModel(system)
    motion = ReducedMotion(model, choice or SecondExample(system), scheme)
    nu = motion.choice.rows(model.terms(q, qd)) @ (0.1 * qd)
    state = ReducedState(q, nu)
    for _ in range(steps):
        state = motion.step(state, torque, DURATION / steps)
    return state.q, float(np.max(np.abs(model.terms(state.q, 0 * q).gap)))


@pytest.mark.parametrize(("scheme", "order"), [("runge-kutta", 4), ("split", 1), ("euler", 1)])
def test_order_of_the_scheme(system, torque, truth, scheme, order):
    """The error against the engine falls with the scheme's order."""
    errors = [np.max(np.abs(end_of(system, torque, scheme, n)[0] - truth)) for n in (10, 20)]
    # Halving the period divides the error by 2^order; a third off where it is not yet small.
    assert 2**order / 1.4 < errors[0] / errors[1] < 2**order * 1.4


def test_only_the_split_scheme_keeps_the_chain_closed(system, torque):
    """The split scheme closes the chain though its motion is coarse; Euler's opens it."""
    gaps = {s: end_of(system, torque, s, 10)[1] for s in ("runge-kutta", "split", "euler")}
    assert gaps["runge-kutta"] < 1e-7
    assert gaps["split"] < 1e-7
    assert gaps["euler"] > 100.0 * gaps["split"]


def test_any_pseudovelocities_will_do(system, torque, truth):
    """Joint velocities chosen by pivoting move the system as the report's example does."""
    q, qd, _ = state_of(CASE)
    choice = ConstantVelocities.chosen(JointSpaceModel(system).terms(q, qd))
    found, _ = end_of(system, torque, "runge-kutta", 40, choice)
    assert np.max(np.abs(found - truth)) < 1e-7


def test_unknown_schemes_are_named(system):
    """A scheme that does not exist is answered with those that do."""
    with pytest.raises(UnknownNameError, match="runge-kutta"):
        ReducedMotion(JointSpaceModel(system), SecondExample(system), "leapfrog")
