# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""An object that stands on a table while arms come, push, lift it, put it down and go."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import NamedTuple

import numpy as np
import pytest
from numpy.testing import assert_allclose
from support.contact_scenes import MASS, between_fingers
from support.plants import mujoco_plant

from robot_dynamics.contact.material import Material
from robot_dynamics.contact.surfaces import plane
from robot_dynamics.errors import ArgumentError, UnknownNameError
from robot_dynamics.manipulation.hybrid import FrictionCone
from robot_dynamics.model import pose
from robot_dynamics.simulation.contact.pad import Pad
from robot_dynamics.simulation.contact.report import ContactMode
from robot_dynamics.simulation.plant import ScenePlant
from robot_dynamics.simulation.scene import Scene, SurfaceContact, points_of_face
from robot_dynamics.simulation.settings import PlantSettings

PERIOD, G = 0.002, 9.81
SETTINGS = PlantSettings(command_delay_periods=0, damping_scale=0.0)
WIDE, HIGH = 0.05, 0.1  # half lengths of the box [m]
TIP = 0.3  # mass of each of the two bodies of a finger [kg]
CORNERS = points_of_face(WIDE, WIDE, pose((0.0, 0.0, -HIGH)).tolist())
ENGINES = [ScenePlant, mujoco_plant]


def standing(make, friction, *, apart=(0.01, 0.02), above=0.0, kind="frictional point", pad=None):
    """Return a plant: two fingers that are apart from the box, which stands on a table.

    Args:
        make: Of the plant.
        friction: Coefficient of the table.
        apart: Distance of each finger from the box [m].
        above: Height of the fingers above their grasps [m].
        kind: Of the fingers' contacts.
        pad: Their pads.
    """
    grip = Material(FrictionCone(0.6, 0.01 if pad else 0.0))
    scene, start = between_fingers(grip, kind, face=(HIGH, WIDE), lifts=True)
    table = SurfaceContact(
        "table", plane((0, 0, -HIGH), (0, 0, 1)), CORNERS, Material(FrictionCone(friction))
    )
    contacts = tuple(replace(one, pad=pad) for one in scene.contacts)
    start[scene.system.q_index] = [-apart[0], -above, -apart[1], above]
    return make(Scene(scene.system, contacts, (table,)), start, PERIOD, SETTINGS)


def forces(left, right, up=(0.0, 0.0)):
    """Return joint forces that push the fingers inwards and, besides their weight, up."""
    # x of the left finger's axes points down.
    return np.array([left, -TIP * G - up[0], right, TIP * G + up[1]])


def pressed(plant):
    """Return the force of the table (3,) along its axes."""
    return np.sum([one.force for one in plant.contacts() if one.name == "table"], axis=0)


@pytest.mark.parametrize("make", ENGINES)
def test_it_rests_and_wrists_feel_nothing(make):
    """At 1e-9 m from its start in ours; MuJoCo's four springs of 1e6 N/m give way by 5 um."""
    plant = standing(make, 0.5)
    assert_allclose(plant.reset().wrenches, 0.0, atol=1e-9)
    before = plant.truth().object_pose
    for _ in range(100):
        measured = plant.step(forces(0.0, 0.0))
    assert_allclose(measured.wrenches, 0.0, atol=1e-12)
    truth, sunk = plant.truth(), 0.0 if make is ScenePlant else MASS * G / 4e6
    assert_allclose(truth.object_pose[:3], before[:3] - [0.0, 0.0, sunk], atol=1e-9)
    assert_allclose(truth.object_twist, 0.0, atol=1e-9)
    assert_allclose(pressed(plant), [0.0, 0.0, MASS * G], atol=1e-6)
    assert [one.state for one in plant.contacts()[:2]] == [ContactMode.OPEN] * 2
    assert_allclose([one.gap for one in plant.contacts()[:2]], [0.01, 0.02], atol=1e-9)


