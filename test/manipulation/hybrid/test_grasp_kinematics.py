# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Tools at their contacts over scalars: Jacobians as in NumPy, residuals whose rates they are."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.spatial.transform import Rotation
from support.hybrid_systems import environment_of, state_of

from robot_dynamics.control.hybrid.state import ArmState
from robot_dynamics.manipulation.hybrid import KINDS, Contact
from robot_dynamics.manipulation.hybrid.grasp_kinematics import (
    ContactPoint,
    contact_motion,
    contact_velocity,
    holonomic_rows,
    pack_contact_frame,
)
from robot_dynamics.manipulation.hybrid.object_observer import pose_transform
from robot_dynamics.model.parameters import parameters_of
from robot_dynamics.spatial import Vector3


def points_of(system):
    """Return the contact points of a system."""
    center = np.asarray(system.held.center)
    return [
        ContactPoint.of(
            contact, system.arms.link(tool), pack_contact_frame(contact, center).tolist()
        )
        for contact, tool in zip(system.contacts, system.tools, strict=True)
    ]


def place_at(system, pose):
    """Return the place of an object whose origin is at a pose."""
    x = pose[:3, 3] + pose[:3, :3] @ np.asarray(system.held.center)
    return pose_transform(x.tolist(), Rotation.from_matrix(pose[:3, :3]).as_quat().tolist())


@pytest.mark.parametrize("kind", KINDS)
def test_blocked_motion_is_that_of_the_terms(kind):
    """S^T J, its rate times qd, and S^T J qd are those of the NumPy terms."""
    state = state_of(3, "rigid", 7, environment_of(0), np.random.default_rng(4))
    contacts = tuple(Contact.of_kind(kind, c.pose) for c in state.system.contacts)
    system = type(state.system)(state.system.arms, state.system.tools, state.system.held, contacts)
    terms, parameters = system.terms(*state[1:5]), parameters_of(system.arms)
    arms = ArmState.of(system.passive_joints, state.q.tolist(), state.qd.tolist(), parameters)
    points, place = points_of(system), place_at(system, state.pose)
    spin = state.pose[:3, :3].T @ state.twist[:3]
    found = contact_motion(
        system.arms, points, place, Vector3.of(spin.tolist()), arms.Xup, arms.X0, arms.v,
        arms.avp, parameters.gravity,
    )  # fmt: skip
    assert_allclose(found.J, terms.J_S, atol=1e-12)
    assert_allclose(found.bias, terms.J_S_dot_qd, atol=1e-10)
    velocity = contact_velocity(points, place, arms.X0, arms.v)
    assert_allclose(velocity, terms.J_S @ state.qd, atol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_residuals_change_at_the_blocked_velocities(kind):
    """With contacts on positions, the residual changes at the tool's velocity.

    Central differences over 1e-5 rad are right to 1e-10, and lose 1e-11 to rounding.
    """
    state = state_of(2, "rigid", 6, environment_of(0), np.random.default_rng(5))
    contacts = tuple(Contact.of_kind(kind, c.pose) for c in state.system.contacts)
    system = type(state.system)(state.system.arms, state.system.tools, state.system.held, contacts)
    points, place = points_of(system), place_at(system, state.pose)
    parameters, h = parameters_of(system.arms), 1e-5
    ends, velocity = [], []
    for sign in (1.0, -1.0):
        q = state.q + sign * h * state.qd
        arms = ArmState.of(system.passive_joints, q.tolist(), state.qd.tolist(), parameters)
        ends.append([r for point in points for r in point.residual(place, arms.X0)])
        velocity.append(contact_velocity(points, place, arms.X0, arms.v))
    rates = (np.array(ends[0]) - ends[1]) / (2 * h)
    on_positions = np.concatenate([holonomic_rows(contact) for contact in contacts])
    assert on_positions.sum() == {"soft finger": 6}.get(kind, len(on_positions))
    mean = 0.5 * (np.array(velocity[0]) + velocity[1])
    assert_allclose(rates[on_positions], mean[on_positions], atol=2e-8)
    assert_allclose(rates[~on_positions], 0.0)


def test_wrenches_come_apart_in_own_directions():
    """Components along a user's skew directions make the wrench again."""
    S = np.array([[0, 0, 0, 1, 0, 0], [0, 0, 0, 1, 1, 0], [0.3, 0, 0, 0, 0, 1]], dtype=float).T
    contact = Contact.of_directions(S, np.eye(4))
    point = ContactPoint.of(contact, None, pack_contact_frame(contact, np.zeros(3)).tolist())
    forces = [2.0, -1.0, 3.0]
    wrench = contact.directions @ forces
    assert_allclose(point.contact_forces(wrench.tolist()), forces, atol=1e-12)


@pytest.mark.parametrize("angle", [0.0, 1e-9, 0.3, np.pi / 2, 3.0])
def test_the_tilt_is_the_angle_between_the_axes(angle):
    """It does not depend on the direction of the tilt, nor on a turn about the normal."""
    rng = np.random.default_rng(6)
    state = state_of(2, "rigid", 6, environment_of(0), rng)
    arms = ArmState.of(
        state.system.passive_joints, state.q.tolist(), state.qd.tolist(),
        parameters_of(state.system.arms),
    )  # fmt: skip
    turned = []
    for contact in state.system.contacts:
        direction = rng.uniform(-np.pi, np.pi)
        tilt = Rotation.from_rotvec(angle * np.array([np.cos(direction), np.sin(direction), 0.0]))
        spin = Rotation.from_rotvec([0.0, 0.0, rng.uniform(-np.pi, np.pi)])
        frame = np.eye(4)
        frame[:3, :3] = (tilt * spin).as_matrix()
        turned.append(Contact.of_kind("soft finger", contact.pose @ frame))
    system = type(state.system)(
        state.system.arms, state.system.tools, state.system.held, tuple(turned)
    )
    place = place_at(system, state.pose)
    for point in points_of(system):
        assert_allclose(point.tilt(place, arms.X0), angle, rtol=1e-7, atol=1e-14)
