# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Planar vectors [omega, vx, vy] and [n, fx, fy], their transforms and inertias (2.16, A.1).

They are spatial vectors of motions in the x-y plane without the zero components. Models need no
planar type: tracing a planar mechanism folds these zeros away. Use them for work by hand and in
teaching. Matrices are (3, 3), as lists of rows.
"""

from __future__ import annotations

from collections.abc import Sequence

from robot_dynamics.scalar.functions import cos, sin
from robot_dynamics.spatial.vector3 import Scalar

Matrix = list[list[Scalar]]


def planar_transform(x: Scalar, y: Scalar, angle: Scalar) -> Matrix:
    """Return BX_A for motions, with B at (x, y) in A [m] and turned by an angle [rad]."""
    c, s = cos(angle), sin(angle)
    return [[1.0, 0.0, 0.0], [s * x - c * y, c, s], [c * x + s * y, -s, c]]


def planar_cross(v: Sequence[Scalar], u: Sequence[Scalar]) -> list[Scalar]:
    """Return v x u of two motions."""
    w, x, y = v
    return [0.0, y * u[0] - w * u[2], w * u[1] - x * u[0]]


def planar_cross_force(v: Sequence[Scalar], f: Sequence[Scalar]) -> list[Scalar]:
    """Return v x* f of a motion and a force: minus the transposed matrix of v x."""
    w, x, y = v
    return [x * f[2] - y * f[1], -(w * f[2]), w * f[1]]


def planar_inertia(mass: Scalar, center: Sequence[Scalar], inertia: Scalar) -> Matrix:
    """Return the inertia of a body with centre of mass `center` (2,) and inertia about it."""
    cx, cy = center
    return [
        [inertia + mass * (cx * cx + cy * cy), -(mass * cy), mass * cx],
        [-(mass * cy), mass, 0.0],
        [mass * cx, 0.0, mass],
    ]


def planar_displacement(X: Sequence[Sequence[Scalar]]) -> list[Scalar]:
    """Return the small motion (3,) of a transform: XtoV (A.1), with X v = v."""
    (_, _, _), (b, c, s), (d, _, _) = X
    return [s, (d + c * d + s * b) * 0.5, (s * d - b - c * b) * 0.5]