def pushed(make, friction, limit, part):
    """Return a plant whose left finger pushes the box for 0.1 s with a part of a force.

    From standing beside it, after a slow rise to 90 % of the force.
    """
    plant = standing(make, friction, apart=(0.0, 0.02))
    for i in range(40):
        plant.step(forces(0.9 * limit * i / 40, 0.0))
    for _ in range(50):
        plant.step(forces(part * limit, 0.0))
    return plant


@pytest.mark.parametrize("make", ENGINES)
def test_it_slides_beyond_the_friction_of_the_table(make):
    """Pushed with 1 % less than mu m g it stays; with 1 % more it accelerates by the difference.

    The finger moves along. In MuJoCo friction gives way by some micrometres before it holds, and
    more than the limit is 10 % more.
    """
    limit, exact = 0.4 * MASS * G, make is ScenePlant
    more = 0.01 if exact else 0.1
    held = pushed(make, 0.4, limit, 0.99).truth()
    assert_allclose(held.object_pose[0], 0.0, atol=1e-9 if exact else 2e-5)
    assert_allclose(held.object_twist, 0.0, atol=1e-9 if exact else 1e-6)
    moved = pushed(make, 0.4, limit, 1.0 + more).truth()
    speed = more * limit / (MASS + 2.0 * TIP) * 0.1
    assert_allclose(moved.object_twist[3], speed, rtol=1e-6 if exact else 0.05)
    assert_allclose(moved.object_twist[:3], 0.0, atol=1e-9 if exact else 1e-3)


@pytest.mark.parametrize("make", ENGINES)
def test_it_tips_beyond_the_moment_of_its_weight(make):
    """About the far edge: with 1 % less than m g b / h it stands, with 1 % more it turns.

    The finger moves along: both bodies along x, the outer one also up. Tilted, the box needs less:
    I w' = M + c theta. MuJoCo's springs rock it a little; more is 10 % more in MuJoCo.
    """
    limit, exact = MASS * G * WIDE / HIGH, make is ScenePlant
    more = 0.01 if exact else 0.1
    held = pushed(make, 0.8, limit, 0.99).truth()
    assert_allclose(held.object_pose[3:6], 0.0, atol=1e-9 if exact else 1e-4)
    if exact:
        assert_allclose(held.object_twist, 0.0, atol=1e-9)
    plant = pushed(make, 0.8, limit, 1.0 + more)
    inertia = 0.012 + MASS * (WIDE**2 + HIGH**2) + 2.0 * TIP * HIGH**2 + TIP * (2.0 * WIDE) ** 2
    rate = np.sqrt((MASS * G * HIGH + limit * 2.0 * WIDE) / inertia)
    speed = more * limit * HIGH / inertia * np.sinh(0.1 * rate) / rate
    assert_allclose(plant.truth().object_twist[1], speed, rtol=0.01 if exact else 0.1)
    corners = [one for one in plant.contacts() if one.name == "table"]
    assert sum(one.state is ContactMode.STICKING for one in corners) == 2


@pytest.mark.parametrize("make", ENGINES)
def test_fingers_that_close_on_a_free_box_conserve_momentum(make):
    """Two fingers at 30 and 50 mm/s: in ours all three go on with the mean velocity."""
    scene, start = between_fingers(Material(FrictionCone(0.5)), gravity=(0, 0, 0))
    start[scene.system.q_index] = [-0.01, -0.012]
    plant = make(scene, start, PERIOD, SETTINGS)
    for _ in range(10):
        measured = plant.step(TIP * np.array([0.03, 0.05]) / (10 * PERIOD))
    given = TIP * (0.03 - 0.05)
    for _ in range(250):
        measured = plant.step(np.zeros(2))
    box = plant.truth().object_twist
    total = TIP * (measured.qd[0] - measured.qd[1]) + MASS * box[3]
    assert_allclose(total, given, rtol=1e-9)
    assert_allclose(np.delete(box, 3), 0.0, atol=1e-9)
    if make is ScenePlant:
        common = given / (MASS + 2.0 * TIP)
        assert_allclose([box[3], measured.qd[0], -measured.qd[1]], common, rtol=1e-9)


