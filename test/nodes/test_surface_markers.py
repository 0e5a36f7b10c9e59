# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Arrows on surfaces are the wrenches that do the same work as the surfaces' forces."""

import numpy as np
import pytest

pytest.importorskip("visualization_msgs", reason="ROS 2 is not installed")

from visualization_msgs.msg import Marker

from robot_dynamics.app.hybrid_cell import environment_of, surface_rows
from robot_dynamics.app.scenario import load_scenario
from robot_dynamics.manipulation.contact_settings import PartSettings, SurfaceSettings
from robot_dynamics.manipulation.hybrid.environment import derivatives
from robot_dynamics.nodes.conversions import rotation_of
from robot_dynamics.nodes.display import FORCE_SCALE, MOMENT_SCALE, SurfaceMarkers

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
    body[:3, :3] = rotation_of(q / np.linalg.norm(q))
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
