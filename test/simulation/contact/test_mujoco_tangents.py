# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Surfaces without a shape in MuJoCo are felt like those that have one, and like ours."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from support.contact_scenes import between_fingers
from support.mechanisms import two_arms

from robot_dynamics.contact.material import Material
from robot_dynamics.contact.surfaces import plane, sphere
from robot_dynamics.manipulation.hybrid import Contact, FrictionCone
from robot_dynamics.simulation.contact.report import ContactMode
from robot_dynamics.simulation.engine_plant import EnginePlant
from robot_dynamics.simulation.mujoco_plant import MujocoPlant
from robot_dynamics.simulation.scene import ArmContact, Scene, SurfaceContact
from robot_dynamics.simulation.settings import PlantSettings

pytest.importorskip("mujoco")

PERIOD = 0.002
SETTINGS = PlantSettings(command_delay_periods=0, damping_scale=0.0, friction_scale=0.0)
TOUCH = Material(FrictionCone(0.3), stiffness=2e4, restitution=0.3, speed=0.062)


@pytest.mark.parametrize("side", [1.0, -1.0])
def test_a_plane_as_a_function(side):
    """A wall that is written as a function of the user's own is MuJoCo's plane, bounces included.

    The same contact in other coordinates: the engine's solver leaves its tolerance, 1e-9 of
    metres and newtons, over 0.4 s.
    """
    scene, start = between_fingers(Material(), "rigid", gravity=(0, 0, 0))
    found = []
    for wall in (
        plane((side * 0.052, 0, 0), (-side, 0, 0)),
        lambda r: 7.0 * (side * r.x - 0.052),  # no distance: it is divided by its slope
    ):
        tip = SurfaceContact("wall", wall, [[side * 0.05, 0, 0]], TOUCH)
        plant = MujocoPlant(Scene(scene.system, scene.contacts, (tip,)), start, PERIOD, SETTINGS)
        for _ in range(200):
            plant.step(side * np.array([1.3, -1.3]))
        found.append((plant.truth().object_pose, plant.contacts()[-1]))
    (pose, of_plane), (other, of_own) = found
    assert_allclose(other, pose, atol=1e-9)
    assert of_plane.force[2] == pytest.approx(2.6, abs=0.05)
    assert_allclose(of_own.force[2], of_plane.force[2], atol=1e-6)
    assert_allclose(of_own.axes[2], [-side, 0, 0], atol=1e-9)
    assert of_own.impacts == of_plane.impacts >= 1


def test_two_arms_slide_through_a_bowl_as_in_ours():
    """A corner of a box that two limp arms let slide along the inside of a ball, with friction.

    Place, normal and force after 6 cm, at 0.9 m/s: 0.3 mm, 4e-4 and 0.3 % are measured. MuJoCo is
    of first order, and tells of a place in the middle of a ball of half a millimetre.
    """
    cell = two_arms()
    system = cell.system
    corner = np.array([0.0, 0.0, -0.1])
    at = cell.start[system.object_q][:3] + corner
    ball = sphere(at + np.array([0.15, 0.0, np.sqrt(0.3**2 - 0.15**2)]), 0.3, inside=True)
    touch = Material(FrictionCone(0.1), stiffness=2e5, restitution=0.3, speed=0.062)
    contacts = tuple(ArmContact(Contact.of_kind("rigid", g)) for g in system.grasps)
    scene = Scene(system, contacts, (SurfaceContact("bowl", ball, corner, touch),))
    kinds = (EnginePlant, MujocoPlant)
    ours, theirs = (kind(scene, cell.start, PERIOD, SETTINGS) for kind in kinds)
    for _ in range(60):
        for plant in (ours, theirs):
            plant.step(np.zeros(len(system.joint_names)))
    one, two = ours.contacts()[-1], theirs.contacts()[-1]
    assert one.state is two.state is ContactMode.SLIDING
    assert np.linalg.norm(one.point - at) > 0.05
    assert_allclose(two.point, one.point, atol=5e-4)
    assert_allclose(two.axes[2], one.axes[2], atol=1e-3)
    assert_allclose(two.force[2], one.force[2], rtol=0.01)
