# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""MuJoCo's contacts are reported like our plant's: bodies, place, force, and sliding."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from support.contact_scenes import between_fingers
from support.plants import mujoco_plant

from robot_dynamics.contact.material import Material
from robot_dynamics.contact.surfaces import plane
from robot_dynamics.manipulation.hybrid import FrictionCone
from robot_dynamics.simulation.contact.report import ContactMode
from robot_dynamics.simulation.plant import ScenePlant
from robot_dynamics.simulation.scene import Scene, SurfaceContact
from robot_dynamics.simulation.settings import PlantSettings

pytest.importorskip("mujoco")

SETTINGS = PlantSettings(command_delay_periods=0, damping_scale=0.0)


def test_a_wall_is_open_is_touched_and_sticks():
    """Two tips reach a wall at once: one report each, as in our plant; before, it is open.

    The wall is aslant, so that friction holds the tips, which would slide along it. How much
    statics leaves open: the fingers hold them as well. The force of the wall along x is
    determined.
    """
    scene, start = between_fingers(Material(), "rigid", gravity=(0, 0, 0))
    normal = np.array([-1.0, 0.0, 0.2]) / np.sqrt(1.04)
    touch = Material(FrictionCone(0.5), stiffness=1e5, restitution=0.3)
    tips = [[0.05, 0.02, 0.0], [0.05, -0.02, 0.0]]
    wall = SurfaceContact("wall", plane((0.051, 0, 0), normal), tips, touch)
    scene = Scene(scene.system, scene.contacts, (wall,))
    reports = []
    for kind in (ScenePlant, mujoco_plant):
        plant = kind(scene, start, 0.002, SETTINGS)
        plant.step(np.zeros(2))
        assert {c.state for c in plant.contacts()[2:]} == {ContactMode.OPEN}
        for _ in range(150):
            plant.step(np.array([1.3, -1.3]))
        reports.append(plant.contacts())
    ours, theirs = reports
    assert [c.name for c in theirs] == [c.name for c in ours]
    assert all(c.state is ContactMode.HELD for c in theirs[:2])
    for mine, other in zip(ours[:2], theirs[:2], strict=True):
        assert_allclose(other.point, mine.point, atol=1e-5)
        assert_allclose(other.axes, mine.axes, atol=1e-6)
        assert_allclose(other.force[2], mine.force[2], atol=0.02)
    for mine, other in zip(ours[2:], theirs[2:], strict=True):
        assert other.state is mine.state is ContactMode.STICKING
        assert_allclose(other.axes[2], mine.axes[2], atol=1e-6)
        assert_allclose(np.linalg.det(other.axes), 1.0, atol=1e-9)
        # Spheres of half a millimetre stand for the points.
        assert_allclose(other.point, mine.point, atol=6e-4)
        assert_allclose((other.axes.T @ other.force)[0], -1.3, atol=0.02)
        assert_allclose((mine.axes.T @ mine.force)[0], -1.3, atol=0.02)
        along = np.linalg.norm(other.force[:2])
        assert_allclose(other.friction_used, along / (0.5 * other.force[2]), rtol=1e-9)
        assert_allclose(other.gap, -other.force[2] / 1e5, rtol=0.02)
        assert other.impacts >= 1


def test_fingers_are_as_stiff_as_their_material():
    """Each is pressed in by F / k, and MuJoCo's mass of the contact is that of both bodies."""
    material = Material(FrictionCone(0.8), stiffness=2e4, restitution=0.3)
    scene, start = between_fingers(material, "frictional point")
    plant = mujoco_plant(scene, start, 0.002, SETTINGS)
    for _ in range(60):
        plant.step(np.full(2, 20.0))
    for report in plant.contacts():
        assert_allclose(report.force[2], 20.0, rtol=1e-3)
        assert_allclose(report.gap, -report.force[2] / 2e4, rtol=2e-3)


def test_fingers_that_slide_and_one_that_leaves():
    """A box slides down between two fingers and past them: sliding, then open, and falling on."""
    material = Material(FrictionCone(0.2))
    scene, start = between_fingers(material, "frictional point", face=(0.03, 0.03))
    plant = mujoco_plant(scene, start, 0.002, SETTINGS)
    for _ in range(30):
        plant.step(np.full(2, 20.0))
    speed = plant.truth().object_twist[5]
    for report in plant.contacts():
        assert report.state is ContactMode.SLIDING
        # The object moves down along the finger, by its speed in the axes of the contact.
        assert_allclose(report.axes[:2].T @ report.slip, [0, 0, speed], atol=1e-4)
        assert_allclose(report.friction_used, 1.0, atol=1e-3)
    for _ in range(40):
        plant.step(np.full(2, 20.0))
    assert plant.truth().object_pose[2] < -0.035
    assert {report.state for report in plant.contacts()} == {ContactMode.OPEN}
    assert all(report.friction_used == 0.0 for report in plant.contacts())
