# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Grasp map: the wrench on the object and the internal force from the grasp wrenches.

Wrenches are *by the arm on the object*, angular first. Grasp wrenches are in the grasp frames on
the object. These are fixed to the object, so that all maps are constant.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from robot_dynamics.arrays import Array
from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.model.elements import pose

#: Names of the components of the wrench between two grasps, in the frame in their middle.
TRANSMITTED = ("twist", "bending y", "bending z", "squeeze", "shear y", "shear z")


def is_moment(name: str) -> bool:
    """Return whether the internal force with this name is a moment."""
    return name.startswith(("twist", "bending", "moment"))


def internal_force_unit(names: Sequence[str]) -> str:
    """Return the names of internal forces in their order, each with its unit.

    Numbered internal forces are coordinates of a basis that mixes forces and moments.
    """
    units = [
        "N, N m" if name.startswith("internal force") else "N m" if is_moment(name) else "N"
        for name in names
    ]
    return ", ".join(f"{name} [{unit}]" for name, unit in zip(names, units, strict=True))


@dataclass(frozen=True)
class GraspMap:
    """The maps between the wrenches of k grasps, the object's wrench and the internal force.

    Attributes:
        total: W (6, 6k): wrench on the object in its body frame from the stacked grasp wrenches.
        distribution: W^# (6k, 6): grasp wrenches for a wrench on the object, W W^# = 1.
        internal: A (6k, 6(k-1)): grasp wrenches of an internal force, W A = 0.
        recovery: (6(k-1), 6k): the internal force of given grasp wrenches; recovery A = 1 and
            recovery W^# = 0.
        frame: Pose (4, 4) in the object's body frame of the frame of the internal force.
    """

    total: Array
    distribution: Array
    internal: Array
    recovery: Array
    frame: Array

    def internal_force(self, wrenches: Array) -> Array:
        """Return the internal force (..., 6(k-1)) of stacked grasp wrenches (..., 6k)."""
        return wrenches @ self.recovery.T


def transmitted_force_map(grasps: Sequence[Array], shares: Sequence[float]) -> GraspMap:
    """Return the maps for which the internal force is the wrench transmitted through the object.

    Each grasp wrench is moved to a frame in the middle of the grasps. Less the arm's share of the
    load it is `F_i - a_i sum(F)`. For two arms this is one wrench, `(1 - a_1) F_1 - a_1 F_2`,
    whose component x is the squeeze, positive inwards.

    Args:
        grasps: Pose (4, 4) of each grasp frame in the object's body frame.
        shares: Load shares a_i, which add up to 1.

    Raises:
        RobotDynamicsError: If the shares do not add up to 1.
    """
    k = len(grasps)
    if len(shares) != k or abs(sum(shares) - 1.0) > 1e-9:
        raise RobotDynamicsError(
            f"the {len(shares)} load shares {list(shares)} add up to {sum(shares):.10g}; expected "
            f"{k}, one for each arm, with sum 1."
        )
    frame = middle_frame(grasps)
    to_middle = [force_transform(np.linalg.inv(frame) @ grasp) for grasp in grasps]
    from_middle = [np.linalg.inv(X) for X in to_middle]
    to_body = force_transform(frame)
    from_body = np.linalg.inv(to_body)

    total = np.hstack([to_body @ X for X in to_middle])
    distribution = np.vstack(
        [share * X @ from_body for share, X in zip(shares, from_middle, strict=True)]
    )
    internal = np.zeros((6 * k, 6 * (k - 1)))
    recovery = np.zeros((6 * (k - 1), 6 * k))
    for i in range(k - 1):
        at = slice(6 * i, 6 * i + 6)
        internal[at, at] = from_middle[i]
        internal[-6:, at] = -from_middle[-1]  # the last arm balances the others
        for j in range(k):
            factor = float(i == j) - shares[i]
            recovery[at, 6 * j : 6 * j + 6] = factor * to_middle[j]
    return GraspMap(total, distribution, internal, recovery, frame)


def middle_frame(grasps: Sequence[Array]) -> Array:
    """Return the pose (4, 4) of the internal force's frame in the object.

    Its origin is the mean of the grasp points. Its x axis points from the first grasp to the
    last; z is the object's axis that is most nearly normal to it, made normal. A single grasp, or
    grasps at one point, keep the object's axes.
    """
    points = np.array([np.asarray(grasp)[:3, 3] for grasp in grasps])
    x = points[-1] - points[0]
    length = float(np.linalg.norm(x))
    if length < 1e-9:
        return pose(points.mean(axis=0))
    x = x / length
    axis = np.zeros(3)
    # Ties go to z, then y, so that rounding of the grasps cannot turn the frame.
    axis[2 - int(np.argmin(np.round(np.abs(x[::-1]), 6)))] = 1.0
    z = axis - x * (x @ axis)
    z /= np.linalg.norm(z)
    return pose(points.mean(axis=0), np.column_stack([x, np.cross(z, x), z]))


def mean_grasp_distance(grasps: Sequence[Array]) -> float:
    """Return the mean distance of the grasp points from their mean point [m]."""
    points = np.array([np.asarray(grasp)[:3, 3] for grasp in grasps])
    return float(np.mean(np.linalg.norm(points - points.mean(axis=0), axis=1)))


def force_transform(frame: Array) -> Array:
    """Return the matrix (6, 6) that transforms wrenches from a frame with a pose to its base."""
    R, p = frame[:3, :3], frame[:3, 3]
    skew = np.array([[0.0, -p[2], p[1]], [p[2], 0.0, -p[0]], [-p[1], p[0], 0.0]])
    return np.block([[R, skew @ R], [np.zeros((3, 3)), R]])
