# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Shapes and descriptions."""

from dataclasses import replace

import numpy as np
import pytest
from description.urdf_texts import ARM

from robot_dynamics.description.description import Shape, Transmission
from robot_dynamics.description.urdf import read_urdf
from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.model import LoopElement, pose
from robot_dynamics.resources import ResourceNotFoundError


@pytest.mark.parametrize(
    ("kind", "size", "half"),
    [
        ("box", (2.0, 4.0, 6.0), (1, 2, 3)),
        ("sphere", (2.0,), (2, 2, 2)),
        ("cylinder", (1.0, 4.0), (1, 1, 2)),
        ("capsule", (1.0, 4.0), (1, 1, 3)),
    ],
)
def test_points_enclose_the_shape(kind, size, half):
    """The corners are those of the smallest box about the shape, in the link's frame."""
    quarter = np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    shape = Shape("link", "collision", kind, pose((1.0, 0.0, 0.0), quarter), size)
    points = shape.points()
    assert points.shape == (8, 3)
    np.testing.assert_allclose(points.mean(axis=0), [1, 0, 0], atol=1e-15)
    x, y, z = half
    np.testing.assert_allclose(np.ptp(points, axis=0), [2 * y, 2 * x, 2 * z], atol=1e-15)


def test_meshes_have_no_points():
    """The file of a mesh is not read, so nothing is claimed about its extent."""
    assert Shape("link", "visual", "mesh", np.eye(4), (1, 1, 1), "a.stl").points().shape == (0, 3)


def test_meshes_are_located_from_the_description(tmp_path):
    """A relative mesh is beside the file; other shapes have none."""
    mesh = (
        '<link name="tool"><visual><geometry><mesh filename="a.stl"/></geometry></visual></link>'
    )
    (tmp_path / "arm.urdf").write_text(ARM.replace('<link name="tool"/>', mesh))
    description = read_urdf(tmp_path / "arm.urdf")
    (shape,) = description.shapes
    with pytest.raises(ResourceNotFoundError, match=r"a\.stl"):
        description.locate(shape)
    (tmp_path / "a.stl").write_text("solid")
    assert description.locate(shape) == tmp_path / "a.stl"
    with pytest.raises(RobotDynamicsError, match="link 'tool' is a box, expected a mesh"):
        description.locate(Shape("tool", "visual", "box", np.eye(4), (1, 1, 1)))


def test_only_one_actuator_on_one_joint_reflects_its_rotor():
    """The reduction counts twice, whatever its sign."""
    one = Transmission("t", "Simple", ("j",), ("m",), (-10.0,), (0.01,))
    assert one.armature == 1.0
    two = Transmission("t", "Differential", ("j", "k"), ("m", "n"), (1.0, 1.0), (0.01, 0.01))
    assert two.armature == 0.0


def test_loops_are_added_to_a_copy():
    """Adding loops leaves the description that was read as it was."""
    description = read_urdf(ARM)
    closed = description.with_loops([LoopElement("l", "fixed", "base", "tool")])
    assert len(closed.mechanism.loops) == 1
    assert description.mechanism.loops == ()
    assert closed.source == description.source


def test_descriptions_read_twice_are_equal():
    """Equal texts give equal descriptions, wherever their elements stand."""
    one = read_urdf(ARM)
    assert one == read_urdf(ARM)
    assert one == read_urdf(ARM.replace("\n", "\n\n"))
    assert one != read_urdf(ARM.replace('xyz="0.2 0 0"', 'xyz="0.3 0 0"'))
    assert one != replace(one, actuated=("elbow",))
    assert one != 7


def test_shapes_are_compared_by_their_poses():
    """A single entry of the pose tells them apart."""
    shape = Shape("a", "visual", "box", pose((1.0, 2.0, 3.0)), (1.0, 1.0, 1.0))
    assert replace(shape, pose=shape.pose.copy()) == shape
    assert hash(replace(shape, pose=shape.pose.copy())) == hash(shape)
    assert replace(shape, pose=pose((1.0, 2.0, 3.5))) != shape
    assert replace(shape, link="b") != shape
