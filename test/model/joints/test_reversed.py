# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Joints the other way round."""

import pickle

import numpy as np
import pytest
from model.joints.cases import EVERY, MOVABLE, columns, matrix_of, random_positions

from robot_dynamics.model.joints import Helical, Reversed, Revolute, joint_type, reverse, verify


@pytest.mark.parametrize("kind", EVERY, ids=repr)
def test_the_parts_of_any_reversed_type_fit_together(kind):
    """Transform, S, c_J, T, its rate and residual of each type agree the other way round."""
    assert verify(Reversed(kind)) == []


@pytest.mark.parametrize("kind", MOVABLE, ids=repr)
def test_table_4_2(kind, rng):
    """pX_s, -pX_s S, -pX_s v_J, -pX_s c_J and -pX*_s T."""
    q, qd = random_positions(rng, kind), rng.normal(size=kind.nv).tolist()
    other = Reversed(kind)
    X = kind.transform(q)
    pXs = np.linalg.inv(matrix_of(X))
    cases = (
        (matrix_of(other.transform(q)), pXs),
        (columns(other.subspace(q)), -pXs @ columns(kind.subspace(q))),
        (columns([other.velocity(q, qd)]), -pXs @ columns([kind.velocity(q, qd)])),
        (
            columns([other.velocity_product(q, qd)]),
            -pXs @ columns([kind.velocity_product(q, qd)]),
        ),
        (
            columns(other.constraints(other.transform(q))),
            -np.linalg.inv(pXs).T @ columns(kind.constraints(X)),
        ),
    )
    for ours, table in cases:
        np.testing.assert_allclose(ours, table, atol=1e-13)
    assert other.position_rate(q, qd) == kind.position_rate(q, qd)


def test_symmetric_joints_differ_by_a_sign():
    """A reversed hinge is a hinge with the opposite angle; its S stays constant when traced."""
    other = Reversed(Revolute())
    np.testing.assert_array_equal(
        matrix_of(other.transform([0.7])), matrix_of(Revolute().transform([-0.7]))
    )
    np.testing.assert_array_equal(columns(other.subspace([0.7]))[:, 0], -np.eye(6)[2])


def test_twice_reversed_is_itself():
    """Names, equality and pickles know the polarity."""
    kind = Helical(0.2)
    assert reverse(reverse(kind)) is kind
    assert Reversed(kind) == joint_type("reversed helical", pitch=0.2)
    assert Reversed(kind) != kind
    assert Reversed(kind).key != kind.key
    assert repr(Reversed(kind)) == "<reversed helical joint, pitch 0.2>"
    assert pickle.loads(pickle.dumps(Reversed(kind))) == Reversed(kind)
