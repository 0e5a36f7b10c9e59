# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""URDF files: good ones are read, bad ones are refused with every problem and its line."""

import numpy as np
import pytest
from description.urdf_texts import ARM, INERTIAL, LIMIT, line_of

from robot_dynamics.description import urdf
from robot_dynamics.description.diagnosis import DescriptionError
from robot_dynamics.description.urdf import read_urdf
from robot_dynamics.errors import UnknownNameError
from robot_dynamics.model import CouplingElement, build
from robot_dynamics.resources import ResourceNotFoundError, resolve_package_uri

ROBOTS = "package://example-robot-data/robots/"
XARM7 = ROBOTS + "xarm_description/urdf/xarm7.urdf"
LOADED = {  # file: (movable joints, links that must be warned of)
    "panda_description/urdf/panda.urdf": (9, "panda_link8"),
    "ur_description/urdf/ur5_robot.urdf": (6, "wrist_1_link"),
    "baxter_description/urdf/baxter.urdf": (19, "l_gripper_l_finger"),
}


def example(name):
    """Return the path of a robot of example-robot-data, or skip."""
    try:
        return resolve_package_uri(ROBOTS + name)
    except ResourceNotFoundError:
        pytest.skip("example-robot-data is not installed")


def refusal(text, **options):
    """Return the problems that a text is refused with."""
    with pytest.raises(DescriptionError) as caught:
        read_urdf(text, **options)
    return caught.value.problems


def test_a_clean_arm_is_read_as_it_stands():
    """All numbers of links, joints and shapes arrive, and nothing is complained about."""
    description = read_urdf(ARM)
    assert description.diagnosis.problems == ()
    shoulder, elbow, flange = description.mechanism.joints
    assert (shoulder.type, elbow.type, flange.type) == ("revolute", "prismatic", "fixed")
    assert (shoulder.damping, shoulder.friction) == (0.5, 0.25)
    assert elbow.axis == (0.0, 0.6, 0.8)
    limits = shoulder.limits
    assert (limits.lower, limits.upper, limits.velocity, limits.effort) == (-1, 2, 3, 4)
    np.testing.assert_array_equal(shoulder.placement[:3, 3], [0, 0, 0.3])
    assert [link.mass for link in description.mechanism.links] == [0, 2, 2, 0]


@pytest.mark.parametrize("name", LOADED)
def test_known_robots_load_with_warnings(name):
    """panda, ur5 and baxter load; their errors are warnings."""
    description = read_urdf(example(name))
    joints, suspect = LOADED[name]
    assert len([j for j in description.mechanism.joints if j.type != "fixed"]) == joints
    assert any(suspect in problem.element for problem in description.diagnosis.warnings)
    build(description.mechanism)
    with pytest.raises(DescriptionError):
        read_urdf(example(name), strict=True)


def test_a_clean_robot_loads_without_warnings():
    """xarm7 is clean: even `strict` accepts it, by its package address as well."""
    description = read_urdf(example("xarm_description/urdf/xarm7.urdf"), strict=True)
    assert description.diagnosis.problems == ()
    assert read_urdf(XARM7).mechanism.root == "world"
    assert any(shape.kind == "mesh" for shape in description.shapes)


def test_strict_refuses_warnings():
    """With `strict`, warnings refuse the file."""
    text = ARM.replace('effort="4"', 'effort="0"')
    found = read_urdf(text)
    assert {p.message for p in found.diagnosis.warnings} == {
        "the limit of effort is 0, it is taken as infinite"
    }
    assert all(joint.active is None for joint in found.mechanism.joints)
    assert len(refusal(text, strict=True)) == len(found.diagnosis.warnings)


def test_an_effort_of_zero_beside_others_is_no_drive():
    """A passive joint says so; a transmission says otherwise."""
    text = ARM.replace('effort="4"', 'effort="0"', 1)
    found = read_urdf(text)
    (warning,) = found.diagnosis.warnings
    assert warning.message == "the limit of effort is 0, the joint is taken to have no drive"
    shoulder, elbow = found.mechanism.joints[:2]
    assert (shoulder.active, elbow.active) == (False, None)
    assert np.isinf(shoulder.limits.effort)
    driven = text.replace(
        "</robot>",
        '<transmission name="t"><type>SimpleTransmission</type><joint name="shoulder"/>'
        '<actuator name="m"/></transmission></robot>',
    )
    assert read_urdf(driven).mechanism.joints[0].active is None


