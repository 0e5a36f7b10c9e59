# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""MuJoCo with an object of two parts, against the closed-loop engine."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from robot_dynamics.app.scenarios.cell import build_system, jointed_system
from robot_dynamics.app.scenarios.plant import make_plant
from robot_dynamics.app.scenarios.scenario import load_scenario
from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.reproductions.joint_space import JointSpaceModel

pytest.importorskip("mujoco")

FREE = ["plant.command_delay_periods=0", "plant.friction_scale=0", "plant.damping_scale=0"]


def plants(kind):
    """Return the engine's plant, MuJoCo's, and the model, of rods with a joint of a kind."""
    joint = f"cell.object.joint.type={kind}"
    scenario = load_scenario("fold", [*FREE, joint])
    system = build_system(scenario)
    other = load_scenario("fold", [*FREE, joint, "plant.engine=mujoco"])
    model = JointSpaceModel(jointed_system(scenario.cell, system))
    return make_plant(scenario, system), make_plant(other, system), model


@pytest.mark.parametrize("kind", ["spherical", "revolute"])
def test_it_moves_and_measures_like_the_engine(kind):
    """Poses, twists, the joint's force and the grasps' wrenches for the same torques over 0.1 s.

    MuJoCo's integrator is of first order: it is off by half a step of 0.2 ms of the motion, to
    which the threshold leaves a factor of two. Velocities and forces are those of half a step
    before or after, to parts in a hundred, for the torques change by 5 % of themselves in a
    millisecond.
    """
    ours, theirs, model = plants(kind)
    first, other = ours.reset(), theirs.reset()
    assert_allclose(other.wrenches, first.wrenches, atol=1e-6)
    hold = model.terms(first.q, first.qd)
    squeeze = hold.A.T @ np.linspace(5.0, 10.0, len(hold.A))
    for i in range(100):
        torque = hold.C + hold.H_A + squeeze + np.sin(0.05 * i + np.arange(14.0))
        mine, other = ours.step(torque), theirs.step(torque)
    one, two = ours.truth(), theirs.truth()
    speed = max(np.abs(one.object_twist).max(), np.abs(one.second_part[1]).max())
    assert speed > 0.05
    assert_allclose(two.object_pose, one.object_pose, atol=2e-4 * speed)
    assert_allclose(two.object_twist, one.object_twist, atol=0.02 * speed)
    assert_allclose(two.second_part[0], one.second_part[0], atol=2e-4 * speed)
    assert_allclose(two.second_part[1], one.second_part[1], atol=0.02 * speed)
    size = np.abs(one.internal_force).max()
    assert_allclose(two.internal_force, one.internal_force, atol=0.02 * size)
    assert_allclose(other.wrenches, mine.wrenches, atol=0.02 * np.abs(mine.wrenches).max())
    assert two.closure_position < 1e-5
    assert two.closure_rotation < 1e-4


def test_other_joints_are_refused():
    """With the joint's name and kind."""
    with pytest.raises(RobotDynamicsError, match=r"prismatic, expected .* spherical"):
        plants("prismatic")
