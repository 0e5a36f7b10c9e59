# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The joints of URDF, attribute by attribute."""

import math

import pytest
from description.urdf_texts import ARM, INERTIAL

from robot_dynamics.description.urdf import read_urdf
from robot_dynamics.model import Limits, SafetyController, build


def joint_of(joint, top=""):
    """Return the joint that a text describes, between two links."""
    link = f'<link name="a"/><link name="b">{INERTIAL}</link>'
    return read_urdf(f"<robot name='r'>{top}{link}{joint}</robot>").mechanism.joints[0]


def test_the_axis_is_x_unless_stated():
    """URDF's default is x, not z; a stated axis is made a unit vector."""
    text = '<joint name="j" type="continuous"><parent link="a"/><child link="b"/>{}</joint>'
    assert joint_of(text.format("")).axis == (1.0, 0.0, 0.0)
    assert joint_of(text.format('<axis xyz="0 0 -5"/>')).axis == (0.0, 0.0, -1.0)


def test_a_continuous_joint_has_no_limits_of_position():
    """Lower and upper limits of a continuous joint mean nothing; the others do."""
    limit = '<limit lower="-1" upper="1" velocity="2" effort="3"/>'
    limits = joint_of(
        f'<joint name="j" type="continuous"><parent link="a"/><child link="b"/>{limit}</joint>'
    ).limits
    assert (limits.lower, limits.upper) == (-math.inf, math.inf)
    assert (limits.velocity, limits.effort) == (2.0, 3.0)


def test_friction_may_be_left_out():
    """A joint without `<dynamics>` has no friction."""
    assert read_urdf(ARM).mechanism.joints[1].damping == 0.0


def test_a_planar_joint_moves_in_the_plane_normal_to_its_axis():
    """Its axis, x by default, is the normal; limits of one number mean nothing for it."""
    text = '<joint name="j" type="planar"><parent link="a"/><child link="b"/>{}</joint>'
    joint = joint_of(text.format('<axis xyz="0 0 1"/><limit lower="0" upper="1"/>'))
    assert (joint.type, joint.axis, joint.limits) == ("planar", (0.0, 0.0, 1.0), Limits())
    assert joint_of(text.format("")).axis == (1.0, 0.0, 0.0)
    link = f'<link name="a"/><link name="b">{INERTIAL}</link>'
    for limit, count in (("", 0), ('<limit lower="0" upper="1"/>', 1)):
        description = read_urdf(f"<robot name='r'>{link}{text.format(limit)}</robot>")
        words = [p.message for p in description.diagnosis.warnings if "<limit>" in p.message]
        assert len(words) == count
        assert all("planar joint has 3 degrees of freedom" in word for word in words)


def test_types_that_urdf_lacks_are_read_with_a_warning():
    """Any type of the joint library may carry a body; its parameters are attributes."""
    text = f"""<robot name="r"><link name="a"/><link name="b">{INERTIAL}</link>
    <joint name="j" type="helical" pitch="0.01"><parent link="a"/><child link="b"/></joint>
    </robot>"""
    description = read_urdf(text)
    assert description.mechanism.joints[0].parameters == {"pitch": 0.01}
    limited = text.replace("</joint>", '<limit lower="-9" upper="9" effort="1"/></joint>')
    assert read_urdf(limited).mechanism.joints[0].limits == Limits(-9.0, 9.0, effort=1.0)
    assert "no joint type of URDF" in description.diagnosis.warnings[0].message
    assert build(description.mechanism).nv == 1


def with_safety(attributes):
    """Return the arm with a safety controller on its shoulder."""
    return ARM.replace("<dynamics damping", f"<safety_controller {attributes}/><dynamics damping")


def test_soft_limits_are_read():
    """`<safety_controller>` arrives whole; omitted attributes are None."""
    full = 'soft_lower_limit="-0.9" soft_upper_limit="1.9" k_position="100" k_velocity="40"'
    joint = read_urdf(with_safety(full)).mechanism.joints[0]
    assert joint.safety == SafetyController(-0.9, 1.9, 100.0, 40.0)
    joint = read_urdf(with_safety('k_velocity="40"')).mechanism.joints[0]
    assert joint.safety == SafetyController(-math.inf, math.inf, 0.0, 40.0)
    assert read_urdf(ARM).mechanism.joints[0].safety is None


@pytest.mark.parametrize(
    ("attributes", "message"),
    [
        ('soft_lower_limit="1" soft_upper_limit="-1"', "is above the soft upper limit"),
        ('soft_lower_limit="-180" soft_upper_limit="-90"', "lie outside the limits"),
        ('sofft_lower_limit="-1"', "did you mean 'soft_lower_limit'?"),
    ],
)
def test_doubtful_soft_limits_are_warned_of(attributes, message):
    """Soft limits the wrong way round or beyond the hard ones deserve a look."""
    warnings = read_urdf(with_safety(attributes)).diagnosis.warnings
    assert any(message in warning.sentence() for warning in warnings)


def test_limits_of_acceleration_and_jerk_are_read():
    """The additions of URDF 1.2 arrive; without them nothing is limited."""
    text = ARM.replace(
        'velocity="3"', 'velocity="3" acceleration="5" deceleration="6" jerk="7"', 1
    )
    limits = read_urdf(text).mechanism.joints[0].limits
    assert (limits.acceleration, limits.deceleration, limits.jerk) == (5.0, 6.0, 7.0)
    limits = read_urdf(ARM).mechanism.joints[0].limits
    assert limits.acceleration == limits.deceleration == limits.jerk == math.inf
