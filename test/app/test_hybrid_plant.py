# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The simulated world of a scenario: what touches what, and where it truly is."""

from dataclasses import replace

import numpy as np
import pytest
from app.hybrid_scenarios import prepared

from robot_dynamics.app.hybrid_plant import contact_scene
from robot_dynamics.errors import ArgumentError
from robot_dynamics.spatial import Vector3


def test_surfaces_are_where_they_truly_are():
    """The hole is 0.1 mm beside its believed place and askew, and 0.4 mm wider than the peg."""
    scenario, system, _, _ = prepared("peg")
    hole, bottom = contact_scene(scenario, system).surfaces
    x, y, z = scenario.cell.surfaces[0].xyz
    # 1 cm below its mouth the axis, turned by -0.02 rad about y, is aside; its bottom is farther
    # away than its side.
    inside = Vector3(x + 0.0001 + 0.01 * np.sin(0.02), y, z - 0.01 * np.cos(0.02))
    assert hole.surface(inside) == pytest.approx(-0.0302)
    assert hole.surface(inside + Vector3(0.0, 0.0302, 0.0)) == pytest.approx(0.0, abs=1e-9)
    assert bottom.surface(Vector3(x, y, z - 0.05)) == pytest.approx(0.0, abs=1e-12)
    assert hole.material.stiffness == 1e5
    # Two rings about the peg, at its tip and where it ceases to be round.
    radii = np.hypot(hole.points[:, 0], hole.points[:, 1])
    np.testing.assert_allclose(radii, 0.03)
    assert sorted(set(np.round(hole.points[:, 2], 9))) == [-0.15, -0.13]


def test_grasps_have_the_friction_of_the_scenario():
    """Palms push; rigid grasps hold."""
    scenario, system, _, _ = prepared("tray")
    assert all(arm.pushing for arm in contact_scene(scenario, system).contacts)
    scenario, system, _, _ = prepared("wipe")
    assert not any(arm.pushing for arm in contact_scene(scenario, system).contacts)


def test_what_cannot_be_simulated_is_refused():
    """A hinge is named."""
    scenario, system, _, _ = prepared("peg")
    hole = scenario.cell.surfaces[0]
    hinge = replace(hole, name="door", kind="hinge", radius=None, depth=None)
    cell = replace(scenario.cell, surfaces=(hinge,))
    settings = replace(scenario.reference, touches=())
    plant = replace(scenario.plant, surface_error={})
    other = replace(scenario, cell=cell, reference=settings, plant=plant)
    with pytest.raises(ArgumentError, match="'door' is a hinge, which the plant does not have"):
        contact_scene(other, system)
