# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Small mechanisms that several tests use."""

import numpy as np

from robot_dynamics.model import JointElement, Limits, LinkElement, LoopElement, Mechanism, pose


def link(name, mass=1.0):
    """Return a link with some inertia, its centre away from its origin."""
    inertia = mass * np.diag([0.02, 0.03, 0.04])
    return LinkElement(name, mass, (0.1, -0.05, 0.2), inertia)


def arm():
    """Return an arm of three movable joints, a merged tool, and a branch with a floating body."""
    return Mechanism(
        "arm",
        (
            LinkElement("base"),
            link("upper", 3.0),
            link("lower", 2.0),
            LinkElement("tool", 0.5),
            link("slider", 1.0),
            link("free", 4.0),
        ),
        (
            JointElement(
                "shoulder", "revolute", "base", "upper", pose((0, 0, 0.3)), (0.0, 1.0, 0.0),
                Limits(-1.0, 2.0, 3.0, 4.0), 0.5, 0.25,
            ),
            JointElement("drop", "floating", "base", "free", pose((1, 0, 0))),
            JointElement(
                "elbow", "continuous", "upper", "lower", pose((0.4, 0, 0)), (0.6, 0.0, 0.8)
            ),
            JointElement("flange", "fixed", "lower", "tool", pose((0.3, 0, 0.1))),
            JointElement(
                "rail", "prismatic", "tool", "slider", pose((0, 0.2, 0)), (1.0, 0.0, 0.0)
            ),
        ),
    )  # fmt: skip


def grasp(name="grasp"):
    """Return a loop that welds the free body to the tool."""
    return LoopElement(name, "fixed", "tool", "free", pose((0, 0, 0.1)), pose((0.2, 0, 0)))


def body_poses(model, q):
    """Return the pose (4, 4) of each body's frame in the world, by multiplying matrices."""
    from robot_dynamics.model import pose_of

    poses = []
    for body, at in zip(model.bodies, model.q_slices, strict=True):
        parent = np.eye(4) if body.parent < 0 else poses[body.parent]
        moved = pose_of(body.joint.type.transform(list(q[at])))
        poses.append(parent @ pose_of(body.placement) @ moved)
    return poses


def link_pose(model, name, q):
    """Return the pose (4, 4) of a link in the world."""
    from robot_dynamics.model import pose_of

    at = model.link(name)
    body = np.eye(4) if at.body < 0 else body_poses(model, q)[at.body]
    return body @ pose_of(at.placement)
