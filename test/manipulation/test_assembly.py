# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""From a guess to closed grasps: found where there are some, refused by name where not."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.spatial.transform import Rotation
from support.mechanisms import OBJECT_POSE, two_arms, world_poses

from robot_dynamics.manipulation.assembly import ReachError, closed_configuration
from robot_dynamics.model import pose
from robot_dynamics.model.elements import Limits
from robot_dynamics.robot import Robot


@pytest.fixture(scope="module")
def cell():
    return two_arms()


@pytest.fixture(scope="module")
def terms(cell):
    return Robot(cell.system.model).constraint_terms


def moved(translation, turn=(0.0, 0.0, 0.0)):
    """Return the pose (7,) of the object moved from its start."""
    rotation = Rotation.from_rotvec(turn) * Rotation.from_quat(OBJECT_POSE[3:])
    return np.concatenate([OBJECT_POSE[:3] + translation, rotation.as_quat()])


@pytest.mark.parametrize(
    ("translation", "turn"),
    [
        ((0, 0, 0), (0, 0, 0)),
        ((0.1, 0, 0.1), (0, 0, 0)),
        ((0, 0.1, -0.1), (0, 0, 0.3)),
        ((-0.05, 0, 0.05), (0.2, 0.1, 0)),
    ],
)
def test_grasps_are_closed(cell, terms, translation, turn):
    """Every tool stands at its grasp, to a picometre, and the object where it was asked for."""
    target = moved(translation, turn)
    q = closed_configuration(cell.system, target, terms=terms)
    assert_allclose(q[cell.system.object_q], target)
    frame = pose(target[:3], Rotation.from_quat(target[3:]).as_matrix())
    world = world_poses(cell.system.model, q)
    for arm, grasp in zip(cell.system.arms, cell.system.grasps, strict=True):
        assert_allclose(world[arm.tool], frame @ grasp, atol=2e-12)


def test_a_closed_guess_is_kept(cell, terms):
    """Positions that close the grasps already are returned as they are."""
    q = closed_configuration(
        cell.system, OBJECT_POSE, cell.start[cell.system.q_index], terms=terms
    )
    assert_allclose(q, cell.start, atol=1e-12)


def test_freedom_is_used_to_stay_near_the_guess(cell, terms):
    """The free joint of a 7-joint arm does not wander: a small move of the object is one of q."""
    q = closed_configuration(cell.system, moved((0.01, 0.0, 0.01)), terms=terms)
    assert np.max(np.abs(q - cell.start)) < 0.1


def test_joint_limits_hold(cell):
    """The result lies within the limits, against which the search stops."""
    model = cell.system.model
    name = "arm0_joint3"
    index = model.joint_index(name)
    tight = Limits(lower=1.0, upper=1.25)
    bodies = tuple(
        replace(body, joint=replace(body.joint, limits=tight)) if i == index else body
        for i, body in enumerate(model.bodies)
    )
    system = replace(cell.system, model=replace(model, bodies=bodies))
    q = closed_configuration(system, moved((0.0, 0.0, 0.02)))
    assert 1.0 <= q[model.q_slices[index]][0] <= 1.25
    with pytest.raises(ReachError, match="arm 'arm0' does not reach"):
        closed_configuration(system, moved((0.2, 0.0, 0.3)))


def test_a_pose_out_of_reach_is_refused(cell, terms):
    """The error names the arm that is farthest off, and by how much."""
    with pytest.raises(ReachError) as refusal:
        closed_configuration(cell.system, moved((3.0, 0.0, 0.0)), terms=terms)
    error = refusal.value
    assert error.arm in {"arm0", "arm1"}
    assert 0.5 < error.gaps[error.arm].position < 4.0
    assert re.search(r"\d m and [\d.]+ degrees remain of 'arm", str(error))
    assert set(error.arms) == {"arm0", "arm1"}
    assert "do not reach their grasps" in str(error)


def test_one_arm_out_of_reach_is_the_one_named(cell, terms):
    """If one arm reaches and the other does not, the other is named."""
    wrong = cell.system.with_grasp_error({"arm1": pose((0.0, 0.0, -3.0))})
    with pytest.raises(ReachError) as refusal:
        closed_configuration(wrong, OBJECT_POSE)
    assert refusal.value.arms == ("arm1",)
    assert str(refusal.value).startswith("arm 'arm1' does not reach its grasp: ")