# Each case replaces words of ARM; the error must stand in the line of the words given last.
MALFORMED = {
    "unknown parent": ('<parent link="upper"/>', '<parent link="uper"/>', "elbow", "did you mean"),
    "unknown child": ('<child link="tool"/>', '<child link="hook"/>', "flange", "unknown link"),
    "two parents": (
        "</robot>",
        '<joint name="x" type="fixed"><parent link="base"/><child link="lower"/></joint></robot>',
        'name="x"',
        "two parents",
    ),
    "cycle": (
        '<parent link="base"/><child link="upper"/>',
        '<parent link="tool"/><child link="upper"/>',
        "shoulder",
        "circle of links, tool -> upper -> lower -> tool",
    ),
    "own parent": ('<child link="tool"/>', '<child link="lower"/>', "flange", "both 'lower'"),
    "two roots": ("</robot>", '<link name="x"/></robot>', 'name="x"', "second root"),
    "duplicate link": ("</robot>", '<link name="tool"/></robot>', "</robot>", "already taken"),
    "duplicate joint": ('name="flange"', 'name="elbow"', '"fixed"', "already taken by line 11"),
    "bad number": ('value="2"', 'value="heavy"', "heavy", "value has 'heavy', expected a number"),
    "nan": ('value="2"', 'value="nan"', '"nan"', "expected a finite one"),
    "infinite": ('xyz="0.2 0 0"', 'xyz="inf 0 0"', "inf 0 0", "expected a finite one"),
    "too few numbers": ('"0 1 0"', '"0 1"', '"0 1"', "expects 3 numbers, found 2"),
    "zero axis": ('"0 1 0"', '"0 0 0"', '"0 0 0"/>' + LIMIT, "the axis is zero"),
    "no parent": ('<parent link="base"/>', "", "shoulder", "has no <parent>"),
    "no child link": ('<child link="tool"/>', "<child/>", "<child/>", "<child> has no link"),
    "unknown type": ('"prismatic"', '"prizmatic"', "prizmatic", "did you mean 'prismatic'?"),
    "type of loops": ('"prismatic"', '"soft_finger"', "soft_finger", "unknown joint type"),
    "no type": (' type="prismatic"', "", "elbow", "<joint> has no type"),
    "no name": ("</robot>", "<link/></robot>", "<link/>", "<link> has no name"),
    "negative mass": ('value="2"', 'value="-2"', '"upper"', "mass is -2 kg"),
    "negative inertia": ('ixx="0.02"', 'ixx="-0.02"', '"upper"', "negative principal moment"),
    "no mass": ('<mass value="2"/>', "", "<inertial>", "<inertial> has no <mass>"),
    "no inertia": ('<inertia ixx="0.02" ', "<other ", "<inertial>", "has no <inertia>"),
    "missing entry": ('izz="0.01"', "", "<inertial>", "<inertia> has no izz"),
    "two origins": (
        '<axis xyz="0 1 0"/>',
        '<origin/><axis xyz="0 1 0"/>',
        "<origin/>",
        "<origin> is given twice",
    ),
    "mimic of nothing": (
        '<axis xyz="0 1 0"/>',
        '<axis xyz="0 1 0"/><mimic joint="elbo"/>',
        "shoulder",
        "did you mean 'elbow'?",
    ),
    "mimic of itself": (
        '<axis xyz="0 1 0"/>',
        '<axis xyz="0 1 0"/><mimic joint="shoulder"/>',
        "shoulder",
        "mimics itself",
    ),
    "xacro number": ('value="2"', 'value="${mass}"', "${mass}", "this is xacro"),
    "truncated": ("</joint>\n</robot>", "", None, "not well-formed"),
    "entities": ("<robot", '<!DOCTYPE robot [<!ENTITY a "b">]>\n<robot', "DOCTYPE", "entities"),
    "no links": (ARM, '<robot name="a">\n</robot>', "robot", "has no links"),
    "other root": (ARM, "<urdf/>", "urdf", "expected <robot> or <mujoco> at the top, found"),
}


