# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Independent coordinates: the others follow from the loops, wherever they were."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from support.motions import skew_four_bar, swinging_platform, turning_four_bar

from robot_dynamics.model.parameters import pack
from robot_dynamics.simulation.integrators.choice import choose
from robot_dynamics.simulation.integrators.independent import IndependentMotion
from robot_dynamics.simulation.runge_kutta import JointForces


def programs(robot, q):
    """Return the programs for the best choice at a configuration, and the choice."""
    found = choose(robot, q, 0.6)
    forces = JointForces(robot.model.nv)
    return IndependentMotion(robot.model, forces, found.rows, dependent=found.dependent), found


def evaluated(program, *arguments):
    """Return the outputs of a program by name."""
    *inputs, block = arguments
    values = program.evaluate(*inputs, parameters=block)
    return dict(zip(program.outputs, values, strict=True))


@pytest.mark.parametrize("start", [turning_four_bar, skew_four_bar, swinging_platform])
def test_closing_moves_dependent_coordinates_only(start):
    """Displaced by a thousandth, dependent coordinates return; independent ones stay."""
    robot, q, qd = start()
    model = robot.model
    motion, found = programs(robot, q)
    rng = np.random.default_rng(3)
    dependent = list(found.dependent)
    step, wrong = np.zeros(model.nv), qd.copy()
    step[dependent] = 1e-3 * rng.normal(size=len(dependent))
    wrong[dependent] += rng.normal(size=len(dependent))
    moved = np.array(model.integrate(q.tolist(), step.tolist()))
    end = evaluated(motion.closing(), moved, wrong, np.zeros(model.nv), pack(model))
    # Three times squared, a thousandth is rounding.
    assert_allclose(end["q"], q, atol=1e-12)
    assert_allclose(end["qd"], qd, atol=1e-11 * np.max(np.abs(qd)))
    assert_allclose(end["drift"], robot.closure(moved)[1], atol=1e-14)


@pytest.mark.parametrize("start", [turning_four_bar, skew_four_bar, swinging_platform])
def test_the_rate_is_that_of_the_closed_state(start):
    """Dependent coordinates that are off change nothing: the accelerations are those at any rank
    of the closed state.
    """
    robot, q, qd = start()
    model = robot.model
    motion, found = programs(robot, q)
    step = np.zeros(model.nv)
    step[list(found.dependent)] = 1e-4
    moved = np.array(model.integrate(q.tolist(), step.tolist()))
    tau = np.linspace(-1.0, 1.0, model.nv)
    rate = evaluated(motion.rate(), moved, qd + 10.0 * step, tau, pack(model))
    expected = robot.constrained_motion(q, qd, tau).qdd
    # Conditions of 1e4 on accelerations of 1e2.
    assert_allclose(rate["qdd"], expected, atol=1e-9 * np.max(np.abs(expected)))
    assert np.max(np.abs(rate["position_error"])) < 1e-13
    assert np.max(np.abs(rate["velocity_error"])) < 1e-12 * np.max(np.abs(qd))
