# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Named elements: prefixes, locked joints, several mechanisms in one world."""

import numpy as np
import pytest
from model.mechanisms import arm, grasp, link_pose
from scipy.spatial.transform import Rotation

from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.model import (
    JointElement,
    LinkElement,
    Mechanism,
    build,
    joined,
    pose,
)
from robot_dynamics.model.elements import inverse_pose


def test_the_root_is_the_link_without_parent():
    """One root is found; none and two are refused by name."""
    assert arm().root == "base"
    a, b = LinkElement("a"), LinkElement("b")
    with pytest.raises(RobotDynamicsError, match="found a, b"):
        _ = Mechanism("m", (a, b)).root
    circle = (JointElement("j", "fixed", "a", "b"), JointElement("k", "fixed", "b", "a"))
    with pytest.raises(RobotDynamicsError, match=r"root.*none"):
        _ = Mechanism("m", (a, b), circle).root


def test_prefixes_rename_everything_and_change_nothing_else():
    """A prefixed mechanism has the same model under other names."""
    plain = arm().with_loops([grasp()])
    prefixed = plain.prefixed("left_")
    assert prefixed.root == "left_base"
    assert prefixed.loops[0].predecessor == "left_tool"
    one, other = build(plain), build(prefixed)
    assert other.joint_names == tuple("left_" + name for name in one.joint_names)
    assert one.structure_key == other.structure_key


def test_a_locked_joint_is_where_it_was_locked(rng):
    """Locking joints at positions leaves every link where those positions put it."""
    whole = build(arm())
    q = np.array(whole.normalized(rng.normal(size=whole.nq)))
    values = dict(zip(whole.joint_names, (q[s] for s in whole.q_slices), strict=True))
    held = {name: float(values[name][0]) for name in ("shoulder", "rail")}
    locked = build(arm().locked(held))
    assert set(locked.joint_names) == set(whole.joint_names) - set(held)
    rest = np.concatenate([values[name] for name in locked.joint_names])
    for link in whole.links:
        # Products of a handful of matrices of size one.
        np.testing.assert_allclose(
            link_pose(locked, link.name, rest), link_pose(whole, link.name, q), atol=1e-14
        )
    np.testing.assert_allclose(
        sum(body.inertia.mass for body in locked.bodies),
        sum(body.inertia.mass for body in whole.bodies) - 3.0,  # the upper arm is fixed now
        rtol=1e-15,
    )


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("drop", r"'drop'.*\b6\b"),
        ("flange", r"'flange'.*\b0\b"),
        ("none", "'none'"),
    ],
)
def test_only_joints_with_one_freedom_can_be_locked(name, message):
    """A floating, a fixed and an unknown joint are refused by name, with the reason."""
    with pytest.raises(RobotDynamicsError, match=message):
        arm().locked({name: 0.0})


@pytest.mark.parametrize(
    ("kind", "parameters"),
    [
        ("helical", {"pitch": 0.3}),
        ("rack_and_pinion", {"radius": 0.2}),
        ("reversed rack_and_pinion", {"radius": 0.2}),
        ("reversed helical", {"pitch": -0.1}),
        ("prismatic", {}),
        ("continuous", {}),
    ],
)
def test_every_joint_of_one_degree_can_be_locked(kind, parameters, rng):
    """Screws and pinions as well, about any axis: the link is where the joint would have it."""
    frame = pose((0.1, 0.2, 0.3), Rotation.random(random_state=1).as_matrix())
    links = (LinkElement("base"), LinkElement("nut", 1.0, inertia=np.eye(3)))
    axis = tuple(rng.normal(size=3))
    joint = JointElement("screw", kind, "base", "nut", frame, axis, parameters=parameters)
    mechanism = Mechanism("press", links, (joint,))
    locked, free = build(mechanism.locked({"screw": 0.7})), build(mechanism)
    assert locked.nv == 0
    np.testing.assert_allclose(
        link_pose(locked, "nut", np.zeros(0)), link_pose(free, "nut", [0.7]), atol=1e-15
    )


def test_joined_mechanisms_stand_where_they_are_placed(rng):
    """Parts keep their own kinematics below the pose of their root in the world."""
    at = pose((1.0, 2.0, 3.0), np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]))
    box = Mechanism("box", (LinkElement("box", 1.0, inertia=np.eye(3)),))
    world = joined(
        "cell", [(arm().prefixed("left_"), at, "fixed"), (box, pose((0, 0, 1)), "floating")]
    )
    model, alone = build(world), build(arm())
    assert world.root == "world"
    assert model.joint_names[-1] == "world_to_box"
    q = np.array(alone.normalized(rng.normal(size=alone.nq)))
    both = np.concatenate([q, [0, 0, 0.5, 0, 0, 0, 1]])
    np.testing.assert_allclose(
        link_pose(model, "left_slider", both), at @ link_pose(alone, "slider", q), atol=1e-14
    )
    np.testing.assert_allclose(link_pose(model, "box", both)[:3, 3], [0, 0, 1.5], atol=1e-15)


def test_parts_with_the_same_names_need_prefixes():
    """Two equal arms without prefixes are refused with the name and the remedy."""
    with pytest.raises(RobotDynamicsError, match="'base'"):
        joined("cell", [(arm(), np.eye(4), "fixed"), (arm(), np.eye(4), "fixed")])


def test_the_inverse_of_a_pose(rng):
    """A pose times its inverse is the identity, to rounding."""
    frame = pose(rng.normal(size=3), Rotation.random(random_state=3).as_matrix())
    np.testing.assert_allclose(frame @ inverse_pose(frame), np.eye(4), atol=1e-15)


def test_a_rotation_is_a_matrix():
    """Angles or one row in the place of a rotation matrix are refused, not repeated."""
    with pytest.raises(RobotDynamicsError, match=r"\(3,\).*\(3, 3\)"):
        pose((0.0, 0.0, 1.0), (0.0, 0.0, 1.0))
