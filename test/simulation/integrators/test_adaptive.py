# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""SciPy's steps with projection: they are SciPy's where there is nothing to project."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.integrate import solve_ivp
from support.mechanisms import random_tree

from robot_dynamics.model import build
from robot_dynamics.robot import Robot
from robot_dynamics.simulation.integrators import integrate


@pytest.mark.parametrize(("order", "name"), [(5, "RK45"), (8, "DOP853")])
def test_a_tree_is_integrated_as_by_scipy(order, name):
    """Without loops steps, states and outputs between steps are those of `solve_ivp`."""
    rng = np.random.default_rng(4)
    robot = Robot(build(random_tree(rng, ["revolute"] * 3, chain=True)))
    q, qd = rng.normal(size=(2, 3))

    def slope(t, y):
        return np.concatenate([y[3:], robot.forward_dynamics(y[:3], y[3:], np.zeros(3))])

    expected = solve_ivp(
        slope, (0.0, 1.0), [*q, *qd], name, np.linspace(0.0, 1.0, 11), rtol=1e-8, atol=1e-8
    )
    run = integrate(robot, q, qd, 1.0, method="adaptive", order=order, tolerance=1e-8, outputs=10)
    # Two kernels for the acceleration: rounding, which error control carries on.
    assert_allclose(np.hstack([run.q, run.qd]), expected.y.T, atol=1e-9)
    steps = (expected.nfev - 2) / {5: 6, 8: 12}[order]
    assert run.effort.steps + run.effort.rejected <= steps + 1
