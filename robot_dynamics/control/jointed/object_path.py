# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What a jointed object is to do: its first part moves, and the second moves relative to it.

Both are paths of stretches along a line and about a fixed axis (`reference.py`), so that velocity
and acceleration are exact and in closed form; here they are put together.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.spatial.transform import Rotation

from robot_dynamics.control.reference import ACCELERATION, POSE, TWIST, Reference, plan_reference
from robot_dynamics.control.rotation_path import product
from robot_dynamics.control.settings import ReferenceSettings
from robot_dynamics.errors import ArgumentError
from robot_dynamics.manipulation.jointed_object import JointedObjectSystem, JointSpaceTerms
from robot_dynamics.model import pose
from robot_dynamics.spatial import Rotation as Turn
from robot_dynamics.spatial import Transform, Vector3

Array = NDArray[np.float64]

_ANGULAR, _LINEAR = slice(0, 3), slice(3, 6)
# How far a path may leave what the joint allows [rad, m]: rounding of a start that was solved for.
_CLOSED = 1e-6


@dataclass(frozen=True)
class PartsMotion:
    """Motion of both parts' centres of mass, in world axes; angular first.

    Attributes:
        rotation: Orientations of the parts' links (..., 2, 3, 3).
        position: Of their centres of mass (..., 2, 3) [m].
        velocity: (..., 2, 6).
        acceleration: (..., 2, 6), classical.
        origin: Of their links (..., 2, 3) [m].
    """

    rotation: Array
    position: Array
    velocity: Array
    acceleration: Array
    origin: Array

    def __getitem__(self, tick: int) -> PartsMotion:
        """Return the motion at one of the times."""
        return PartsMotion(
            self.rotation[tick],
            self.position[tick],
            self.velocity[tick],
            self.acceleration[tick],
            self.origin[tick],
        )

    def error(self, poses: Array, centers: Array) -> Array:
        """Return what parts lack to be here (2, 6): rotation vectors of R_d R^T, then distances.

        Args:
            poses: Of the parts' links (2, 4, 4).
            centers: Of their centres of mass in the world (2, 3).
        """
        turned = self.rotation @ poses[:, :3, :3].transpose(0, 2, 1)
        return np.hstack([_rotation_vectors(turned), self.position - centers])


class PartPoses:
    """Where the parts' links are, told from the arms' tools.

    Attributes:
        centers: Centres of mass in the links (2, 3) [m].
    """

    def __init__(self, system: JointedObjectSystem) -> None:
        self._in_tool = np.array(
            [
                np.linalg.inv(_matrix(part.tool_placement)) @ _matrix(part.placement)
                for part in system.parts
            ]
        )
        self.centers = np.array(
            [[*(part.inertia.h * (1.0 / part.inertia.mass))] for part in system.parts],
            dtype=float,
        )

    def poses(self, terms: JointSpaceTerms) -> Array:
        """Return the poses of the parts' links in the world (2, 4, 4)."""
        return np.asarray(terms.tool_pose @ self._in_tool)


