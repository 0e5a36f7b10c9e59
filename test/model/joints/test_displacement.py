# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Small displacements against Table 8.1, written with the entries of the matrix X."""

import numpy as np
import pytest
from model.joints.cases import (
    EVERY,
    columns,
    displaced,
    matrix_of,
    moved,
    random_positions,
    random_transform,
)

from robot_dynamics.model.joints import Cylindrical, Fixed, Prismatic, Revolute, Spherical, reverse
from robot_dynamics.model.joints.displacement import angle_about_z, predecessor_axis, wrapped


def table_8_1(name, M):
    """Return delta as the book prints it; X_rc are counted from one."""

    def X(row, column):
        return M[row - 1, column - 1]

    turning = [0.5 * (X(2, 3) - X(3, 2)), 0.5 * (X(3, 1) - X(1, 3)), 0.5 * (X(1, 2) - X(2, 1))]
    tilt, off_axis = [X(2, 3), -X(1, 3)], [X(5, 3), -X(4, 3)]
    along = X(4, 1) * X(2, 1) + X(4, 2) * X(2, 2)
    fixed = [0.5 * (X(5, 3) - X(6, 2)), 0.5 * (X(6, 1) - X(4, 3)), 0.5 * (X(4, 2) - X(5, 1))]
    return {
        "fixed": [*turning, *fixed],
        "revolute": [*tilt, *off_axis, along],
        "prismatic": [*turning, *off_axis],
        "cylindrical": [*tilt, *off_axis],
        "spherical": [
            X(5, 1) * X(3, 1) + X(5, 2) * X(3, 2) + X(5, 3) * X(3, 3),
            X(6, 1) * X(1, 1) + X(6, 2) * X(1, 2) + X(6, 3) * X(1, 3),
            X(4, 1) * X(2, 1) + X(4, 2) * X(2, 2) + X(4, 3) * X(2, 3),
        ],
    }[name]


@pytest.mark.parametrize("kind", [Revolute(), Cylindrical(), Spherical()])
def test_residuals_are_those_of_the_table(kind, rng):
    """C3: at any placement, near closure or not, delta equals Table 8.1."""
    for _ in range(5):
        X = random_transform(rng)
        expected = table_8_1(kind.name, matrix_of(X))
        np.testing.assert_allclose(kind.residual(X), expected, atol=1e-14)


@pytest.mark.parametrize("kind", [Fixed(), Prismatic()])
def test_turns_that_are_blocked_count_whole_angles(kind, rng):
    """C3: as the table prints it near closure; its sines become angles, which half a turn has."""
    d = rng.normal(size=6)
    for size in (1e-3, 1e-4):
        X = displaced(size * d)
        table = table_8_1(kind.name, matrix_of(X))
        # The table is right to first order as well: the two differ in the second.
        np.testing.assert_allclose(kind.residual(X), table, atol=10.0 * size**2)
    for _ in range(5):
        X = random_transform(rng)
        table = np.array(table_8_1(kind.name, matrix_of(X)))
        a, b, c = X.E.rows
        angle, sine = np.arccos(0.5 * (a[0] + b[1] + c[2] - 1.0)), np.linalg.norm(table[:3])
        residual = kind.residual(X)
        # Rounding of the cosine and the sine, which are not small here.
        np.testing.assert_allclose(residual[:3], table[:3] * (angle / sine), atol=1e-11)


def test_angles_are_known_but_for_whole_turns():
    """The angle about z is read off with its sign; wrapping takes whole turns away."""
    assert angle_about_z(displaced([0, 0, -2.5, 0, 0, 0])) == pytest.approx(-2.5)
    assert wrapped(0.3 + 40 * np.pi) == pytest.approx(0.3, abs=1e-13)
    assert wrapped(-3.0) == pytest.approx(-3.0)


def test_predecessor_axes_are_columns_of_E(rng):
    """The axes of the predecessor, seen from the successor."""
    X = random_transform(rng)
    for axis in range(3):
        expected = np.array(X.E.rows)[:, axis]
        np.testing.assert_array_equal(list(predecessor_axis(X, axis)), expected)


@pytest.mark.parametrize("kind", [k for k in EVERY if k.carries], ids=repr)
@pytest.mark.parametrize("turned", [False, True])
def test_residuals_are_of_first_order_exact(kind, turned, rng):
    """C3: a closed joint displaced by a small d has delta = T^T d, up to the square of d."""
    kind = reverse(kind) if turned else kind
    X = kind.transform(random_positions(rng, kind))
    d = rng.normal(size=6)
    T = columns(kind.constraints(X))

    def off(size):
        return np.abs(kind.residual(moved(X, size * d)) - T.T @ (size * d)).max(initial=0.0)

    # What is left falls with the square: four times for half the displacement.
    assert off(1e-3) < 3e-5
    assert off(5e-4) < 0.3 * off(1e-3) + 1e-12
