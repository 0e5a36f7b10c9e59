# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Orientations: roll, pitch and yaw, or unit quaternions (x, y, z, w); poses with these."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from robot_dynamics.arrays import Array
from robot_dynamics.model import pose
from robot_dynamics.spatial import Rotation

Triple = tuple[float, float, float]
Quadruple = tuple[float, float, float, float]

# Tolerance of the length of quaternions that are printed with few digits.
_UNIT = 1e-3
# Angles of more than a whole turn, printed with few digits, were meant as degrees.
_TURN = 2.0 * math.pi + 1e-3
DEGREES_HINT = "were degrees meant? the unit is rad"


def rotation_of_rpy(rpy: Sequence[float]) -> Array:
    """Return the matrix (3, 3) of roll, pitch and yaw [rad] about the fixed axes x, y, z."""
    (sr, cr), (sp, cp), (sy, cy) = ((math.sin(angle), math.cos(angle)) for angle in rpy)
    return np.array(
        [
            [cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr],
            [sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr],
            [-sp, cp * sr, cp * cr],
        ]
    )


def rpy_of_rotation(matrix: Array) -> Triple:
    """Return roll, pitch and yaw [rad] about fixed axes of a rotation matrix (3, 3)."""
    horizontal = float(np.hypot(matrix[0, 0], matrix[1, 0]))
    pitch = float(np.arctan2(-matrix[2, 0], horizontal))
    if horizontal > 1e-9:
        roll = float(np.arctan2(matrix[2, 1], matrix[2, 2]))
        yaw = float(np.arctan2(matrix[1, 0], matrix[0, 0]))
    else:  # pitch of +-90 degrees: only the difference or sum of the others matters
        roll = float(np.arctan2(-matrix[1, 2], matrix[1, 1]))
        yaw = 0.0
    return roll, pitch, yaw


def is_unit(quaternion: Sequence[float]) -> bool:
    """Return whether a quaternion has unit length, to the digits printed in files."""
    return abs(math.hypot(*quaternion) - 1.0) <= _UNIT


def rotation_of_quaternion(quaternion: Sequence[float]) -> Array:
    """Return the matrix (3, 3) of a quaternion (x, y, z, w), whose length is divided out."""
    length = math.hypot(*quaternion)
    x, y, z, w = (value / length for value in quaternion)
    return np.array(Rotation.from_quaternion(x, y, z, w).rows).T


def quaternion_of_rotation(matrix: Array) -> Quadruple:
    """Return the unit quaternion (x, y, z, w) of a rotation matrix (3, 3), as Shepperd (1978)."""
    trace = float(np.trace(matrix))
    diagonal = [*np.diag(matrix).tolist(), trace]
    i = int(np.argmax(diagonal))  # of the largest component, so that nothing is lost by division
    parts = np.empty(4)
    if i == 3:
        parts[3] = 1.0 + trace
        parts[:3] = [matrix[(k + 2) % 3, (k + 1) % 3] - matrix[(k + 1) % 3, (k + 2) % 3]
                     for k in range(3)]  # fmt: skip
    else:
        j, k = (i + 1) % 3, (i + 2) % 3
        parts[i] = 1.0 + 2.0 * matrix[i, i] - trace
        parts[j], parts[k] = matrix[j, i] + matrix[i, j], matrix[k, i] + matrix[i, k]
        parts[3] = matrix[k, j] - matrix[j, k]
    x, y, z, w = (parts / np.linalg.norm(parts)).tolist()
    return x, y, z, w


def matrix_of_pose(vector: Array) -> Array:
    """Return the homogeneous matrix (4, 4) of a pose x y z qx qy qz qw (7,)."""
    return pose(vector[:3], rotation_of_quaternion(vector[3:].tolist()))


def vector_of_pose(matrix: Array) -> Array:
    """Return the pose x y z qx qy qz qw (7,) of a homogeneous matrix (4, 4)."""
    return np.concatenate([matrix[:3, 3], quaternion_of_rotation(matrix[:3, :3])])


def looks_like_degrees(angles: Sequence[float]) -> str:
    """Return a sentence about angles [rad] that were probably meant as degrees; else empty.

    Degrees such as 45, 90 and 180, except small ones, exceed a whole turn in radians.
    """
    beyond = [angle for angle in angles if abs(angle) > _TURN]
    if not beyond:
        return ""
    return f"an angle is {max(beyond, key=abs):g} rad, more than a whole turn"
