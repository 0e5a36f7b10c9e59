# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Loops inside a URDF, in each spelling: the frames they mean, and mistakes with their lines."""

import numpy as np
import pytest
from description.urdf_texts import INERTIAL, line_of
from scipy.spatial.transform import Rotation

from robot_dynamics.description.diagnosis import DescriptionError
from robot_dynamics.description.urdf import read_urdf
from robot_dynamics.model import Limits, build
from robot_dynamics.robot import Robot

JOINT = (
    '<joint name="{0}" type="continuous"><parent link="{1}"/><child link="{2}"/>'
    '<origin xyz="{3}"/><axis xyz="0 1 0"/><limit velocity="9" effort="9"/></joint>\n'
)
#: A parallelogram in the plane x z, closed at zero: two cranks along z and a coupler along x.
FOUR_BAR = "\n".join(
    [
        '<robot name="four_bar"><link name="ground"/>',
        *(f'<link name="{name}">{INERTIAL}</link>' for name in ("left", "right", "coupler")),
        JOINT.format("a", "ground", "left", "0 0 0"),
        JOINT.format("b", "ground", "right", "1 0 0"),
        JOINT.format("c", "left", "coupler", "0 0 0.5"),
        "</robot>",
    ]
)
ISAAC = (
    '<loop_joint name="pin" type="revolute">\n<link1 link="coupler" xyz="1 0 0"/>'
    '<link2 link="right" xyz="0 0 0.5"/><axis xyz="0 1 0"/></loop_joint>\n'
)
PARENT_CHILD = (
    '<loop_joint name="pin" type="revolute">\n<parent link="coupler"/><child link="right"/>'
    '<parent_origin xyz="1 0 0"/><child_origin xyz="0 0 0.5"/>'
    '<axis xyz="0 1 0" frame="parent"/></loop_joint>\n'
)
PLUS = (
    '<loop name="pin" type="revolute">\n<predecessor link="coupler"><origin xyz="1 0 0"/>'
    '</predecessor><successor link="right"><origin xyz="0 0 0.5"/></successor>'
    '<axis xyz="0 1 0"/></loop>\n'
)
CONSTRAINT = (
    '<constraint name="pin" type="revolute">\n<parent link="coupler"/>'
    '<parent_origin xyz="1 0 0" rpy="0 0 0"/><parent_axis xyz="0 1 0"/><child link="right"/>'
    '<child_origin xyz="0 0 0.5" rpy="0 0 0"/><child_axis xyz="0 1 0"/></constraint>\n'
)
SPELLINGS = {"isaac": ISAAC, "parent child": PARENT_CHILD, "plus": PLUS, "urdfdom": CONSTRAINT}


def closed(text, robot=FOUR_BAR):
    """Return the text of the four-bar with more tags."""
    return robot.replace("</robot>", text + "</robot>")


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_every_spelling_closes_the_four_bar(spelling):
    """Frames, ends and axis are the same; the loop is closed at zero and leaves one motion."""
    description = read_urdf(closed(SPELLINGS[spelling]))
    assert description.diagnosis.problems == ()
    (loop,) = description.mechanism.loops
    assert (loop.name, loop.type) == ("pin", "revolute")
    assert (loop.predecessor, loop.successor) == ("coupler", "right")
    np.testing.assert_array_equal(loop.predecessor_pose[:3, 3], [1, 0, 0])
    np.testing.assert_array_equal(loop.successor_pose[:3, 3], [0, 0, 0.5])
    for frame in (loop.predecessor_pose, loop.successor_pose):
        np.testing.assert_array_equal(frame[:3, 2], [0, 1, 0])
    robot = Robot(build(description.mechanism))
    _, _, K, _, error, _ = robot.constraint_terms(np.zeros(3), np.zeros(3))
    # Lengths of one metre, a few roundings.
    np.testing.assert_allclose(error, 0.0, atol=1e-15)
    assert np.linalg.matrix_rank(K, tol=1e-9) == 2
    # The coupler of a parallelogram does not turn: right = left, coupler = -left.
    rates = {"a": 1.0, "b": 1.0, "c": -1.0}
    moving = [rates[name] for name in robot.model.joint_names]
    np.testing.assert_allclose(K @ moving, 0.0, atol=1e-15)


def test_isaac_may_write_link1_twice():
    """The example in its documentation does."""
    text = ISAAC.replace("link2", "link1")
    assert read_urdf(closed(text)).mechanism.loops[0].successor == "right"


