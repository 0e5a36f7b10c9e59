# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A plant whose contacts push only, rub, slip, open and bounce: time stepping with impulses."""

from robot_dynamics.simulation.contact.environment_joints import EnvironmentJoint
from robot_dynamics.simulation.contact.mujoco_plant import MujocoContactPlant
from robot_dynamics.simulation.contact.plant import ContactPlant
from robot_dynamics.simulation.contact.report import ContactReport, EnergyBooks, Touch
from robot_dynamics.simulation.contact.scene import (
    ArmContact,
    ContactScene,
    Material,
    SurfaceContact,
)
from robot_dynamics.simulation.contact.surfaces import (
    PointFunction,
    cylinder,
    hole,
    plane,
    sphere,
)

__all__ = [
    "ArmContact",
    "ContactPlant",
    "ContactReport",
    "ContactScene",
    "EnergyBooks",
    "EnvironmentJoint",
    "Material",
    "MujocoContactPlant",
    "PointFunction",
    "SurfaceContact",
    "Touch",
    "cylinder",
    "hole",
    "plane",
    "sphere",
]
