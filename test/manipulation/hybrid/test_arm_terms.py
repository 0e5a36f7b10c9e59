# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Arms with internal closed chains, in the coordinates of their drives."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from support.linkages import excavator, four_bar

from robot_dynamics.errors import ArgumentError, RobotDynamicsError
from robot_dynamics.manipulation.hybrid.system import Arms
from robot_dynamics.robot import Robot

DRIVES = ("bucket_joint", "piston_joint")


def states(robot, seed, count=5):
    """Return states of the excavator with its loop closed."""
    rng = np.random.default_rng(seed)
    result = []
    for _ in range(count):
        guess = np.array([0.6, 2.2, 1.0, 0.2]) + 0.2 * rng.standard_normal(4)
        found = robot.assemble(guess, velocities=rng.standard_normal(4))
        result.append((found.q, found.qd))
    return result


def test_the_equation_of_motion_is_that_of_the_closed_loop_engine():
    """M^-1 (tau - h) are the drives' accelerations under tau, from forward dynamics."""
    robot = Robot.from_mechanism(excavator())
    arms = Arms(robot.model, ("bucket",), DRIVES)
    independent = list(arms.independent)
    for q, qd in states(robot, 1):
        terms = arms.terms(q, qd)
        tau = np.zeros(4)
        tau[independent] = (-4.0, 30.0)
        expected = robot.forward_dynamics(q, qd, tau)
        ydd = np.linalg.solve(terms.M, tau[independent] - terms.h)
        # Two elimination orders of a system of condition 1e3.
        assert_allclose(ydd, expected[independent], rtol=1e-9, atol=1e-9)


def test_the_tool_moves_as_the_closed_loop_does():
    """J yd and J ydd + J_dot_qd are velocity and acceleration of the tool along the motion."""
    robot = Robot.from_mechanism(excavator())
    arms = Arms(robot.model, ("bucket",), DRIVES)
    h = 1e-5
    for q, qd in states(robot, 2):
        terms = arms.terms(q, qd)
        tau = np.zeros(4)
        qdd = robot.forward_dynamics(q, qd, tau)

        def place(t, q=q, qd=qd, qdd=qdd):
            return robot.pose("bucket", q + t * qd + 0.5 * t * t * qdd)[:3, 3]

        velocity = (place(h) - place(-h)) / (2 * h)
        acceleration = (place(h) - 2 * place(0.0) + place(-h)) / h**2
        independent = list(arms.independent)
        # Differences of numbers of size 1 with rounding 1e-16 over h and h^2.
        assert_allclose((terms.J @ terms.qd)[3:], velocity, atol=1e-8)
        found = terms.J @ qdd[independent] + terms.J_dot_qd
        assert_allclose(found[3:], acceleration, atol=1e-4)


def test_drives_that_are_refused():
    """Missing, superfluous, disordered and dependent drives are named in one sentence."""
    robot = Robot.from_mechanism(excavator())
    with pytest.raises(ArgumentError, match="no `drives`"):
        Arms(robot.model, ("bucket",))
    with pytest.raises(ArgumentError, match=r"the drives are .*each once"):
        _ = Arms(robot.model, ("bucket",), DRIVES[::-1]).independent
    q, qd = states(robot, 3, 1)[0]
    with pytest.raises(RobotDynamicsError, match="leave motions free at"):
        Arms(robot.model, ("bucket",), DRIVES[:1]).terms(q, qd)
    with pytest.raises(RobotDynamicsError, match="are dependent at"):
        Arms(robot.model, ("bucket",), ("boom_joint", *DRIVES)).terms(q, qd)
    tree = Robot.from_mechanism(four_bar()).model
    assert Arms(tree, ("rocker",), ("crank_joint",)).independent == (0,)
