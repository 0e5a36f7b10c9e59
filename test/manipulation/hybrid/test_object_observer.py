# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The object is seen through its contacts: at once where they determine it, else over time."""

from __future__ import annotations

from dataclasses import replace
from unittest.mock import patch

import numpy as np
import pytest
from manipulation.hybrid.test_grasp_kinematics import points_of
from numpy.testing import assert_allclose
from scipy.spatial.transform import Rotation
from support.hybrid_systems import GRASPS, environment_of, state_of

from robot_dynamics.control.hybrid.state import ArmState
from robot_dynamics.manipulation.hybrid.object_observer import ObserverMaps, estimate_from_arms
from robot_dynamics.model.parameters import parameters_of


def seen_from(state, before, twist, period):
    """Return the observer's estimate at a state, from an earlier pose and twist."""
    system, maps = state.system, ObserverMaps.of(state.system)
    arms = ArmState.of(
        system.passive_joints, state.q.tolist(), state.qd.tolist(), parameters_of(system.arms)
    )
    return estimate_from_arms(
        points_of(system), arms.X0, arms.v, before, twist, period, traced(maps)
    )


def traced(maps):
    """Return the maps as lists, as a traced program has them."""
    undetermined = None if maps.determined else maps.undetermined.tolist()
    return ObserverMaps(maps.velocity.tolist(), maps.position.tolist(), undetermined)


def truth(state):
    """Return rotation, centre of mass and twist in the object's axes."""
    R = state.pose[:3, :3]
    x = state.pose[:3, 3] + R @ np.asarray(state.system.held.center)
    return R, x, np.concatenate([R.T @ state.twist[:3], R.T @ state.twist[3:]])


@pytest.mark.parametrize(("count", "kind"), GRASPS)
def test_it_finds_the_object_from_afar(count, kind):
    """If positions determine it, a wrong guess does not matter after some steps."""
    state = state_of(count, kind, 7, environment_of(0), np.random.default_rng(7))
    R, x, twist = truth(state)
    maps = ObserverMaps.of(state.system)
    assert maps.determined == ((count, kind) != (2, "soft finger"))
    rotation = Rotation.from_matrix(R)
    if maps.determined:
        rotation = Rotation.from_rotvec([0.1, -0.2, 0.1]) * rotation
    place = [*(x + np.array([0.05, -0.02, 0.03])), *rotation.as_quat()]
    for _ in range(4):
        seen = seen_from(state, place, np.zeros(6), 0.0)
        place = [*seen.pose.r, *seen.quaternion]
    if not maps.determined:  # the turn about the line of the fingers stays what it was
        place = [*x, *Rotation.from_matrix(R).as_quat()]
        seen = seen_from(state, place, np.zeros(6), 0.0)
    assert_allclose(list(seen.pose.r), x, atol=1e-12)
    assert_allclose(seen.pose.E.rows, R.T, atol=1e-12)
    assert_allclose(seen.twist.components(), twist, atol=1e-10)
    assert_allclose(seen.residual, 0.0, atol=1e-12)


def test_velocities_tell_what_positions_do_not():
    """The turn about the line of two soft fingers is integrated: its error is of second order.

    Both fingers stay where they are and roll; the object turns about their line at a rate that
    grows. With half the period the error after the same time is a quarter.
    """
    state = state_of(2, "soft finger", 7, environment_of(0), np.random.default_rng(8))
    R, x, _ = truth(state)
    maps = ObserverMaps.of(state.system)
    U, s, _ = np.linalg.svd(maps.undetermined)
    assert s[0] > 0.5
    assert s[1] < 1e-9
    axis = U[:, 0]  # of the free turn, in the object's axes about its centre of mass
    points, parameters = points_of(state.system), parameters_of(state.system.arms)
    arms = ArmState.of(state.system.passive_joints, state.q.tolist(), [0.0] * 14, parameters)
    length = np.linalg.norm(axis[:3])

    def turned_by(period):
        place, twist = [*x, *Rotation.from_matrix(R).as_quat()], np.zeros(6)
        for k in range(1, round(0.4 / period) + 1):
            rolling = (np.sin(3.0 * k * period) * axis).reshape(6, 1).tolist()
            seen = _observed(points, arms, place, twist, period, maps, rolling)
            place, twist = [*seen.pose.r, *seen.quaternion], np.array(seen.twist.components())
        E = np.array(seen.pose.E.rows)
        return Rotation.from_matrix(R.T @ E.T).magnitude()

    true = length * (1.0 - np.cos(1.2)) / 3.0
    errors = [abs(turned_by(h) - true) for h in (0.02, 0.01)]
    assert 3.5 < errors[0] / errors[1] < 4.5


def _observed(points, arms, place, twist, period, maps, velocity):
    """Return the observer's estimate if the contacts' velocities make a twist."""
    where = "robot_dynamics.manipulation.hybrid.object_observer.contact_velocity"
    with patch(where, return_value=[1.0]):
        return estimate_from_arms(
            points, arms.X0, arms.v, place, twist, period, replace(traced(maps), velocity=velocity)
        )
