# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Mechanisms as data: named elements, and the numbered model that algorithms read."""

from robot_dynamics.model.builder import build, pose_of, transform_of
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
from robot_dynamics.model.model import WORLD, Body, Joint, Link, LoopJoint, Model

__all__ = [
    "WORLD",
    "Body",
    "Coupling",
    "CouplingElement",
    "Joint",
    "JointElement",
    "Limits",
    "Link",
    "LinkElement",
    "LoopElement",
    "LoopJoint",
    "Mechanism",
    "Model",
    "SafetyController",
    "build",
    "joined",
    "pose",
    "pose_of",
    "transform_of",
]
