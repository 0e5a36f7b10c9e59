# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Frames of loop joints against poses of links, and the columns of J_L."""

from __future__ import annotations

import numpy as np
import pytest
from dynamics.joint_mechanisms import random_pose, random_state, random_tree, world_poses
from numpy.testing import assert_allclose

from robot_dynamics.dynamics.kinematics import body_velocities, joint_transforms
from robot_dynamics.dynamics.loop_frames import loop_frames, loop_root
from robot_dynamics.model import (
    WORLD,
    JointElement,
    LinkElement,
    LoopElement,
    Mechanism,
    build,
    pose_of,
)
from robot_dynamics.model.parameters import parameters_of
from robot_dynamics.spatial import Motion

TYPES = ["universal", "planar", "rack_and_pinion", "spherical", "helical"]


@pytest.mark.parametrize(
    ("predecessor", "successor", "root"),
    [(WORLD, 3, WORLD), (3, WORLD, WORLD), (1, 3, 1), (2, 4, 1), (4, 5, WORLD)],
)
def test_the_loop_root_is_the_last_common_ancestor(predecessor, successor, root):
    """The root is the last common ancestor, which may be one of the ends itself."""
    parents = {"a": "base", "b": "a", "c": "b", "d": "c", "e": "b", "f": "base"}
    joints = [
        JointElement(f"to_{child}", "revolute", parent, child) for child, parent in parents.items()
    ]
    links = [LinkElement("base"), *(LinkElement(name, 1.0) for name in parents)]
    model = build(Mechanism("m", tuple(links), tuple(joints)))
    assert [body.name for body in model.bodies] == list("abcdef")
    assert loop_root(model, predecessor, successor) == root


@pytest.mark.parametrize("ends", [("link3", "link4"), ("base", "link4"), ("link2", "base")])
def test_the_placement_is_that_of_the_links(ends):
    """sXp follows from the poses of both links, and J_L qd from their velocities."""
    rng = np.random.default_rng(1)
    at, to = random_pose(rng), random_pose(rng)
    tree = random_tree(rng, TYPES)
    model = build(tree.with_loops([LoopElement("loop", "fixed", *ends, at, to)]))
    q, qd, _ = random_state(rng, model)
    Xup = joint_transforms(model, q)
    (frame,) = loop_frames(model, Xup, parameters_of(model), q)
    poses = world_poses(model, q)
    relative = np.linalg.inv(poses[ends[0]] @ at) @ poses[ends[1]] @ to
    # Rounding of a few products of poses.
    assert_allclose(pose_of(frame.placement), relative, atol=1e-13)
    v_p, v_s = frame.ends(body_velocities(model, Xup, qd, q), Motion.zero())
    of_columns = sum(np.array(c.components()) * qd[i] for i, c in frame.columns.items())
    assert_allclose(of_columns, (v_s - v_p).components(), atol=1e-12)
