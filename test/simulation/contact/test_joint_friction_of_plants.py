# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Arms whose joints Coulomb friction holds, in our engine and in MuJoCo."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from support.mechanisms import two_arms
from support.plants import mujoco_plant

from robot_dynamics.manipulation.hybrid import Contact
from robot_dynamics.simulation.plant import ScenePlant
from robot_dynamics.simulation.scene import ArmContact, Scene
from robot_dynamics.simulation.settings import PlantSettings

PERIOD, CELL = 0.002, two_arms()
SYSTEM = CELL.system
SCENE = Scene(SYSTEM, tuple(ArmContact(Contact.of_kind("rigid", g)) for g in SYSTEM.grasps))
#: 100 N m in each joint, more than the weight of the arms and their load takes.
HOLDING = PlantSettings(
    command_delay_periods=0, joint_friction="coulomb", friction_scale=1000.0, damping_scale=0.0
)


def moved(plant, torque, periods):
    """Return the positions (periods + 1, na) of the arm joints under a constant torque."""
    seen = [plant.reset().q]
    return np.array(seen + [plant.step(torque).q for _ in range(periods)])


def test_arms_without_torque_hold_their_load_by_friction():
    """For ever, in every digit."""
    nothing = np.zeros(len(SYSTEM.joint_names))
    ours = ScenePlant(SCENE, CELL.start, PERIOD, HOLDING)
    way = moved(ours, nothing, 500)
    assert np.ptp(way, axis=0).max() < 1e-13
    assert abs(ours.engine.steps.stepping.books.total()) < 1e-13
    slippery = replace(HOLDING, friction_scale=1.0)
    plant = ScenePlant(SCENE, CELL.start, PERIOD, slippery)
    assert np.ptp(moved(plant, nothing, 50), axis=0).max() > 1e-2


def test_mujoco_holds_and_moves_them_alike():
    """Its friction is a soft constraint: it creeps, here by 5e-7 rad/s."""
    pytest.importorskip("mujoco")
    nothing = np.zeros(len(SYSTEM.joint_names))
    theirs = mujoco_plant(SCENE, CELL.start, PERIOD, HOLDING)
    assert np.ptp(moved(theirs, nothing, 100), axis=0).max() < 1e-5
    # With a thousandth of the friction they move as much in both, and lose as much.
    light = replace(HOLDING, friction_scale=10.0, torque_limit=False)
    torque = np.linspace(-4.0, 4.0, len(nothing))
    plants = ScenePlant(SCENE, CELL.start, PERIOD, light), mujoco_plant(
        SCENE, CELL.start, PERIOD, light
    )  # fmt: skip
    mine, other = (moved(plant, torque, 50) for plant in plants)
    way = np.abs(mine[-1] - mine[0]).max()
    assert way > 0.01
    assert_allclose(other[-1], mine[-1], atol=0.01 * way)
    books = plants[0].engine.steps.stepping.books
    assert books.joint_friction < -0.1 * abs(books.drives)
    free = ScenePlant(SCENE, CELL.start, PERIOD, replace(light, friction_scale=0.0))
    assert np.abs(moved(free, torque, 50)[-1] - mine[-1]).max() > 0.1 * way


def test_a_joint_that_sticks_by_a_fault_is_let_go_to_its_friction():
    """A fault's brake in MuJoCo, on top of friction that holds: afterwards that is as before."""
    pytest.importorskip("mujoco")
    plant = mujoco_plant(SCENE, CELL.start, PERIOD, HOLDING)
    plant.reset()
    stuck = np.zeros(len(SYSTEM.joint_names), dtype=bool)
    before = plant.engine._model.dof_frictionloss.copy()
    stuck[0] = True
    plant.engine.stick(stuck)
    assert plant.engine._model.dof_frictionloss.max() > before.max()
    plant.engine.stick(~stuck & stuck)
    assert np.array_equal(plant.engine._model.dof_frictionloss, before)
    assert before.max() == 100.0
