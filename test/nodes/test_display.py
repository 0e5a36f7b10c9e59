# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Markers are complete, with the right place, size and direction."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("visualization_msgs", reason="ROS 2 is not installed")

from rclpy.serialization import serialize_message
from visualization_msgs.msg import Marker

from robot_dynamics.app.pictures.shapes import FORCE_SCALE, MOMENT_SCALE
from robot_dynamics.app.scenarios.cell import environment_of, surface_rows
from robot_dynamics.app.scenarios.scenario import load_scenario
from robot_dynamics.description.description import Shape
from robot_dynamics.description.orientations import rotation_of_quaternion
from robot_dynamics.manipulation.contact_settings import PartSettings, SurfaceSettings
from robot_dynamics.manipulation.hybrid.environment import derivatives
from robot_dynamics.model import pose
from robot_dynamics.nodes.display import (
    Display,
    SurfaceMarkers,
    arrow,
    line,
    point_arrow,
    shape_marker,
)

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


def test_visual_shapes_are_markers_at_the_object(display):
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
    display.reset_path()
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


def test_every_marker_is_a_message():
    """In the world's frame, with an orientation, and with fields of the right types."""
    made = [
        shape_marker("a", 1, Shape("", "visual", "capsule", np.eye(4), (0.1, 0.4))),
        arrow("b", 2, (1, 0, 0, 1)),
        line("c", (0, 1, 0, 0.5)),
    ]
    for marker in made:
        serialize_message(marker)
        assert (marker.header.frame_id, marker.pose.orientation.w) == ("world", 1.0)
    assert [marker.type for marker in made] == [Marker.CYLINDER, Marker.ARROW, Marker.LINE_STRIP]
    assert made[0].scale.z == pytest.approx(0.6)  # with its caps


def test_opacity_is_multiplied():
    """Translucent objects become more so."""
    ball = Shape("", "visual", "sphere", np.eye(4), (0.1,), color=(1, 0, 0, 0.5))
    assert shape_marker("a", 0, ball, alpha=0.5).color.a == 0.25


def test_an_arrow_ends_where_it_points():
    """And a short one is hidden: RViz complains of arrows without a length."""
    marker = arrow("a", 0, (1, 0, 0, 1))
    point_arrow(marker, np.array([1.0, 2.0, 3.0]), np.array([0.0, 0.0, 0.5]))
    assert marker.action == Marker.ADD
    assert [p.z for p in marker.points] == [2.5, 3.0]
    point_arrow(marker, np.zeros(3), np.zeros(3))
    assert marker.action == Marker.DELETE


RNG = np.random.default_rng(5)


def vectors(markers, namespace):
    """Return the tips and the vectors of the arrows of a namespace."""
    found = []
    for marker in markers.markers:
        if marker.ns == namespace:
            tail, tip = (np.array([p.x, p.y, p.z]) for p in marker.points)
            found.append((tip, tip - tail))
    return found


@pytest.mark.parametrize("name", ["wipe", "peg", "lid", "drawer"])
def test_arrows_are_the_wrench_on_the_surface(name):
    """Moved to the origin they are the gradients that the law has, times the forces."""
    cell = load_scenario(name).cell
    markers = SurfaceMarkers(cell.surfaces)
    q = RNG.normal(size=4)
    body = np.eye(4)
    body[:3, :3] = rotation_of_quaternion(q)
    body[:3, 3] = RNG.normal(size=3)
    rows = surface_rows(cell)
    forces = 10.0 + RNG.random(max(own.stop for own in rows.values()))
    markers.draw_forces(body, forces)

    # About the object's origin, as derived exactly for control.
    environment = environment_of(cell, np.zeros(3))
    R = body[:3, :3].tolist()
    _, gradients, _ = derivatives(environment.surfaces, body[:3, 3].tolist(), R, [0.0] * 6)
    pairs = zip(vectors(markers, "surface_force"), vectors(markers, "surface_moment"), strict=True)
    for own, ((tip, force), (_, moment)) in zip(rows.values(), pairs, strict=True):
        force, moment = force / FORCE_SCALE, moment / MOMENT_SCALE
        about_origin = moment + np.cross(tip - body[:3, 3], force)
        expected = np.asarray(gradients)[own].T @ forces[own]
        # Forces of ten newtons at a metre; scales of 1e-3 m cost three digits of 1e-16.
        np.testing.assert_allclose([*about_origin, *force], expected, atol=1e-11)


def test_no_contact_no_arrows():
    """Neither with forces of zero nor where none are known."""
    markers = SurfaceMarkers(load_scenario("wipe").cell.surfaces)
    for force in (None, np.zeros(1)):
        markers.draw_forces(np.eye(4), force)
        actions = [m.action for m in markers.markers if m.ns != "surface"]
        assert actions == [Marker.DELETE, Marker.DELETE]


def test_every_kind_has_its_shape():
    """Planes lie below their frame's z axis, holes below their mouth."""
    axis = PartSettings("axis")
    surfaces = [
        SurfaceSettings("a", "plane", (0.0, 0.0, 1.0)),
        SurfaceSettings("b", "sphere", (0.0, 0.0, 1.0), radius=0.2),
        SurfaceSettings("c", "cylinder", (0.0, 0.0, 1.0), radius=0.3),
        SurfaceSettings("d", "line", (0.0, 0.0, 1.0)),
        SurfaceSettings("e", "hole", (0.0, 0.0, 1.0), radius=0.03, depth=0.1, part=axis),
        SurfaceSettings("f", "hinge", (0.0, 0.0, 1.0), part=axis),
    ]
    shown = {m.id: m for m in SurfaceMarkers(surfaces).markers if m.ns == "surface"}
    types = [shown[i].type for i in range(6)]
    assert types == [Marker.CUBE, Marker.SPHERE, *[Marker.CYLINDER] * 4]
    tops = [shown[i].pose.position.z + 0.5 * shown[i].scale.z for i in (0, 4)]
    assert tops == pytest.approx([1.0, 1.0], abs=1e-15)
    assert [shown[i].scale.x for i in (1, 2, 4)] == pytest.approx([0.4, 0.6, 0.06])
