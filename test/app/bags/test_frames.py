# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The frames of a bag are where the robot and the object are."""

import numpy as np
import pytest

pytest.importorskip("rosbags", reason="rosbags is not installed")

from robot_dynamics.app.bags.messages import Messages
from robot_dynamics.app.bags.writer import Frames, _motion, robots_of
from robot_dynamics.app.scenario import build_system
from robot_dynamics.description.orientations import rotation_of_quaternion
from robot_dynamics.model import JointElement


def matrix_of(transform):
    """Return the homogeneous matrix of a message."""
    at, turn = transform.translation, transform.rotation
    matrix = np.eye(4)
    matrix[:3, :3] = rotation_of_quaternion([turn.x, turn.y, turn.z, turn.w])
    matrix[:3, 3] = [at.x, at.y, at.z]
    return matrix


def test_tools_are_at_their_grasps(messages, short, scenario):
    """Along the frames from the world, both tools are where the held object has its grasps.

    The recording's joints and object are both true, and the plant closes its loops to 1e-9 m.
    """
    system = build_system(scenario)
    (_, resting) = messages["/tf_static"][0]
    frames = messages["/tf"]
    assert len(frames) == 60  # every 20 ms of 1.2 s
    stamp, moving = frames[-1]
    pose = {t.child_frame_id: t for t in (*resting.transforms, *moving.transforms)}

    def in_world(name):
        matrix = np.eye(4)
        while name != "world":
            matrix = matrix_of(pose[name].transform) @ matrix
            name = pose[name].header.frame_id
        return matrix

    row = round(stamp / 2e6)
    box = in_world("box")
    np.testing.assert_allclose(box[:3, 3], short["object_pose"][row, :3], atol=1e-15)
    for arm, grasp in zip(system.arms, system.grasps, strict=True):
        np.testing.assert_allclose(in_world(arm.tool), box @ grasp, atol=1e-8)


def test_each_kind_of_joint():
    """A prismatic joint slides along its axis, a revolute one turns about it by the right hand."""
    slides = JointElement("a", "prismatic", "x", "y", axis=(0.0, 0.6, 0.8))
    np.testing.assert_allclose(_motion(slides, 0.5)[:3, 3], [0.0, 0.3, 0.4], atol=1e-16)
    turns = JointElement("a", "continuous", "x", "y", axis=(0.0, 0.0, 1.0))
    quarter = _motion(turns, np.pi / 2) @ [1.0, 0.0, 0.0, 1.0]
    np.testing.assert_allclose(quarter, [0.0, 1.0, 0.0, 1.0], atol=1e-15)


def test_joints_of_which_nothing_is_known_rest(short):
    """Without any joint names all links rest, and only the object moves."""
    frames = Frames(robots_of(short.metadata), (), "box")
    make = Messages()
    moving = frames.moving(make, 0, np.zeros(0), np.array([0, 0, 0, 0, 0, 0, 1.0]))
    assert [t.child_frame_id for t in moving.transforms] == ["box"]
    names = {t.child_frame_id for t in frames.resting(make).transforms}
    assert {"left_tool", "right_tool"} <= names


def test_robots_that_are_not_there():
    """Files that are gone, or metadata without a scenario, leave nothing to describe."""
    assert robots_of({}) is None
    assert robots_of({"scenario_text": "cell: 3"}) is None
