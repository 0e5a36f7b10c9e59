# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Inertias: ten parameters there and back, energy, and the articulated form."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from robot_dynamics.spatial import Inertia, Motion, Symmetric3, Vector3

VALUES = [2.0, 0.2, -0.1, 0.3, 0.5, 0.01, 0.6, -0.02, 0.03, 0.7]


@pytest.mark.book("S4")
def test_ten_parameters_round_trip():
    """`of` and `components` are inverse to each other."""
    assert Inertia.of(VALUES).components() == VALUES


@pytest.mark.book("S4")
def test_kinetic_energy_of_a_turning_particle():
    """A particle of 2 kg at 0.5 m from the axis, turning at 3 rad/s, has m r^2 w^2 / 2."""
    particle = Inertia.from_center_of_mass(2.0, Vector3(0.5, 0.0, 0.0), Symmetric3.zero())
    v = Motion(Vector3(0.0, 0.0, 3.0), Vector3.zero())
    assert_allclose(0.5 * v.dot(particle * v), 0.5 * 2.0 * 0.25 * 9.0, rtol=1e-15)


def test_articulated_form_acts_alike():
    """The 21-parameter form of a rigid inertia gives the same momentum, and sums add up."""
    v = Motion.of(np.random.default_rng(0).normal(size=6))
    rigid = Inertia.of(VALUES)
    expected = (rigid * v).components()
    assert_allclose((rigid.articulated() * v).components(), expected, rtol=1e-14)
    doubled = (rigid.articulated() + rigid.articulated()) * v
    assert_allclose(doubled.components(), 2 * np.array(expected), rtol=1e-14)


def test_minus_dyad_takes_out_the_joint_direction():
    """I - U U^T / D with U = I S has S in its null space (I^a S = 0)."""
    rigid = Inertia.of(VALUES).articulated()
    S = Motion.of([0.0, 0.0, 1.0, 0.0, 0.0, 0.0])
    U = rigid * S
    reduced = rigid.minus_dyad(U, U * (1.0 / S.dot(U)))
    assert_allclose((reduced * S).components(), np.zeros(6), atol=1e-15)
