# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Coordinates s_j along surfaces as a user states them: places of points, and turns."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from robot_dynamics.manipulation.contact_settings import CoordinateSettings
from robot_dynamics.manipulation.hybrid.environment import ObjectPose, PoseFunction, Turned
from robot_dynamics.scalar.functions import atan2
from robot_dynamics.spatial import Scalar, Vector3

Array = NDArray[np.float64]


def coordinate_function(
    coordinate: CoordinateSettings, start: Array, center: Array
) -> PoseFunction:
    """Return a coordinate as a function of the object's pose.

    Args:
        coordinate: What it is.
        start: The object's orientation (3, 3) from which turns are counted.
        center: The object's centre of mass (3,), in the object [m].
    """
    if coordinate.along is not None:
        point = (np.asarray(coordinate.point) - center).tolist()
        along = Vector3.of(_unit(coordinate.along).tolist())
        return lambda at: along.dot(at.point(point))
    axis = _unit(coordinate.about or ())
    # A direction across the axis that the object has at the start tells how far it is turned.
    across = np.eye(3)[np.argmin(np.abs(axis))]
    x = _unit(across - axis * (axis @ across))
    first, second = Vector3.of(x.tolist()), Vector3.of(np.cross(axis, x).tolist())
    turned = (start.T @ x).tolist()

    def angle(at: ObjectPose) -> Scalar:
        now = at.direction(turned)
        return atan2(second.dot(now), first.dot(now))

    return Turned(angle)


def _unit(direction: object) -> Array:
    values = np.array(direction, dtype=float)
    return np.asarray(values / np.linalg.norm(values))
