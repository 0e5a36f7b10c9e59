# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The revolute joint."""

import numpy as np
from model.joints.cases import columns, displaced, matrix_of
from scipy.spatial.transform import Rotation as ScipyRotation

from robot_dynamics.model.joints import Revolute, verify


def test_its_parts_fit_together():
    """Transform, S, T, steps and residual agree by finite differences."""
    assert verify(Revolute()) == []


def test_it_turns_about_z():
    """E is rz(q) of Table 2.2, the transpose of the successor's orientation."""
    E = np.array(Revolute().transform([0.7]).E.rows)
    np.testing.assert_allclose(E.T, ScipyRotation.from_rotvec([0, 0, 0.7]).as_matrix(), atol=1e-15)


def test_table_4_1():
    """S = e3 and T = [e1 e2 e4 e5 e6]."""
    np.testing.assert_array_equal(columns(Revolute().subspace([1.0])), np.eye(6)[:, [2]])
    X = displaced(np.zeros(6))
    T = columns(Revolute().constraints(X))
    np.testing.assert_array_equal(T, np.eye(6)[:, [0, 1, 3, 4, 5]])
    np.testing.assert_array_equal(matrix_of(Revolute().transform([0.0])), np.eye(6))
