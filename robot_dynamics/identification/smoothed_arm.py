# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Smoothed states of an arm that holds nothing, and the noise of the equations of its torques."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from robot_dynamics.arrays import Array
from robot_dynamics.identification.fitted_friction import FittedFriction
from robot_dynamics.identification.motion import Noise, RecordedMotion
from robot_dynamics.identification.signals import Filters
from robot_dynamics.robot import Robot


class SmoothedArm:
    """States of one arm; the other joints of the robot stay at zero.

    Args:
        robot: The arm, or several.
        joints: Names of the arm's joints, of one degree of freedom each, base to tip.
        noise: Noise of the samples.

    Attributes:
        robot: The robot.
        joints: Names of the arm's joints.
        q_index: Their indices in the robot's positions.
        index: Their indices in its velocities.
        noise: Noise of the samples.
        friction: Friction of the joints.
    """

    def __init__(self, robot: Robot, joints: Sequence[str], noise: Noise) -> None:
        self.robot, self.joints, self.noise = robot, tuple(joints), noise
        model = robot.model
        own = [model.joint_index(name) for name in joints]
        self.q_index = np.array([model.q_slices[i].start for i in own])
        self.index = np.array([model.v_slices[i].start for i in own])
        self.friction = FittedFriction(model, joints)

    def of(
        self, motion: RecordedMotion, filters: Filters
    ) -> tuple[Array, Array, Array, NDArray[np.bool_]]:
        """Return positions (N, nq), velocities and accelerations (N, nv) of the robot.

        Where they are unknown (N,), which is the last result, the arm is at zero.

        Args:
            motion: Positions of the arm's joints.
            filters: Filters of the samples.
        """
        parts = filters.differentiate(motion.q)
        unknown = np.asarray(~np.isfinite(np.concatenate(parts, axis=1)).all(axis=1))
        q = np.tile(np.array(self.robot.model.neutral(), dtype=float), (len(motion.q), 1))
        qd, qdd = np.zeros((2, len(q), self.robot.model.nv))
        places = (self.q_index, self.index, self.index)
        for every, index, values in zip((q, qd, qdd), places, parts, strict=True):
            every[np.ix_(~unknown, index)] = values[~unknown]
        return q, qd, qdd, unknown

    def covariance(self, q: Array, variance: Array, filters: Filters) -> Array:
        """Return the covariance (N, n, n) of torques less predictions, with that of positions.

        Args:
            q: Positions (N, nq) of the robot.
            variance: Variance of the torques (N, n) [(N m)^2 or N^2].
            filters: Filters of the samples.
        """
        D = self.robot.inertia_matrix(q)[:, self.index[:, None], self.index]
        ratio = filters.noise_of_derivative(2) / filters.noise
        covariance: Array = self.noise.position**2 * ratio * (D @ np.swapaxes(D, 1, 2))
        diagonal = np.arange(len(self.joints))
        covariance[:, diagonal, diagonal] += variance
        return covariance

    @staticmethod
    def reduced(
        A: Array, y: Array, covariance: Array, unknown: NDArray[np.bool_], filters: Filters
    ) -> tuple[Array, Array]:
        """Return the low-passed whitened equations (M, n, u) and (M, n), without unknown rows.

        Args:
            A: Factors of the unknowns (N, n, u).
            y: Left-hand sides (N, n).
            covariance: Covariance (N, n, n) of their noise.
            unknown: Mask (N,) of the samples to leave out.
            filters: Filters of the samples.
        """
        covariance[unknown] = np.eye(y.shape[1])
        rows = np.concatenate([A, y[..., None]], axis=2)
        rows[unknown] = 0.0
        rows = np.linalg.solve(np.linalg.cholesky(covariance), rows)
        rows[unknown] = np.nan
        rows = filters.reduce(rows) / np.sqrt(filters.noise)
        rows = rows[np.isfinite(rows).all(axis=(1, 2))]
        return rows[..., :-1], rows[..., -1]
