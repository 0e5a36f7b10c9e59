# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Both plants move arms and object as the reduced model and the engine say, and tell the force."""

from __future__ import annotations

import numpy as np
import pytest
from manipulation.jointed_object.cases import CASE, state_of, system_of
from numpy.testing import assert_allclose
from scipy.integrate import solve_ivp

from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.reproductions.joint_space import JointSpaceModel
from robot_dynamics.reproductions.jointed_plants import EngineJointedPlant, ReducedJointedPlant
from robot_dynamics.reproductions.pseudovelocities import CompletedVelocities
from robot_dynamics.robot import Robot

SYSTEM = system_of(CASE)
MODEL = JointSpaceModel(SYSTEM)
START = state_of(CASE)[0]
STILL = 0.0 * START
HOLDING = MODEL.terms(START, STILL).inverse(STILL, np.array([5.0, -3.0, 8.0]))
TORQUE = HOLDING + 0.3
PERIOD, TICKS = 1e-3, 40


def plants():
    choice = CompletedVelocities.chosen(MODEL.terms(START, STILL))
    return {
        "engine": EngineJointedPlant(SYSTEM, START, PERIOD),
        "reduced": ReducedJointedPlant(MODEL, choice, START, PERIOD),
    }


@pytest.mark.parametrize("name", ["engine", "reduced"])
def test_motion_under_constant_torques(name):
    """Positions are those of an integration to ten digits, the joint stays closed."""
    plant, robot, n = plants()[name], Robot(SYSTEM.model), len(START)
    for _ in range(TICKS):
        plant.step(TORQUE)

    def rate(t, y):
        return np.concatenate([y[n:], robot.forward_dynamics(y[:n], y[n:], TORQUE)])

    span = (0.0, TICKS * PERIOD)
    truth = solve_ivp(rate, span, np.r_[START, STILL], rtol=1e-11, atol=1e-12).y[:, -1]
    # Steps of fourth order of a millisecond.
    assert_allclose(plant.q, truth[:n], atol=1e-9)
    assert_allclose(plant.qd, truth[n:], atol=1e-8)
    assert plant.gap < 1e-10
    _, force = MODEL.terms(plant.q, plant.qd).forward(TORQUE)
    assert_allclose(plant.force, force, atol=1e-6)


def test_a_wrench_on_a_part_is_measured():
    """A force on the second part at rest accelerates it as the joint-space model says."""
    wrench = np.zeros((2, 6))
    wrench[1] = [0.1, 0.0, -0.2, 3.0, 1.0, 2.0]
    terms = MODEL.terms(START, STILL)
    qdd, force = terms.forward(HOLDING + terms.G[1].T @ wrench[1])
    for plant in plants().values():
        plant.step(HOLDING, wrench)
        # One period of a millisecond: velocities are accelerations times it, to first order.
        assert_allclose(plant.qd / PERIOD, qdd, atol=1e-3 * np.abs(qdd).max())
        assert_allclose(plant.force, force, atol=1e-2 * np.abs(force).max())


def test_wild_motion_ends_in_a_sentence():
    """Torques beyond reason do not give numbers that are none."""
    plant = plants()["engine"]

    def go_on():
        for _ in range(200):
            plant.step(1e7 * np.ones(12))

    with (
        np.errstate(all="ignore"),
        pytest.raises(RobotDynamicsError, match="motion is not finite"),
    ):
        go_on()