class Carried(NamedTuple):
    """Observations at the end of each period."""

    time: np.ndarray
    height: np.ndarray  #: Of the box [m].
    table: np.ndarray  #: Force of the table [N].
    force: np.ndarray  #: Of the left palm on the box along x and z of its contact (n, 2) [N].
    palm: np.ndarray  #: Height of the right palm on the box [m].
    end: ScenePlant


@cache
def carried(make):
    """Close palms 10 mm above their grasps, lift the box by 5 mm, put it down and let go.

    At 50 mm/s all of it: the palms squeeze with 40 N from 0.08 s to 0.38 s, and bear the weight
    until 0.34 s.
    """
    plant = standing(
        make, 0.5, apart=(0.002, 0.003), above=0.01, kind="soft finger", pad=Pad((0.02, 0.02))
    )
    rows = []
    times, speeds = zip(
        *((0.08, 0), (0.1, 1), (0.18, 1), (0.2, 0), (0.22, -1), (0.34, -1), (0.35, 0)), strict=True
    )
    measured = plant.reset()
    for tick in range(220):
        t = tick * PERIOD
        wanted = 0.05 * np.interp(t, times, speeds)
        load = 0.5 * MASS * G * np.interp(t, [0.08, 0.08, 0.34, 0.38], [0, 1, 1, 0])
        servo = 60.0 * ((0.05 if t < 0.2 else -0.05) - measured.qd[::2])
        squeeze = [40.0, 40.0] if 0.08 <= t < 0.38 else servo
        rise = 200.0 * (wanted - measured.qd[1::2] * [-1.0, 1.0]) + load
        measured = plant.step(forces(*squeeze, rise))
        z, push = plant.truth().object_pose[2], plant.contacts()[0].force
        rows.append([t + PERIOD, z, pressed(plant)[2], push[0], push[2], measured.q[3] - z])
    time, height, table, x, z, palm = np.transpose(rows)
    return Carried(time, height, table, np.column_stack([x, z]), palm, plant)


@pytest.mark.parametrize("make", ENGINES)
def test_it_is_lifted_put_down_and_left(make):
    """The palms stick where they landed, bear half the weight each, and leave it at rest.

    A rigid table stops it at 50 mm/s without a rebound.
    """
    seen, exact = carried(make), make is ScenePlant
    flies = (seen.time > 0.12) & (seen.time < 0.3)
    steady = flies & (abs(seen.time - 0.2) > 0.03)
    assert seen.height[flies].max() == pytest.approx(5e-3, rel=0.1)
    assert_allclose(seen.table[flies], 0.0)
    assert_allclose(seen.force[steady], [[-0.5 * MASS * G, 40.0]] * steady.sum(), atol=0.5)
    assert_allclose(seen.palm[flies], 0.01, atol=5e-5)  # the box tilts a little on the pads
    assert_allclose(seen.height[seen.time > 0.32], 0.0, atol=1e-5)
    assert_allclose(seen.height[-1], 0.0 if exact else -MASS * G / 4e6, atol=1e-9)
    truth = seen.end.truth()
    assert_allclose(truth.object_twist, 0.0, atol=1e-9)
    assert_allclose(pressed(seen.end), [0.0, 0.0, MASS * G], atol=1e-6)
    assert min(one.gap for one in seen.end.contacts()[:2]) > 2e-3


def test_engines_agree():
    """On heights to 50 um and, between impacts, on the palms' forces to 0.1 N."""
    ours, theirs = map(carried, ENGINES)
    between = (ours.time > 0.12) & (ours.time < 0.3)
    assert_allclose(theirs.height, ours.height, atol=5e-5)
    assert_allclose(theirs.force[between], ours.force[between], atol=0.1)


