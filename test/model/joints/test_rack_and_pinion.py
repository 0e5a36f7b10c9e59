# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The rack and pinion."""

import numpy as np
import pytest
from model.joints.cases import columns, matrix_of, moved

from robot_dynamics.errors import ArgumentError
from robot_dynamics.model.joints import RackAndPinion, Reversed, verify
from robot_dynamics.spatial import Force, Vector3


@pytest.mark.parametrize("radius", [0.4, -0.05, 3.0])
def test_its_parts_fit_together(radius):
    """Transform, S, c_J, T, its rate and the residual agree by finite differences."""
    assert verify(RackAndPinion(radius)) == []


def test_example_4_6():
    """S = [0 0 1 r c -r s 0] and c_J = [0 0 0 -r s -r c 0] qd^2."""
    r, q, qd = 0.4, 0.9, 1.7
    c, s = np.cos(q), np.sin(q)
    kind = RackAndPinion(r)
    np.testing.assert_allclose(columns(kind.subspace([q]))[:, 0], [0, 0, 1, r * c, -r * s, 0])
    np.testing.assert_allclose(
        kind.velocity_product([q], [qd]).components(),
        np.array([0, 0, 0, -r * s, -r * c, 0]) * qd**2,
    )


def test_the_pinion_rolls_on_the_pitch_line():
    """The point of the pinion that touches the rack, at y = r, has no velocity."""
    kind = RackAndPinion(0.4)
    X = kind.transform([0.9])
    contact = X.E * Vector3(0.0, 0.4, 0.0)
    (S,) = kind.subspace([0.9])
    velocity = S.linear + S.angular.cross(contact)
    np.testing.assert_allclose(list(velocity), 0.0, atol=1e-15)


def test_example_3_2():
    """A drive at the rack side of the pinion's axis is another T_a: it does the same work.

    The book's is [0 0 1 0 -1/r 0] for a joint whose S is e3; here the force of the drive acts
    along the rack and does work r per angle.
    """
    kind = RackAndPinion(0.4)
    X = kind.transform([0.9])
    S = columns(kind.subspace([0.9]))[:, 0]
    along_rack = X.E * Vector3(1.0 / 0.4, 0.0, 0.0)
    drive = np.array(Force(Vector3.zero(), along_rack).components())
    usual = columns(kind.active_forces(X))[:, 0]
    assert drive @ S == pytest.approx(1.0)
    # Two choices of T_a differ by a constraint force.
    T = columns(kind.constraints(X))
    assert np.linalg.matrix_rank(np.column_stack([T, drive - usual]), tol=1e-12) == 5


@pytest.mark.parametrize("turns", [-40, 3, 1000])
def test_any_turn_of_the_pinion_closes_a_loop(turns):
    """The residual vanishes many turns away, and sees slip there as well."""
    kind = RackAndPinion(0.05)
    X = kind.transform([2 * np.pi * turns + 0.4])
    np.testing.assert_allclose(kind.residual(X), 0.0, atol=1e-12)
    slipped = moved(X, [0, 0, 1e-3, 0, 0, 0])
    assert kind.residual(slipped)[2] == pytest.approx(-0.05e-3, rel=1e-9)


def test_it_is_not_symmetric():
    """No pinion that rolls on a rack moves as a rack that moves over a pinion."""
    flipped = matrix_of(Reversed(RackAndPinion(0.4)).transform([0.9]))
    for radius, q in ((0.4, 0.9), (0.4, -0.9), (-0.4, 0.9), (-0.4, -0.9)):
        assert np.abs(matrix_of(RackAndPinion(radius).transform([q])) - flipped).max() > 0.1


@pytest.mark.parametrize("radius", [0.0, float("inf")])
def test_a_radius_is_a_number_but_zero(radius):
    """Without a radius there is no pinion."""
    with pytest.raises(ArgumentError, match="radius of a rack and pinion"):
        RackAndPinion(radius)
