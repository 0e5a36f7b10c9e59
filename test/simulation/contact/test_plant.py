# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The contact plant: the engine's where everything holds, and a simulation where it does not."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from support.contact_scenes import between_fingers
from support.mechanisms import two_arms

from robot_dynamics.contact.material import Material
from robot_dynamics.contact.surfaces import plane
from robot_dynamics.errors import ArgumentError
from robot_dynamics.manipulation.grasp_map import transmitted_force_map
from robot_dynamics.manipulation.hybrid import Contact, FrictionCone
from robot_dynamics.model import pose
from robot_dynamics.robot import Robot
from robot_dynamics.scalar.functions import sqrt
from robot_dynamics.simulation.contact.environment_joints import EnvironmentJoint
from robot_dynamics.simulation.contact.report import ContactMode
from robot_dynamics.simulation.engine import SimulationError
from robot_dynamics.simulation.plant import ScenePlant
from robot_dynamics.simulation.scene import ArmContact, Scene, SurfaceContact
from robot_dynamics.simulation.settings import PlantSettings

PERIOD = 0.002
CELL = two_arms()
SYSTEM = CELL.system


def settings(**changes):
    return PlantSettings(**{"command_delay_periods": 0, **changes})


FAR = SurfaceContact("far", plane((0, 0, -100.0), (0, 0, 1)), [[0, 0, 0]])


def scene(kind, material=None, surfaces=()):
    """Return two 7-joint arms that hold a box by contacts of a kind."""
    material = material or Material(FrictionCone(0.6, 0.01))
    contacts = tuple(ArmContact(Contact.of_kind(kind, g), material) for g in SYSTEM.grasps)
    return Scene(SYSTEM, contacts, surfaces)


def torques(squeeze):
    """Return torques (na,) that hold arms and object up, and squeeze [N]."""
    robot, rest = Robot(SYSTEM.model), np.zeros(SYSTEM.model.nv)
    C, K = robot.bias_forces(CELL.start, rest), robot.constraint_terms(CELL.start, rest)[2]
    maps = transmitted_force_map(SYSTEM.grasps, (0.5, 0.5))
    wrenches = maps.distribution @ C[SYSTEM.object_v] + maps.internal @ [0, 0, 0, squeeze, 0, 0]
    return (C - K.T @ wrenches)[SYSTEM.v_index]


def test_rigid_grasps_are_the_engines_as_the_step_goes_to_zero():
    """Without friction in the joints the motion differs from the engine's by the square of the
    step; forces, which are means over the period, by the change of torques in it.

    Over 0.08 s of quick motion: both plants from the same start, with the same wrenches.
    """
    plain = {"damping_scale": 0.0, "friction_scale": 0.0}
    engine = ScenePlant(scene("rigid"), CELL.start, PERIOD, settings(step_s=0.00025, **plain))
    hold, errors = torques(0.0), []
    for step in (0.001, 0.0005):
        plant = ScenePlant(
            scene("rigid", surfaces=(FAR,)), CELL.start, PERIOD, settings(step_s=step, **plain)
        )
        first = engine.reset()
        assert_allclose(plant.reset().wrenches, first.wrenches, atol=1e-9)
        energy = plant.engine.energy()
        worst = np.zeros(4)
        for i in range(40):
            torque = hold + 5.0 * np.sin(0.02 * i + np.arange(14))
            ours, theirs = plant.step(torque), engine.step(torque)
            worst = np.maximum(
                worst,
                [
                    np.abs(ours.q - theirs.q).max(),
                    np.abs(ours.qd - theirs.qd).max(),
                    np.abs(plant.truth().object_twist - engine.truth().object_twist).max(),
                    np.abs(ours.wrenches - theirs.wrenches).max(),
                ],
            )
        errors.append(worst)
        assert plant.truth().closure_position < 1e-12
        assert abs(plant.engine.energy() - energy - plant.engine.books().total()) < 1e-3
    ratio = errors[0] / errors[1]
    assert_allclose(ratio[:3], 4.0, rtol=0.15)
    assert errors[1][0] < 2e-5
    assert errors[1][3] < 2.0, errors


@pytest.mark.parametrize("kind", ["soft finger", "frictional point"])
def test_enough_squeeze_holds(kind):
    """The weight of 49 N needs 41 N of squeeze at mu = 0.6; with 80 N nothing slips for 0.02 s.

    Later on it might: points do not hold the arms, which no controller keeps from turning here.
    """
    plant = ScenePlant(scene(kind), CELL.start, PERIOD, settings())
    torque = torques(80.0)
    for _ in range(10):
        measured = plant.step(torque)
        assert {c.state for c in plant.contacts()} == {ContactMode.STICKING}
    assert_allclose(measured.wrenches[:, 5], 80.0, atol=5.0)
    assert_allclose(plant.truth().object_pose, CELL.start[SYSTEM.object_q], atol=2e-3)
    # 24.5 N at 80 N and mu = 0.6 are 0.51; a soft finger also holds its arm from turning.
    assert 0.4 < max(c.friction_used for c in plant.contacts()) < 1.0


def test_too_little_squeeze_drops_and_the_simulation_goes_on():
    """With 20 N the box slides down and falls freely in the end: no error, finite numbers."""
    plant = ScenePlant(scene("frictional point"), CELL.start, PERIOD, settings())
    torque, states = torques(20.0), []
    for _ in range(60):
        plant.step(torque)
        states.append({c.state for c in plant.contacts()})
    assert ContactMode.SLIDING in states[3]
    truth = plant.truth()
    assert truth.object_pose[2] < CELL.start[SYSTEM.object_q][2] - 0.01
    assert np.isfinite(plant.engine.state()[0]).all()