def gripping(make, *, right=0.004):
    """Return a plant: grippers that are beside their grasps on a box that stands on a table.

    Args:
        make: Of the plant.
        right: Distance of the right one from its grasp [m]; the left one is 3 mm above its own.
    """
    scene, start = between_fingers(Material(), "rigid", lifts=True)
    table = SurfaceContact(
        "table", plane((0, 0, -HIGH), (0, 0, 1)), CORNERS, Material(FrictionCone(0.5))
    )
    start[scene.system.q_index] = [0.0, -0.003, -right, 0.0]
    return make(Scene(scene.system, scene.contacts, (table,)), start, PERIOD, SETTINGS)


def lifted(plant, periods):
    """Return the last measurement of some periods in which 1 N more than the weight pulls up."""
    for _ in range(periods):
        measured = plant.step(forces(0.0, 0.0, [0.5 * MASS * G + 0.5] * 2))
    return measured


@pytest.mark.parametrize("make", ENGINES)
def test_grippers_hold_the_object_where_they_close(make):
    """Both 3 and 4 mm beside their grasps; one of them opens on the way up, and holds nothing."""
    plant = gripping(make)
    for _ in range(5):
        measured = plant.step(forces(0.0, 0.0))
    assert_allclose(measured.wrenches, 0.0, atol=1e-12)
    arms = plant.contacts()[:2]
    assert [one.state for one in arms] == [ContactMode.OPEN] * 2
    assert_allclose([one.gap for one in arms], [0.003, 0.004], atol=1e-5)
    assert plant.grip("arm0", closed=True)
    assert plant.grip("arm1", closed=True)
    measured, truth = lifted(plant, 100), plant.truth()
    exact, speed = make is ScenePlant, 1.0 / (MASS + 2.0 * TIP) * 0.2
    assert_allclose(truth.object_twist[5], speed, rtol=1e-9 if exact else 0.03)
    z = truth.object_pose[2]
    assert_allclose(measured.q, [0.0, -0.003 - z, -0.004, z], atol=1e-12 if exact else 1e-5)
    assert truth.closure_position < 1e-8
    assert {one.state for one in plant.contacts()[:2]} == {ContactMode.HELD}
    held = 0.5 * (MASS * G + MASS / (MASS + 2.0 * TIP))
    assert_allclose(measured.wrenches[:, 3], [-held, held], rtol=1e-9 if exact else 1e-3)
    here = plant.state
    on = lifted(plant, 5)
    plant.state = here
    assert not plant.grip("arm0", closed=False)
    measured = lifted(plant, 5)
    assert_allclose(measured.wrenches[0], 0.0, atol=1e-12)
    assert plant.contacts()[0].gap > 0.003
    plant.state = here
    assert np.array_equal(lifted(plant, 5).q, on.q)
    plant.reset()
    assert plant.contacts()[0].state is ContactMode.OPEN


@pytest.mark.parametrize("make", ENGINES)
@pytest.mark.parametrize(("right", "holds"), [(0.0099, True), (0.0101, False)])
def test_grippers_reach_as_far_as_is_stated(make, right, holds):
    """10 mm; beyond that one closes on nothing, and stays open."""
    plant = gripping(make, right=right)
    assert plant.grip("arm1", closed=True) == holds
    plant.step(forces(0.0, 0.0))
    assert (plant.contacts()[1].state is ContactMode.HELD) == holds


def test_a_gripper_that_closes_in_motion_takes_the_object_along():
    """At 50 mm/s: momentum does not change."""
    plant = gripping(ScenePlant)
    for _ in range(10):
        plant.step(forces(0.0, 0.0, (TIP * 0.05 / (10 * PERIOD), 0.0)))
    plant.grip("arm0", closed=True)
    assert_allclose(
        plant.truth().object_twist, [0, 0, 0, 0, 0, TIP * 0.05 / (MASS + TIP)], atol=1e-12
    )


