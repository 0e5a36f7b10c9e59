# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""MuJoCo and our contact plant agree on slides, holds, presses and bounces."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from support.contact_scenes import MASS, between_fingers
from support.plants import mujoco_plant

from robot_dynamics.contact.material import Material
from robot_dynamics.contact.surfaces import hole, plane
from robot_dynamics.manipulation.hybrid import FrictionCone
from robot_dynamics.simulation.contact.report import ContactMode
from robot_dynamics.simulation.plant import ScenePlant
from robot_dynamics.simulation.scene import Scene, SurfaceContact
from robot_dynamics.simulation.settings import PlantSettings

pytest.importorskip("mujoco")

PERIOD, STEP = 0.002, 2e-4
SETTINGS = PlantSettings(command_delay_periods=0, damping_scale=0.0)
G = 9.81


def plants(scene, start):
    """Return ours and MuJoCo's."""
    kinds = (ScenePlant, mujoco_plant)
    return [kind(scene, start, PERIOD, SETTINGS) for kind in kinds]


@pytest.mark.parametrize("kind", ["frictional point", "soft finger"])
def test_a_slide(kind):
    """Squeezed with 20 N at mu = 0.4 a 2 kg box slides down by the same in both.

    MuJoCo's integrator is of first order: it is ahead by half a step's motion, v h / 2, to which
    the threshold leaves a factor of two. Forces are the same, to 2e-5 of the squeeze (1.3e-5
    measured), and do not chatter: from 40 ms on they change by 2e-6 of it in all (1.2e-6
    measured).
    """
    ours, theirs = plants(*between_fingers(Material(FrictionCone(0.4, 0.01)), kind))
    forces = []
    for i in range(100):
        mine, other = ours.step(np.full(2, 20.0)), theirs.step(np.full(2, 20.0))
        if i >= 20:
            assert_allclose(other.wrenches, mine.wrenches, rtol=0, atol=2e-5 * 20.0)
            forces.append(other.wrenches)
    assert np.ptp(forces, axis=0).max() < 2e-6 * 20.0
    one, two = ours.truth(), theirs.truth()
    speed = abs(one.object_twist[5])
    assert_allclose(speed, 0.2 * (G - 2 * 0.4 * 20.0 / MASS), rtol=1e-6)
    assert abs(two.object_pose[2] - one.object_pose[2]) < speed * STEP
    assert two.closure_position == 0.0  # nothing holds
    for mine, other in zip(ours.contacts(), theirs.contacts(), strict=True):
        assert other.state is mine.state is ContactMode.SLIDING
        assert_allclose(other.slip, mine.slip, atol=1e-3 * speed)
        assert_allclose(other.axes, mine.axes, atol=1e-9)
        assert_allclose(other.friction_used, 1.0, atol=1e-3)
        # A spring of 1e6 N/m under 20 N, less friction's lift, by mu times the speed.
        assert -20.1e-6 < other.gap - mine.gap < -15e-6


@pytest.mark.parametrize("kind", ["frictional point", "soft finger", "rigid", "pin", "line"])
def test_a_hold(kind):
    """With 30 N it is held in both: wrenches agree, and MuJoCo's creep is 0.1 um/s at most.

    A spring of 1e6 N/m is pressed in by 30 um first: friction waits for it for a millisecond or
    two, in which 2 kg fall by some micrometres.
    """
    ours, theirs = plants(*between_fingers(Material(FrictionCone(0.4, 0.01)), kind))
    seen = []
    for _ in range(100):
        mine, other = ours.step(np.full(2, 30.0)), theirs.step(np.full(2, 30.0))
        seen.append(theirs.truth().object_pose[2])
    assert abs(ours.truth().object_pose[2]) < 1e-12
    assert abs(seen[-1]) < 1e-5
    assert abs(seen[-1] - seen[20]) < 0.158 * 1e-7
    # Loads of 30 N and 20 N, of which 1e-4 and what has not settled is lost.
    assert_allclose(other.wrenches[:, 3:], mine.wrenches[:, 3:], atol=0.02)
    expected = (
        ContactMode.STICKING if kind in ("frictional point", "soft finger") else ContactMode.HELD
    )
    # Rigid grasps alone are no contacts.
    assert {c.state for c in theirs.contacts()} == ({expected} if kind != "rigid" else set())


@pytest.mark.parametrize("stiffness", [np.inf, 1e5])
def test_an_approach_an_impact_and_a_press(stiffness):
    """Pushed against a wall the box touches at the same time, bounces, and presses in the end.

    Restitution is 0.3 of 62 mm/s. MuJoCo's damper is linear: under load it gives back 0.3, ours
    less, so that only the rigid ones are compared after the impact; both to two parts in a hundred
    of the speed of arrival, MuJoCo's for its twenty steps of a bounce.
    """
    scene, start = between_fingers(Material(), "rigid", gravity=(0, 0, 0))
    material = Material(FrictionCone(0.3), stiffness=stiffness, restitution=0.3, speed=0.062)
    wall = SurfaceContact("wall", plane((0.052, 0, 0), (-1, 0, 0)), [[0.05, 0, 0]], material)
    pair = plants(Scene(scene.system, scene.contacts, (wall,)), start)
    push = np.array([1.3, -1.3])  # z of the second finger points against the first
    speeds = [[], []]
    for _ in range(200):
        for plant, seen in zip(pair, speeds, strict=True):
            plant.step(push)
            seen.append(plant.truth().object_twist[3])
    ours, theirs = np.array(speeds)
    arrival = np.sqrt(2.0 * 0.002)
    for seen in (ours, theirs):
        # Constant acceleration of 1 m/s^2; seen at ends of periods.
        assert_allclose(seen.max(), arrival, atol=0.003)
    rebounds = [-ours.min(), -theirs.min()]
    if np.isinf(stiffness):
        assert_allclose(rebounds, 0.3 * arrival, atol=0.02 * arrival + PERIOD)
    else:
        assert 0.2 * arrival < rebounds[0] < 0.3 * arrival
    for plant in pair:
        wall = plant.contacts()[2]
        assert_allclose(wall.force, [0, 0, 2.6], atol=0.05)
        assert_allclose(wall.axes[2], [-1, 0, 0], atol=1e-6)
        assert wall.state is ContactMode.STICKING
        assert wall.impacts >= 1


def test_the_bottom_of_a_hole():
    """Pushed into a hole a point goes past its rim and stands on the bottom in both.

    By 2.6 N on 1e5 N/m, 26 um deep; MuJoCo's spring is harder by its impedance, a hundredth.
    """
    scene, start = between_fingers(Material(), "rigid", gravity=(0, 0, 0))
    bore = hole((0.055, 0.02, 0.0), (-1, 0, 0), 0.0202, 0.005)  # 0.2 mm beside its wall
    touch = Material(FrictionCone(0.0), 1e5, restitution=0.3)
    tip = SurfaceContact("bore", bore, [[0.05, 0, 0]], touch)
    for plant in plants(Scene(scene.system, scene.contacts, (tip,)), start):
        for _ in range(300):
            plant.step(np.array([1.3, -1.3]))
        felt = [c.axes[2] * c.force[2] for c in plant.contacts()[2:]]
        assert_allclose(np.sum(felt, axis=0), [-2.6, 0, 0], atol=0.05)
        assert_allclose(plant.truth().object_pose[0], 0.01 + 2.6e-5, atol=2e-6)
