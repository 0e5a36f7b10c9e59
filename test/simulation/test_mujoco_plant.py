# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""MuJoCo as a plant agrees with our engine, in signs, frames and forces."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.spatial.transform import Rotation
from support.mechanisms import two_arms as beside
from support.plants import mujoco_plant

from robot_dynamics.errors import ArgumentError
from robot_dynamics.manipulation.assembly import closed_configuration
from robot_dynamics.simulation.mujoco_engine import _gap
from robot_dynamics.simulation.plant import ScenePlant
from robot_dynamics.simulation.scene import Scene
from robot_dynamics.simulation.settings import PlantSettings
from test.two_arms import two_arms

pytest.importorskip("mujoco")

PERIOD = 0.002
SYSTEM = two_arms()
START = closed_configuration(SYSTEM, np.array([0.0, 0.0, 0.6, 0.0, 0.0, 0.0, 1.0]))
SETTINGS = PlantSettings(command_delay_periods=0, step_s=0.0005)


@pytest.fixture
def plants():
    """Return both plants at the same start."""
    return (
        mujoco_plant(Scene(SYSTEM), START, PERIOD, SETTINGS),
        ScenePlant(Scene(SYSTEM), START, PERIOD, SETTINGS),
    )


def test_both_start_alike(plants):
    """Measurements and truth at the start are the same."""
    for theirs, ours in zip(plants[0].reset(), plants[1].reset(), strict=True):
        assert_allclose(theirs, ours, atol=1e-12)
    theirs, ours = plants[0].truth(), plants[1].truth()
    assert_allclose(theirs.object_pose, ours.object_pose, atol=1e-12)
    assert_allclose(theirs.internal_force, ours.internal_force, atol=1e-9)
    for plant in plants:  # all joints of these arms have drives
        assert [values.size for values in plant.passive_joints()] == [0, 0]


def test_wrists_carry_what_hangs_beside_the_origin():
    """A centre of mass that is centimetres from the object's origin has a moment at the start."""
    cell = beside()
    kinds = (mujoco_plant, ScenePlant)
    theirs, ours = (
        kind(Scene(cell.system), cell.start, PERIOD, SETTINGS).reset().wrenches for kind in kinds
    )
    assert np.abs(theirs[:, :3]).max() > 0.1
    assert_allclose(theirs, ours, atol=1e-9)


def test_the_same_torque_moves_both_alike(plants):
    """Falling under a constant torque, states and grasp wrenches agree between the engines.

    MuJoCo's integrator is of first order and its welds give way: over 0.1 s at 0.2 ms that
    leaves parts in a thousand.
    """
    theirs, ours = plants
    theirs.reset()
    ours.reset()
    torque = np.linspace(-2.0, 2.0, len(SYSTEM.joint_names))
    for _ in range(50):
        seen, expected = theirs.step(torque), ours.step(torque)
    moved = np.max(np.abs(expected.q - START[SYSTEM.q_index]))
    assert moved > 0.01
    assert_allclose(seen.q, expected.q, atol=0.01 * moved)
    assert_allclose(seen.qd, expected.qd, atol=0.01 * np.max(np.abs(expected.qd)))
    assert_allclose(
        seen.wrenches, expected.wrenches, atol=0.02 * np.max(np.abs(expected.wrenches))
    )
    assert_allclose(theirs.truth().object_twist, ours.truth().object_twist, atol=5e-3)


def test_wrenches_carry_the_object(plants):
    """At any instant the grasp wrenches accelerate the object: their sum is its inertia's."""
    theirs = plants[0]
    theirs.reset()
    for _ in range(20):
        seen = theirs.step(np.zeros(len(SYSTEM.joint_names)))
    before = theirs.truth().object_twist[3:].copy()
    force = sum(
        _turned(theirs, arm, wrench)
        for arm, wrench in zip(SYSTEM.arms, seen.wrenches, strict=True)
    )
    theirs.step(np.zeros(len(SYSTEM.joint_names)))
    acceleration = (theirs.truth().object_twist[3:] - before) / PERIOD
    expected = 8.0 * (acceleration - np.array([0.0, 0.0, -9.81]))
    assert_allclose(force, expected, atol=1.0)  # a difference quotient over one period


def test_a_torque_that_is_no_number_is_refused(plants):
    """Neither NaN nor a wrong length reaches the engine."""
    plants[0].reset()
    with pytest.raises(ArgumentError, match="not finite"):
        plants[0].step(np.full(len(SYSTEM.joint_names), np.nan))
    with pytest.raises(ArgumentError, match="shape"):
        plants[0].step(np.zeros(3))


def test_runs_repeat(plants):
    """After a reset the same torques give the same states, to the last bit."""
    plant = plants[0]
    hashes = []
    for _ in range(2):
        plant.reset()
        for _ in range(10):
            plant.step(np.ones(len(SYSTEM.joint_names)))
        hashes.append(plant.state_hash())
    assert hashes[0] == hashes[1]


def _turned(plant, arm, wrench):
    """Return a wrench's force in world axes, by the orientation of the grasp on the object."""
    from scipy.spatial.transform import Rotation

    grasp = SYSTEM.grasps[SYSTEM.arms.index(arm)]
    R = Rotation.from_quat(plant.truth().object_pose[3:]).as_matrix() @ grasp[:3, :3]
    return R @ wrench[3:]


@pytest.mark.parametrize("angle", [1e-6, 0.5, 3.0])
def test_the_angle_of_a_gap_is_no_sine(angle):
    """A gripper that is turned round by half a turn is far from its grasp."""
    turned = Rotation.from_rotvec([0.0, angle, 0.0]).as_matrix()
    data = SimpleNamespace(
        site_xmat=np.array([np.eye(3).ravel(), turned.ravel()]), site_xpos=np.zeros((2, 3))
    )
    assert _gap(data, 0, 1)[1] == pytest.approx(angle, rel=1e-9)