def test_only_grippers_grip():
    """Palms push, and no other arm is there."""
    palms = standing(ScenePlant, 0.5)
    with pytest.raises(ArgumentError, match="'arm0' has a contact of kind 'frictional point'"):
        palms.grip("arm0", closed=True)
    with pytest.raises(UnknownNameError, match="arm 'arm'"):
        palms.grip("arm", closed=True)
    scene, start = between_fingers(Material(), "rigid")
    with pytest.raises(ArgumentError, match="grasps of RigidEngine cannot open"):
        ScenePlant(scene, start, PERIOD, SETTINGS).grip("arm0", closed=False)


TURNED = [0.0, 0.0, np.sqrt(0.5), np.sqrt(0.5)]  # by a quarter about z


@pytest.mark.parametrize("make", ENGINES)
def test_an_object_that_is_placed_in_the_air_falls_freely(make):
    """With the twist that it was given, in world axes, from a turned pose."""
    plant = gripping(make)
    plant.step(forces(0.0, 0.0))
    plant.place([0.02, 0.0, 0.5, *TURNED], [0.0, 0.0, 2.0, 0.1, -0.2, 1.0])
    truth = plant.truth()
    assert_allclose(truth.object_pose, [0.02, 0.0, 0.5, *TURNED], atol=1e-12)
    assert_allclose(truth.object_twist, [0.0, 0.0, 2.0, 0.1, -0.2, 1.0], atol=1e-12)
    for _ in range(50):
        plant.step(forces(0.0, 0.0))
    t, (x, y, z, *quaternion) = 0.1, plant.truth().object_pose
    step = PERIOD / plant.substeps  # a time step's error is g t h / 2
    assert_allclose([x, y], [0.02 + 0.1 * t, -0.2 * t], atol=1e-6)
    assert_allclose(z, 0.5 + 1.0 * t - 0.5 * G * t**2, atol=0.6 * G * t * step)
    half = 0.5 * (0.5 * np.pi + 2.0 * t)
    assert_allclose(quaternion, [0.0, 0.0, np.sin(half), np.cos(half)], atol=1e-6)


@pytest.mark.parametrize("make", ENGINES)
def test_an_object_in_a_gripper_is_not_placed(make):
    """After it has opened, it is."""
    plant = gripping(make)
    assert plant.grip("arm0", closed=True)
    with pytest.raises(ArgumentError, match="a gripper holds the object"):
        plant.place([0.0, 0.0, 0.5, *TURNED], np.zeros(6))
    plant.grip("arm0", closed=False)
    plant.place([0.0, 0.0, 0.5, *TURNED], np.zeros(6))


@pytest.mark.parametrize(
    ("pose_of", "twist", "words"),
    [
        ([0.0, 0.0, -0.05, *TURNED], np.zeros(6), "mm deep in what it touches"),
        ([0.0, 0.0, 0.5, 0.0, 0.0, 0.0, 0.0], np.zeros(6), "pose has a quaternion of length 0;"),
        ([0.0, 0.0, np.nan, *TURNED], np.zeros(6), "pose"),
        ([0.0, 0.0, 0.5, *TURNED], np.full(6, np.inf), "twist"),
    ],
)
def test_wrong_places_are_refused(pose_of, twist, words):
    """And the object stays where it is."""
    plant = gripping(ScenePlant)
    before = plant.state_hash()
    with pytest.raises(ArgumentError, match=words):
        plant.place(pose_of, twist)
    assert plant.state_hash() == before
    scene, start = between_fingers(Material(), "rigid")
    with pytest.raises(ArgumentError, match="stays in its grasps; expected one that stands"):
        ScenePlant(scene, start, PERIOD, SETTINGS).place([0, 0, 0.5, *TURNED], np.zeros(6))
