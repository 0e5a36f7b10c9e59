# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Motion along coordinates of the user's own, beside surfaces that are touched or not."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.spatial.transform import Rotation as Turn
from support.exact_decoupling import Request
from support.hybrid_step import TracedHybridLaw, bare_gains
from support.hybrid_systems import environment_of, state_of

from robot_dynamics.control.hybrid.servo import (
    MotionServo,
    OwnCoordinates,
    servo_along_coordinates,
)
from robot_dynamics.manipulation.contact_settings import CoordinateSettings
from robot_dynamics.manipulation.hybrid import Environment
from robot_dynamics.manipulation.hybrid.environment import coordinate_function
from robot_dynamics.spatial import Rotation, Vector3


@pytest.fixture(scope="module")
def state():
    """A box on one of its planes, and five coordinates."""
    return state_of(2, "rigid", 6, environment_of(1, own=True), np.random.default_rng(2))


def test_motions_are_those_of_the_inverse_gradients(state):
    """E^-1 times rates of the functions, one after the other; the surface's leaves the others."""
    R = state.pose[:3, :3]
    x = state.pose[:3, 3] + R @ state.system.held.center
    E = Rotation.of(R.tolist()).transpose()
    found = OwnCoordinates.of(
        state.system.environment, Vector3.of(x.tolist()), E, state.twist.tolist()
    )
    terms = state.terms.environment
    assert_allclose(found.E, np.vstack([terms.E_F, terms.E_P]), atol=1e-12)
    assert_allclose(found.values, [*terms.p, *terms.s], atol=1e-12)
    assert_allclose(found.rates, [*terms.E_F_dot_v, *terms.E_P_dot_v], atol=1e-12)
    wish = np.arange(1.0, 7.0)
    assert_allclose(np.array(found.E) @ found.motion(wish.tolist()), wish, atol=1e-12)
    (leaving,) = found.separating_motions(1)
    assert_allclose(terms.E_F @ leaving, 1.0, atol=1e-12)
    assert_allclose(terms.E_P @ leaving, 0.0, atol=1e-12)


def test_a_surface_that_is_not_touched_is_a_coordinate(state):
    """Its function is controlled as if it were one of the user's: torques are the same."""
    environment = state.system.environment
    every = (*environment.surfaces, *environment.coordinates)
    alone = Environment((), every, own_coordinates=True)
    free = state._replace(system=replace(state.system, environment=alone))
    rng = np.random.default_rng(4)
    given = vars(Request.near(free, TracedHybridLaw(free.system, compiled=False).layout, rng))
    torques = []
    for one in (state, free):
        C = len(one.system.environment.surfaces)
        law = TracedHybridLaw(one.system, compiled=False)
        gains = bare_gains(one.system, proportional=100.0, derivative=20.0, integral=30.0)
        more = {"touch": np.zeros(C), "touched": np.zeros(C), "contact": np.zeros(C)}
        more["contact_integral"] = np.zeros(C)
        torques.append(law.run(one, gains=gains, **{**given, **more})["torque"])
    assert_allclose(*torques, atol=1e-9)
    assert np.abs(torques[0]).max() > 10.0


def test_the_integral_is_of_the_error_of_the_coordinates(state):
    """In seconds, and of a surface that is touched nothing."""
    law = TracedHybridLaw(state.system, compiled=False)
    gains = bare_gains(state.system, integral=1.0, period=2e-3, motion_bound=1e9)
    request = Request.near(state, law.layout, np.random.default_rng(5))
    found = law.run(state, gains=gains, **{**vars(request), "pose_integral": np.zeros(6)})
    learned = found["new_pose_integral"]
    assert learned[0] == 0.0
    center = np.asarray(state.system.held.center)
    R = Turn.from_quat(request.pose[3:])
    wish = state.system.environment.terms(
        request.pose[:3] + R.apply(center), R.as_matrix(), np.zeros(6)
    )
    # The object is seen where it is at the end of a period of the state's motion: 1e-12.
    assert_allclose(learned[1:], 2e-3 * (wish.s - state.terms.environment.s), atol=1e-9)


@pytest.mark.parametrize("turns", [0.5, -0.5])
def test_the_error_of_a_turn_is_the_shorter_way(turns):
    """Across half a turn, where the angle jumps, the error has no jump."""
    axes = [tuple(axis) for axis in np.eye(3).tolist()]
    settings = [CoordinateSettings(along=axis) for axis in axes]
    settings += [CoordinateSettings(about=axis) for axis in axes]
    every = tuple(coordinate_function(one, np.eye(3), np.zeros(3)) for one in settings)
    environment = Environment((), every, own_coordinates=True)

    def at(angle):
        R = Turn.from_rotvec([0.0, 0.0, angle]).as_matrix()
        return SimpleNamespace(
            x=Vector3.zero(), r=Vector3.zero(), E=Rotation.of(R.T.tolist()), twist=[0.0] * 6,
            acceleration=[0.0] * 6,
        )  # fmt: skip

    half = 2.0 * np.pi * turns
    target, place = at(half + 0.004), at(half - 0.006)
    still = [0.0] * 6
    plain = MotionServo(target, still, still, still, still)
    gain = SimpleNamespace(proportional=100.0, integral=0.0, derivative=20.0)
    servo, error = servo_along_coordinates(
        environment, plain, still, SimpleNamespace(pose=place), gain
    )
    assert_allclose(error, [0.0, 0.0, 0.0, 0.0, 0.0, 0.01], atol=1e-14)
    assert_allclose(servo.acceleration, [0.0, 0.0, 1.0, 0.0, 0.0, 0.0], atol=1e-12)
