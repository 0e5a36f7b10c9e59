# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Friction drags on a sliding body, against its motion, at the point that touches."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.spatial.transform import Rotation

from robot_dynamics.manipulation.hybrid.touched_surfaces import (
    Guided,
    Sliding,
    SurfaceFriction,
    drag,
)
from robot_dynamics.spatial import Vector3

UP = np.array([0.0, 0.0, 1.0])
ARM = np.array([0.05, 0.02, -0.15])
SLOPE = [*np.cross(ARM, UP), *UP]


@pytest.mark.parametrize("into", [0.0, 0.3])
def test_it_is_the_part_of_the_push_that_the_point_slides_with(into):
    """A point on a turning object: mu along its own velocity, whatever goes into the surface."""
    omega, v = np.array([0.0, 0.4, -1.0]), np.array([0.1, -0.2, into])
    speed = v + np.cross(omega, ARM)
    speed[2] = 0.0
    force = 0.3 * speed / np.linalg.norm(speed)
    found = drag(0.3, Vector3.of(ARM.tolist()), SLOPE, [*omega, *v])
    # At 0.2 m/s the speed over which friction comes up takes a hundred-thousandth away.
    assert_allclose(found, [*np.cross(ARM, force), *force], atol=1e-5)


def test_friction_counts_the_normal_force_whatever_the_gradients_length():
    """A push of 1 along a gradient of 3 is a normal force of 3 N."""
    twist = [0.0, 0.0, 0.5, 0.2, 0.1, 0.0]
    arm = Vector3.of(ARM.tolist())
    longer = [3.0 * value for value in SLOPE]
    once = np.array(drag(0.3, arm, SLOPE, twist))
    assert_allclose(drag(0.3, arm, longer, twist), 3.0 * once, atol=1e-15)


def test_it_grows_from_nothing_at_rest():
    """Half of it by the speed of 0.58 mm/s, 1 / sqrt(3) of the declared millimetre."""
    half = 1e-3 / np.sqrt(3.0)
    arm = Vector3.zero()
    at_rest, slow = (drag(0.4, arm, SLOPE, [0, 0, 0, speed, 0, 0]) for speed in (0.0, half))
    assert_allclose(at_rest, 0.0)
    assert_allclose(slow, [0, 0, 0, 0.2, 0, 0], atol=1e-12)


def test_surfaces_without_friction_do_not_drag():
    """Each has its own point, from the object's origin; those that nothing slides on have none."""
    center, twist = Vector3(0.1, 0.0, 0.0), [0.0, 0.0, 0.0, 1.0, 0.0, 0.0]
    there = Sliding(0.2, (0.15, 0.02, -0.15))
    friction = SurfaceFriction.of((None, there), center, [SLOPE] * 2, twist)
    still, slid = friction.drag
    assert still == [0.0] * 6
    assert_allclose(slid, drag(0.2, Vector3.of(ARM.tolist()), SLOPE, twist))
    assert list(friction.sideways) == [1]


def test_forces_sideways_act_where_the_surface_is_touched():
    """They span the forces across the normal, by their wrenches about the centre of mass."""
    friction = SurfaceFriction.of((Sliding(0.2, tuple(ARM)),), Vector3.zero(), [SLOPE], [0.0] * 6)
    rows = np.array(friction.sideways[0])
    assert np.linalg.matrix_rank(rows) == 2
    assert_allclose(rows[:, 5], 0.0, atol=1e-15)
    assert_allclose(rows[:, :3], np.cross(ARM, rows[:, 3:]), atol=1e-15)


def test_hinges_and_lines_resist_along_what_they_leave():
    """A moment about z, and a force along it at the point; the axes are turned in the object."""
    x, y, z = Rotation.from_rotvec([0.3, 0.2, -0.9]).as_matrix().T
    gradients = [[*np.cross(ARM, axis), *axis] for axis in (x, y)]
    center, there = Vector3(0.1, 0.0, 0.0), tuple(ARM + np.array([0.1, 0.0, 0.0]))
    assert_allclose(Guided().resisted(center, gradients), [*z, 0, 0, 0], atol=1e-15)
    found = Guided(there).resisted(center, gradients)
    assert_allclose(found, [*np.cross(ARM, z), *z], atol=1e-15)
