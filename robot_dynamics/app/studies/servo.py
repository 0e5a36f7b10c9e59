# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Smooth paths and servos of the studies, for joints and for the pose of a body."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

Array = NDArray[np.float64]
#: Coordinates (n,) of a path, their rates and accelerations at a time.
Path = Callable[[float], tuple[Array, Array, Array]]


def smooth(begin: float, duration: float, change: Array, start: Array | None = None) -> Path:
    """Return a path of fifth order from rest to rest: `start`, then `start + change`."""
    origin = np.zeros_like(change) if start is None else start

    def path(time: float) -> tuple[Array, Array, Array]:
        s = min(max((time - begin) / duration, 0.0), 1.0)
        rate = 30.0 * s**2 * (1.0 - s) ** 2 / duration
        acceleration = 60.0 * s * (1.0 - s) * (1.0 - 2.0 * s) / duration**2
        part = s**3 * (10.0 - 15.0 * s + 6.0 * s * s)
        return origin + part * change, rate * change, acceleration * change

    return path


@dataclass(frozen=True)
class PoseServo:
    """Accelerations that bring a body to a pose, and along a path of it.

    Attributes:
        start: Pose (4, 4) at the path's zero.
        path: Rotation vector about a fixed axis [rad], then displacement [m], in the axes of
            `start`'s reference frame.
        frequency: Of the servo, critically damped [rad/s].
    """

    start: Array
    path: Path
    frequency: float

    def wanted(self, time: float) -> Array:
        """Return the pose (4, 4) at a time."""
        x, _, _ = self.path(time)
        pose = self.start.copy()
        pose[:3, :3] = Rotation.from_rotvec(x[:3]).as_matrix() @ self.start[:3, :3]
        pose[:3, 3] = self.start[:3, 3] + x[3:]
        return pose

    def acceleration(self, time: float, pose: Array, velocity: Array) -> Array:
        """Return the spatial acceleration (6,) in the body's coordinates.

        Args:
            time: When [s].
            pose: Where the body is (4, 4).
            velocity: Its spatial velocity (6,), in its coordinates.
        """
        _, rate, acceleration = self.path(time)
        R, wanted = pose[:3, :3], self.wanted(time)
        turn = Rotation.from_matrix(wanted[:3, :3] @ R.T).as_rotvec()
        error = np.concatenate([turn, wanted[:3, 3] - pose[:3, 3]])
        spin, speed = R @ velocity[:3], R @ velocity[3:]
        slip = rate - np.concatenate([spin, speed])
        w = self.frequency
        push = acceleration + 2.0 * w * slip + w * w * error  # of the point, in reference axes
        # Spatial: the rate of the velocity's components misses w x v of the point's acceleration.
        linear = R.T @ push[3:] - np.cross(velocity[:3], velocity[3:])
        return np.concatenate([R.T @ push[:3], linear])
