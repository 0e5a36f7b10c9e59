# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Unseren's worked cases as systems, and the order of six-vectors that the report has."""

from __future__ import annotations

import numpy as np
from support.papers import CASES, frame, inertia, unseren_arms

from robot_dynamics.manipulation.jointed_object import JointSpaceModel, jointed_object_system
from robot_dynamics.model import JointElement, LinkElement, Mechanism, build, pose
from support.mechanisms import world_poses

NAMES = [name for name in CASES if name.startswith("U")]
# The report has forces before moments, linear before angular.
SWAP = [3, 4, 5, 0, 1, 2]


def system_of(case):
    """Return the system of a case; the halves' links are where the tools are."""
    data = case["input"]["system"]
    arms = unseren_arms(data)
    bodies = data["body"]
    links = [
        LinkElement(f"half{i}", b["mass"], tuple(b["r"]), inertia(b["inertia"]))
        for i, b in enumerate(bodies)
    ]
    tree = build(arms)
    ends = [world_poses(tree, np.array(case["input"]["q"]))[t] for t in ("atool", "btool")]
    # A weld keeps the relative orientation that the case has.
    relative = ends[0][:3, :3].T @ ends[1][:3, :3] if data["joint"] == "weld" else np.eye(3)
    first = pose(bodies[0]["rl"], relative)
    # The joint is where rl says in each half: the second half's link frame is moved there.
    to_joint = pose(bodies[1]["rl"])
    moved = LinkElement(
        "half1",
        links[1].mass,
        tuple(np.subtract(bodies[1]["r"], bodies[1]["rl"])),
        links[1].inertia,
    )
    kind = {"sph": "spherical", "weld": "fixed"}[data["joint"]]
    joint = JointElement("object_joint", kind, "half0", "half1", first)
    held = Mechanism("object", (links[0], moved), (joint,))
    grasps = (np.eye(4), np.linalg.inv(to_joint))
    return jointed_object_system(arms, held, ("atool", "btool"), grasps, gravity=data["g"])


def state_of(case):
    """Return positions, velocities and torques of a case."""
    return tuple(np.array(case["input"][name]) for name in ("q", "qd", "tau"))


def terms_of(case):
    """Return the joint-space terms of a case at its state."""
    q, qd, _ = state_of(case)
    return JointSpaceModel(system_of(case)).terms(q, qd)
