# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The robot of the studies."""

import numpy as np
from numpy.testing import assert_allclose

from robot_dynamics.app.studies.two_arms import (
    BASE,
    TOOLS,
    box,
    grasps,
    held_at,
    held_box,
    outline,
    two_armed,
)
from robot_dynamics.manipulation.unified import unified_system
from robot_dynamics.robot import Robot

STILL = np.array([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0])


def test_it_holds_the_box():
    """Loops closed where the box was asked for, arms mirrored, and no arm near a singularity."""
    system = unified_system(two_armed("floating", 100.0), TOOLS, held_box(10.0), grasps())
    robot = Robot(system.model)
    there = STILL + 1.5 * np.eye(7)[0]
    q = held_at(system, robot, STILL, there)
    assert_allclose(q[19:], there)
    assert_allclose(robot.closure(q)[1], 0.0, atol=1e-12)
    assert np.linalg.cond(system.terms(q, np.zeros(24)).parts.J_a) < 20.0
    shapes = outline(robot, q)
    assert set(shapes) == {"left", "right", BASE, "box"}
    assert_allclose(shapes["left"] * [1, -1, 1], shapes["right"], atol=1e-9)
    # The tools are on the sides of the box.
    assert_allclose(shapes["left"][-1], [1.5, 0.3, 0.0], atol=1e-9)


def test_inertia_of_a_box():
    """m (b^2 + c^2) / 12 and so on."""
    assert_allclose(np.diag(box(12.0, 1.0, 2.0, 3.0)), [13.0, 10.0, 5.0])
