# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Two arms of seven joints that hold a box, for tests that need a whole grasp system."""

from __future__ import annotations

import numpy as np

from robot_dynamics.manipulation.grasping import ArmGrasp, grasp_system
from robot_dynamics.manipulation.system import GraspSystem
from robot_dynamics.model import JointElement, Limits, LinkElement, Mechanism, joined, pose

AXES = "zyzyzyz"
OFFSETS = (0.1, 0.2, 0.0, 0.42, 0.0, 0.4, 0.0)  # along z, from each joint to the one before [m]
MASSES = (4.0, 3.0, 3.0, 2.0, 2.0, 1.0, 0.5)
EFFORT = (120.0, 120.0, 90.0, 90.0, 40.0, 40.0, 25.0)
TOOL = 0.1
BASE = 0.25  # distance of each base from the plane between the arms [m]
HALF_WIDTH = 0.2  # of the box [m]
BOX = np.array([0.5, 0.0, 0.5, 0.0, 0.0, 0.0, 1.0])  # its pose at the start
POSTURE = np.array([0.15, 0.37, -0.07, 1.7, -1.5, 1.64, -1.07])
MIRROR = np.array([-1.0, 1.0, -1.0, 1.0, -1.0, 1.0, -1.0])  # turns about z change their sign


def arm_mechanism(name: str, velocity: float = 3.0) -> Mechanism:
    """Return an arm that is straight along the z axis of its base at zero."""
    links, joints, parent = [LinkElement(f"{name}_base")], [], f"{name}_base"
    for i, axis in enumerate(AXES):
        link, mass = f"{name}_link{i + 1}", MASSES[i]
        reach = OFFSETS[i + 1] if i < 6 else TOOL
        across, along = mass * (max(reach, 0.1) ** 2 / 12.0 + 6e-4), mass * 1.2e-3
        inertia = np.diag([across, across, along])
        links.append(LinkElement(link, mass, (0.0, 0.0, reach / 2.0), inertia))
        joints.append(
            JointElement(
                f"{name}_joint{i + 1}",
                "revolute",
                parent,
                link,
                pose((0.0, 0.0, OFFSETS[i])),
                (0.0, 0.0, 1.0) if axis == "z" else (0.0, 1.0, 0.0),
                Limits(-2.9, 2.9, velocity, EFFORT[i]),
            )
        )
        parent = link
    tool = f"{name}_tool"
    joints.append(JointElement(f"{name}_flange", "fixed", parent, tool, pose((0.0, 0.0, TOOL))))
    return Mechanism(name, (*links, LinkElement(tool)), tuple(joints))


def two_arms(mass: float = 8.0, velocity: float = 3.0) -> GraspSystem:
    """Return arms "left" and "right" that hold a box of some mass [kg] by its sides."""
    box = Mechanism("box", (LinkElement("box", mass, (0.0, 0.0, 0.0), mass * np.eye(3) / 40.0),))
    parts = [(box, np.eye(4), "floating")]
    grasps = []
    for name, side in (("left", 1.0), ("right", -1.0)):
        parts.append((arm_mechanism(name, velocity), pose((0.0, side * BASE, 0.0)), "fixed"))
        # The tool's z axis points at the box, its x axis up.
        z = np.array([0.0, -side, 0.0])
        x = np.array([0.0, 0.0, 1.0])
        at = pose((0.0, side * HALF_WIDTH, 0.0), np.column_stack([x, np.cross(z, x), z]))
        posture = POSTURE if side > 0 else POSTURE * MIRROR
        grasps.append(ArmGrasp(name, f"{name}_tool", at, posture.tolist(), 0.5))
    return grasp_system(joined("cell", parts), "box", grasps)
