# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The gradient of the manipulability is that of its numbers."""

from __future__ import annotations

import numpy as np
import pytest
from manipulation.hybrid.test_grasp_kinematics import place_at, points_of
from numpy.testing import assert_allclose
from support.hybrid_systems import environment_of, state_of

from robot_dynamics.control.hybrid.state import ArmState
from robot_dynamics.manipulation.hybrid.grasp_kinematics import manipulability_gradient
from robot_dynamics.model.parameters import parameters_of


@pytest.mark.parametrize("kind", ["rigid", "frictional point"])
def test_it_is_the_finite_difference(kind):
    """Central differences of log sqrt(det(J J^T)) over 1e-5 rad agree to 1e-6.

    Forces of points and wrenches of rigid grasps keep their determinant when the tool turns
    against the object, so that the directions may be taken to turn with it.
    """
    state = state_of(2, kind, 7, environment_of(0), np.random.default_rng(6))
    system, still = state.system, np.zeros(14)
    parameters = parameters_of(system.arms)

    def measure(q):
        J = system.terms(q, still, state.pose, np.zeros(6)).J_S
        half = len(J) // 2
        return sum(0.5 * np.linalg.slogdet(rows @ rows.T)[1] for rows in (J[:half], J[half:]))

    arms = ArmState.of(system.passive_joints, state.q.tolist(), still.tolist(), parameters)
    found = manipulability_gradient(
        system.arms, points_of(system), place_at(system, state.pose), arms.Xup, arms.X0
    )
    h, steps = 1e-5, np.eye(14)
    slopes = [
        (measure(state.q + h * step) - measure(state.q - h * step)) / (2 * h) for step in steps
    ]
    assert_allclose(found, slopes, atol=1e-6 * np.abs(slopes).max())
