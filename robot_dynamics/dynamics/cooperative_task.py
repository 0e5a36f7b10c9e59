# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Cooperative task space: the motion of two hands together, and of one relative to the other.

P. Chiacchio, S. Chiaverini, B. Siciliano, ASME Journal of Dynamic Systems, Measurement, and
Control 118(4), 1996. Positions are half way between the hands, and of hand 2 in hand 1; the
absolute orientation is half way along the rotation from 1 to 2, R_1 R(k, theta / 2).

Its angular velocity is the mean of both only while they differ only about k. With the modified
Rodrigues parameters sigma = k tan(theta / 4) of that rotation, in world axes, it is

    omega_a = (omega_1 + omega_2) / 2 - sigma x (omega_2 - omega_1) / 2.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.spatial.transform import Rotation

from robot_dynamics.arrays import Array
from robot_dynamics.errors import ArgumentError

_OPPOSITE = -1.0 + 1e-9  # 1 + 2 cos(angle), at 0.002 degrees from a half turn


class CooperativeTask(NamedTuple):
    """Absolute and relative pose of two frames, their Jacobian and rates.

    Six-vectors are angular first. Rows 0 to 5 are absolute, of the point half way, in world axes.
    Rows 6 to 11 are relative, of the second frame in the first, in axes of the first.

    Attributes:
        absolute: Pose half way between the frames in the world (..., 4, 4).
        relative: Pose of the second frame in the first (..., 4, 4).
        jacobian: Jacobian of both (..., 12, nv).
        velocity: J qd (..., 12) [rad/s, m/s]; None without `qd`.
        bias: The rate of J times qd (..., 12) [rad/s^2, m/s^2]; None without `qd`.
    """

    absolute: Array
    relative: Array
    jacobian: Array
    velocity: Array | None = None
    bias: Array | None = None


def cooperative_task(
    first: Array,
    second: Array,
    J_1: Array,
    J_2: Array,
    qd: Array | None = None,
    bias_1: Array | None = None,
    bias_2: Array | None = None,
) -> CooperativeTask:
    """Return the cooperative task of two frames.

    Args:
        first: Pose of the first frame (..., 4, 4).
        second: Of the second.
        J_1: Jacobian of the first, axes of the world, linear part of its origin (..., 6, nv).
        J_2: Of the second.
        qd: Velocities (..., nv); without them there are no rates.
        bias_1: Classical acceleration of the first frame without joint accelerations (..., 6).
        bias_2: Of the second.
    """
    R_1, p_1, R_2, p_2 = (
        first[..., :3, :3],
        first[..., :3, 3],
        second[..., :3, :3],
        second[..., :3, 3],
    )
    R_r = np.swapaxes(R_1, -1, -2) @ R_2
    turn = Rotation.from_matrix(R_r.reshape(-1, 3, 3)).as_rotvec().reshape(*R_r.shape[:-2], 3)
    angle = np.linalg.norm(turn, axis=-1, keepdims=True)
    half = Rotation.from_rotvec(0.5 * turn.reshape(-1, 3)).as_matrix().reshape(R_r.shape)
    absolute, relative = (
        _pose(R_1 @ half, 0.5 * (p_1 + p_2)),
        _pose(R_r, _turned_back(R_1, p_2 - p_1)),
    )

    # k tan(theta / 4), by its limit at zero rotation
    factor = np.where(angle < 1e-6, 0.25, np.tan(0.25 * angle) / np.maximum(angle, 1e-6))
    sigma_1 = factor * turn  # in the axes of either frame: k is the same in both
    sigma = _turned(R_1, sigma_1)
    p = p_2 - p_1

    def both(mean: Array, difference: Array, omega_1: Array) -> Array:
        """Return absolute and relative motion of six-vectors in columns (..., 12, any)."""
        angular, linear = difference[..., :3, :], difference[..., 3:, :]
        absolute = np.concatenate(
            [mean[..., :3, :] - 0.5 * _cross(sigma, angular), mean[..., 3:, :]], axis=-2
        )
        linear = linear + _cross(p, omega_1)  # v_2 - v_1 - omega_1 x p
        back = np.swapaxes(R_1, -1, -2)
        return np.concatenate([absolute, back @ angular, back @ linear], axis=-2)

    J = both(0.5 * (J_1 + J_2), J_2 - J_1, J_1[..., :3, :])
    if qd is None or bias_1 is None or bias_2 is None:
        return CooperativeTask(absolute, relative, J)

    velocity = (J @ qd[..., None])[..., 0]
    V_1, V_2 = ((A @ qd[..., None])[..., 0] for A in (J_1, J_2))
    omega_1, omega_r = V_1[..., :3], V_2[..., :3] - V_1[..., :3]
    a_1, a_2 = bias_1[..., None], bias_2[..., None]
    bias = both(0.5 * (a_1 + a_2), a_2 - a_1, a_1[..., :3, :])[..., 0]
    # Rate of sigma of a rotation with angular velocity w in the axes of the first frame.
    w, s = _turned_back(R_1, omega_r), sigma_1
    rate = 0.25 * ((1.0 - _dot(s, s)) * w - 2.0 * np.cross(s, w) + 2.0 * _dot(s, w) * s)
    sigma_rate = np.cross(omega_1, sigma) + _turned(R_1, rate)
    bias[..., :3] -= 0.5 * np.cross(sigma_rate, omega_r)
    # Relative motion in rotating axes: d/dt R_1^T x = R_1^T (x' - omega_1 x x).
    v_r = V_2[..., 3:] - V_1[..., 3:]
    bias[..., 6:9] -= _turned_back(R_1, np.cross(omega_1, omega_r))
    linear = -2.0 * np.cross(omega_1, v_r) + np.cross(omega_1, np.cross(omega_1, p))
    bias[..., 9:] += _turned_back(R_1, linear)
    return CooperativeTask(absolute, relative, J, velocity, bias)


def require_half_way(relative: Array) -> None:
    """Refuse frames with two orientations half way.

    Args:
        relative: Pose of the second in the first (..., 4, 4).

    Raises:
        ArgumentError: If they are turned by 180 degrees to one another.
    """
    trace = np.trace(relative[..., :3, :3], axis1=-2, axis2=-1)
    if np.any(trace < _OPPOSITE):
        raise ArgumentError(
            "the frames are turned by 180 degrees to one another, where two orientations are half "
            "way; expected frames that are nearly aligned, as `Robot.with_frame` adds them."
        )


def _pose(R: Array, p: Array) -> Array:
    T = np.zeros((*R.shape[:-2], 4, 4))
    T[..., :3, :3], T[..., :3, 3], T[..., 3, 3] = R, p, 1.0
    return T


def _turned(R: Array, x: Array) -> Array:
    return np.asarray((R @ x[..., None])[..., 0])


def _turned_back(R: Array, x: Array) -> Array:
    return _turned(np.swapaxes(R, -1, -2), x)


def _cross(a: Array, columns: Array) -> Array:
    """Return a x each column (..., 3, n)."""
    return np.cross(a[..., None, :], np.swapaxes(columns, -1, -2)).swapaxes(-1, -2)


def _dot(a: Array, b: Array) -> Array:
    return np.sum(a * b, axis=-1, keepdims=True)
