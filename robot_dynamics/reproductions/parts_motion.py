# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Motion of the parts' centres of mass along a path, and errors of measured parts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial.transform import Rotation

from robot_dynamics.arrays import Array
from robot_dynamics.control.jointed.object_path import ObjectPath, carried
from robot_dynamics.manipulation.jointed_object import JointedObjectSystem
from robot_dynamics.model import pose_of
from robot_dynamics.reproductions.joint_space import JointSpaceTerms


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
        """Return the errors of parts (2, 6): rotation vectors of R_d R^T, then displacements.

        Args:
            poses: Poses of the parts' links (2, 4, 4).
            centers: Their centres of mass in the world (2, 3).
        """
        turned = self.rotation @ poses[:, :3, :3].transpose(0, 2, 1)
        return np.hstack([_rotation_vectors(turned), self.position - centers])


class PartPoses:
    """Poses of the parts' links, from the arms' tools.

    Attributes:
        centers: Centres of mass in the links (2, 3) [m].
    """

    def __init__(self, system: JointedObjectSystem) -> None:
        self._in_tool = np.array(
            [
                np.linalg.inv(pose_of(part.tool_placement)) @ pose_of(part.placement)
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


def parts_motion(path: ObjectPath, times: ArrayLike) -> PartsMotion:
    """Return the motion along a path at times (N,) [s]."""
    t = np.atleast_1d(np.asarray(times, dtype=float))
    first, second = path.references
    links = path.links(first.rows(t), second.rows(t))
    moved = []
    for (rotation, origin, velocity, acceleration), c in zip(
        links, PartPoses(path.system).centers, strict=True
    ):
        arm = rotation @ c
        moved.append((rotation, origin + arm, *carried(velocity, acceleration, arm), origin))
    return PartsMotion(*(np.stack(pair, axis=1) for pair in zip(*moved, strict=True)))


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
