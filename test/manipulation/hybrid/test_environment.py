# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Surfaces and coordinates as functions of the pose: their derivatives are exact."""

from __future__ import annotations

import numpy as np
import pytest
from manipulation.hybrid.cases import NAMES, environment_of
from numpy.testing import assert_allclose
from scipy.spatial.transform import Rotation
from support.papers import CASES

from robot_dynamics.errors import ArgumentError, RobotDynamicsError
from robot_dynamics.manipulation.hybrid import Environment, ObjectPose
from robot_dynamics.scalar.functions import sqrt
from robot_dynamics.spatial import Rotation as Axes
from robot_dynamics.spatial import Vector3

ENVIRONMENTS = {name: environment_of(CASES[name]) for name in NAMES} | {
    "ball on a sphere": Environment(
        (lambda at: 0.5 - sqrt(at.x.dot(at.x)),),
        (),
    ),
    "corner on a plane": Environment((lambda at: at.point((0.1, 0.2, -0.3)).z,)),
}


@pytest.fixture
def rng():
    return np.random.default_rng(8)


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_derivatives_along_a_motion(name, rng):
    """E v is the rate of the values, and E v_dot + E_dot v the rate of that."""
    environment = ENVIRONMENTS[name]
    x, R = rng.normal(size=3), Rotation.from_euler("ZYZ", [0.3, 0.9, -0.4]).as_matrix()
    twist = rng.normal(size=6)
    h = 1e-4

    def at(t):
        """The pose after a time at a constant twist."""
        moved = Rotation.from_rotvec(t * twist[:3]).as_matrix() @ R
        return environment.terms(x + t * twist[3:], moved, twist)

    before, now, after = at(-h), at(0.0), at(h)
    for value, E, E_dot_v in (("p", "E_F", "E_F_dot_v"), ("s", "E_P", "E_P_dot_v")):
        values = [getattr(terms, value) for terms in (before, now, after)]
        rate = (values[2] - values[0]) / (2 * h)
        bend = (values[2] - 2 * values[1] + values[0]) / h**2
        # Central differences of functions of order one: h^2 and 1e-16 / h^2 are 1e-8.
        assert_allclose(getattr(now, E) @ twist, rate, atol=1e-6)
        assert_allclose(getattr(now, E_dot_v), bend, atol=1e-5)


def test_angles_of_the_pose(rng):
    """Fixed-axes and the paper's Euler angles are those of SciPy."""
    for turn in Rotation.random(20, random_state=rng):
        at = ObjectPose(Vector3.zero(), Axes.of(turn.as_matrix().tolist()))
        for name, order in (("roll_pitch_yaw", "xyz"), ("zyz", "ZYZ")):
            angles = [float(value) for value in getattr(at, name)()]
            again = Rotation.from_euler(order, angles).as_matrix()
            assert_allclose(again, turn.as_matrix(), atol=1e-12)


def test_dependent_coordinates_are_refused():
    """Coordinates that say the same as a surface are answered in one sentence."""
    z = lambda at: at.x.z  # noqa: E731
    coordinates = (lambda at: at.x.x, lambda at: at.x.y, z, z, z)
    terms = Environment((z,), coordinates).terms(np.zeros(3), np.eye(3), np.zeros(6))
    with pytest.raises(RobotDynamicsError, match="1 surface functions and 5 coordinates"):
        terms.acceleration(np.zeros(5))


def test_coordinates_of_the_users_own_make_six_with_the_surfaces():
    """Fewer or more are refused; without the wish to move along them any number will do."""
    z = lambda at: at.x.z  # noqa: E731
    with pytest.raises(ArgumentError, match=r"1 own coordinates and 1 surface .* expected 5"):
        Environment((z,), (z,), own_coordinates=True)
    assert Environment((z,), (z,)).coordinates == (z,)


def test_functions_that_branch_on_values_are_refused():
    """Their derivatives would be those of one branch: the message names a replacement."""
    branching = Environment((lambda at: at.x.z if at.x.y > 0.0 else at.x.x,))
    with pytest.raises(RobotDynamicsError, match="must not branch on scalar values"):
        branching.terms(np.zeros(3), np.eye(3), np.zeros(6))


def test_without_functions_there_is_nothing():
    """No surfaces and no coordinates are empty arrays of the right shapes."""
    terms = Environment().terms(np.zeros(3), np.eye(3), np.zeros(6))
    assert terms.E_F.shape == terms.E_P.shape == (0, 6)
    assert terms.p.shape == terms.s.shape == terms.E_F_dot_v.shape == (0,)
