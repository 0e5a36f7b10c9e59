# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Mechanisms on which the methods of solving closed loops are compared, and states of theirs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from robot_dynamics.dynamics.assembly import generic
from robot_dynamics.model import LoopElement, Mechanism
from robot_dynamics.robot import Robot
from support import linkages
from support.mechanisms import random_pose, random_tree

# What closes a loop, with its parameters; every type, a contact in both polarities.
LOOP_TYPES = {
    "fixed": {},
    "revolute": {},
    "prismatic": {},
    "helical": {"pitch": 0.15},
    "cylindrical": {},
    "planar": {},
    "spherical": {},
    "yaw_pitch_roll": {},
    "universal": {},
    "rack_and_pinion": {"radius": 0.2},
    "soft_finger": {},
    "line": {},
    "point_on_plane": {},
    "edge_on_plane": {},
    "point_on_line": {},
    "reversed universal": {},
    "reversed rack_and_pinion": {"radius": 0.2},
    "reversed point_on_line": {},
}


def twice(mechanism: Mechanism) -> Mechanism:
    """Return a mechanism with its first loop joint there a second time, called `again`."""
    again = replace(mechanism.loops[0], name="again")
    return replace(mechanism, loops=(*mechanism.loops, again))


def skewed(mechanism: Mechanism) -> Mechanism:
    """Return a mechanism whose links have frames in no special attitude."""
    return linkages.with_turned_links(mechanism, np.random.default_rng(5))


LINKAGES = {
    "four-bar, revolute": linkages.four_bar(),
    "four-bar, skewed": skewed(linkages.four_bar()),
    "four-bar, sphere in cylinder": linkages.four_bar("sphere_in_cylinder"),
    "slider-crank": linkages.slider_crank(),
    "Fig 8.2": linkages.folding_arms(),
    "Fig 8.3": linkages.excavator(),
    "Stewart": linkages.stewart_platform(),
    "Stewart, a ball twice": twice(linkages.stewart_platform()),
    "Bricard": linkages.bricard(),
    "delta": linkages.delta_robot(),
    "walking leg": linkages.walking_leg(),
    "walking leg, a weld twice": twice(linkages.walking_leg()),
}


def closed_at(mechanism: Mechanism, q, ends, kind: str = "fixed") -> Mechanism:
    """Return a mechanism with loop joints of a type that are closed at positions `q`.

    Args:
        mechanism: The tree.
        q: Positions (nq,) of its joints.
        ends: For each loop joint its name, its predecessor, its successor, and where it is on the
            predecessor (4, 4).
        kind: The type of the loop joints.
    """
    robot = Robot.from_mechanism(mechanism)
    loops = []
    for name, predecessor, successor, at in ends:
        to = np.linalg.inv(robot.pose(successor, q)) @ robot.pose(predecessor, q) @ at
        loops.append(
            LoopElement(name, kind, predecessor, successor, at, to, LOOP_TYPES.get(kind, {}))
        )
    return replace(mechanism, loops=(*mechanism.loops, *loops))


def random_loops(kind: str, rng) -> tuple[Mechanism, np.ndarray]:
    """Return a random chain with a loop joint of a type, within it a point on a line, and
    positions that close both.
    """
    tree = random_tree(rng, ["revolute", "prismatic", "revolute"] * 3, chain=True)
    q = rng.uniform(-1.0, 1.0, 9)
    one = closed_at(tree, q, [("one", "base", "link8", random_pose(rng))], kind)
    return closed_at(one, q, [("two", "link2", "link6", random_pose(rng))], "point_on_line"), q


def closed_state(robot: Robot, rng, near=None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return positions and velocities with all loops closed, and joint forces, at random.

    Args:
        robot: The closed-loop system.
        rng: Random numbers.
        near: Positions (nq,) near which the state is wanted.
    """
    model = robot.model
    start = (generic(model) if near is None else near).tolist()
    guess = np.array(model.integrate(start, (0.1 * rng.normal(size=model.nv)).tolist()))
    found = robot.assemble(guess, velocities=rng.normal(size=model.nv), limits=False)
    return found.q, found.qd, 5.0 * rng.normal(size=model.nv)
