# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Estimate of the object's pose and twist, from the arms or from a sensor; traceable.

Motions of the object that the contacts determine follow from the arms' positions alone, by least
squares over all contacts. Undetermined motions, such as the rotation about the line between two
soft fingers, are integrated from velocities by the trapezoidal rule, and drift slowly.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from robot_dynamics.arrays import Array
from robot_dynamics.manipulation.hybrid.contacts import wrench_map
from robot_dynamics.manipulation.hybrid.grasp_kinematics import (
    ContactPoint,
    contact_velocity,
    holonomic_rows,
)
from robot_dynamics.manipulation.hybrid.system import HybridSystem
from robot_dynamics.model.joints import turn
from robot_dynamics.scalar.linear_algebra import times
from robot_dynamics.spatial import Motion, Rotation, Scalar, Transform, Vector3

# Newton steps: the first leaves the square of the motion in a control period, the second rounding.
_STEPS = 2
_INDEPENDENT = 1e-6


@dataclass(frozen=True)
class ObserverMaps:
    """Constant maps from motions of tools at the contacts to motions of the object, in its axes.

    They are arrays, or matrices of scalars when a program is traced.

    Attributes:
        velocity: From velocities in the blocked directions to the twist (6, d).
        position: From residuals to the smallest motion that corrects them (6, d); zero for
            velocity-only directions.
        undetermined: Projector (6, 6) on the motions that leave the residuals unchanged.
    """

    velocity: Any
    position: Any
    undetermined: Any

    @classmethod
    def of(cls, system: HybridSystem) -> ObserverMaps:
        """Return the maps of a system; rotations are weighted by the distance of the contacts."""
        W = wrench_map(system.contacts, np.asarray(system.held.center, dtype=float)).T
        if all(contact.directions.shape[1] == 6 for contact in system.contacts):
            # Each rigid grasp alone determines the pose: the mean of all.
            each = [np.linalg.inv(rows) for rows in np.split(W, len(system.contacts))]
            mean = np.hstack(each) / len(each)
            return cls(mean, mean, np.zeros((6, 6)))
        length = system.length
        weights = np.concatenate(
            [_weights(contact.directions, length) for contact in system.contacts]
        )
        scale = np.array([length] * 3 + [1.0] * 3)
        scaled = weights[:, None] * W / scale
        of_position = np.concatenate([holonomic_rows(contact) for contact in system.contacts])
        held = np.where(of_position[:, None], scaled, 0.0)
        inverse = np.linalg.pinv(held, rcond=_INDEPENDENT)
        left = np.eye(6) - inverse @ held
        left[np.abs(left) < 1e-12] = 0.0
        return cls(
            np.linalg.pinv(scaled, rcond=_INDEPENDENT) * weights / scale[:, None],
            inverse * weights / scale[:, None],
            left * scale / scale[:, None],
        )

    @property
    def determined(self) -> bool:
        """Whether the arms' positions determine the object's pose."""
        return not np.any(self.undetermined)


def _weights(directions: Array, length: float) -> Array:
    """Return the weight of each residual: the length for rotations, 1 for displacements."""
    turns = np.linalg.norm(directions[3:], axis=0) == 0.0
    return np.where(turns, length, 1.0)


@dataclass(frozen=True)
class ObjectEstimate:
    """Pose and twist of the object.

    Attributes:
        pose: Rotation from world to object axes, and the centre of mass in the world.
        quaternion: Its orientation, x y z w.
        twist: Angular velocity, velocity of the centre of mass, in object axes.
        residual: Position errors of the tools at the contacts (d,).
    """

    pose: Transform
    quaternion: list[Scalar]
    twist: Motion
    residual: list[Scalar]


def pose_transform(x: Sequence[Scalar], quaternion: Sequence[Scalar]) -> Transform:
    """Return the pose with a centre of mass (3,) and a quaternion x y z w."""
    return Transform(Rotation.from_quaternion(*quaternion), Vector3.of(x))


def estimate_from_arms(
    points: Sequence[ContactPoint],
    X0: Sequence[Transform],
    v: Sequence[Motion],
    last_pose: Sequence[Scalar],
    last_twist: Sequence[Scalar],
    period: Scalar,
    maps: ObserverMaps,
) -> ObjectEstimate:
    """Return pose and twist by Newton's method on the contacts' position errors.

    Args:
        points: The contacts.
        X0: Transforms from world to body coordinates of the arms.
        v: Velocities of the arms' bodies.
        last_pose: Centre of mass and quaternion a period ago (7,), moved on by `last_twist` for
            the initial guess.
        last_twist: The twist a period ago, in object axes (6,).
        period: Control period [s].
        maps: Matrices of scalars; `undetermined` can be None if it is zero.
    """
    x, quaternion = _moved(last_pose[:3], last_pose[3:], [period * value for value in last_twist])
    if maps.undetermined is not None:
        pose = pose_transform(x, quaternion)
        twist = times(maps.velocity, contact_velocity(points, pose, X0, v))
        change = [0.5 * period * (a - b) for a, b in zip(twist, last_twist, strict=True)]
        x, quaternion = _moved(x, quaternion, times(maps.undetermined, change))
    for _ in range(_STEPS):
        residual = _residual(points, pose_transform(x, quaternion), X0)
        x, quaternion = _moved(x, quaternion, times(maps.position, residual))
    pose = pose_transform(x, quaternion)
    twist = times(maps.velocity, contact_velocity(points, pose, X0, v))
    return ObjectEstimate(pose, quaternion, Motion.of(twist), _residual(points, pose, X0))


def estimate_from_sensor(
    measured: Sequence[Scalar],
    center: Vector3,
    points: Sequence[ContactPoint],
    X0: Sequence[Transform],
) -> ObjectEstimate:
    """Return the estimate from a measured pose and twist.

    Args:
        measured: x y z qx qy qz qw, angular velocity, velocity of the object's origin, in world
            axes (13,).
        center: The centre of mass relative to the origin, in object axes.
        points: The contacts.
        X0: Transforms from world to body coordinates of the arms.
    """
    quaternion = list(measured[3:7])
    E = Rotation.from_quaternion(*quaternion)
    omega = E * Vector3.of(measured[7:10])
    velocity = E * Vector3.of(measured[10:13]) + omega.cross(center)
    pose = Transform(E, Vector3.of(measured[:3]) + E.inverse_times(center))
    twist = Motion(omega, velocity)
    return ObjectEstimate(pose, quaternion, twist, _residual(points, pose, X0))


def _residual(
    points: Sequence[ContactPoint], pose: Transform, X0: Sequence[Transform]
) -> list[Scalar]:
    return [value for point in points for value in point.residual(pose, X0)]


def _moved(
    x: Sequence[Scalar], quaternion: Sequence[Scalar], step: Sequence[Scalar]
) -> tuple[list[Scalar], list[Scalar]]:
    """Return centre of mass and quaternion after a small motion (6,) in the object's axes."""
    E = Rotation.from_quaternion(*quaternion)
    shift = E.inverse_times(Vector3.of(step[3:]))
    return list(Vector3.of(x) + shift), turn(quaternion, step[:3])
