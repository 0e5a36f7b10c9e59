# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Torques that hold arms up, from a model independent of the control law."""

import numpy as np
import pytest
from support.hybrid_systems import LINKAGE
from support.sampled_decoupling import cell_of

from robot_dynamics.app.scenarios.cell import build_system
from robot_dynamics.app.scenarios.laws import control_loop
from robot_dynamics.app.scenarios.scenario import load_scenario
from robot_dynamics.control.arm_model import ArmModel, with_load_in_hand
from robot_dynamics.manipulation.assembly import closed_configuration
from robot_dynamics.robot import Robot


@pytest.fixture(scope="module", params=["lift_box", "lift_box_panda"])
def supervised(request):
    """Return the controller of a scenario, and where its arms stand at the start."""
    scenario = load_scenario(request.param)
    system = build_system(scenario)
    pilot = control_loop(scenario, system)
    return pilot, closed_configuration(system, scenario.object_pose)[system.q_index]


def test_shares_of_the_load_in_the_hands_hold_the_object_up(supervised):
    """Arms that carry their shares as bodies of their own need the torques of the control law.

    The law takes the object as a body of its own, balances its weight by grasp wrenches and maps
    them through the arms' Jacobians: another way. It sees the object by the first arm, so that
    the two differ by the closure error of the start, below 1e-9, and by rounding.
    """
    pilot, q = supervised
    torque = ArmModel(with_load_in_hand(pilot.system)).support(q)
    alone = ArmModel(pilot.system).support(q)
    np.testing.assert_allclose(torque, pilot.law.hold_support(q), rtol=0.0, atol=1e-6)
    assert np.abs(torque - alone).max() > 1.0  # the load matters


def test_arms_that_hold_an_object_move_with_it(supervised):
    """As in the closed-loop dynamics of arms and object, if the object is in the hands."""
    pilot, q = supervised
    system, pose = pilot.system, pilot.law.object_pose(q)
    robot, at = Robot(system.model), system.positions(q)
    at[system.object_q] = pose
    rest, tau = np.zeros(system.model.nv), np.zeros(system.model.nv)
    tau[system.v_index] = np.linspace(-1.0, 1.0, len(q))
    change = robot.forward_dynamics(at, rest, tau) - robot.forward_dynamics(at, rest, rest)
    found = ArmModel(system).inverse_inertia_with_object(q, pose)
    wanted = change[system.v_index]
    np.testing.assert_allclose(found @ tau[system.v_index], wanted, atol=1e-8)
    for gap, known in ((0.049, True), (0.051, False)):
        elsewhere = pose + gap * np.eye(7)[2]
        assert (ArmModel(system).inverse_inertia_with_object(q, elsewhere) is not None) == known


def test_one_evaluation_serves_both(supervised, monkeypatch):
    """Of the last requested positions; changes by callers do not reach results or positions."""
    pilot, q = supervised
    arms, calls = ArmModel(pilot.system), []
    terms = arms.terms
    monkeypatch.setattr(arms, "terms", lambda *given: calls.append(1) or terms(*given))
    at = q.copy()
    support, inertia = arms.support(at), arms.inertia(at)
    assert len(calls) == 1
    kept = support.copy(), inertia.copy()
    support[:], inertia[:] = 0.0, 0.0
    np.testing.assert_array_equal(arms.support(at), kept[0])
    np.testing.assert_array_equal(arms.inertia(at), kept[1])
    at[1] += 0.1  # no vertical axis
    assert (arms.support(at) != kept[0]).any()
    assert len(calls) == 2
    at[1] = np.nan
    for _ in range(2):
        assert not np.isfinite(arms.support(at)).all()
    np.testing.assert_array_equal(arms.inertia(q), kept[1])


def test_the_support_is_the_gradient_of_the_potential(supervised):
    """By central differences of the potential energy of arms and shares of the load."""
    pilot, q = supervised
    system = with_load_in_hand(pilot.system)
    model = system.model

    def potential(q_arms):
        from robot_dynamics.dynamics.kinematics import body_transforms, joint_transforms

        at = model.neutral()
        at[system.q_index] = q_arms
        X0 = body_transforms(model, joint_transforms(model, list(at)))
        energy = 0.0
        for i, body in enumerate(model.bodies):
            if i == system.object_body:
                continue
            mass = body.inertia.mass
            first = X0[i].E.inverse_times(body.inertia.h)  # h in world axes
            moment = np.array([*first]) + mass * np.array([*X0[i].r])
            energy -= float(moment @ np.array(model.gravity))
        return energy

    step = 1e-5  # truncation 1e-10, rounding 1e-11, both times the weight of 100 N m
    wanted = [
        (potential(q + step * e) - potential(q - step * e)) / (2 * step) for e in np.eye(len(q))
    ]
    np.testing.assert_allclose(ArmModel(system).support(q), wanted, rtol=0.0, atol=1e-6)


def test_arms_with_loops_are_held_up_by_their_drives():
    """Under the support nothing moves, and inertia times accelerations is torque beyond it.

    Accelerations are those of the closed-loop engine, whose joints without drives are free.
    """
    system = cell_of(2, LINKAGE).system
    arms, model = Robot(system.arms_alone), ArmModel(system)
    q = system.posture + 0.05
    at = system.positions(q)[system.every_q]
    drives = [arms.model.joint_index(name) for name in system.joint_names]
    tau = np.zeros(16)
    tau[drives] = model.support(q)
    np.testing.assert_allclose(arms.forward_dynamics(at, 0.0 * at, tau), 0.0, atol=1e-12)
    more = np.linspace(-1.0, 1.0, 12)
    tau[drives] += more
    ydd = arms.forward_dynamics(at, 0.0 * at, tau)[drives]
    np.testing.assert_allclose(model.inertia(q) @ ydd, more, atol=1e-12)