def test_a_child_without_orientation_stands_as_it_does_at_zero():
    """With a turned child link, the same physical frame is found in both links."""
    turned = FOUR_BAR.replace('<origin xyz="1 0 0"/>', '<origin xyz="1 0 0" rpy="0 0.7 0"/>')
    (loop,) = read_urdf(closed(PARENT_CHILD, turned)).mechanism.loops
    back = Rotation.from_euler("y", -0.7).as_matrix()
    # A product of three rotation matrices.
    np.testing.assert_allclose(
        loop.successor_pose[:3, :3], back @ loop.predecessor_pose[:3, :3], atol=1e-15
    )
    by_child = PARENT_CHILD.replace('frame="parent"', 'frame="child"')
    (loop,) = read_urdf(closed(by_child, turned)).mechanism.loops
    np.testing.assert_allclose(loop.successor_pose[:3, 2], [0, 1, 0], atol=1e-15)


def test_each_side_may_have_an_axis_of_its_own():
    """In urdfdom's proposal the child's axis is turned into the parent's by the shortest way."""
    text = CONSTRAINT.replace('<child_axis xyz="0 1 0"', '<child_axis xyz="0 0 2"')
    (loop,) = read_urdf(closed(text)).mechanism.loops
    np.testing.assert_array_equal(loop.predecessor_pose[:3, 2], [0, 1, 0])
    np.testing.assert_allclose(loop.successor_pose[:3, 2], [0, 0, 1], atol=1e-15)
    relative = loop.successor_pose[:3, :3] @ loop.predecessor_pose[:3, :3].T
    # The common normal, x, stays.
    np.testing.assert_allclose(relative @ [1, 0, 0], [1, 0, 0], atol=1e-15)
    universal = CONSTRAINT.replace("revolute", "universal").replace(
        '<child_axis xyz="0 1 0"', '<child_axis xyz="1 0 0"'
    )
    (loop,) = read_urdf(closed(universal)).mechanism.loops
    np.testing.assert_array_equal(loop.predecessor_pose[:3, 0], [0, 1, 0])
    np.testing.assert_array_equal(loop.successor_pose[:3, 1], [1, 0, 0])


def test_any_type_of_the_library_may_close_a_loop():
    """Names of the joint library, names in other programs, and types with parameters."""
    for stated, expected in (("spherical", "spherical"), ("ball", "spherical"), ("6d", "fixed")):
        (loop,) = read_urdf(closed(PLUS.replace('"revolute"', f'"{stated}"'))).mechanism.loops
        assert loop.type == expected
    screw = PLUS.replace('"revolute"', '"helical" pitch="0.01"')
    (loop,) = read_urdf(closed(screw)).mechanism.loops
    assert loop.parameters == {"pitch": 0.01}
    build(read_urdf(closed(screw)).mechanism)


COUPLING = (
    '<coupling name="gear">\n<predecessor link="left"/><successor link="{}"/>'
    '<ratio value="{}"/></coupling>\n'
)


def test_a_coupling_relates_the_joints_on_both_paths():
    """Successor joints add up to ratio times predecessor joints, from the common link on."""
    (coupling,) = read_urdf(closed(COUPLING.format("right", -2))).mechanism.couplings
    assert (coupling.name, coupling.terms) == ("gear", (("b", 1.0), ("a", 2.0)))
    (coupling,) = read_urdf(
        closed(COUPLING.replace('"left"', '"right"').format("coupler", 3))
    ).mechanism.couplings
    assert coupling.terms == (("c", 1.0), ("a", 1.0), ("b", -3.0))


GEAR = COUPLING.format("right", 2)
SUCCESSOR = PLUS[PLUS.index("<successor") : PLUS.index("<axis")]
LINK2 = '<link2 link="right" xyz="0 0 0.5"/>'
MISTAKES = [
    (ISAAC, '"revolute"', '"revolut"', "<loop_joint", "did you mean 'revolute'?"),
    (ISAAC, '"revolute"', '"floating"', "<loop_joint", "unknown loop joint type 'floating'"),
    (ISAAC, ' type="revolute"', "", "<loop_joint", "has no type"),
    (ISAAC, ' name="pin"', "", "<loop_joint", "has no name"),
    (ISAAC, '"coupler"', '"copler"', "<link1", "did you mean 'coupler'?"),
    (ISAAC, '"coupler"', '"right"', "<loop_joint", "both its ends are on link 'right'"),
    (ISAAC, LINK2, "", "<loop_joint", "found 1 of them"),
    (ISAAC, '"0 0 0.5"', '"0 0"', "<link2", "expects 3 numbers, found 2"),
    (ISAAC, '<axis xyz="0 1 0"', '<axis xyz="0 0 0"', '"0 0 0"/></loop', "the axis is zero"),
    (
        ISAAC,
        '"revolute"',
        '"helical"',
        "<loop_joint",
        "joint type 'helical' needs the parameter 'pitch' in m/rad",
    ),
    (PARENT_CHILD, "<parent link", "<x link", "<loop_joint", "has no <parent>"),
    (PARENT_CHILD, 'frame="parent"', 'frame="world"', '"world"', "expected parent, child or"),
    (PLUS, SUCCESSOR, "", "<loop", "has no <successor>"),
    (CONSTRAINT, '<parent link="coupler"/>', "", "<constraint", "has no <parent>"),
    (GEAR, '<ratio value="2"/>', "", "<coupling", "has no <ratio>"),
    (GEAR, '"2"', '"nan"', "<ratio", "expected a finite one"),
    (GEAR, '"right"', '"left"', "<coupling", "no two joints lie between"),
    (ISAAC, "</loop_joint>", f"</loop_joint>{ISAAC}", "</loop_joint>", "is already taken by line"),
]


