# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Error of a body's pose from its desired pose, over scalars."""

from __future__ import annotations

from collections.abc import Sequence

from robot_dynamics.scalar.functions import cos, sin, sqrt
from robot_dynamics.spatial import Rotation, Scalar, Transform, Vector3, rotation_vector

_TINY = 1e-30  # guards a division where there is no turn [rad^2]


def pose_error(wanted: Sequence[Scalar], seen: Transform) -> tuple[list[Scalar], list[Scalar]]:
    """Return orientation and position error (6,) in world axes, and the measured pose (7,).

    The orientation error is the rotation vector of R_d R^T. The quaternion of the measured pose
    follows from the reference's and the error, without deciding between its four formulas.

    Args:
        wanted: Pose x y z qx qy qz qw in the world (7,).
        seen: From world to body coordinates.
    """
    x, y, z, w = wanted[3:]
    E_d = Rotation.from_quaternion(x, y, z, w)
    turned = E_d.transpose().compose(seen.E)  # R_d R^T = E_d^T E
    rotation = rotation_vector(turned)
    position = Vector3.of(wanted[:3]) - seen.r

    # The measured orientation is (R_d R^T)^T R_d: the inverse rotation, by half the angle for
    # quaternions.
    half = sqrt(rotation.dot(rotation) + _TINY) * 0.5
    ex, ey, ez = rotation * (-0.5 * sin(half) / half)
    half_cosine = cos(half)
    quaternion = [
        half_cosine * x + ex * w + ey * z - ez * y,
        half_cosine * y + ey * w + ez * x - ex * z,
        half_cosine * z + ez * w + ex * y - ey * x,
        half_cosine * w - ex * x - ey * y - ez * z,
    ]
    return [*rotation, *position], [*seen.r, *quaternion]
