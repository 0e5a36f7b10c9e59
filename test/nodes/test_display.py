# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Markers show what there is: the object's shapes, wrenches where they act, and the paths."""

import numpy as np
import pytest

pytest.importorskip("visualization_msgs", reason="ROS 2 is not installed")

from rclpy.serialization import serialize_message
from visualization_msgs.msg import Marker

from robot_dynamics.description.description import Shape
from robot_dynamics.manipulation.contact_settings import PartSettings, SurfaceSettings
from robot_dynamics.model import pose
from robot_dynamics.nodes.display import FORCE_SCALE, Display

HALF = np.sqrt(0.5)
TURNED = np.array([1.0, 0.0, 0.5, 0.0, 0.0, HALF, HALF])  # by 90 degrees about z
SHAPES = [
    Shape("box", "visual", "box", pose((0.1, 0.0, 0.0)), (0.3, 0.4, 0.5), color=(1, 0, 0, 1)),
    Shape("box", "visual", "cylinder", np.eye(4), (0.1, 0.6)),
    Shape("box", "visual", "mesh", np.eye(4), (1.0, 1.0, 1.0), "package://p/m.stl"),
    Shape("box", "collision", "sphere", np.eye(4), (0.2,)),
]
GRASPS = [pose((0.0, 0.2, 0.0)), pose((0.0, -0.2, 0.0))]
PATH = np.array([[0.0, 0.0, 0.0], [0.0, 0.0, 0.0], [0.0, 0.0, 0.1], [0.0, 0.0, 0.1]])
WRENCHES = np.array([[0, 0, 0, 0, -50.0, 0], [0, 0, 0, 0, 50.0, 0]])


def shown(display, at=TURNED, wrenches=WRENCHES):
    """Return the markers by namespace."""
    message = display.fill([at], at, wrenches)
    serialize_message(message)  # every field has the type it must have
    found = {}
    for marker in message.markers:
        found.setdefault(marker.ns, []).append(marker)
    return found


@pytest.fixture
def display():
    """Return the display of an object with three visual shapes."""
    return Display([SHAPES], GRASPS, PATH)


def test_visual_shapes_are_shown_at_the_object(display):
    """Each at its own place on the object; collision shapes are left out."""
    box, cylinder, mesh = shown(display)["object"]
    assert (box.type, cylinder.type, mesh.type) == (
        Marker.CUBE,
        Marker.CYLINDER,
        Marker.MESH_RESOURCE,
    )
    # 0.1 m along the object's x axis, which is the world's y.
    p = box.pose.position
    assert np.allclose([p.x, p.y, p.z], [1.0, 0.1, 0.5], atol=1e-15)
    assert (box.scale.x, box.scale.y, box.scale.z) == (0.3, 0.4, 0.5)
    assert (cylinder.scale.x, cylinder.scale.z) == (0.2, 0.6)
    assert mesh.mesh_resource == "package://p/m.stl"
    assert (box.color.r, box.color.a) == (1.0, 1.0)


def test_the_reference_is_a_ghost(display):
    """The same shapes, translucent, where the object is to be."""
    ghosts = shown(display)["object_reference"]
    assert len(ghosts) == 3
    assert all(ghost.color.a < 0.5 for ghost in ghosts)


def test_a_force_is_an_arrow_that_ends_where_it_acts(display):
    """By the arm on the object, so that a squeeze points inwards from outside."""
    left, right = shown(display)["grasp_force"]
    tail, tip = ([p.x, p.y, p.z] for p in left.points)
    # The grasp at y = 0.2 of the object is at x = 0.8 of the world; the force points along +x.
    assert np.allclose(tip, [0.8, 0.0, 0.5], atol=1e-15)
    assert np.allclose(tail, [0.8 - 50.0 * FORCE_SCALE, 0.0, 0.5], atol=1e-15)
    assert right.points[0].x > right.points[1].x


def test_no_wrench_no_arrow(display):
    """RViz complains of arrows without a length."""
    for wrenches in (None, np.zeros((2, 6))):
        markers = shown(display, wrenches=wrenches)
        arrows = [*markers["grasp_force"], *markers["grasp_moment"]]
        assert {arrow.action for arrow in arrows} == {Marker.DELETE}


def test_the_path_grows_with_the_motion(display):
    """A point is added when the object has moved, and a line has two points at least."""
    assert shown(display)["path"][0].action == Marker.DELETE
    assert len(shown(display)["path"][0].points) == 1
    away = TURNED + 0.1 * np.eye(7)[2]
    line = shown(display, away)["path"][0]
    assert len(line.points) == 2
    assert line.action == Marker.ADD
    display.forget_path()
    assert len(shown(display)["path"][0].points) == 1


def test_a_long_path_is_thinned(display):
    """A day of motion does not fill the memory."""
    for i in range(5000):
        display.fill([TURNED + 0.01 * i * np.eye(7)[0]], TURNED, None)
    assert len(shown(display)["path"][0].points) <= 2001


def test_the_reference_path_leaves_pauses_out(display):
    """Points that are the same are shown once."""
    (line,) = shown(display)["reference_path"]
    assert [p.z for p in line.points] == [0.0, 0.1]


def test_an_object_without_shapes_is_a_ball():
    """Something is shown for any object."""
    (ball,) = shown(Display([[]], GRASPS, PATH))["object"]
    assert ball.type == Marker.SPHERE


def test_an_object_of_two_parts():
    """Each part is where it is, its arm's wrench is on it, and the first one has a ghost."""
    parts = [SHAPES[1:2], SHAPES[1:2]]
    display = Display(parts, [np.eye(4), np.eye(4)], PATH)
    away = np.array([2.0, 3.0, 4.0, 0.0, 0.0, 0.0, 1.0])
    found = {}
    for marker in display.fill([TURNED, away], TURNED, WRENCHES).markers:
        found.setdefault(marker.ns, []).append(marker)
    first, second = found["object"]
    assert (first.pose.position.x, second.pose.position.x) == (1.0, 2.0)
    assert len({(marker.ns, marker.id) for marker in found["object"]}) == 2
    (ghost,) = found["object_reference"]
    assert ghost.pose.position.x == 1.0
    tips = [marker.points[1] for marker in found["grasp_force"]]
    assert [tip.z for tip in tips] == [0.5, 4.0]


def test_surfaces_are_shown_with_what_the_object_exerts_on_them():
    """A force on a wall is an arrow that ends where the object touches it."""
    wall = SurfaceSettings(
        "wall", "plane", (1.0, 0.6, 0.5), part=PartSettings(xyz=(0.0, 0.0, 0.1))
    )
    display = Display([SHAPES], GRASPS, PATH, [wall])
    message = display.fill([TURNED], TURNED, None, np.array([20.0]))
    serialize_message(message)
    markers = {marker.ns: marker for marker in message.markers}
    assert markers["surface"].type == Marker.CUBE
    tail, tip = ([p.x, p.y, p.z] for p in markers["surface_force"].points)
    assert np.allclose(tip, [1.0, 0.0, 0.6], atol=1e-15)
    # The plane's z axis points into free space, up; the push goes down.
    assert np.allclose(tail, [1.0, 0.0, 0.6 + 20.0 * FORCE_SCALE], atol=1e-15)
