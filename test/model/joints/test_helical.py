# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The helical joint."""

import numpy as np
import pytest
from model.joints.cases import columns, matrix_of, moved

from robot_dynamics.errors import ArgumentError
from robot_dynamics.model.joints import Helical, Revolute, verify
from robot_dynamics.spatial import Transform


@pytest.mark.parametrize("pitch", [0.3, -0.02, 0.0, 5.0])
def test_its_parts_fit_together(pitch):
    """Transform, S, T, steps and residual agree by finite differences, for any pitch."""
    assert verify(Helical(pitch)) == []


def test_table_4_1():
    """S = e3 + h e6 and T = [e1 e2 e4 e5 (-h e3 + e6)]."""
    e = np.eye(6)
    screw = Helical(0.25)
    np.testing.assert_array_equal(columns(screw.subspace([1.0]))[:, 0], e[2] + 0.25 * e[5])
    T = columns(screw.constraints(Transform.identity()))
    np.testing.assert_array_equal(T, np.column_stack([e[0], e[1], e[3], e[4], e[5] - 0.25 * e[2]]))


def test_without_pitch_it_is_revolute(rng):
    """A pitch of zero gives the revolute joint's transform, S, T and residual."""
    q = rng.normal(size=1).tolist()
    screw, hinge = Helical(0.0), Revolute()
    np.testing.assert_array_equal(matrix_of(screw.transform(q)), matrix_of(hinge.transform(q)))
    np.testing.assert_array_equal(columns(screw.subspace(q)), columns(hinge.subspace(q)))
    X = moved(hinge.transform(q), 1e-4 * rng.normal(size=6))
    # The two measure the distance along axes 1e-4 apart, at a distance of 1e-4.
    np.testing.assert_allclose(screw.residual(X), hinge.residual(X), atol=1e-7)


@pytest.mark.parametrize("turns", [-40, 3, 1000])
def test_any_turn_of_the_thread_closes_a_loop(turns):
    """The residual vanishes many turns away, and sees an error there as well."""
    screw = Helical(0.01)
    X = screw.transform([2 * np.pi * turns + 0.4])
    np.testing.assert_allclose(screw.residual(X), 0.0, atol=1e-12)
    off = moved(X, [0, 0, 0, 0, 0, 1e-3])
    assert screw.residual(off)[-1] == pytest.approx(1e-3, rel=1e-9)


def test_a_pitch_is_a_number():
    """Without a finite pitch there is no thread."""
    with pytest.raises(ArgumentError, match="pitch of a helical joint is nan"):
        Helical(float("nan"))