@pytest.mark.parametrize("case", MALFORMED)
def test_a_malformed_file_is_refused_with_the_line(case):
    """Each malformed file gives exactly one error that names its line and the mistake."""
    old, new, where, message = MALFORMED[case]
    assert old in ARM
    text = ARM.replace(old, new) if case == "truncated" else ARM.replace(old, new, 1)
    errors = [problem for problem in refusal(text) if problem.severity == "error"]
    assert len(errors) == 1, errors
    line = text.count("\n") + 1 if where is None else line_of(text, where)
    assert errors[0].place == f"<text>:{line}"
    assert message in errors[0].sentence()


def test_every_problem_is_listed_at_once():
    """Mistakes of different kinds in one file all appear, each once, in the order of lines."""
    text = ARM
    for case in ("bad number", "zero axis", "unknown type", "unknown child", "duplicate link"):
        old, new, _, _ = MALFORMED[case]
        text = text.replace(old, new, 1)
    errors = [problem for problem in refusal(text) if problem.severity == "error"]
    lines = [int(problem.place.rpartition(":")[2]) for problem in errors]
    assert len(errors) == 5
    assert lines == sorted(lines)


def joint_without_inertia(text):
    """Return the element of the warning that a joint moves nothing, None if there is none."""
    found = read_urdf(text).diagnosis.warnings
    return next((p.element for p in found if "links without inertia" in p.message), None)


def test_a_mass_on_its_own_axis_is_found():
    """A point mass on the axis of its joint, and two joints in line with nothing between them."""
    point = (
        '<inertial><mass value="1"/>'
        '<inertia ixx="0" ixy="0" ixz="0" iyy="0" iyz="0" izz="0"/></inertial>'
    )
    text = ARM.replace(f'name="lower">{INERTIAL}', f'name="lower">{point}')
    rotating = text.replace("prismatic", "revolute")
    assert joint_without_inertia(rotating) == "joint 'elbow'"
    assert read_urdf(text).mechanism.joints[1].name == "elbow"  # it can be pushed, though
    assert joint_without_inertia(text) is None
    in_line = ARM.replace(f'name="upper">{INERTIAL}', 'name="upper">')
    in_line = in_line.replace('"0 1 0"', '"0 0.6 0.8"').replace("revolute", "prismatic")
    assert joint_without_inertia(in_line) == "joint 'shoulder'"


def test_mimic_joints_are_geared():
    """A mimic joint is a joint of its own with a coupling; the mimicked joint stays known."""
    text = ARM.replace(
        '<axis xyz="0 1 0"/>', '<axis xyz="0 1 0"/><mimic joint="elbow" multiplier="2"/>'
    )
    description = read_urdf(text)
    assert description.mimics == {"shoulder": ("elbow", 2.0, 0.0)}
    (coupling,) = description.mechanism.couplings
    assert coupling == CouplingElement.gear("shoulder", "shoulder", "elbow", 2.0)
    assert description.diagnosis.problems == ()


def test_locked_joints_need_no_inertia():
    """A finger without mass is warned of until it is locked; names are checked."""
    text = ARM.replace(f'name="lower">{INERTIAL}', 'name="lower">')
    assert joint_without_inertia(text) == "joint 'elbow'"
    locked = read_urdf(text, locked={"elbow": 0.5})
    assert not any("links without inertia" in p.message for p in locked.diagnosis.problems)
    joint = locked.mechanism.joints[1]
    assert joint.type == "fixed"
    np.testing.assert_allclose(joint.placement[:3, 3], [0.2, 0.3, 0.4], rtol=1e-15)
    with pytest.raises(UnknownNameError, match="'elbow'"):
        read_urdf(text, locked={"elbo": 0.5})


def test_proposed_independent_joints_are_known():
    """`independent` of URDF+ is read; anything but true and false is an error."""
    text = ARM.replace('name="elbow"', 'name="elbow" independent="True"')
    assert read_urdf(text).independent == ("elbow",)
    (problem,) = refusal(text.replace('"True"', '"yes"'))
    assert "expected true or false" in problem.message


def test_tags_of_other_programs_are_left_out():
    """Transmissions, Gazebo, ros2_control and foreign namespaces are nobody's mistake."""
    extra = (
        '<transmission name="t"><joint name="elbow"/></transmission><gazebo reference="tool"/>'
        '<ros2_control name="x"><joint name="elbow"/></ros2_control><s:thing xmlns:s="urn:s"/>'
    )
    assert read_urdf(ARM.replace("</robot>", extra + "</robot>")).diagnosis.problems == ()


