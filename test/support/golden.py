# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Golden case N10: Fig 8.3 of the book with invented masses, worked out with independent code.

Numbers are in the order of the joints q1 to q4, whatever order a model has; they are given to
eleven or twelve digits. Lambda and rows of K are those of the loop joint's last two directions, in
a frame on the piston whose x axis lies along the actuator.
"""

from __future__ import annotations

import numpy as np
from scipy.spatial.transform import Rotation

from robot_dynamics.model import (
    JointElement,
    LinkElement,
    LoopElement,
    Mechanism,
    Model,
    build,
    pose,
)

L1, L2 = 1.3, 0.7
JOINTS = ("q1", "q2", "q3", "q4")
GRAVITY = (0.0, -9.81, 0.0)

# The state: y = (q1, q4), and joint forces.
Y, YD = np.array([0.9, 0.4]), np.array([0.7, -0.3])
Q = np.array([0.9, 2.576548134234, 1.024045827953, 0.4])
QD = np.array([0.7, -0.050507363587, 0.487262608579, -0.3])
TAU = np.array([1.0, 0.0, 2.0, 0.5])

# The terms of the equation of motion.
K = np.array([[-0.696089440827, 0, 1, 0], [0.073888364232, 1.024045827953, 0, 0]])
SMALL_K = np.array([0.038817633008, 0.390304525473])
H = np.diag([4.090800512084, 0.57743091594, 0.6, 0.36])
H[0, 3] = H[3, 0] = 0.967900256042
C = np.array([17.818996960387, -6.606311134851, 3.150417525232, 1.700435997187])

# Its solution.
YDD = np.array([-8.343111427474, 19.096843582365])
QDD = np.array([-8.343111427474, 0.983123366139, -5.768734135301, 19.096843582365])
MULTIPLIERS = np.array([-2.310822955949, -5.896831122424])

# Inverse dynamics of that acceleration: of the tree, of the mechanism, of drives at q3 and q4.
TAU_ID = np.array([2.172832253467, -6.03862530906, -0.310822955949, 0.5])
EFFORT = np.array([2.392178881654, 0.5])
U = np.array([3.436596996518, 0.5])


def actuated_arm(closure: str = "revolute") -> Mechanism:
    """Return the mechanism: an arm q1 turned by an actuator q2, q3, and a second arm q4 on it.

    Args:
        closure: The type of the loop joint q5 between the arm and the actuator's piston.
    """

    def link(name, mass, center, moments):
        return LinkElement(name, mass, center, np.diag(moments))

    quarter = Rotation.from_euler("y", 90, degrees=True).as_matrix()
    links = (
        LinkElement("base"),
        link("crank", 2.0, (0.5, 0.0, 0.0), (0.01, 0.2, 0.2)),
        link("cylinder", 1.0, (0.3, 0.0, 0.0), (0.01, 0.05, 0.05)),
        link("piston", 0.6, (0.0, 0.0, -0.2), (0.03, 0.03, 0.005)),
        link("boom", 1.5, (0.4, 0.0, 0.0), (0.01, 0.12, 0.12)),
    )
    joints = (
        JointElement("q1", "revolute", "base", "crank"),
        JointElement("q2", "revolute", "base", "cylinder", pose((L1, 0.0, 0.0))),
        JointElement("q3", "prismatic", "cylinder", "piston", pose(rotation=quarter)),
        JointElement("q4", "revolute", "crank", "boom", pose((1.1, 0.0, 0.0))),
    )
    loop = LoopElement(
        "q5", closure, "crank", "piston", pose((L2, 0.0, 0.0)), pose(rotation=quarter.T)
    )
    return Mechanism("actuated_arm", links, joints, (loop,))


def actuated_arm_model(closure: str = "revolute") -> Model:
    """Return the model of the mechanism, with gravity along -y."""
    return build(actuated_arm(closure), gravity=GRAVITY)


def order(model: Model) -> list[int]:
    """Return the indices of q1 to q4 in a model: `ours[order(model)]` is in their order."""
    return [model.joint_index(name) for name in JOINTS]


def ordered(model: Model, values) -> np.ndarray:
    """Return values of the joints q1 to q4 in the order of a model."""
    result = np.empty(4)
    result[order(model)] = values
    return result
