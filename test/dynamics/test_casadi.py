# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The algorithms run on CasADi's symbols as they do on floats; skipped without CasADi."""

import numpy as np
import pytest

from robot_dynamics.dynamics.closed_loop import closed_loop_forward_dynamics
from robot_dynamics.dynamics.forward import forward_dynamics
from robot_dynamics.model.parameters import parameters_of
from robot_dynamics.resources import resolve_package_uri
from robot_dynamics.robot import Robot, load

TOL = 1e-11  # relative: factors of inertia matrices


@pytest.mark.filterwarnings("ignore::FutureWarning")  # of CasADi, about functions of NumPy
def test_forward_dynamics_of_symbols():
    """Accelerations of an arm and of a closed loop, and their derivatives by CasADi."""
    ca = pytest.importorskip("casadi")
    from support.linkages import four_bar

    rng = np.random.default_rng(0)
    arm = load(resolve_package_uri("package://robot_dynamics/urdf/arm.urdf"))
    for robot in (arm, Robot.from_mechanism(four_bar())):
        model = robot.model
        n, parameters = model.nv, parameters_of(model)
        symbols = [ca.SX.sym(name, n) for name in ("q", "qd", "tau")]
        split = [ca.vertsplit(x) for x in symbols]
        if model.loops:
            qdd, *_ = closed_loop_forward_dynamics(model, *split, parameters)
            start = robot.assemble(velocities=rng.normal(size=n))
            state = start.q, start.qd, rng.normal(size=n)
        else:
            qdd = forward_dynamics(model, *split, parameters)
            state = tuple(rng.normal(size=(3, n)))
        qdd = ca.vertcat(*qdd)
        function = ca.Function("f", symbols, [qdd, ca.jacobian(qdd, symbols[0])])
        found, slope = (np.array(x) for x in function(*state))
        expected = robot.forward_dynamics(*state)
        np.testing.assert_allclose(found.ravel(), expected, rtol=TOL, atol=TOL * np.ptp(expected))
        by_q = robot.forward_dynamics_derivatives(*state).qdd_q
        np.testing.assert_allclose(slope, by_q, atol=1e-9 * np.abs(by_q).max())
