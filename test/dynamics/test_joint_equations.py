# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The equations of joints over body accelerations, checked one by one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from dynamics.joint_mechanisms import EVERY, random_state, random_tree
from numpy.testing import assert_allclose
from support import linkages

from robot_dynamics.dynamics.closed_loop import closed_loop_terms
from robot_dynamics.dynamics.inverse import velocities_and_accelerations
from robot_dynamics.dynamics.joint_equations import joint_equations
from robot_dynamics.dynamics.joint_layout import JointLayout
from robot_dynamics.dynamics.kinematics import joint_transforms
from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.model import JointElement, LinkElement, Mechanism, build
from robot_dynamics.model.joints import Revolute
from robot_dynamics.model.parameters import parameters_of

GRAVITY = (1.0, -2.0, -9.0)
TOL = 1e-11  # sums of a few dozen products of numbers below a hundred


def motions(model, q, qd, qdd):
    v, a = velocities_and_accelerations(
        model, joint_transforms(model, list(q)), list(qd), list(qdd),
        parameters_of(model).gravity, list(q),
    )  # fmt: skip
    return (np.array([m.components() for m in ms], dtype=float) for ms in (v, a))


@pytest.mark.parametrize("chain", [True, False])
def test_tree_joints_hold_for_the_motion_of_the_tree(chain, rng):
    """With a of the outward recursion, K a = k and G a + g = qdd, for joints of every type."""
    model = build(random_tree(rng, list(EVERY), chain=chain), gravity=GRAVITY)
    q, qd, qdd = random_state(rng, model)
    v, a = motions(model, q, qd, qdd)
    joints = joint_equations(JointLayout(model), GRAVITY, np.array(q), np.array(qd))
    scale = max(1.0, np.max(np.abs(a)))
    assert_allclose(joints.v, v, atol=TOL * scale)
    assert_allclose(joints.K @ a.ravel(), joints.k, atol=TOL * scale)
    assert_allclose(joints.G @ a.ravel() + joints.g, qdd, atol=TOL * scale)


@pytest.mark.parametrize("mechanism", [linkages.walking_leg(), linkages.stewart_platform()])
def test_loop_joints_ask_what_they_ask_in_joint_space(mechanism, rng):
    """K a - k of the loop rows is K qdd - k of the joint-space terms, and so are the errors."""
    model = build(mechanism, gravity=GRAVITY)
    q, qd, qdd = random_state(rng, model)
    _, a = motions(model, q, qd, qdd)
    layout = JointLayout(model)
    joints = joint_equations(layout, GRAVITY, np.array(q), np.array(qd))
    terms = closed_loop_terms(model, q, qd, parameters_of(model)).loops
    left = (joints.K @ a.ravel() - joints.k)[layout.tree_rows :]
    expected = np.array(terms.K) @ qdd - np.array(terms.k)
    assert_allclose(left, expected, atol=TOL * np.max(np.abs(expected)))
    assert_allclose(joints.position_error, terms.position_error, atol=1e-13)
    assert_allclose(joints.velocity_error, terms.velocity_error, atol=1e-12)


class Bare(Revolute):
    """A hinge of a user who states no constraint forces."""

    name = "bare"
    constraint_subspace = ()

    @property
    def closes(self):
        return False


def test_a_type_that_states_no_constraints_gets_them(rng):
    """The complement of S serves as T for types that were never meant to close loops."""
    links = (LinkElement("base"), LinkElement("a", 1.0, (0.1, 0.0, 0.0), np.eye(3)))
    model = build(Mechanism("m", links, (JointElement("j", "revolute", "base", "a"),)))
    body = model.bodies[0]
    bare = replace(model, bodies=(replace(body, joint=replace(body.joint, type=Bare())),))
    q, qd, qdd = np.array([0.3]), np.array([1.0]), [2.0]
    _, a = motions(model, q.tolist(), qd.tolist(), qdd)
    joints = joint_equations(JointLayout(bare), bare.gravity, q, qd)
    assert joints.K.shape == (5, 6)
    assert np.linalg.matrix_rank(joints.K.toarray()) == 5
    assert_allclose(joints.K @ a.ravel(), joints.k, atol=TOL)
    assert_allclose(joints.G @ a.ravel() + joints.g, qdd, atol=TOL)


def test_a_joint_in_a_singular_position_is_named(rng):
    """With dependent freedoms the accelerations are undetermined."""
    links = (LinkElement("base"), LinkElement("a", 1.0, (0.1, 0.0, 0.0), np.eye(3)))
    joint = JointElement("j", "yaw_pitch_roll", "base", "a")
    model = build(Mechanism("m", links, (joint,)))
    layout = JointLayout(model)
    with pytest.raises(RobotDynamicsError, match="yaw_pitch_roll joint depend on one another"):
        joint_equations(layout, model.gravity, np.array([0.0, np.pi / 2, 0.0]), np.zeros(3))
