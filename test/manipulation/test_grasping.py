# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Invalid grasps of an object by arms are refused, with the place and the expectation."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from support.linkage_arms import DRIVES, POSTURE, linkage_cell
from support.mechanisms import plain_arm

from robot_dynamics.errors import RobotDynamicsError, UnknownNameError
from robot_dynamics.manipulation.grasping import ArmGrasp, grasp_system
from robot_dynamics.model import (
    CouplingElement,
    LinkElement,
    LoopElement,
    Mechanism,
    joined,
    pose,
)
from robot_dynamics.robot import Robot

ARM_GRASPS = [
    ArmGrasp("arm0", "arm0_tool", np.eye(4), [0.0] * 7, 0.5),
    ArmGrasp("arm1", "arm1_tool", np.eye(4), [0.0] * 7, 0.5),
]


def mechanism(*, placement=None, carrier="floating"):
    """Return two arms and a box, whose joint is of a type and at a place."""
    box = Mechanism("box", (LinkElement("box", 1.0, inertia=np.eye(3)),))
    return joined(
        "cell",
        [
            (plain_arm("arm0"), np.eye(4), "fixed"),
            (plain_arm("arm1"), pose((1.0, 0.0, 0.0)), "fixed"),
            (box, np.eye(4) if placement is None else placement, carrier),
        ],
    )


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"posture": [0.0] * 5}, "posture of arm 'arm1' has 5 entries, expected 7"),
        ({"name": "arm0"}, "each with its own name"),
        ({"tool": "arm0_link3"}, "carries both arm 'arm0' and arm 'arm1'"),
        ({"tool": "arm1_link3", "posture": [0.0] * 4}, "'arm1_joint4' belongs to no arm"),
        ({"tool": "arm1_hand"}, "tool of arm 'arm1': unknown link 'arm1_hand'"),
        ({"tool": "box"}, "tool of arm 'arm1': unknown link 'box'"),
        ({"tool": "link3"}, "did you mean 'arm0_link3' or 'arm1_link3'"),
        ({"tool": "arm1_base"}, "arm 'arm1': no joint moves its tool"),
    ],
)
def test_arms_that_do_not_fit_are_refused(changes, message):
    """Errors of an arm are reported with its name and the expectation."""
    arms = [ARM_GRASPS[0], replace(ARM_GRASPS[1], **changes)]
    with pytest.raises(RobotDynamicsError, match=message):
        grasp_system(mechanism(), "box", arms)


def test_arms_with_loops_of_their_own_need_drives():
    """Which joints move them is nothing that a mechanism tells."""
    elbow = LoopElement("elbow", "fixed", "arm0_link2", "arm0_link4", np.eye(4), np.eye(4))
    with pytest.raises(RobotDynamicsError, match=r"'arm0' has internal closed chains.*`drives`"):
        grasp_system(mechanism().with_loops([elbow]), "box", ARM_GRASPS)


def test_an_object_on_a_fixed_joint_is_refused():
    """The object must float."""
    with pytest.raises(RobotDynamicsError, match="'box' is carried by fixed joint"):
        grasp_system(mechanism(carrier="fixed"), "box", ARM_GRASPS)


def test_an_object_floats_in_the_world():
    """An object whose positions were not its pose in the world is refused."""
    with pytest.raises(RobotDynamicsError, match="object link 'box' floats relative to"):
        grasp_system(mechanism(placement=pose((0.0, 0.0, 1.0))), "box", ARM_GRASPS)


def test_geared_joints_are_refused():
    """The formulations take every joint of an arm for one with a drive of its own."""
    gear = CouplingElement.gear("gear", "arm0_joint2", "arm0_joint1")
    message = "coupling 'gear' gears joints of an arm: arm0_joint2, arm0_joint1; .* 'locked'"
    with pytest.raises(RobotDynamicsError, match=message):
        grasp_system(mechanism().with_couplings([gear]), "box", ARM_GRASPS)


