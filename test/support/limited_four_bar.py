# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A four-bar whose pin has position limits, with any spanning tree."""

from __future__ import annotations

import numpy as np

from robot_dynamics.model import JointElement, Limits, LinkElement, Mechanism, pose
from robot_dynamics.robot import Robot

Y = (0.0, 1.0, 0.0)
LOW, HIGH = -0.96, -0.56  # of the pin [rad]


def four_bar(*tree):
    """Return a four-bar in a vertical plane whose pin between coupler and rocker has limits.

    Args:
        tree: Names of the joints in the spanning tree.
    """
    I = np.diag([0.01, 0.02, 0.02])
    links = (
        LinkElement("ground"),
        LinkElement("crank", 0.4, (0.1, 0, 0), I),
        LinkElement("coupler", 1.0, (0.25, 0, 0), I),
        LinkElement("rocker", 0.8, (0.2, 0, 0), I),
        LinkElement("tip"),
    )
    joints = (
        JointElement("j1", "revolute", "ground", "crank", axis=Y),
        JointElement("j2", "revolute", "crank", "coupler", pose((0.2, 0, 0)), Y),
        JointElement("j3", "revolute", "ground", "rocker", pose((0.4, 0, 0)), Y),
        JointElement("weld", "fixed", "rocker", "tip", pose((0.4, 0, 0))),
        JointElement(
            "pin", "revolute", "coupler", "tip", pose((0.5, 0, 0)), Y, limits=Limits(LOW, HIGH)
        ),
    )
    return Robot.from_mechanism(Mechanism("four_bar", links, joints), spanning_tree=tree)


TREES = (("j1", "j2", "j3"), ("j1", "j2", "pin"), ("j1", "j3", "pin"), ("j2", "j3", "pin"))


def angles(robot, q):
    """Return the angles of crank, coupler and rocker from the ground, and of the pin."""
    R = [robot.pose(link, q)[:3, :3] for link in ("crank", "coupler", "rocker")]
    R.append(R[1].T @ R[2])
    return np.array([np.arctan2(r[0, 2], r[0, 0]) for r in R])


def positions(robot, at):
    """Return the positions of a four-bar at the angles of `angles`."""
    crank, coupler, rocker, pin = at
    values = {"j1": crank, "j2": coupler - crank, "j3": rocker, "pin": pin}
    return np.array([values[name] for name in robot.model.joint_names])
