# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Rotation vectors as coordinates of joints that turn any way, and the forces on them."""

from __future__ import annotations

import math
from collections.abc import Sequence

from scipy.special import zeta

from robot_dynamics.spatial import Scalar, Transform, Vector3
from robot_dynamics.spatial.rotation import rotation_vector

# Of a^24 to a^0: sums of 2 / (2 pi k)^(2 n) over k = 2, 3, ...; one more is 3e-17 of the result.
_OTHER_POLES = [float(2.0 * zeta(2 * n, 2) / (2.0 * math.pi) ** (2 * n)) for n in range(13, 0, -1)]


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
    u = Vector3.of(rotation_coordinates(X))
    quotient = _rate_quotient(u.dot(u))
    m = Vector3.of(forces)
    turned = u.cross(m)
    return list(m - turned * 0.5 + u.cross(turned) * quotient)


def _rate_quotient(squared: Scalar) -> Scalar:
    """Return (1 - (a/2) cot (a/2)) / a^2 of an angle's square, up to half a turn.

    It is the sum of 2 / ((2 pi k)^2 - a^2) over k = 1, 2, ... (Euler): the first term, and powers
    of a^2 for the others. It and its derivatives are exact to rounding, also where a vanishes.
    """
    others: Scalar = 0.0
    for coefficient in _OTHER_POLES:
        others = others * squared + coefficient
    return 2.0 / (4.0 * math.pi**2 - squared) + others
