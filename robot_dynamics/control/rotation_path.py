# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Unit quaternions x y z w on NumPy arrays, and the turns that lead from one to another.

A quaternion here describes the orientation R of a body in the world; functions take leading batch
dimensions and never change a quaternion's sign, so that paths through them stay continuous.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.spatial.transform import Rotation

from robot_dynamics.arrays import Array


def product(a: Array, b: Array) -> Array:
    """Return the quaternion (..., 4) of R_a R_b."""
    ax, ay, az, aw = np.moveaxis(a, -1, 0)
    bx, by, bz, bw = np.moveaxis(b, -1, 0)
    return np.stack(
        [
            aw * bx + ax * bw + ay * bz - az * by,
            aw * by + ay * bw + az * bx - ax * bz,
            aw * bz + az * bw + ax * by - ay * bx,
            aw * bw - ax * bx - ay * by - az * bz,
        ],
        axis=-1,
    )


def conjugate(a: Array) -> Array:
    """Return the quaternion (..., 4) of R_a^T."""
    return a * np.array([-1.0, -1.0, -1.0, 1.0])


def turn(axis: Array, angle: Array) -> Array:
    """Return the quaternion (..., 4) of a rotation about a unit axis (..., 3) by an angle [rad].

    It depends continuously on the angle, beyond half a turn and beyond a full one as well.
    """
    half = 0.5 * np.asarray(angle)[..., None]
    return np.concatenate([axis * np.sin(half), np.cos(half)], axis=-1)


def rotated(a: Array, vector: Array) -> Array:
    """Return R_a v (..., 3): a vector in body axes, turned into world axes."""
    ax, ay, az, aw = a[..., 0], a[..., 1], a[..., 2], a[..., 3]
    vx, vy, vz = vector[..., 0], vector[..., 1], vector[..., 2]
    # v + w t + u x t with t = 2 u x v; numpy.cross and numpy.stack are many times slower for one
    # vector.
    tx, ty, tz = 2.0 * (ay * vz - az * vy), 2.0 * (az * vx - ax * vz), 2.0 * (ax * vy - ay * vx)
    x = vx + aw * tx + ay * tz - az * ty
    turned = np.empty((*np.shape(x), 3))
    turned[..., 0] = x
    turned[..., 1] = vy + aw * ty + az * tx - ax * tz
    turned[..., 2] = vz + aw * tz + ax * ty - ay * tx
    return turned


def rotation_vector(a: Array) -> Array:
    """Return the rotation vector (..., 3) of the shortest turn that R_a is, up to half a turn."""
    a = np.where(a[..., 3:] < 0.0, -a, a)
    sine = np.linalg.norm(a[..., :3], axis=-1, keepdims=True)
    angle = 2.0 * np.arctan2(sine, a[..., 3:])
    # angle / sine tends to 2 at the identity
    return a[..., :3] * np.where(sine > 1e-12, angle / np.maximum(sine, 1e-12), 2.0)


def axis_and_angle(a: Array) -> tuple[Array, float]:
    """Return the unit axis (3,) and the angle [rad] of the shortest turn that R_a is."""
    vector = rotation_vector(a)
    angle = float(np.linalg.norm(vector))
    if angle < 1e-12:
        return np.array([0.0, 0.0, 1.0]), 0.0
    return vector / angle, angle


def distance_between(pose: Array, other: Array) -> tuple[float, float]:
    """Return distance [m] and angle [rad] between two poses x y z qx qy qz qw.

    Args:
        pose: The one (7,), or a row of a reference, which begins with it.
        other: The other.
    """
    turned = rotation_vector(product(pose[3:7], conjugate(other[3:7])))
    return float(np.linalg.norm(pose[:3] - other[:3])), float(np.linalg.norm(turned))


def from_rpy(rpy: Sequence[float]) -> Array:
    """Return the quaternion (4,) of roll, pitch, yaw about fixed axes [rad], as in URDF."""
    return np.asarray(Rotation.from_euler("xyz", rpy).as_quat())
