# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Six-dimensional vectors, transforms and inertias over any scalar type."""

from robot_dynamics.spatial.inertia import ArticulatedInertia, Inertia
from robot_dynamics.spatial.motion_force import Force, Motion
from robot_dynamics.spatial.rotation import Rotation, rotation_vector
from robot_dynamics.spatial.transform import Transform
from robot_dynamics.spatial.vector3 import Scalar, Symmetric3, Vector3

__all__ = [
    "ArticulatedInertia",
    "Force",
    "Inertia",
    "Motion",
    "Rotation",
    "Scalar",
    "Symmetric3",
    "Transform",
    "Vector3",
    "rotation_vector",
]