def test_files_that_are_not_there_are_one_sentence(tmp_path):
    """A missing file, a folder and junk each give one sentence with the name."""
    (tmp_path / "arm.urdf").write_bytes(b"\x00\xff" * 100)
    for name, words in (
        ("amr.urdf", "no such file"),
        (".", "is a folder"),
        ("arm.urdf", "arm.urdf:1"),
    ):
        problems = refusal(tmp_path / name)
        assert len(problems) == 1
        assert words in problems[0].sentence()
    (problem,) = refusal("package://no_such_package/a.urdf")
    assert "there is no package" in problem.message


def test_hostile_sizes_are_answered_briefly():
    """Very many elements, names or numbers are refused briefly."""
    joint = '<joint name="{0}" type="hinge{0}"><parent link="a"/><child link="b{0}"/></joint>'
    for text in (
        '<robot name="a">' + '<link name="a"/>' * 300_000 + "</robot>",
        "<robot>" + "".join(joint.format(i) for i in range(4000)) + "</robot>",
        ARM.replace("0.2 0 0", "1 " * 2_000_000),
        "<robot>" + "<link>" * 100_000,
    ):
        with pytest.raises(DescriptionError) as caught:
            read_urdf(text)
        assert len(str(caught.value)) < 50_000


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('xyz="0.2 0 0"', 'xyz="200 0 0"', "were millimetres meant?"),
        ('xyz="0 0 0.1"', 'xyz="0 0 100"', "were millimetres meant?"),
        ('value="2"', 'value="2000"', "were grams meant?"),
        ('upper="2"', 'upper="180"', "were degrees meant?"),
        ('rpy="0.1 0.2 0.3"', 'rpy="0 -90 45"', "an angle is -90 rad, more than a whole turn"),
        ('xyz="0 0 0.1"', 'xyz="0 0 0.1" rpy="180 0 0"', "were degrees meant?"),
        ("<robot", '<robot xmlns="urn:u"', "<robot> is in the namespace 'urn:u'"),
        ("</robot>", '<u:link xmlns:u="urn:u" name="x"/></robot>', "it is left out"),
        ('ixx="0.02"', 'ixx="20"', "check the units of mass and inertia"),
        ('ixx="0.02"', 'ixx="0.2"', "one is larger than the sum of the others"),
        ('lower="-1" upper="2"', 'lower="2" upper="-1"', "the other way round"),
        ('lower="-1" upper="2"', "", "has neither lower nor upper limit"),
        ('lower="-1" upper="2"', 'lower="1" upper="1"', "the joint cannot move"),
        (' velocity="3"', "", "has no limit of velocity"),
        ('velocity="3"', 'velocity="0"', "the limit of velocity is 0"),
        (LIMIT, "", "has no <limit>"),
        ('"0 1 0"', '"0 2 0"', "the axis has length 2"),
        ('damping="0.5"', 'damping="-0.5"', "damping is -0.5, taken as zero"),
        ("<dynamics damping", "<dynamics dampin", "did you mean 'damping'?"),
        ("<dynamics", "<dynamic", "did you mean <dynamics>?"),
        (
            '<link name="tool"/>',
            f'<link name="tool">{INERTIAL}</link>'.replace('"2"', '"0"'),
            "no",
        ),
    ],
)
def test_doubtful_files_load_with_a_warning(old, new, message):
    """Likely mistakes of units, limits and spelling are warned of, and the file still loads."""
    assert old in ARM
    warnings = read_urdf(ARM.replace(old, new, 1)).diagnosis.warnings
    assert any(message in warning.sentence() for warning in warnings)


def test_a_text_has_the_limit_of_a_file(tmp_path, monkeypatch):
    """Texts come from topics and xacro, which can expand to any size."""
    size = len(ARM.encode())
    (tmp_path / "arm.urdf").write_text(ARM)
    for most, refused in ((size, False), (size - 1, True)):
        monkeypatch.setattr(urdf, "MAX_BYTES", most)
        for given in (ARM, tmp_path / "arm.urdf"):
            if refused:
                with pytest.raises(DescriptionError, match="is larger than"):
                    read_urdf(given)
            else:
                read_urdf(given)
