# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Mechanisms whose drives are too few, too many, or that may only push; motions of theirs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from robot_dynamics.model import (
    JointElement,
    Limits,
    LinkElement,
    LoopElement,
    Mechanism,
    build,
    pose,
)
from robot_dynamics.robot import Robot
from support.closed_loops import closed_state
from support.mechanisms import two_arms

GRAVITY_DOWN_Y = (0.0, -9.81, 0.0)
MASS, WIDTH, HEIGHT = 3.0, 0.4, 0.25


def motion(robot: Robot, rng, near=None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return positions, velocities and accelerations with all loops closed, at random.

    The accelerations are those of random joint forces, found by forward dynamics.
    """
    q, qd, tau = closed_state(robot, rng, near)
    return q, qd, robot.forward_dynamics(q, qd, tau)


def driven(mechanism: Mechanism, *joints: str, effort: float = np.inf) -> Mechanism:
    """Return a mechanism that has drives in these joints alone, and their effort limit."""
    return replace(
        mechanism,
        joints=tuple(
            replace(j, active=j.name in joints, limits=Limits(effort=effort))
            for j in mechanism.joints
        ),
        loops=tuple(
            replace(lo, active=lo.name in joints, limits=Limits(effort=effort))
            for lo in mechanism.loops
        ),
    )


def box_on_supports(supports: str = "point_on_plane", effort: float = np.inf) -> Robot:
    """Return a box in the x-y plane that is pushed and turned by drives, on two supports.

    The supports push it along y, at the ends of its lower side; gravity is along -y. Its frame is
    in its centre of mass, HEIGHT above the supports, which are WIDTH apart.
    """
    box = LinkElement("box", MASS, (0.0, 0.0, 0.0), 0.05 * np.eye(3))
    # z of the supports' frames is up, along y of the plane.
    up = np.column_stack([[1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]])
    joint = JointElement(
        "slide", "planar", "base", "box", active=True, limits=Limits(effort=effort)
    )
    loops = tuple(
        LoopElement(
            name,
            supports,
            "base",
            "box",
            pose((side * WIDTH / 2.0, -HEIGHT, 0.0), up),
            pose((side * WIDTH / 2.0, -HEIGHT, 0.0), up),
            unilateral=True,
        )
        for name, side in (("left", -1.0), ("right", 1.0))
    )
    mechanism = Mechanism("box_on_supports", (LinkElement("base"), box), (joint,), loops)
    return Robot(build(mechanism, gravity=GRAVITY_DOWN_Y))


def frictional_grasp() -> tuple[Robot, tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Return two arms that press soft fingers on two sides of a box, and a state of rest.

    The fingers' z axes point into the box: the force of the arms along them is a push.
    """
    cell = two_arms()
    free = replace(cell.mechanism, loops=())
    loops = []
    for i, side in enumerate((1.0, -1.0)):
        inwards, up = np.array([0.0, -side, 0.0]), np.array([0.0, 0.0, 1.0])
        turn = np.column_stack([np.cross(up, inwards), up, inwards])
        loops.append((f"grasp{i}", f"arm{i}_tool", "box", pose((0.0, 0.15 * side, 0.0), turn)))
    tree = Robot(build(free))
    elements = [
        LoopElement(
            name,
            "soft_finger",
            tool,
            box,
            np.linalg.inv(tree.pose(tool, cell.start)) @ tree.pose(box, cell.start) @ at,
            at,
            unilateral=True,
        )
        for name, tool, box, at in loops
    ]
    rest = np.zeros(tree.model.nv)
    return Robot(build(free.with_loops(elements))), (cell.start, rest, rest)
