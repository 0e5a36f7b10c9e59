# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Arms with empty hands: they fall as energy wants, and the object stays where it is."""

from dataclasses import replace

import numpy as np
import pytest
from support.plants import mujoco_plant

from robot_dynamics.app.scenarios.cell import build_system
from robot_dynamics.app.scenarios.scenario import load_scenario
from robot_dynamics.dynamics.kinematics import body_transforms, joint_transforms
from robot_dynamics.manipulation.assembly import closed_configuration
from robot_dynamics.robot import Robot
from robot_dynamics.simulation.plant import ScenePlant
from robot_dynamics.simulation.scene import Scene

SCENARIO = load_scenario("gravity")
SYSTEM = build_system(SCENARIO)
START = closed_configuration(SYSTEM, SCENARIO.object_pose)
PERIOD = SCENARIO.control.period
SCENE = Scene(SYSTEM, holds_object=False)


def plant_with(**settings):
    """Return the plant at the start of the scenario."""
    return ScenePlant(SCENE, START, PERIOD, replace(SCENARIO.plant, **settings))


def energy(q, qd):
    """Return kinetic and potential energy of everything, from kinematics [J]."""
    model = SYSTEM.model
    at, speed = START.copy(), np.zeros(model.nv)
    at[SYSTEM.q_index], speed[SYSTEM.v_index] = q, qd
    H = Robot(model).constraint_terms(at, speed)[0]
    X0 = body_transforms(model, joint_transforms(model, at.tolist()))
    potential = 0.0
    for body, X in zip(model.bodies, X0, strict=True):
        first = np.array([*X.E.inverse_times(body.inertia.h)])
        moment = first + float(body.inertia.mass) * np.array([*X.r])
        potential -= float(moment @ np.array(model.gravity))
    return 0.5 * float(speed @ H @ speed), potential


def test_energy_of_a_fall_is_kept():
    """Without torque and friction; the method's error is that of its fourth power, (2 ms)^4."""
    plant = plant_with(friction_scale=0.0, damping_scale=0.0, command_delay_periods=0)
    first = plant.reset()
    before = energy(first.q, first.qd)
    for _ in range(100):
        seen = plant.step(np.zeros(len(first.q)))
    after = energy(seen.q, seen.qd)
    assert after[0] > 1.0  # they do fall
    # Motions of 10 rad/s and steps of 2 ms: (0.02)^4 is 2e-7.
    assert sum(after) - sum(before) == pytest.approx(0.0, abs=1e-6 * after[0])


def test_friction_of_light_wrists_is_stable():
    """At rest after a fall: a step that is too long for friction would shake the last joint."""
    plant = plant_with(friction_scale=20.0)
    assert plant.substeps > 1
    plant.reset()
    for _ in range(500):
        seen = plant.step(np.zeros(len(SYSTEM.joint_names)))
    calm = np.abs(seen.qd).max()
    for _ in range(20):
        seen = plant.step(np.zeros(len(SYSTEM.joint_names)))
        # A creeping fall changes by little; a shaking joint turns around in every step.
        assert np.abs(seen.qd).max() < 1.2 * calm


def test_mujoco_moves_light_wrists_with_friction_alike():
    """At its usual step, which an explicit friction of these wrists would have to shorten.

    Its integrator is of first order, which leaves parts in a thousand.
    """
    pytest.importorskip("mujoco")
    settings = replace(SCENARIO.plant, friction_scale=20.0, damping_scale=20.0)
    plants = (kind(SCENE, START, PERIOD, settings) for kind in (ScenePlant, mujoco_plant))
    seen = []
    for plant in plants:
        plant.reset()
        for _ in range(50):
            last = plant.step(np.zeros(len(SYSTEM.joint_names)))
        seen.append(last)
    ours, theirs = seen
    moved = np.abs(ours.q - START[SYSTEM.q_index]).max()
    assert moved > 1e-3
    np.testing.assert_allclose(theirs.q, ours.q, atol=0.01 * moved)
    np.testing.assert_allclose(theirs.qd, ours.qd, atol=0.01 * np.abs(ours.qd).max())


def test_brakes_hold_until_the_first_command():
    """With a delay of two periods nothing moves before the second step is over."""
    plant = plant_with(command_delay_periods=2)
    first = plant.reset()
    zero = np.zeros(len(first.q))
    assert np.array_equal(plant.step(zero).q, first.q)
    assert np.array_equal(plant.step(zero).q, first.q)
    assert not np.array_equal(plant.step(zero).q, first.q)


def test_the_object_is_left_alone():
    """Hands are empty: wrist sensors read nothing, the object stays, and a reset repeats it."""
    plant = plant_with()
    hashes = []
    for _ in range(2):
        plant.reset()
        for _ in range(20):
            seen = plant.step(np.zeros(len(SYSTEM.joint_names)))
        hashes.append(plant.state_hash())
        assert not seen.wrenches.any()
        truth = plant.truth()
        assert np.array_equal(truth.object_pose, START[SYSTEM.object_q])
        assert not truth.object_twist.any()
        assert not truth.internal_force.any()
        assert truth.closure_position == truth.correction == 0.0
    assert hashes[0] == hashes[1]


def test_mujoco_moves_them_alike():
    """Falling arms without an object: to the error of its integrator of first order in 0.1 s."""
    pytest.importorskip("mujoco")
    theirs = mujoco_plant(SCENE, START, PERIOD, SCENARIO.plant)
    ours = plant_with()
    theirs.reset(), ours.reset()
    torque = np.linspace(-2.0, 2.0, len(SYSTEM.joint_names))
    for _ in range(50):
        seen, expected = theirs.step(torque), ours.step(torque)
    moved = np.max(np.abs(expected.q - START[SYSTEM.q_index]))
    assert moved > 0.05
    assert np.allclose(seen.q, expected.q, atol=0.01 * moved)
    assert not seen.wrenches.any()
    assert np.array_equal(theirs.truth().object_pose, START[SYSTEM.object_q])
