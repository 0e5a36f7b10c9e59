# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The joint library: one file per type, which is a tree joint, a loop joint, or both."""

from robot_dynamics.model.joints.base import (
    ConstraintRow,
    JointType,
    LoopOnly,
    combined,
    forces,
    motions,
)
from robot_dynamics.model.joints.cylindrical import Cylindrical
from robot_dynamics.model.joints.edge_on_plane import EdgeOnPlane
from robot_dynamics.model.joints.fixed import Fixed
from robot_dynamics.model.joints.floating import Floating
from robot_dynamics.model.joints.helical import Helical
from robot_dynamics.model.joints.line_contact import LineContact
from robot_dynamics.model.joints.planar import Planar
from robot_dynamics.model.joints.point_on_line import PointOnLine
from robot_dynamics.model.joints.point_on_plane import PointOnPlane
from robot_dynamics.model.joints.prismatic import Prismatic
from robot_dynamics.model.joints.quaternion import turn
from robot_dynamics.model.joints.rack_and_pinion import RackAndPinion
from robot_dynamics.model.joints.registry import (
    JOINT_TYPES,
    joint_type,
    loop_joint_names,
    register,
    tree_joint_names,
)
from robot_dynamics.model.joints.reversed import Reversed, reverse
from robot_dynamics.model.joints.revolute import Revolute
from robot_dynamics.model.joints.soft_finger import SoftFinger
from robot_dynamics.model.joints.spherical import Spherical
from robot_dynamics.model.joints.universal import Universal
from robot_dynamics.model.joints.verification import verify
from robot_dynamics.model.joints.yaw_pitch_roll import YawPitchRoll

__all__ = [
    "JOINT_TYPES",
    "ConstraintRow",
    "Cylindrical",
    "EdgeOnPlane",
    "Fixed",
    "Floating",
    "Helical",
    "JointType",
    "LineContact",
    "LoopOnly",
    "Planar",
    "PointOnLine",
    "PointOnPlane",
    "Prismatic",
    "RackAndPinion",
    "Reversed",
    "Revolute",
    "SoftFinger",
    "Spherical",
    "Universal",
    "YawPitchRoll",
    "combined",
    "forces",
    "joint_type",
    "loop_joint_names",
    "motions",
    "register",
    "reverse",
    "tree_joint_names",
    "turn",
    "verify",
]
