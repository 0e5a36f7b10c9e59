# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Planned forces in the contacts."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
from numpy.testing import assert_allclose
from scipy.spatial.transform import Rotation

from robot_dynamics.control.hybrid.planned_forces import (
    object_motion,
    planned_wrenches,
)
from robot_dynamics.control.reference import row_columns
from robot_dynamics.manipulation.hybrid import Environment
from robot_dynamics.manipulation.hybrid.touched_surfaces import Sliding
from robot_dynamics.model import LinkElement

CENTER = (0.1, 0.0, 0.05)
HELD = LinkElement("box", 2.0, center=CENTER, inertia=np.diag([0.01, 0.02, 0.03]))


def system(*surfaces, sliding=()):
    """Return the data of a system that plans need."""
    arms = SimpleNamespace(gravity=(0.0, 0.0, -9.81))
    return SimpleNamespace(
        held=HELD, arms=arms, environment=Environment(surfaces, sliding=sliding)
    )


def turning(times, rate=2.0, growth=0.5, surfaces=0):
    """Return rows of an object that turns about the world's z axis through its origin."""
    angle = rate * times + 0.5 * growth * times**2
    rows = np.zeros((len(times), 19 + 2 * surfaces + 1))
    rows[:, 3:7] = Rotation.from_rotvec(np.outer(angle, [0, 0, 1])).as_quat()
    rows[:, 9], rows[:, 15] = rate + growth * times, growth
    return rows


def test_the_centre_of_mass_moves_as_its_path_says():
    """Velocity and acceleration are the differences of its place over time."""
    step = 1e-5
    times = 0.3 + step * np.array([-1.0, 0.0, 1.0])
    motion = object_motion(turning(times), CENTER)
    v = (motion.x[2] - motion.x[0]) / (2 * step)
    a = (motion.x[2] - 2 * motion.x[1] + motion.x[0]) / step**2
    assert_allclose(motion.twist[1, 3:], v, atol=1e-9)
    assert_allclose(motion.acceleration[1, 3:], a, atol=1e-4)  # rounding over the step squared


def test_a_turning_object_is_held_by_what_mechanics_says():
    """m r omega^2 inwards, m r alpha along, the weight, and I alpha, all in the object's axes."""
    wrenches = planned_wrenches(system(), turning(np.array([0.0, 0.4])))
    for wrench, rate in zip(wrenches, (2.0, 2.2), strict=True):
        inward, along = -2.0 * 0.1 * rate**2, 2.0 * 0.1 * 0.5
        assert_allclose(wrench, [0, 0, 0.03 * 0.5, inward, along, 2.0 * 9.81], atol=1e-12)


def test_forces_on_surfaces_are_added_while_they_are_wanted():
    """A push of 5 N on a wall at x = 0.1 by a point of the object, with friction as it slides."""
    point = (0.1, 0.0, 0.0)
    arm = np.subtract(point, CENTER)
    wall = system(surface := lambda pose: pose.point(arm.tolist()).x - 0.1)
    rows = np.zeros((2, 22))
    rows[:, 6], rows[:, 11] = 1.0, 0.2  # upright, moving along y
    at = row_columns(1, 0)
    rows[:, at["contact"]] = 5.0
    rows[1, at["touch"]] = 1.0
    free, touching = planned_wrenches(wall, rows)
    assert_allclose(free, [0, 0, 0, 0, 0, 2 * 9.81], atol=1e-12)
    push = np.array([5.0, 0.0, 0.0])
    assert_allclose(touching - free, [*np.cross(arm, push), *push], atol=1e-12)
    _, dragging = planned_wrenches(system(surface, sliding=(Sliding(0.3, point),)), rows)
    drag = np.array([0.0, 1.5, 0.0])
    # The speed over which friction comes up takes a hundred-thousandth away at 0.2 m/s.
    assert_allclose(dragging - touching, [*np.cross(arm, drag), *drag], atol=5e-5)