@pytest.mark.parametrize(("text", "old", "new", "where", "message"), MISTAKES)
def test_mistakes_have_their_lines(text, old, new, where, message):
    """Each mistake is one error at its tag, or at the tag around it if something is missing."""
    both = closed(text.replace(old, new, 1))
    with pytest.raises(DescriptionError) as caught:
        read_urdf(both)
    errors = [p for p in caught.value.problems if p.severity == "error"]
    assert len(errors) == 1, errors
    assert message in errors[0].sentence()
    assert errors[0].place == f"<text>:{line_of(both, where)}"


def test_ends_on_one_rigid_piece_close_nothing():
    """Links that fixed joints connect cannot be joined once more."""
    tool = '<link name="tool"/><joint name="f" type="fixed"><parent link="right"/>'
    tool += '<child link="tool"/></joint>\n'
    with pytest.raises(DescriptionError, match=r"'tool'.*'right'"):
        read_urdf(closed(tool + ISAAC.replace('"coupler"', '"tool"')))


def test_a_joint_without_axis_is_warned_of():
    """z of the stated frames is taken, which may not be the intended axis."""
    (problem,) = read_urdf(closed(PLUS.replace('<axis xyz="0 1 0"/>', ""))).diagnosis.warnings
    assert "has no <axis>, it is taken as z" in problem.message


@pytest.mark.parametrize(
    ("tag", "message"),
    [
        (
            '<loop_joint name="l" type="fixed"><parent link="a"/><child link="b"/>'
            '<origin xyz="2 0 0"/></loop_joint>',
            "<origin> is not known in <loop_joint>",
        ),
        (
            '<loop_joint name="l" type="fixed"><parent link="a"/><child link="b"/>'
            '<parent_orgin xyz="2 0 0"/></loop_joint>',
            "<parent_orgin> is not known in <loop_joint>",
        ),
        (
            '<constraint name="l" type="fixed"><parent link="a"><origin xyz="2 0 0"/></parent>'
            '<child link="b"/></constraint>',
            "<origin> is not known in <parent>",
        ),
        (
            '<loop name="l" type="fixed"><predecessor link="a"><orgin xyz="2 0 0"/></predecessor>'
            '<successor link="b"/></loop>',
            "<orgin> is not known in <predecessor>",
        ),
    ],
)
def test_no_geometry_of_a_loop_gets_lost(tag, message):
    """A child that is not read is refused: ignored, it would put the loop somewhere else."""
    inertial = (
        '<inertial><mass value="1"/>'
        '<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'
    )
    joints = "".join(
        f'<joint name="{name}{name}" type="continuous"><parent link="base"/>'
        f'<child link="{name}"/><axis xyz="0 0 1"/></joint>'
        for name in "ab"
    )
    links = "".join(f'<link name="{name}">{inertial}</link>' for name in "ab")
    text = f'<robot name="r"><link name="base"/>{links}{joints}{tag}</robot>'
    with pytest.raises(DescriptionError) as refusal:
        read_urdf(text)
    assert message in str(refusal.value)


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_a_limit_of_a_loop_joint_is_read(spelling):
    """`<limit>` means the same as in a joint; a joint of several freedoms has no use for it."""
    last = SPELLINGS[spelling].rindex("</")
    limit = '<limit lower="-1" upper="0.5" effort="3" velocity="2"/>'
    text = SPELLINGS[spelling][:last] + limit + SPELLINGS[spelling][last:]
    description = read_urdf(closed(text))
    assert description.diagnosis.problems == ()
    assert description.mechanism.loops[0].limits == Limits(-1.0, 0.5, 2.0, 3.0)
    several = read_urdf(closed(text.replace('type="revolute"', 'type="universal"')))
    assert several.mechanism.loops[0].limits == Limits()
    assert any("2 degrees of freedom" in p.message for p in several.diagnosis.warnings)
