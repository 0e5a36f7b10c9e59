# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Coordinates of the user's own: where they determine the motion, and where there are none."""

from __future__ import annotations

import numpy as np
import pytest
from control.hybrid.tasks import Forward, wall
from scipy.spatial.transform import Rotation

from robot_dynamics.control.hybrid.planned_forces import ObjectMotion, object_motion
from robot_dynamics.control.hybrid.surface_check import coordinate_problems, independence
from robot_dynamics.manipulation.contact_settings import CoordinateSettings
from robot_dynamics.manipulation.hybrid import Environment
from robot_dynamics.manipulation.hybrid.environment import coordinate_function

TIMES = np.linspace(0.0, 2.0, 101)


def test_coordinates_of_the_users_own_are_to_determine_the_motion():
    """Good ones pass; one that is there twice, or the surface once more, is told with its time."""
    motion = object_motion(Forward(0.1).rows(TIMES), np.zeros(3))
    turns = tuple(lambda at, i=i: at.roll_pitch_yaw()[i] for i in range(3))
    places = (lambda at: at.x.y, lambda at: at.x.z)
    good = Environment((wall,), (*turns, *places), own_coordinates=True)
    assert list(coordinate_problems(good, TIMES, motion)) == []
    for wrong in (places[0], wall):
        bad = Environment((wall,), (*turns, wrong, places[0]), own_coordinates=True)
        (found,) = coordinate_problems(bad, TIMES, motion)
        assert found.time == 0.0
        assert "depend on one another" in found.sentence
        # The law complements surfaces itself: nobody asks for these.
        assert not list(coordinate_problems(Environment((wall,), bad.coordinates), TIMES, motion))


def turned_about_z(angles):
    """Return the problems of a path that turns about z, with places along and turns about axes."""
    axes = [tuple(axis) for axis in np.eye(3).tolist()]
    settings = [CoordinateSettings(along=axis) for axis in axes]
    settings += [CoordinateSettings(about=axis) for axis in axes]
    every = tuple(coordinate_function(one, np.eye(3), np.zeros(3)) for one in settings)
    R = Rotation.from_rotvec(np.outer(angles, [0.0, 0.0, 1.0])).as_matrix()
    still = np.zeros((len(angles), 6))
    motion = ObjectMotion(np.zeros((len(angles), 3)), R, still, still)
    environment = Environment((), every, own_coordinates=True)
    return list(coordinate_problems(environment, angles, motion))


def test_a_turn_at_which_another_angle_is_none_is_refused():
    """Turned about z by a, the angle about an axis across changes by tan a, and at 90 degrees is
    none; beyond it there is another one, and a path with few instants shows the jump to it.
    """
    assert turned_about_z(np.linspace(0.0, 1.3, 100)) == []
    # 1 / cos a = 5
    for sign in (1.0, -1.0):
        (found,) = turned_about_z(sign * np.linspace(0.0, 3.3, 1001))
        assert abs(found.time) == pytest.approx(np.arccos(0.2), abs=3.3e-3)
        assert "times as fast as the object turns, expected at most 5 times" in found.sentence
    (found,) = turned_about_z(np.array([1.2, 2.0]))
    assert "jumps by" in found.sentence
    assert "nearly 90 degrees about another axis" in found.sentence


def test_more_than_half_a_turn_is_none_to_mind():
    """About one axis alone; places and directions do not change."""
    about = coordinate_function(CoordinateSettings(about=(0.0, 0.0, 1.0)), np.eye(3), np.zeros(3))
    tilts = tuple(lambda at, i=i: list(at.direction([0.0, 0.0, 1.0]))[i] for i in range(2))
    places = tuple(lambda at, i=i: list(at.x)[i] for i in range(3))
    environment = Environment((), (*places, *tilts, about), own_coordinates=True)
    angles = np.linspace(0.0, 7.0, 300)
    R = Rotation.from_rotvec(np.outer(angles, [0.0, 0.0, 1.0])).as_matrix()
    still = np.zeros((300, 6))
    motion = ObjectMotion(np.zeros((300, 3)), R, still, still)
    assert list(coordinate_problems(environment, angles, motion)) == []


def test_nothing_depends_on_the_size_of_the_object():
    """Three heights, two places and one more of points around the centre, in metres and in
    millimetres: as independent in both.
    """

    def gradients(size):
        points = size * np.array([[1.0, 0, 0], [-0.5, 0.8, 0], [-0.5, -0.8, 0]])
        x, y, z = np.eye(3)
        along = [(z, p) for p in points] + [(x, points[0]), (y, points[1]), (y, points[0])]
        return np.array([[*np.cross(p, axis), *axis] for axis, p in along])

    large = independence(gradients(1.0))
    assert large > 0.05
    assert independence(gradients(1e-3)) == pytest.approx(large, rel=1e-9)
    assert independence(gradients(1.0)[[0, 0]]) < 1e-12
