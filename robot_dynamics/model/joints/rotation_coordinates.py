# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Rotation vectors as coordinates of joints that turn any way, and the forces on them."""

from __future__ import annotations

from collections.abc import Sequence

from robot_dynamics.scalar.functions import atan2, sqrt
from robot_dynamics.spatial import Scalar, Transform, Vector3
from robot_dynamics.spatial.rotation import rotation_vector

_TINY = 1e-12  # far below any sine that matters; keeps quotients of two zeros finite


def rotation_coordinates(X: Transform) -> list[Scalar]:
    """Return the rotation vector [rad] of F_s in F_p, for any angle below pi."""
    return list(rotation_vector(X.E.transpose()))


def rotation_moment(X: Transform, forces: Sequence[Scalar]) -> list[Scalar]:
    """Return the moment, in F_s, of the same power as forces on the rotation vector u.

    The rate of u is (1 + ½ u x + c u x u x) w, with c = (1 - (a/2) cot (a/2)) / a^2 at the angle
    a = |u|; the moment is the transpose of that times the forces.

    Args:
        X: The placement sXp.
        forces: Forces on the three components [N m].
    """
    a, b, c = X.E.rows
    u = Vector3.of(rotation_coordinates(X))
    twice_sine = Vector3(b[2] - c[1], c[0] - a[2], a[1] - b[0])
    sine = sqrt(0.25 * twice_sine.dot(twice_sine) + _TINY * _TINY)
    cosine = (a[0] + b[1] + c[2] - 1.0) * 0.5
    angle = atan2(sine, cosine)
    # cot of half the angle is (1 + cosine) / sine. Where the angle vanishes the quotient is off,
    # but what it multiplies is of the order of the angle's square.
    quotient = (1.0 - 0.5 * angle * (1.0 + cosine) / sine) / (angle * angle)
    m = Vector3.of(forces)
    turned = u.cross(m)
    return list(m - turned * 0.5 + u.cross(turned) * quotient)
