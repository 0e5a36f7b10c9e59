# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Wrenches that the contacts must exert on a reference, known before the first torque."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial.transform import Rotation

from robot_dynamics.arrays import Array
from robot_dynamics.control.reference import ACCELERATION, POSE, TWIST, row_columns
from robot_dynamics.manipulation.hybrid import HybridSystem, object_wrench
from robot_dynamics.manipulation.hybrid.touched_surfaces import Sliding, drag
from robot_dynamics.spatial import Vector3


class ObjectMotion(NamedTuple):
    """The object's centre of mass on a reference: place (N, 3), R (N, 3, 3), motion (N, 6)."""

    x: Array
    R: Array
    twist: Array
    acceleration: Array


def object_motion(rows: ArrayLike, center: ArrayLike) -> ObjectMotion:
    """Return the motion of a point of the object, in world axes.

    Args:
        rows: Rows of a plan: pose, twist and acceleration of the object's origin (N, 19 or more).
        center: The point, in the object (3,) [m].
    """
    rows = np.asarray(rows, dtype=float)
    R = Rotation.from_quat(rows[:, POSE][:, 3:]).as_matrix()
    c = R @ np.asarray(center, dtype=float)
    twist, rate = rows[:, TWIST], rows[:, ACCELERATION]
    omega, alpha = twist[:, :3], rate[:, :3]
    v = twist[:, 3:] + np.cross(omega, c)
    a = rate[:, 3:] + np.cross(alpha, c) + np.cross(omega, np.cross(omega, c))
    return ObjectMotion(rows[:, :3] + c, R, np.hstack([omega, v]), np.hstack([alpha, a]))


def planned_wrenches(system: HybridSystem, rows: ArrayLike) -> Array:
    """Return the wrenches (N, 6) of all contacts together on a reference, in the object's axes.

    They are about its centre of mass, and consist of its motion and weight, the forces on touched
    surfaces, and the friction there. Contact forces are W^# times these, plus A f_IS.

    Args:
        system: Arms, object, contacts and surfaces.
        rows: Rows of a plan (N, 19 + 2 C + m).
    """
    rows = np.asarray(rows, dtype=float)
    center = np.asarray(system.held.center, dtype=float)
    motion = object_motion(rows, center)
    C = len(system.environment.surfaces)
    at = row_columns(C, 0)
    pushed = np.zeros((len(rows), 6))
    for i in np.flatnonzero((rows[:, at["touch"]] > 0.0).any(axis=1)):
        forces = rows[i, at["contact"]] * (rows[i, at["touch"]] > 0.0)
        E_F = system.environment.terms(motion.x[i], motion.R[i], motion.twist[i]).E_F
        pushed[i] = E_F.T @ forces
        for one, force, gradient in zip(system.environment.sliding, forces, E_F, strict=True):
            if isinstance(one, Sliding):
                arm = Vector3.of(motion.R[i] @ (np.asarray(one.point) - center))
                pushed[i] += force * np.array(drag(one.friction, arm, gradient, motion.twist[i]))
    return object_wrench(
        system.held, system.arms.gravity, motion.R, motion.twist, motion.acceleration, pushed
    )
