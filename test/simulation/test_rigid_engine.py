# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Observations of a state of rigid grasps agree with NumPy and SciPy."""

from __future__ import annotations

import numpy as np
from numpy.testing import assert_allclose
from scipy.spatial.transform import Rotation

from robot_dynamics.manipulation.grasp_map import transmitted_force_map
from robot_dynamics.simulation.engine import Truth
from robot_dynamics.simulation.rigid_engine import figures_program
from robot_dynamics.simulation.scene import Scene
from test.two_arms import two_arms

ATOL = 1e-13  # a few dozen roundings of numbers of order one


def test_figures_of_a_state():
    """Twist in world axes, internal force, largest gaps and drift match their names."""
    rng = np.random.default_rng(0)
    system = two_arms()
    maps = transmitted_force_map(system.grasps, [0.2, 0.8])
    program = figures_program(Scene(system, internal_force=maps), system.model)
    turned = Rotation.random(random_state=1)
    q, qd = system.model.neutral(), rng.normal(size=system.model.nv)
    q[system.object_q] = [0.1, 0.2, 0.3, *turned.as_quat()]
    multipliers, closure, drift = (rng.normal(size=12) for _ in range(3))
    parameters = maps.recovery.ravel()
    (values,) = program.evaluate(q, qd, multipliers, closure, drift, parameters=parameters)
    told = Truth(values, np.zeros(14))
    velocity = qd[system.object_v]
    expected = np.concatenate([turned.apply(velocity[:3]), turned.apply(velocity[3:])])
    assert_allclose(told.object_pose, q[system.object_q])
    assert_allclose(told.object_twist, expected, atol=ATOL)
    assert_allclose(told.internal_force, maps.internal_force(multipliers), atol=ATOL)
    sides = closure.reshape(2, 6)
    assert_allclose(
        [told.closure_position, told.closure_rotation, told.correction],
        [
            np.linalg.norm(sides[:, 3:], axis=1).max(),
            np.linalg.norm(sides[:, :3], axis=1).max(),
            np.abs(drift).max(),
        ],
        atol=ATOL,
    )
