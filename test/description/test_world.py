# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Several descriptions in one world."""

import numpy as np
import pytest
from description.urdf_texts import ARM, BOX, INERTIAL, LIMIT

from robot_dynamics.description.urdf import read_urdf
from robot_dynamics.description.world import Part, chain_between, joints_between, place
from robot_dynamics.errors import RobotDynamicsError, UnknownNameError
from robot_dynamics.model import build, pose_of

GRIPPER = ARM.replace(
    "</robot>",
    f'<link name="finger">{INERTIAL}</link><joint name="grip" type="prismatic">'
    f'<parent link="tool"/><child link="finger"/><axis xyz="1 0 0"/>{LIMIT}</joint></robot>',
)


def test_two_arms_and_a_box_make_one_model():
    """Arms stand where they are placed, turned as asked, and the box floats between them."""
    arm, box = read_urdf(ARM), read_urdf(BOX)
    world = place(
        [
            Part(arm, "left_", (0, 0.5, 0)),
            Part(arm, "right_", (0, -0.5, 0), (0, 0, np.pi)),
            Part(box, "", (0.5, 0, 1.0), carrier="floating"),
        ]
    )
    model = build(world.mechanism)
    assert model.joint_names == (
        "left_shoulder", "left_elbow", "right_shoulder", "right_elbow", "world_to_box",
    )  # fmt: skip
    right = pose_of(model.link("right_base").placement)
    np.testing.assert_allclose(right[:3, 3], [0, -0.5, 0])
    np.testing.assert_allclose(right[:3, 0], [-1, 0, 0], atol=1e-15)
    np.testing.assert_allclose(list(model.bodies[4].placement.r), [0.5, 0, 1.0])
    assert [shape.link for shape in world.shapes] == ["box"]


def test_a_base_may_drive_about():
    """A planar carrier gives a mobile base three degrees of freedom about and across z."""
    model = build(place([Part(read_urdf(BOX), xyz=(0, 0, 1.0), carrier="planar")]).mechanism)
    assert (model.nv, model.bodies[0].joint.type.name) == (3, "planar")
    np.testing.assert_array_equal(model.link("box").placement.E.rows, np.eye(3))


def test_gears_stay_with_their_part():
    """Two grippers with a mimic finger each: locked in one, geared in the other."""
    mimic = GRIPPER.replace('<axis xyz="1 0 0"/>', '<axis xyz="1 0 0"/><mimic joint="elbow"/>')
    gripper = read_urdf(mimic)
    world = place([Part(gripper, "a_", locked={"elbow": 0.1}), Part(gripper, "b_")])
    model = build(world.mechanism)
    assert [coupling.name for coupling in model.couplings] == ["b_grip"]
    assert model.joint_names == ("a_shoulder", "b_shoulder", "b_elbow", "b_grip")


def test_shapes_take_the_prefix_of_their_part():
    """The link of a shape is the one in the world."""
    world = place([Part(read_urdf(BOX), "a_"), Part(read_urdf(BOX), "b_")])
    assert [shape.link for shape in world.shapes] == ["a_box", "b_box"]


def test_joints_between_links_are_the_movable_ones_on_the_way():
    """The way to the tool, from the root or a link in between; fixed joints only in chains."""
    mechanism = read_urdf(GRIPPER).mechanism
    assert joints_between(mechanism, "tool") == ("shoulder", "elbow")
    assert joints_between(mechanism, "finger", "upper") == ("elbow", "grip")
    assert [j.name for j in chain_between(mechanism, "tool", "upper")] == ["elbow", "flange"]
    with pytest.raises(UnknownNameError, match="did you mean 'tool'"):
        joints_between(mechanism, "tol")
    with pytest.raises(RobotDynamicsError, match="'upper' does not hang on 'tool'"):
        joints_between(mechanism, "upper", "tool")


def test_joints_beside_the_arm_must_be_locked():
    """A finger that could move is refused by name, and accepted once it is locked."""
    gripper = read_urdf(GRIPPER)
    with pytest.raises(RobotDynamicsError, match="joint 'grip' can move but do"):
        place([Part(gripper, keep_to="tool")])
    world = place([Part(gripper, "l_", keep_to="tool", locked={"grip": 0.1})])
    model = build(world.mechanism)
    assert model.joint_names == ("l_shoulder", "l_elbow")
    tool, finger = model.link("l_tool"), model.link("l_finger")
    assert tool.body == finger.body
    offset = np.linalg.inv(pose_of(tool.placement)) @ pose_of(finger.placement)
    np.testing.assert_allclose(offset[:3, 3], [0.1, 0, 0], atol=1e-15)


def test_wrong_names_and_clashes_are_one_sentence():
    """Unknown locked joints, unknown tools and parts without prefixes are explained."""
    arm = read_urdf(ARM)
    with pytest.raises(UnknownNameError, match="did you mean 'elbow'"):
        place([Part(arm, locked={"elbo": 0.0})])
    with pytest.raises(UnknownNameError, match="unknown link 'tol'"):
        place([Part(arm, keep_to="tol")])
    with pytest.raises(RobotDynamicsError, match="give them prefixes"):
        place([Part(arm), Part(arm)])


def test_a_floating_part_needs_inertia():
    """A frame without mass cannot float."""
    frame = read_urdf('<robot name="frame"><link name="frame"/></robot>')
    with pytest.raises(RobotDynamicsError, match="joint 'world_to_frame' moves has inertia"):
        place([Part(frame, carrier="floating")])
    place([Part(frame)])
