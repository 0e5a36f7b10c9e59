# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Object and surfaces at an instant are those of the NumPy terms, now and a moment later."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.spatial.transform import Rotation
from support.hybrid_step import bare_gains, estimate_of, inputs_of
from support.hybrid_systems import environment_of, state_of

from robot_dynamics.control.hybrid.state import (
    ArmState,
    SystemState,
    to_body_axes,
    to_world_axes,
)
from robot_dynamics.manipulation.hybrid.object_observer import estimate_from_sensor


@pytest.fixture(scope="module")
def state():
    """Two arms that hold rigidly, on two planes."""
    return state_of(2, "rigid", 7, environment_of(2), np.random.default_rng(3))


def arms_of(state, given):
    """Return the arms where they are."""
    return ArmState.of(state.system.passive_joints, given.q, given.qd, given.parameters)


def test_arms_and_somebody_outside_see_the_same(state):
    """Pose and twist of the centre of mass; a rigid grasp tells all of it."""
    given = inputs_of(state)
    arms = arms_of(state, given)
    R, fixed = Rotation.from_matrix(state.pose[:3, :3]), given.constants
    omega, v = state.twist[:3], state.twist[3:]
    at_origin = v - np.cross(omega, R.apply(list(fixed.center)))
    told = [*state.pose[:3, 3], *R.as_quat(), *omega, *at_origin]
    outside = estimate_from_sensor(told, fixed.center, fixed.points, arms.X0)
    for seen in (estimate_of(given, arms), outside):
        place = state.pose[:3, 3] + R.apply(list(fixed.center))
        assert_allclose(list(seen.pose.r), place, atol=1e-9)
        assert_allclose(seen.pose.E.transpose().rows, R.as_matrix(), atol=1e-9)
        assert_allclose(
            to_world_axes(seen.pose.E, seen.twist.components()), state.twist, atol=1e-8
        )


def test_surfaces_and_bias_are_those_of_the_terms(state):
    """E_F, its rate times the twist, and Q_B, each in the object's axes."""
    given, terms = inputs_of(state), state.terms
    arms = arms_of(state, given)
    now = SystemState.of(state.system, given, arms, estimate_of(given, arms))
    E = now.object.pose.E
    assert_allclose([to_world_axes(E, row) for row in now.E_F], terms.environment.E_F, atol=1e-8)
    assert_allclose(now.constraint_acceleration, -terms.environment.E_F_dot_v, atol=1e-7)
    assert_allclose(to_world_axes(E, now.terms.bias), terms.Q_B, atol=1e-7)
    assert_allclose(
        to_body_axes(E, to_world_axes(E, [1.0, 2.0, 3.0, 4.0, 5.0, 6.0])), np.arange(1.0, 7.0)
    )


def test_ahead_joints_move_with_the_trend_of_their_accelerations(state):
    """The last ones and `trend` times their change act for the lead."""
    gains = bare_gains(state.system, lead=1e-3, trend=0.5)
    wanted = {"joint_acceleration": 2.0, "joint_acceleration_change": 4.0}
    given = inputs_of(state, gains=gains, **wanted)
    seen = estimate_of(given, arms_of(state, given))
    there = SystemState.predicted(state.system, given, arms_of(state, given), seen).arms
    q = state.q + 1e-3 * state.qd + 0.5e-6 * 4.0
    expected = ArmState.of(
        state.system.passive_joints, q.tolist(), (state.qd + 4e-3).tolist(), given.parameters
    )
    for found, v in zip(there.v, expected.v, strict=True):
        assert_allclose(found.components(), v.components(), atol=1e-12)