@pytest.mark.parametrize("stiffness", [np.inf, 1e5])
def test_a_surface_that_ends_ends_the_simulation(stiffness):
    """A box that slides down comes to where there is no square root."""
    end = CELL.start[SYSTEM.object_q][2] - 0.005
    material = Material(FrictionCone(0.5), stiffness, 0.5)
    edge = SurfaceContact("edge", lambda p: sqrt(p.z - end) - 100.0, [[0, 0, 0]], material)
    cell = scene("frictional point", surfaces=(edge,))
    plant = ScenePlant(cell, CELL.start, PERIOD, settings())

    def run(torque):
        for _ in range(60):
            plant.step(torque)

    with pytest.raises(SimulationError, match="gap of contact 'edge' is not a number"):
        run(torques(20.0))
    assert plant.truth().object_pose[2] < end


@pytest.mark.parametrize("e", [0.0, 0.3])
def test_a_measured_impact_is_its_mean_over_the_period(e):
    """Two fingers between which a box is thrown at a wall feel force times time of the impact."""
    own, start = between_fingers(Material(FrictionCone(0.4)), "rigid", gravity=(0, 0, 0))
    hard = Material(FrictionCone(0.5), restitution=e)
    wall = SurfaceContact("wall", plane((0.052, 0, 0), (-1, 0, 0)), [[0.05, 0, 0]], hard)
    own = Scene(own.system, own.contacts, (wall,))
    plant = ScenePlant(own, start, PERIOD, settings(damping_scale=0.0))
    # 2.6 kg pushed by 2.6 N: 2 mm take 63 ms, and end at 63 mm/s.
    impulses, speeds = [], [0.0]
    for _ in range(40):
        plant.step(np.array([1.3, -1.3]))  # z of the second finger points against the first
        impulses.append(plant.contacts()[2].force[2] * PERIOD)
        speeds.append(plant.truth().object_twist[3])
    report = plant.contacts()[2]
    assert report.impacts == 1
    assert max(speeds) < np.sqrt(2.0 * 0.002) < max(speeds) + PERIOD
    assert_allclose(impulses, 2.6 * (PERIOD - np.diff(speeds)), atol=1e-9)
    assert_allclose(report.force[2], 2.6 if e == 0.0 else 0.0, rtol=1e-6)


@pytest.mark.parametrize("kind", ["rigid", "soft finger"])
def test_wild_torques_give_no_energy_of_their_own(kind):
    """Random torques of 60 N m whip arms and box about, over singularities and into a wall.

    The part of the energy without explanation is below a thousandth of the drives' work.
    Steps that are not shortened where motion changes quickly gain more than that, and grow
    without bound later.
    """
    x, y, z = CELL.start[SYSTEM.object_q][:3]
    soft = Material(FrictionCone(0.3), stiffness=1e5, restitution=0.3)
    wall = SurfaceContact("wall", plane((x + 0.1, y, z), (-1, 0, 0)), [[0, 0, 0]], soft)
    plant = ScenePlant(scene(kind, surfaces=(wall,)), CELL.start, PERIOD, settings())
    energy = plant.engine.energy()
    rng, done, before = np.random.default_rng(1), 0.0, 0.0
    for tick in range(200):
        if tick % 10 == 0:
            torque = rng.uniform(-60.0, 60.0, size=14)
        plant.step(torque)
        drives = plant.engine.books().drives
        done, before = done + abs(drives - before), drives
    assert abs(plant.engine.energy() - energy - plant.engine.books().total()) < 1e-3 * done
    assert np.abs(plant.engine.state()[1]).max() > 10.0  # wild indeed


def test_a_start_within_a_rigid_wall_is_refused():
    """A depth of more than a millimetre is not pushed out: refused, with depth and wall."""
    own, start = between_fingers(Material(FrictionCone(0.4)), "rigid")
    for depth, fits in ((0.5e-3, True), (3e-3, False)):
        wall = SurfaceContact("wall", plane((0.05 - depth, 0, 0), (-1, 0, 0)), [[0.05, 0, 0]])
        walled = Scene(own.system, own.contacts, (wall,))
        if fits:
            ScenePlant(walled, start, PERIOD, settings())
        else:
            with pytest.raises(ArgumentError, match="'wall' is 3 mm deep in what it touches"):
                ScenePlant(walled, start, PERIOD, settings())


def test_two_runs_are_bit_identical():
    """After a reset the same torques give the same states, to the last bit."""
    plant = ScenePlant(scene("soft finger"), CELL.start, PERIOD, settings())
    hashes = []
    for _ in range(2):
        plant.reset()
        for _ in range(5):
            plant.step(torques(50.0))
        hashes.append(plant.state_hash())
    assert hashes[0] == hashes[1]


def test_steps_divide_the_period():
    """A quarter of a millisecond by default; a step that does not divide the period is refused."""
    assert ScenePlant(scene("soft finger"), CELL.start, 0.001, settings()).substeps == 4
    with pytest.raises(ArgumentError, match="does not divide"):
        ScenePlant(scene("soft finger"), CELL.start, PERIOD, settings(step_s=0.0003))


def test_hinges_that_repeat_one_another_are_refused():
    """At the start: forces between them would be anything."""
    part = pose((0.1, 0.0, 0.0))
    at = pose(CELL.start[SYSTEM.object_q][:3]) @ part
    one, two = (EnvironmentJoint(name, "hinge", at, part) for name in ("upper", "lower"))
    twice = replace(scene("rigid"), environment_joints=(one, two))
    with pytest.raises(ArgumentError, match="hinge 'lower' blocks motions that hinge 'upper'"):
        ScenePlant(twice, CELL.start, PERIOD, settings())
