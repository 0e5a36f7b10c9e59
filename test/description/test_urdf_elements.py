# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The elements of URDF, one by one."""

import math

import numpy as np
import pytest
from description.urdf_texts import INERTIAL
from scipy.spatial.transform import Rotation

from robot_dynamics.description.diagnosis import DescriptionError
from robot_dynamics.description.urdf import read_urdf


def joint_of(joint, top=""):
    """Return the joint that a text describes, between two links."""
    link = f'<link name="a"/><link name="b">{INERTIAL}</link>'
    return read_urdf(f"<robot name='r'>{top}{link}{joint}</robot>").mechanism.joints[0]


def test_an_orientation_may_be_a_quaternion():
    """`quat_xyzw` (URDF 1.1) is read; both spellings at once, or a wrong length, are refused."""
    text = (
        '<joint name="j" type="floating"><parent link="a"/><child link="b"/>'
        '<origin {}="0.6 0 0 0.8"{}/></joint>'
    )
    placement = joint_of(text.format("quat_xyzw", "")).placement
    np.testing.assert_allclose(
        placement[:3, :3], Rotation.from_quat([0.6, 0, 0, 0.8]).as_matrix(), atol=1e-15
    )
    with pytest.raises(DescriptionError, match=r"\brpy\b.*quat_xyzw"):
        joint_of(text.format("quat_xyzw", ' rpy="0 0 0"'))
    with pytest.raises(DescriptionError, match=r"quat_xyzw has length 1\.\d+, expected 1"):
        joint_of(text.format("quat_xyzw", "").replace("0.8", "0.9"))


def test_a_turned_inertia_is_returned_in_link_axes():
    """The frame of `<inertial>` may be turned: moments are swapped with the axes."""
    turned = INERTIAL.replace('xyz="0 0 0.1"', f'xyz="0 0 0.1" rpy="0 {math.pi / 2} 0"')
    link = read_urdf(f"<robot name='r'><link name='a'>{turned}</link></robot>").mechanism.links[0]
    assert link.center == (0.0, 0.0, 0.1)
    np.testing.assert_allclose(link.inertia, np.diag([0.01, 0.02, 0.02]), atol=1e-17)


def test_shapes_are_read_with_their_colors():
    """Each kind of geometry, its pose, and its colour, by name or in place."""
    text = """<robot name="r"><material name="blue"><color rgba="0 0 1 1"/></material>
    <link name="a">
    <visual><origin xyz="1 2 3"/><geometry><box size="1 2 3"/></geometry>
    <material name="blue"/></visual>
    <visual><geometry><cylinder radius="1" length="2"/></geometry>
    <material name=""><color rgba="1 0 0 0.5"/></material></visual>
    <collision><geometry><sphere radius="1"/></geometry></collision>
    <collision><geometry><capsule radius="1" length="2"/></geometry></collision>
    <visual><geometry><mesh filename="package://p/a.stl" scale="1 1 -1"/></geometry></visual>
    </link></robot>"""
    box, cylinder, sphere, capsule, mesh = read_urdf(text).shapes
    assert (box.kind, box.role, box.size, box.color) == ("box", "visual", (1, 2, 3), (0, 0, 1, 1))
    assert box.pose[:3, 3].tolist() == [1, 2, 3]
    assert (cylinder.size, cylinder.color) == ((1, 2), (1, 0, 0, 0.5))
    assert (sphere.kind, sphere.role, sphere.size) == ("sphere", "collision", (1,))
    assert (capsule.kind, capsule.size) == ("capsule", (1, 2))
    assert (mesh.mesh, mesh.size) == ("package://p/a.stl", (1, 1, -1))
