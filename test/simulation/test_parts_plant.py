# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The plant of a jointed object, against Unseren's model of the same, which shares no tree."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from robot_dynamics.app.scenarios.cell import build_system, joint_order, jointed_system
from robot_dynamics.app.scenarios.plant import make_plant
from robot_dynamics.app.scenarios.scenario import load_scenario
from robot_dynamics.errors import ArgumentError
from robot_dynamics.manipulation.hybrid import Contact
from robot_dynamics.reproductions.joint_space import JointSpaceModel
from robot_dynamics.simulation.scene import ArmContact, Scene

FREE = ["plant.command_delay_periods=0", "plant.friction_scale=0", "plant.damping_scale=0"]


@pytest.fixture(scope="module")
def cell():
    """Return the system of the scenario, its plant without friction or delay, and the model."""
    scenario = load_scenario("fold", FREE)
    system = build_system(scenario)
    jointed = jointed_system(scenario.cell, system)
    assert joint_order(jointed).tolist() == list(range(14))
    return system, make_plant(scenario, system), JointSpaceModel(jointed)


def test_forces_and_wrenches_are_those_of_the_other_formulation(cell):
    """Under any torques: f of (31) and the grasp wrenches of (8).

    To 1e-6 N: multipliers are those at the end of the step, before the projection, whose size is
    1e-9 here, and forces change by hundreds of newtons a radian.
    """
    _, plant, model = cell
    measured = plant.reset()
    rng = np.random.default_rng(2)
    for _ in range(20):
        terms = model.terms(measured.q, measured.qd)
        push = terms.A.T @ rng.normal(size=3) * 20.0
        measured = plant.step(terms.C + terms.H_A + push + 5.0 * rng.normal(size=14))
        terms = model.terms(measured.q, measured.qd)
        qdd, f = terms.forward(plant.truth().torque)
        np.testing.assert_allclose(plant.truth().internal_force, f, atol=1e-6)
        in_world = terms.grasp_wrenches(qdd, f).reshape(2, 2, 3)
        R = terms.tool_pose[:, :3, :3]
        in_tools = np.einsum("aji,awj->awi", R, in_world).reshape(2, 6)
        np.testing.assert_allclose(measured.wrenches, in_tools, atol=1e-6)


def test_both_parts_are_told(cell):
    """Poses and twists are those that the arms' kinematics give."""
    _, plant, model = cell
    measured = plant.reset()
    for _ in range(50):
        terms = model.terms(measured.q, measured.qd)
        measured = plant.step(terms.C + terms.H_A + 3.0 * np.sin(np.arange(14.0)))
    terms, truth = model.terms(measured.q, measured.qd), plant.truth()
    for i, (pose, twist) in enumerate(
        [(truth.object_pose, truth.object_twist), truth.second_part]
    ):
        arm = Rotation.from_quat(pose[3:]).apply([0.0, (0.1, -0.1)[i], 0.0])
        np.testing.assert_allclose(pose[:3] + arm, terms.centers[i], atol=1e-9)
        moved = twist[3:] + np.cross(twist[:3], arm)
        np.testing.assert_allclose([*twist[:3], *moved], terms.velocity[i], atol=1e-9)
    assert np.abs(truth.object_twist).max() > 1e-3
    assert max(truth.closure_position, truth.closure_rotation) < 1e-9


def test_at_rest_on_brakes_nothing_is_in_the_joint(cell):
    """Each arm carries its own part."""
    _, plant, _ = cell
    measured = plant.reset()
    assert not plant.truth().internal_force.any()
    np.testing.assert_allclose(np.linalg.norm(measured.wrenches[:, 3:], axis=1), 1.5 * 9.81)


def test_other_contacts_of_parts_are_refused(cell):
    """A part is held rigidly: the motion of the joint in fingers that slip is undetermined."""
    system, *_ = cell
    fingers = tuple(ArmContact(Contact.of_kind("soft finger", one)) for one in system.grasps)
    with pytest.raises(ArgumentError, match="joint is held by contacts"):
        Scene(system, fingers)