def test_joints_without_drive_are_refused():
    """A limit of effort of zero means that no drive moves the joint."""
    cell = mechanism()
    joints = [
        replace(joint, active=False) if joint.name == "arm1_joint2" else joint
        for joint in cell.joints
    ]
    with pytest.raises(RobotDynamicsError, match="'arm1': joint 'arm1_joint2' has no drive"):
        grasp_system(replace(cell, joints=tuple(joints)), "box", ARM_GRASPS)


def test_no_arms_are_refused():
    """There is at least one arm."""
    with pytest.raises(RobotDynamicsError, match="at least one arm"):
        grasp_system(mechanism(), "box", [])


@pytest.fixture(scope="module")
def linked():
    """Two arms with linkages that hold a box."""
    box = LinkElement("box", 3.0, inertia=0.03 * np.eye(3))
    return linkage_cell(2, box, [pose((-0.15, 0.0, 0.0)), pose((0.15, 0.0, 0.0))])


def test_joints_of_an_arm_with_loops_are_its_drives(linked):
    """In the order of `drives`; limits, posture and indices are theirs alone."""
    system = linked.system
    assert system.joint_names == tuple(f"arm{i}_{drive}" for i in range(2) for drive in DRIVES)
    assert_allclose(system.posture, 2 * POSTURE)
    assert_allclose(linked.start[system.q_index], 2 * POSTURE)
    assert system.path(system.arms[0]) == tuple(
        f"arm0_{name}" for name in ("turn", "near", "fore", "roll", "bend", "twist")
    )


def test_joints_without_drives_follow(linked):
    """At the postures they are where the description closes; and elsewhere loops close too."""
    system, robot = linked.system, Robot(linked.system.model)
    own = slice(
        12, None
    )  # rows of the internal closed chains of the arms, after those of two rigid grasps
    at = system.positions(system.posture)
    assert_allclose(at[system.every_q], linked.start[system.every_q], atol=1e-9)
    at = system.positions(system.posture + 0.1)
    rest = np.zeros(system.model.nv)
    _, _, K, _, error, _ = robot.constraint_terms(at, rest)
    assert_allclose(error[own], 0.0, atol=1e-12)
    motions = system.motions(at)
    assert_allclose(K[own] @ motions.T, 0.0, atol=1e-12)
    assert_allclose(motions[:, system.v_index], np.eye(12), atol=0)


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        (
            {"drives": ()},
            RobotDynamicsError,
            "arm 'arm0' has internal closed chains and no `drives`",
        ),
        ({"drives": ("arm0_elbow",)}, UnknownNameError, "drive 'arm0_elbow'"),
        ({"drives": ("arm0_turn",) * 6}, RobotDynamicsError, ".arm0_turn. is listed 6 times"),
        ({"posture": [0.0] * 8}, RobotDynamicsError, "posture of arm 'arm0' has 8 entries"),
        # 1 rad apart crank and near leave the pin out of reach.
        (
            {"posture": (0.1, 0.5, -0.5, 0, 0.9, 0)},
            RobotDynamicsError,
            "no configuration closes|no ",
        ),
    ],
)
def test_drives_that_do_not_fit_are_refused(linked, changes, error, message):
    """Missing, unknown and doubled drives, and postures in which linkages do not close."""
    names = [tuple(f"arm{i}_{drive}" for drive in DRIVES) for i in range(2)]
    arms = [
        ArmGrasp(f"arm{i}", f"arm{i}_tool", np.eye(4), POSTURE, 0.5, names[i]) for i in range(2)
    ]
    arms[0] = replace(arms[0], **changes)
    with pytest.raises(error, match=message):
        grasp_system(linked.mechanism, "box", arms)


def test_laws_that_do_not_know_loops_say_so(linked):
    """The message names a loop and the law that knows it."""
    with pytest.raises(
        RobotDynamicsError, match=r"'arm0_pin' is an internal closed chain.*`law: hybrid`"
    ):
        linked.system.require_plain_arms("coordinated control")
    arms = [replace(ARM_GRASPS[0], drives=("arm0_joint0",)), ARM_GRASPS[1]]
    with pytest.raises(RobotDynamicsError, match=r"no internal closed chains and 1 `drives`"):
        grasp_system(mechanism(), "box", arms)
