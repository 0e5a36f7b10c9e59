# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Arms that are moved along a path of the object, their loops closed at every point."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from robot_dynamics.control.reference import POSE, TWIST
from robot_dynamics.manipulation.system import GraspSystem

Array = NDArray[np.float64]

_CLOSED = 1e-10  # gap [m, rad] at which grasps count as closed; far below what matters
_LARGEST_STEP = 0.3  # of a Newton step [rad or m]


class ClosedPath:
    """Arms and object; the grasps, and loops of the arms' own, are closed at every point.

    That is done by the smallest motion in the metric of inertia.

    Attributes:
        at: Positions of the model (nq,).
        rate: Its velocities (nv,).

    Args:
        system: Arms and object.
        terms: `Robot.constraint_terms` of its model.
    """

    def __init__(self, system: GraspSystem, terms: Any) -> None:
        self._system, self._terms = system, terms
        self.at = system.model.neutral()
        self.rate = np.zeros(system.model.nv)
        na, rows = len(system.every_v), system.model.constraint_count
        self._matrix = np.zeros((na + rows, na + rows))
        self._error = np.zeros(rows)

    def close(self, row: Array) -> bool:
        """Move the arms onto a reference row; return whether that was possible."""
        system = self._system
        self.at[system.object_q] = row[POSE]
        self.rate[system.object_v] = _body_velocity(row)
        for _ in range(20):
            H, _, K, _, self._error, _ = self._terms(self.at, self.rate)
            if np.max(np.abs(self._error)) < _CLOSED:
                self.rate[system.every_v] -= self._smallest_motion(H, K, K @ self.rate)
                return True
            step = self._smallest_motion(H, K, self._error)
            size = float(np.max(np.abs(step)))
            if not np.isfinite(size):
                return False
            self.at[system.every_q] -= step * min(1.0, _LARGEST_STEP / size)
        return False

    def gaps(self) -> Array:
        """Return distance [m] and angle [rad] that remain open for each arm (k, 2)."""
        error = self._error[: 6 * len(self._system.arms)].reshape(-1, 6)
        return np.array(
            [
                [np.linalg.norm(error[arm.loop, 3:]), np.linalg.norm(error[arm.loop, :3])]
                for arm in self._system.arms
            ]
        )

    def _smallest_motion(self, H: Array, K: Array, error: Array) -> Array:
        """Return the motion of all joints smallest in the metric of H that makes `error`."""
        v = self._system.every_v
        na = len(v)
        matrix = self._matrix
        matrix[:na, :na] = H[np.ix_(v, v)]
        matrix[na:, :na] = K[:, v]
        matrix[:na, na:] = K[:, v].T
        try:
            right = np.concatenate([np.zeros(na), error])
            if self._system.internal_chains is not None:  # a hinge in a plane has rows to spare
                return np.asarray(np.linalg.lstsq(matrix, right, rcond=1e-12)[0][:na])
            return np.asarray(np.linalg.solve(matrix, right)[:na])
        except np.linalg.LinAlgError:
            return np.full(na, np.nan)


def _body_velocity(row: Array) -> Array:
    """Return the object's velocity in its own axes (6,), of a row in the world's."""
    x, y, z, w = row[3:7]
    R = np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )
    return (row[TWIST].reshape(2, 3) @ R).reshape(6)