class ObjectPath:
    """The path of an object.

    Args:
        system: Arms and object.
        terms: At the start.
        first: What the first part does, in world axes.
        second: What the second part's joint frame does relative to the first part's, in the axes
            of the latter: it folds by rotations about them.

    Raises:
        ArgumentError: If the object's joint does not allow what the second part is to do.

    Attributes:
        duration: When everything has come to rest [s].
    """

    def __init__(
        self,
        system: JointedObjectSystem,
        terms: JointSpaceTerms,
        first: ReferenceSettings,
        second: ReferenceSettings,
    ) -> None:
        parts = PartPoses(system)
        self._centers = parts.centers
        poses = parts.poses(terms)
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
        """What the first part's link does, and the second part's joint frame relative to it."""
        return self._first, self._second

    def second_rows(self, first: Array, times: ArrayLike) -> Array:
        """Return what the second part's link does, as rows of a `Reference`.

        Args:
            first: Rows of the first part's link (N, 19 or more).
            times: Of the fold (N,) [s].
        """
        fold = self._second.rows(times)
        _, origin, velocity, acceleration = self._links(first, fold)[1]
        # The quaternion is continuous, as those are that it is a product of.
        turned, relative = (rows[:, POSE][:, 3:] for rows in (first, fold))
        for after in (_quaternion(self._joint), relative, _quaternion(self._link)):
            turned = product(turned, after)
        return np.hstack([origin, turned, velocity, acceleration])

    def at(self, times: ArrayLike) -> PartsMotion:
        """Return the motion at times (N,) [s]."""
        t = np.atleast_1d(np.asarray(times, dtype=float))
        moved = []
        for (rotation, origin, velocity, acceleration), c in zip(
            self._links(self._first.rows(t), self._second.rows(t)), self._centers, strict=True
        ):
            arm = rotation @ c
            moved.append((rotation, origin + arm, *_carried(velocity, acceleration, arm), origin))
        return PartsMotion(*(np.stack(pair, axis=1) for pair in zip(*moved, strict=True)))

    def _links(self, first: Array, fold: Array) -> list[tuple[Array, Array, Array, Array]]:
        """Return orientation, origin, velocity and acceleration of both parts' links."""
        R, p, V, A = _motion_of(first)
        # The first part's joint frame moves with it.
        there = R @ self._joint[:3, :3]
        V_j, A_j = _carried(V, A, R @ self._joint[:3, 3])
        p_j = p + R @ self._joint[:3, 3]
        R_r, p_r, V_r, A_r = _motion_of(fold)
        way = _turned(there, p_r)
        spin, slide = _turned(there, V_r[:, _ANGULAR]), _turned(there, V_r[:, _LINEAR])
        R_2 = there @ R_r
        V_2, A_2 = _carried(V_j, A_j, way)
        omega = V[:, _ANGULAR]
        V_2[:, _ANGULAR] += spin
        V_2[:, _LINEAR] += slide
        A_2[:, _ANGULAR] += _turned(there, A_r[:, _ANGULAR]) + np.cross(omega, spin)
        A_2[:, _LINEAR] += _turned(there, A_r[:, _LINEAR]) + 2.0 * np.cross(omega, slide)
        # From the second part's joint frame to its link.
        r = R_2 @ self._link[:3, 3]
        V_2, A_2 = _carried(V_2, A_2, r)
        return [(R, p, V, A), (R_2 @ self._link[:3, :3], p_j + way + r, V_2, A_2)]

    def _check(self, system: JointedObjectSystem) -> None:
        """Refuse a path that the object's joint does not allow."""
        # A start that is open, as where calibration is wrong, stays as open as it is.
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


def _rotation_vectors(R: Array) -> Array:
    """Return the rotation vectors (n, 3) of rotation matrices (n, 3, 3), small ones fast."""
    sine_axis = 0.5 * np.stack(
        [R[:, 2, 1] - R[:, 1, 2], R[:, 0, 2] - R[:, 2, 0], R[:, 1, 0] - R[:, 0, 1]], axis=1
    )
    cosine = 0.5 * (R[:, 0, 0] + R[:, 1, 1] + R[:, 2, 2] - 1.0)
    if cosine.min() < 0.0:  # towards half a turn the sine does not tell the axis any more
        return np.asarray(Rotation.from_matrix(R).as_rotvec())
    sine = np.sqrt(np.sum(sine_axis * sine_axis, axis=1))
    ratio = np.where(sine > 1e-9, np.arctan2(sine, cosine) / np.maximum(sine, 1e-9), 1.0)
    return np.asarray(sine_axis * ratio[:, None])


def _motion_of(rows: Array) -> tuple[Array, Array, Array, Array]:
    """Return orientation, origin, velocity and acceleration of rows of a path."""
    where = rows[:, POSE]
    rotation = Rotation.from_quat(where[:, 3:]).as_matrix()
    return rotation, where[:, :3], rows[:, TWIST], rows[:, ACCELERATION]


def _carried(V: Array, A: Array, r: Array) -> tuple[Array, Array]:
    """Return velocity and acceleration (N, 6) of a point of a body, by its way r from another."""
    omega, alpha = V[:, _ANGULAR], A[:, _ANGULAR]
    swept = np.cross(omega, r)
    v = V[:, _LINEAR] + swept
    a = A[:, _LINEAR] + np.cross(alpha, r) + np.cross(omega, swept)
    return np.hstack([omega, v]), np.hstack([alpha, a])


def _turned(R: Array, vectors: Array) -> Array:
    return np.asarray(np.einsum("nij,nj->ni", R, vectors))


def _matrix(X: Transform) -> Array:
    """Return the pose (4, 4) of the frame that X leads to."""
    return pose([*X.r], np.array(X.E.rows, dtype=float).T)


def _in_link(link: Transform, frame: Transform) -> Array:
    """Return the pose (4, 4) in a link of a frame, both given in a body."""
    return np.asarray(np.linalg.inv(_matrix(link)) @ _matrix(frame))


def _reference_pose(matrix: Array) -> Array:
    return np.concatenate([matrix[:3, 3], _quaternion(matrix)])


def _quaternion(matrix: NDArray[np.floating]) -> Array:
    """Return the quaternion (4,) of a pose (4, 4)."""
    return np.asarray(Rotation.from_matrix(matrix[:3, :3]).as_quat())
