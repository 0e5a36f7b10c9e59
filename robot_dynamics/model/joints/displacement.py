# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Small displacements of a successor frame, read off X = sXp (Table 8.1).

Each function gives some components of d, the displacement of F_s from its place in the closed
joint, to first order and in F_s coordinates. In the comments X_rc are the entries of the matrix X,
numbered from one as in the book.
"""

from __future__ import annotations

import math

from robot_dynamics.scalar.functions import atan2, cos, sin
from robot_dynamics.spatial import Scalar, Transform, Vector3, rotation_vector


def turning(X: Transform) -> list[Scalar]:
    """Return the rotation d1, d2, d3 of a joint without rotation.

    The rotation vector: the book's sines ½ (X23 - X32), ½ (X31 - X13), ½ (X12 - X21) to first
    order, but not zero for half a turn.
    """
    return list(rotation_vector(X.E.transpose()))


def tilt(X: Transform) -> list[Scalar]:
    """Return the rotation d1, d2 of a joint that can turn about z."""
    a, b, _ = X.E.rows
    return [b[2], -a[2]]  # X23, -X13


def off_axis(X: Transform) -> list[Scalar]:
    """Return the translation d4, d5 of a joint that can slide along z."""
    a, b, _ = X.E.rows
    x, y = X.r.x, X.r.y
    return [b[1] * x - b[0] * y, a[0] * y - a[1] * x]  # X53, -X43


def origin(X: Transform) -> list[Scalar]:
    """Return the translation d4, d5, d6 of a joint with coincident origins: E r, exact."""
    return list(X.E * X.r)


def angle_about_z(X: Transform) -> Scalar:
    """Return the angle [rad] in [-pi, pi] by which F_s is turned about z."""
    a, _, _ = X.E.rows
    return atan2(a[1], a[0])


def angle_near(sine: Scalar, cosine: Scalar, near: float) -> Scalar:
    """Return the angle [rad] of a sine and cosine, within half a turn of a number."""
    c, s = math.cos(near), math.sin(near)
    return near + atan2(sine * c - cosine * s, cosine * c + sine * s)


def wrapped(angle: Scalar) -> Scalar:
    """Return an angle without whole turns, in [-pi, pi]."""
    return atan2(sin(angle), cos(angle))


def predecessor_axis(X: Transform, axis: int) -> Vector3:
    """Return an axis (0, 1 or 2) of the predecessor's frame in successor coordinates."""
    return X.E.columns()[axis]
