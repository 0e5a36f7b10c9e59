# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Joint types with parameters, and helpers, for the tests of the joint library."""

import numpy as np
from scipy.spatial.transform import Rotation as ScipyRotation

from robot_dynamics.model.joints import (
    Cylindrical,
    EdgeOnPlane,
    Fixed,
    Floating,
    Helical,
    LineContact,
    Planar,
    PointOnLine,
    PointOnPlane,
    Prismatic,
    RackAndPinion,
    Revolute,
    SoftFinger,
    Spherical,
    Universal,
    YawPitchRoll,
)
from robot_dynamics.spatial import Motion, Rotation, Transform, Vector3

MOVABLE = [
    Revolute(),
    Prismatic(),
    Helical(0.3),
    Cylindrical(),
    Planar(),
    Spherical(),
    YawPitchRoll(),
    Universal(),
    RackAndPinion(0.4),
    Floating(),
]
LOOP_ONLY = [PointOnPlane(), EdgeOnPlane(), PointOnLine(), SoftFinger(), LineContact()]
EVERY = [*MOVABLE, Fixed(), *LOOP_ONLY]


def columns(vectors):
    """Return motions or forces as the columns of a matrix (6, n)."""
    return np.array([v.components() for v in vectors], dtype=float).reshape(-1, 6).T


def matrix_of(X):
    """Return a transform as its matrix (6, 6) on motion vectors."""
    return columns([X * Motion.of(unit) for unit in np.eye(6).tolist()])


def random_transform(rng, reach=1.0):
    """Return a transform of any orientation and some translation."""
    E = ScipyRotation.random(random_state=rng).as_matrix()
    return Transform(Rotation.of(E.tolist()), Vector3.of((reach * rng.normal(size=3)).tolist()))


def random_positions(rng, kind):
    """Return positions (nq,) away from any special value."""
    return kind.integrate(kind.neutral(), rng.uniform(-1.0, 1.0, kind.nv).tolist())


def displaced(twist):
    """Return the transform into a frame displaced by a rotation vector and a translation."""
    E = ScipyRotation.from_rotvec(twist[:3]).as_matrix().T
    return Transform(Rotation.of(E.tolist()), Vector3.of(np.asarray(twist[3:]).tolist()))


def moved(X, twist):
    """Return X after its successor frame has moved by a twist of its own axes, exactly."""
    return displaced(np.asarray(twist)).compose(X)
