# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Robots that other URDF libraries have loaded."""

from types import SimpleNamespace as Fake

import numpy as np
import pytest
from description.urdf_texts import ARM
from scipy.spatial.transform import Rotation

from robot_dynamics.description.diagnosis import DescriptionError
from robot_dynamics.description.load import load_description
from robot_dynamics.description.urdf import read_urdf
from robot_dynamics.description.urdf_objects import urdf_text
from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.model import pose

SHAPES = """<link name="tool"><visual><origin xyz="1 2 3" rpy="0.1 0 0"/>
<geometry><mesh filename="package://p/a.stl" scale="1 1 2"/></geometry>
<material name="red"><color rgba="1 0 0 1"/></material></visual>
<collision><geometry><cylinder radius="0.1" length="0.2"/></geometry></collision>
<collision><geometry><box size="1 2 3"/></geometry></collision></link>"""
MIMIC = '<axis xyz="0 1 0"/><mimic joint="elbow" multiplier="2" offset="0.1"/>'
FULL = ARM.replace('<link name="tool"/>', SHAPES).replace('<axis xyz="0 1 0"/>', MIMIC)


def fake(**changes):
    """Return an object shaped like those of urchin: two links and a joint."""
    inertial = Fake(mass=2.0, inertia=np.diag([0.02, 0.02, 0.01]), origin=pose((0, 0, 0.1)))
    links = [
        Fake(name="base", inertial=None, visuals=[], collisions=[]),
        Fake(name="arm", inertial=inertial, visuals=[], collisions=[]),
    ]
    joint = {
        "name": "hinge",
        "joint_type": "revolute",
        "parent": "base",
        "child": "arm",
        "origin": pose((0, 0, 0.3), Rotation.from_euler("y", np.pi / 2).as_matrix()),
        "axis": np.array([0.0, 1.0, 0.0]),
        "limit": Fake(lower=-1.0, upper=2.0, effort=4.0, velocity=3.0),
        "dynamics": Fake(damping="0.5", friction=0.25),
        "mimic": None,
        "safety_controller": Fake(soft_lower_limit=-0.5, soft_upper_limit=1.0, k_velocity=3.0),
        **changes,
    }
    actuator = Fake(name="motor", mechanicalReduction=50.0)
    transmission = Fake(
        name="t", trans_type="Simple", joints=[Fake(name="hinge")], actuators=[actuator]
    )
    return Fake(name="fake", links=links, joints=[Fake(**joint)], transmissions=[transmission])


def test_every_attribute_arrives():
    """Poses, inertia, limits, friction (be it a text), soft limits and transmissions."""
    description = load_description(fake())
    (joint,) = description.mechanism.joints
    assert (joint.name, joint.type, joint.damping, joint.friction) == (
        "hinge",
        "revolute",
        0.5,
        0.25,
    )
    assert (joint.limits.lower, joint.limits.effort) == (-1.0, 4.0)
    assert (joint.safety.lower, joint.safety.k_velocity) == (-0.5, 3.0)
    # A rotation matrix there and back through a quaternion.
    np.testing.assert_allclose(joint.placement, fake().joints[0].origin, atol=1e-15)
    arm = description.mechanism.links[1]
    assert (arm.mass, arm.center) == (2.0, (0.0, 0.0, 0.1))
    assert description.transmissions[0].reductions == (50.0,)
    assert description.source.endswith("object>")


def test_a_robot_inside_is_found():
    """yourdfpy keeps the robot in an attribute and calls the joint's type `type`."""
    robot = fake(type="revolute", joint_type=None)
    assert load_description(Fake(robot=robot, scene=None)).mechanism.name == "fake"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"axis": np.full(3, np.nan)}, r"'hinge'.*\bxyz\b.*'nan'"),
        ({"parent": "bas"}, "'base'"),
        ({"joint_type": "hinge"}, r":10: joint 'hinge': .*'hinge'"),
        ({"limit": Fake(lower="low", upper=1.0)}, r"lower.*'low'"),
    ],
)
def test_objects_are_checked_as_files_are(changes, message):
    """Errors that those libraries accept are refused with the element's name."""
    with pytest.raises(DescriptionError, match=message):
        load_description(fake(**changes))


def test_other_objects_are_refused_in_one_sentence():
    """A number is no robot, and neither is an origin of the wrong shape."""
    with pytest.raises(RobotDynamicsError, match=r"\bint\b.*URDF"):
        load_description(7)
    with pytest.raises(RobotDynamicsError, match=r"shape \(3, 3\)"):
        urdf_text(fake(origin=np.eye(3)))


@pytest.fixture(params=["yourdfpy", "urchin"])
def loaded(request, tmp_path):
    """Return the full arm as loaded by a library, if it is installed."""
    library = pytest.importorskip(request.param)
    (tmp_path / "arm.urdf").write_text(FULL)
    if request.param == "yourdfpy":
        return library.URDF.load(
            str(tmp_path / "arm.urdf"), build_scene_graph=False, load_meshes=False
        )
    return library.URDF.load(str(tmp_path / "arm.urdf"), lazy_load_meshes=True)


def test_a_loaded_robot_is_the_robot_of_the_file(loaded):
    """Whatever the library, links, joints, shapes and gears are those of the strict reader."""
    again, expected = load_description(loaded), read_urdf(FULL)
    for one, other in zip(again.mechanism.links, expected.mechanism.links, strict=True):
        assert (one.name, one.mass) == (other.name, other.mass)
        # Poses went through matrices and quaternions.
        np.testing.assert_allclose(one.inertia, other.inertia, atol=1e-15)
        np.testing.assert_allclose(one.center, other.center, atol=1e-15)
    for one, other in zip(again.mechanism.joints, expected.mechanism.joints, strict=True):
        assert (one.name, one.type, one.limits) == (other.name, other.type, other.limits)
        np.testing.assert_allclose(one.placement, other.placement, atol=1e-15)
    assert again.mechanism.couplings == expected.mechanism.couplings
    found = {(shape.role, shape.kind, shape.size) for shape in again.shapes}
    assert found == {(shape.role, shape.kind, shape.size) for shape in expected.shapes}
