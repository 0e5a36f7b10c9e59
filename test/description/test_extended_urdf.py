# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The YAML file of Extended URDF."""

import numpy as np
import pytest
from description.test_urdf_loops import FOUR_BAR

from robot_dynamics.description.diagnosis import DescriptionError
from robot_dynamics.description.load import load_description
from robot_dynamics.model import Limits, build

FRAMES = """<link name="loop_A"/><link name="loop_B"/>
<joint name="fix_A" type="fixed"><parent link="coupler"/><child link="loop_A"/>
<origin xyz="1 0 0"/></joint>
<joint name="fix_B" type="fixed"><parent link="right"/><child link="loop_B"/>
<origin xyz="0 0 0.5"/></joint></robot>"""
ROBOT = FOUR_BAR.replace("</robot>", FRAMES)
YAML = "closed_loop: [['loop_A', 'fix_B']]\ntype: ['3d']\nname_mot: ['a']\n"


@pytest.fixture
def load(tmp_path):
    """Return a function that loads the four-bar with a YAML text beside it."""

    def loaded(text):
        (tmp_path / "robot.yaml").write_text(text)
        return load_description(ROBOT, tmp_path / "robot.yaml")

    return loaded


def test_frames_are_closed_with_their_types(load):
    """3d closes at a point, 6d wholly, which is the default; joints stand for their bodies."""
    (loop,) = load(YAML).mechanism.loops
    assert (loop.name, loop.type) == ("loop_A_to_fix_B", "spherical")
    assert (loop.predecessor, loop.successor) == ("loop_A", "loop_B")
    np.testing.assert_array_equal(loop.predecessor_pose, np.eye(4))
    (loop,) = load(YAML.replace("type: ['3d']\n", "")).mechanism.loops
    assert loop.type == "fixed"
    (loop,) = load(YAML.replace("3d", "planar")).mechanism.loops
    assert loop.type == "planar"


def test_motors_are_the_active_joints(load):
    """A list of names, or a text that is part of them; the others are passive."""
    for text in (YAML, YAML.replace("['a']", "a")):
        description = load(text)
        assert description.actuated == ("a",)
        model = build(description.mechanism)
        active = dict(zip(model.joint_names, model.active.tolist(), strict=True))
        assert active == {"a": True, "b": False, "c": False}


def test_joints_may_be_of_another_type(load):
    """SPHERICAL and CARDAN joints, which URDF lacks, replace those of the file."""
    text = YAML + "joint_name: [a, b, c]\njoint_type: [SPHERICAL, CARDAN, FIXED]\n"
    types = [joint.type for joint in load(text.replace("['a']", "['b']")).mechanism.joints[:3]]
    assert types == ["spherical", "universal", "fixed"]


def test_limits_of_an_angle_are_not_those_of_another_joint(tmp_path):
    """A joint that becomes spherical or universal loses the range of its angle, not its effort."""
    (tmp_path / "robot.yaml").write_text(
        YAML + "joint_name: [a, b]\njoint_type: [SPHERICAL, CARDAN]\n"
    )
    text = ROBOT.replace("continuous", "revolute").replace("<limit", '<limit lower="-1" upper="1"')
    joints = load_description(text, tmp_path / "robot.yaml").mechanism.joints[:3]
    wide = Limits(velocity=9.0, effort=9.0)
    assert [joint.limits for joint in joints] == [wide, wide, Limits(-1.0, 1.0, 9.0, 9.0)]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("loop_A", "lopp_A", r"robot\.yaml:1.*'lopp_A'.*'loop_A'"),
        ("3d", "4d", "'4d'"),
        ("['3d']", "['3d', '3d']", "type has 2 entries, expected one for each of the 1"),
        ("'fix_B'", "'coupler'", "fixed to each other already"),
        ("['a']", "['aa']", "'aa'"),
        ("['a']", "motor", "'motor'"),
        ("'fix_B']", "'fix_B', 'c']", r"robot\.yaml:1.*\b2\b.*\b3\b"),
        ("]]", "], ['loop_A', 'fix_B']]", r"robot\.yaml:1.*\b1\b.*\b2\b"),
        ("name_mot", "name_motor", r"robot\.yaml:3.*'name_mot'"),
        ("name_mot: ['a']", "joint_name: [a]", r"joint_type.*\b0\b"),
        ("name_mot: ['a']", "joint_name: [z]\njoint_type: [FIXED]", "'z'"),
        ("name_mot: ['a']", "joint_name: [a]\njoint_type: [BALL]", "'BALL'"),
    ],
)
def test_mistakes_are_located(load, old, new, message):
    """Each mistake names the file's line and a valid value."""
    with pytest.raises(DescriptionError, match=message) as caught:
        load(YAML.replace(old, new, 1))
    assert "robot.yaml:" in str(caught.value)
