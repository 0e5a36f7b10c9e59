# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A line contact without slip."""

import numpy as np
from model.joints.cases import columns, displaced, matrix_of

from robot_dynamics.model.joints import LineContact, Reversed, Revolute, verify
from robot_dynamics.spatial import Rotation, Transform, Vector3

# The frame whose z is x, x is y and y is z.
CYCLE = Transform(Rotation.of([[0, 1, 0], [0, 0, 1], [1, 0, 0]]), Vector3.zero())


def test_its_parts_fit_together():
    """T and the residual agree by finite differences, either way round."""
    assert verify(LineContact()) == []
    assert verify(Reversed(LineContact())) == []


def test_it_is_a_hinge_about_x(rng):
    """In frames turned so that x becomes z it is the revolute joint."""
    X = displaced(1e-5 * rng.normal(size=6))
    turned = CYCLE.compose(X).compose(CYCLE.inverse())
    hinge = Revolute().residual(turned)
    # To first order: second-order terms are 1e-10.
    expected = [*hinge[:2], *np.roll(hinge[2:], 1)]
    np.testing.assert_allclose(LineContact().residual(X), expected, atol=1e-9)
    T = np.linalg.inv(matrix_of(CYCLE)).T @ columns(LineContact().constraints(X))
    span = np.column_stack([T, columns(Revolute().constraints(turned))])
    assert np.linalg.matrix_rank(span) == 5
