# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Quaternions (x, y, z, w) as position variables of joints (section 4.5).

They have unit length. A quaternion of another length represents the orientation of its direction:
`rotation` divides by its length, and `rate` is linear in it.
"""

from __future__ import annotations

from collections.abc import Sequence

from robot_dynamics.scalar.functions import atan2, sqrt
from robot_dynamics.spatial import Rotation, Scalar


def rotation(quaternion: Sequence[Scalar]) -> Rotation:
    """Return E of a quaternion (4.12), whose length is divided out; NaN for zero."""
    x, y, z, w = quaternion
    scale = 2.0 / (x * x + y * y + z * z + w * w)
    sx, sy, sz = scale * x, scale * y, scale * z
    xx, yy, zz = sx * x, sy * y, sz * z
    xy, xz, yz = sx * y, sx * z, sy * z
    wx, wy, wz = sx * w, sy * w, sz * w
    return Rotation(
        (
            (1.0 - (yy + zz), xy + wz, xz - wy),
            (xy - wz, 1.0 - (xx + zz), yz + wx),
            (xz + wy, yz - wx, 1.0 - (xx + yy)),
        )
    )


def turn(quaternion: Sequence[Scalar], step: Sequence[Scalar]) -> list[Scalar]:
    """Return the quaternion (x, y, z, w) after a rotation vector `step` [rad] in its own frame.

    The half-angle series is used up to the tenth order: for steps below one
    radian, which every integrator needs, its error is under 1e-13; the result is normalised.
    """
    x, y, z, w = quaternion
    squared = 0.25 * (step[0] * step[0] + step[1] * step[1] + step[2] * step[2])
    # sin(a)/a and cos(a) of the half angle a, from a^2
    sinc = _series(squared, (1.0, -1 / 6, 1 / 120, -1 / 5040, 1 / 362880, -1 / 39916800))
    cosine = _series(squared, (1.0, -1 / 2, 1 / 24, -1 / 720, 1 / 40320, -1 / 3628800))
    sx, sy, sz = (0.5 * sinc * s for s in step)
    turned = [
        w * sx + x * cosine + y * sz - z * sy,
        w * sy + y * cosine + z * sx - x * sz,
        w * sz + z * cosine + x * sy - y * sx,
        w * cosine - x * sx - y * sy - z * sz,
    ]
    return unit(turned)


def turn_between(q0: Sequence[Scalar], q1: Sequence[Scalar]) -> list[Scalar]:
    """Return the rotation vector [rad], in the frame of `q0`, of the shortest turn to `q1`."""
    x0, y0, z0, w0 = q0
    x1, y1, z1, w1 = q1
    # conj(q0) q1 = (sin(a) u, cos(a)) for a turn of 2 a about u
    vx = w0 * x1 - x0 * w1 - y0 * z1 + z0 * y1
    vy = w0 * y1 - y0 * w1 - z0 * x1 + x0 * z1
    vz = w0 * z1 - z0 * w1 - x0 * y1 + y0 * x1
    cosine = w0 * w1 + x0 * x1 + y0 * y1 + z0 * z1
    # Never zero, as no turn has no axis. The ratio of angle and sine does not change by as much in
    # any digit, and its second derivatives divide rounding by 1e-8 at most.
    squared = vx * vx + vy * vy + vz * vz + 1e-16
    sine = sqrt(squared)
    # The angle from the sine and cosine of 2 a lies in [-pi, pi], whichever of q and -q is given.
    scale = atan2(2.0 * sine * cosine, cosine * cosine - squared) / sine
    return [vx * scale, vy * scale, vz * scale]


def rate(quaternion: Sequence[Scalar], angular: Sequence[Scalar]) -> list[Scalar]:
    """Return the time derivative of a quaternion at an angular velocity in its frame (4.13)."""
    x, y, z, w = quaternion
    wx, wy, wz = angular
    return [
        0.5 * (w * wx - z * wy + y * wz),
        0.5 * (z * wx + w * wy - x * wz),
        0.5 * (-y * wx + x * wy + w * wz),
        -0.5 * (x * wx + y * wy + z * wz),
    ]


def unit(values: Sequence[Scalar]) -> list[Scalar]:
    """Return a quaternion of length one in the direction of another."""
    x, y, z, w = values
    scale = 1.0 / sqrt(x * x + y * y + z * z + w * w)
    return [x * scale, y * scale, z * scale, w * scale]


def _series(x: Scalar, coefficients: Sequence[float]) -> Scalar:
    total: Scalar = coefficients[-1]
    for coefficient in reversed(coefficients[:-1]):
        total = total * x + coefficient
    return total
