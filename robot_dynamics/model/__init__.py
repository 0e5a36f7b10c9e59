# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Mechanisms as data: named elements, and the numbered model that algorithms read."""

from robot_dynamics.model.builder import build, pose_of, transform_of
from robot_dynamics.model.connectivity import WORLD, LoopCluster, Tree
from robot_dynamics.model.couplings import Coupling, CouplingElement
from robot_dynamics.model.elements import (
    JointElement,
    Limits,
    LinkElement,
    LoopElement,
    Mechanism,
    SafetyController,
    joined,
    pose,
)
from robot_dynamics.model.joint_data import Joint, LoopJoint
from robot_dynamics.model.joints import JointType, joint_type, register
from robot_dynamics.model.model import Body, Link, Model

__all__ = [
    "WORLD",
    "Body",
    "Coupling",
    "CouplingElement",
    "Joint",
    "JointElement",
    "JointType",
    "Limits",
    "Link",
    "LinkElement",
    "LoopCluster",
    "LoopElement",
    "LoopJoint",
    "Mechanism",
    "Model",
    "SafetyController",
    "Tree",
    "build",
    "joined",
    "joint_type",
    "pose",
    "pose_of",
    "register",
    "transform_of",
]
