# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Path of a jointed object: its first part moves, and the second moves relative to it.

Both are paths of segments along a line and about a fixed axis (`reference.py`), so that velocity
and acceleration are exact and in closed form; this module combines them.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from robot_dynamics.arrays import Array
from robot_dynamics.control.reference import ACCELERATION, POSE, TWIST, Reference, plan_reference
from robot_dynamics.control.rotation_path import product
from robot_dynamics.control.settings import ReferenceSettings
from robot_dynamics.errors import ArgumentError
from robot_dynamics.manipulation.jointed_object import JointedObjectSystem
from robot_dynamics.model import pose_of
from robot_dynamics.spatial import Rotation as Turn
from robot_dynamics.spatial import Transform, Vector3

_ANGULAR, _LINEAR = slice(0, 3), slice(3, 6)
# Largest deviation of a path from the joint's freedom [rad, m]: rounding of a computed start.
_CLOSED = 1e-6


class ObjectPath:
    """The path of an object.

    Args:
        system: Arms and object.
        poses: Of the parts' links at the start (2, 4, 4).
        first: Motion of the first part, in world axes.
        second: Motion of the second part's joint frame relative to the first part's, in the axes
            of the latter: it folds by rotations about them.

    Raises:
        ArgumentError: If the object's joint does not allow the motion of the second part.

    Attributes:
        duration: Time at which everything has come to rest [s].
        system: Arms and object.
    """

    def __init__(
        self,
        system: JointedObjectSystem,
        poses: Array,
        first: ReferenceSettings,
        second: ReferenceSettings,
    ) -> None:
        self.system = system
        one, two = system.parts
        joint = system.joint
        self._joint = _in_link(one.placement, joint.predecessor_placement)
        self._link = np.linalg.inv(_in_link(two.placement, joint.successor_placement))
        relative = np.linalg.inv(poses[0] @ self._joint) @ poses[1] @ np.linalg.inv(self._link)
        self._first = plan_reference(first, _reference_pose(poses[0]), arm_count=1)
        self._second = plan_reference(second, _reference_pose(relative), arm_count=1)
        self.duration = max(self._first.duration, self._second.duration)
        self._check(system)

    @property
    def references(self) -> tuple[Reference, Reference]:
        """Motion of the first part's link, and of the second part's joint frame relative to it."""
        return self._first, self._second

    def second_rows(self, first: Array, fold: Array) -> Array:
        """Return the motion of the second part's link, as rows of a `Reference`.

        Args:
            first: Rows of the first part's link (N, 19 or more).
            fold: Rows of the second part's joint frame relative to the first part's (N, 19).
        """
        _, origin, velocity, acceleration = self.links(first, fold)[1]
        # The quaternion is continuous, because its factors are.
        turned, relative = (rows[:, POSE][:, 3:] for rows in (first, fold))
        for after in (_quaternion(self._joint), relative, _quaternion(self._link)):
            turned = product(turned, after)
        return np.hstack([origin, turned, velocity, acceleration])

    def links(self, first: Array, fold: Array) -> list[tuple[Array, Array, Array, Array]]:
        """Return orientation, origin, velocity and acceleration of both parts' links.

        Args:
            first: Rows of the first part's link (N, 19 or more).
            fold: Rows of the second part's joint frame relative to the first part's (N, 19).
        """
        R, p, V, A = _motion_of(first)
        # The first part's joint frame moves with it.
        there = R @ self._joint[:3, :3]
        V_j, A_j = carried(V, A, R @ self._joint[:3, 3])
        p_j = p + R @ self._joint[:3, 3]
        R_r, p_r, V_r, A_r = _motion_of(fold)
        way = _turned(there, p_r)
        spin, slide = _turned(there, V_r[:, _ANGULAR]), _turned(there, V_r[:, _LINEAR])
        R_2 = there @ R_r
        V_2, A_2 = carried(V_j, A_j, way)
        omega = V[:, _ANGULAR]
        V_2[:, _ANGULAR] += spin
        V_2[:, _LINEAR] += slide
        A_2[:, _ANGULAR] += _turned(there, A_r[:, _ANGULAR]) + np.cross(omega, spin)
        A_2[:, _LINEAR] += _turned(there, A_r[:, _LINEAR]) + 2.0 * np.cross(omega, slide)
        # From the second part's joint frame to its link.
        r = R_2 @ self._link[:3, 3]
        V_2, A_2 = carried(V_2, A_2, r)
        return [(R, p, V, A), (R_2 @ self._link[:3, :3], p_j + way + r, V_2, A_2)]

    def _check(self, system: JointedObjectSystem) -> None:
        """Refuse a path that the object's joint does not allow."""
        # If the start has a closure error, as with a wrong calibration, it stays constant.
        allowed = _CLOSED
        times = np.linspace(0.0, self._second.duration, 21)
        R, p, _, _ = _motion_of(self._second.rows(times))
        for time, rotation, position in zip(times, R, p, strict=True):
            X = Transform(Turn.of(rotation.T.tolist()), Vector3.of(position.tolist()))
            error = float(np.linalg.norm(np.array(system.joint.type.residual(X), dtype=float)))
            allowed = 1.01 * error + _CLOSED if time == 0.0 else allowed
            if error > allowed:
                raise ArgumentError(
                    f"the path of the second part opens the {system.joint.type.name} joint "
                    f"{system.joint.name!r} by {error:.2g} at {time:.3g} s; expected motion that "
                    "it allows, in the axes of its frame on the first part."
                )


def _motion_of(rows: Array) -> tuple[Array, Array, Array, Array]:
    """Return orientation, origin, velocity and acceleration of rows of a path."""
    where = rows[:, POSE]
    rotation = Rotation.from_quat(where[:, 3:]).as_matrix()
    return rotation, where[:, :3], rows[:, TWIST], rows[:, ACCELERATION]


def carried(V: Array, A: Array, r: Array) -> tuple[Array, Array]:
    """Return velocity and acceleration (N, 6) of a point of a body, by its way r from another."""
    omega, alpha = V[:, _ANGULAR], A[:, _ANGULAR]
    swept = np.cross(omega, r)
    v = V[:, _LINEAR] + swept
    a = A[:, _LINEAR] + np.cross(alpha, r) + np.cross(omega, swept)
    return np.hstack([omega, v]), np.hstack([alpha, a])


def _turned(R: Array, vectors: Array) -> Array:
    return np.asarray(np.einsum("nij,nj->ni", R, vectors))


def _in_link(link: Transform, frame: Transform) -> Array:
    """Return the pose (4, 4) of a frame in a link; both are given in a body."""
    return np.asarray(np.linalg.inv(pose_of(link)) @ pose_of(frame))


def _reference_pose(matrix: Array) -> Array:
    return np.concatenate([matrix[:3, 3], _quaternion(matrix)])


def _quaternion(matrix: NDArray[np.floating]) -> Array:
    """Return the quaternion (4,) of a pose (4, 4)."""
    return np.asarray(Rotation.from_matrix(matrix[:3, :3]).as_quat())
