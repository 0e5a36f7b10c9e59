# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Inverse dynamics against Pinocchio, closed forms, and the linear structure of the equation."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from support.mechanisms import random_pose, random_state, random_tree

from robot_dynamics.dynamics.inertia_matrix import inertia_times
from robot_dynamics.dynamics.inverse import (
    bias_forces,
    gravity_forces,
    inverse_dynamics,
    joint_forces,
    net_forces,
    velocities_and_accelerations,
)
from robot_dynamics.dynamics.kinematics import body_transforms, joint_transforms
from robot_dynamics.errors import ArgumentError
from robot_dynamics.model import JointElement, LinkElement, Mechanism, build
from robot_dynamics.model.parameters import parameters_of
from robot_dynamics.spatial import Force, Vector3

TOL = 1e-12  # max-norm relative: some hundred roundings of 1e-16


def relative(ours, theirs):
    return np.max(np.abs(np.asarray(ours) - theirs)) / np.max(np.abs(theirs))


@pytest.mark.book("E1")
def test_equals_pinocchio_on_real_robots(real, rng):
    """The torques of 1000 random states of each robot are Pinocchio's, state by state."""
    robot, oracle = real
    q, qd, qdd = random_state(rng, robot.model, 1000)
    tau = robot.inverse_dynamics(q, qd, qdd)
    worst = max(
        relative(ours, oracle.inverse_dynamics(*state))
        for ours, *state in zip(tau, q, qd, qdd, strict=True)
    )
    assert worst < TOL


@pytest.mark.book("E1")
def test_equals_pinocchio_on_trees(tree, rng):
    """So are those of random trees, of all joint types."""
    from support.oracle import Pinocchio

    mechanism, model = tree
    oracle = Pinocchio.of_mechanism(mechanism, model)
    for _ in range(5):
        state = random_state(rng, model)
        tau = inverse_dynamics(model, *(x.tolist() for x in state), parameters_of(model))
        assert relative(tau, oracle.inverse_dynamics(*state)) < TOL


@pytest.mark.book("E2")
def test_bias_is_the_force_of_no_acceleration(tree, rng):
    """C = ID(q, qd, 0), and ID - C is linear in the accelerations."""
    _, model = tree
    q, qd, qdd = (x.tolist() for x in random_state(rng, model))
    parameters, rest = parameters_of(model), [0.0] * model.nv
    C = np.array(bias_forces(model, q, qd, parameters))
    assert_allclose(C, inverse_dynamics(model, q, qd, rest, parameters), rtol=TOL, atol=TOL)
    once = np.array(inverse_dynamics(model, q, qd, qdd, parameters)) - C
    twice = np.array(inverse_dynamics(model, q, qd, [2 * a for a in qdd], parameters)) - C
    assert_allclose(twice, 2 * once, rtol=1e-11, atol=1e-11 * np.abs(once).max())


@pytest.mark.book("E3")
def test_external_forces_work_through_the_jacobian(tree, rng):
    """Power of the joints changes by the power of outside forces on the bodies, and no more."""
    _, model = tree
    q, qd, qdd = (x.tolist() for x in random_state(rng, model))
    parameters = parameters_of(model)
    external = [Force.of(rng.normal(size=6).tolist()) for _ in model.bodies]
    without = np.array(inverse_dynamics(model, q, qd, qdd, parameters))
    with_them = np.array(inverse_dynamics(model, q, qd, qdd, parameters, external))
    v, _ = velocities_and_accelerations(
        model, joint_transforms(model, q), qd, None, parameters.gravity
    )
    power = sum(v_i.dot(f) for v_i, f in zip(v, external, strict=True))
    assert_allclose((without - with_them) @ qd, power, rtol=1e-11)


@pytest.mark.book("S3")
def test_accelerations_are_derivatives_of_velocities(tree, rng):
    """a_i + a_g is the time derivative of v_i in base coordinates (2.48)."""
    _, model = tree
    q, qd, qdd = random_state(rng, model)
    still = Vector3.zero()

    def in_base(q, qd):
        Xup = joint_transforms(model, list(q))
        v, _ = velocities_and_accelerations(model, Xup, list(qd), None, still)
        X0 = body_transforms(model, Xup)
        return np.array(
            [X.inverse_times(v_i).components() for X, v_i in zip(X0, v, strict=True)], dtype=float
        )

    h = 1e-5
    rate = np.array(model.position_rate(q.tolist(), qd.tolist()))
    # Second order: the positions follow a path with the right velocity and acceleration.
    rate_h = np.array(model.position_rate((q + h * rate).tolist(), (qd + h * qdd).tolist()))
    q_plus = model.normalized(q + h * (rate + rate_h) / 2)
    rate_m = np.array(model.position_rate((q - h * rate).tolist(), (qd - h * qdd).tolist()))
    q_minus = model.normalized(q - h * (rate + rate_m) / 2)
    difference = (in_base(q_plus, qd + h * qdd) - in_base(q_minus, qd - h * qdd)) / (2 * h)

    Xup = joint_transforms(model, q.tolist())
    _, a = velocities_and_accelerations(model, Xup, qd.tolist(), qdd.tolist(), still)
    X0 = body_transforms(model, Xup)
    exact = [X.inverse_times(a_i).components() for X, a_i in zip(X0, a, strict=True)]
    # Differences of order h^2 = 1e-10 and roundings 1e-16 / h = 1e-11, of numbers up to 100.
    assert_allclose(difference, exact, atol=1e-6, rtol=1e-6)


@pytest.mark.book("E1")
def test_a_pendulum_has_its_textbook_torque():
    """A point mass on a rod: tau = m l^2 qdd + m g l sin(q), with q from hanging."""
    m, length, g, q, qdd = 2.0, 0.7, 9.81, 0.3, 1.7
    bob = LinkElement("bob", m, (0.0, 0.0, -length))
    hinge = JointElement("hinge", "revolute", "base", "bob", axis=(0.0, 1.0, 0.0))
    model = build(Mechanism("pendulum", (LinkElement("base"), bob), (hinge,)))
    (tau,) = inverse_dynamics(model, [q], [0.9], [qdd], parameters_of(model))
    assert_allclose(tau, m * length**2 * qdd + m * g * length * np.sin(q), rtol=1e-14)


@pytest.mark.book("E1")
def test_torque_free_body():
    """Euler's equations: a spinning body needs the moment w x I w, and falls freely."""
    moments = np.array([0.3, 0.5, 0.6])
    body = LinkElement("body", 2.0, (0.0, 0.0, 0.0), np.diag(moments))
    joint = JointElement("free", "floating", "base", "body")
    model = build(Mechanism("body", (LinkElement("base"), body), (joint,)))
    w = np.array([0.4, -0.3, 0.8])
    qd, qdd = [*w, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0, 0.0, -9.81]
    tau = inverse_dynamics(model, model.neutral().tolist(), qd, qdd, parameters_of(model))
    assert_allclose(tau[:3], np.cross(w, moments * w), rtol=1e-14)
    assert_allclose(tau[3:], 0.0, atol=1e-14)


@pytest.mark.parametrize("part", ["net", "tree"])
def test_forces_of_bodies_balance(tree, rng, part):
    """All joint forces and weights move the centre of mass: the sum over bodies is the base's."""
    _, model = tree
    q, qd, qdd = (x.tolist() for x in random_state(rng, model))
    parameters = parameters_of(model)
    Xup = joint_transforms(model, q)
    v, a = velocities_and_accelerations(model, Xup, qd, qdd, parameters.gravity)
    forces = net_forces(v, a, parameters)
    tau = joint_forces(model, Xup, forces)
    if part == "net":
        # Without velocity the net force of a body is its inertia times its acceleration.
        still, a_still = velocities_and_accelerations(
            model, Xup, [0.0] * model.nv, qdd, parameters.gravity
        )
        for f, a_i, inertia in zip(
            net_forces(still, a_still, parameters), a_still, parameters.inertias, strict=True
        ):
            assert_allclose(f.components(), (inertia * a_i).components(), rtol=1e-14)
    else:
        # d'Alembert: virtual power of joint forces is that of all net forces.
        w, _ = velocities_and_accelerations(model, Xup, qdd, None, Vector3.zero())
        power = sum(w_i.dot(f) for w_i, f in zip(w, forces, strict=True))
        assert_allclose(np.dot(tau, qdd), power, rtol=1e-11)


@pytest.mark.book("E2")
def test_inverse_dynamics_are_the_sum_of_their_parts(tree, rng):
    """ID is the sum of gravity, velocity terms, H qdd and minus the external forces' part."""
    mechanism, model = tree
    q, qd, qdd = (x.tolist() for x in random_state(rng, model))
    parameters = parameters_of(model)
    weightless = parameters_of(build(mechanism, gravity=(0.0, 0.0, 0.0)))
    external = [Force.of(rng.normal(size=6).tolist()) for _ in model.bodies]
    tau = inverse_dynamics(model, q, qd, qdd, parameters, external)
    rest = [0.0] * model.nv
    parts = [
        gravity_forces(model, q, parameters),
        bias_forces(model, q, qd, weightless),
        inertia_times(model, q, qdd, parameters),
        inverse_dynamics(model, q, rest, rest, weightless, external),
    ]
    assert_allclose(np.sum(parts, axis=0), tau, atol=10 * TOL * np.abs(tau).max())


@pytest.mark.book("E3")
@pytest.mark.usefixtures("interpreted")
def test_external_forces_are_pinocchios(tree, rng):
    """Wrenches on all links act as Pinocchio's fext, in inverse and in forward dynamics."""
    from support.oracle import Pinocchio, pin

    from robot_dynamics.robot import Robot

    mechanism, model = tree
    robot, oracle = Robot(model), Pinocchio.of_mechanism(mechanism, model)
    q, qd, qdd = random_state(rng, model)
    wrenches = {body.name: rng.normal(size=6) for body in model.bodies}
    fext = pin.StdVec_Force([pin.Force.Zero() for _ in range(oracle.theirs.njoints)])
    for body in model.bodies:
        f = wrenches[body.name]  # our links and Pinocchio's joints have the same frames
        fext[oracle.theirs.getJointId(body.joint.name)] = pin.Force(f[3:], f[:3])
    states = [oracle.q_of(q), oracle.v_of(qd), oracle.v_of(qdd)]
    pushes = robot.external_forces(q, wrenches)
    theirs = pin.rnea(oracle.theirs, oracle.data, *states, fext)[oracle.at_v]
    assert relative(robot.inverse_dynamics(q, qd, qdd) - pushes, theirs) < TOL
    theirs = pin.aba(oracle.theirs, oracle.data, *states, fext)[oracle.at_v]
    condition = np.linalg.cond(robot.inertia_matrix(q))
    assert relative(robot.tree_forward_dynamics(q, qd, qdd + pushes), theirs) < TOL * condition


@pytest.mark.book("E5")
@pytest.mark.usefixtures("interpreted")
def test_forces_in_joints_are_pinocchios(tree, rng):
    """Transmitted forces are Pinocchio's data.f, with and without external wrenches."""
    from support.oracle import Pinocchio, pin

    from robot_dynamics.robot import Robot

    mechanism, model = tree
    robot, oracle = Robot(model), Pinocchio.of_mechanism(mechanism, model)
    q, qd, qdd = random_state(rng, model)
    states = [oracle.q_of(q), oracle.v_of(qd), oracle.v_of(qdd)]
    last = model.bodies[-1]
    wrench = rng.normal(size=6)
    for push in (0.0, 1.0):
        fext = pin.StdVec_Force([pin.Force.Zero() for _ in range(oracle.theirs.njoints)])
        at = oracle.theirs.getJointId(last.joint.name)
        fext[at] = pin.Force(push * wrench[3:], push * wrench[:3])
        pin.rnea(oracle.theirs, oracle.data, *states, fext)
        ours = robot.joint_wrenches(q, qd, qdd, {last.name: push * wrench})
        for f, body in zip(ours, model.bodies, strict=True):
            theirs = oracle.data.f[oracle.theirs.getJointId(body.joint.name)]
            expected = np.array([*theirs.angular, *theirs.linear])
            assert_allclose(f, expected, rtol=0, atol=10 * TOL * np.abs(ours).max())


@pytest.mark.book("E5")
@pytest.mark.usefixtures("interpreted")
def test_a_wrench_on_a_tool_is_felt_at_the_flange(rng):
    """A frame's wrench counts in its own axes and about its own origin, in batches too."""
    from robot_dynamics.robot import Robot

    arm = random_tree(rng, ["revolute"] * 3, chain=True)
    at = random_pose(rng)
    robot = Robot(build(arm)).with_frame("tool", "link2", at)
    q, qd, qdd = random_state(rng, robot.model, 4)
    push = rng.normal(size=(4, 6))
    felt = robot.joint_wrenches(q, qd, qdd) - robot.joint_wrenches(q, qd, qdd, {"tool": push})
    R, r = at[:3, :3], at[:3, 3]
    force = push[:, 3:] @ R.T
    moment = push[:, :3] @ R.T + np.cross(r, force)
    assert_allclose(felt[:, 2], np.concatenate([moment, force], axis=1), atol=1e-11)
    grounded = robot.joint_wrenches(q, qd, qdd, {"base": push})
    assert (grounded == robot.joint_wrenches(q, qd, qdd)).all()
    # One state with several wrenches, and wrenches that are none.
    one = q[0], qd[0], qdd[0]
    several = robot.joint_wrenches(*one, {"tool": push})
    assert_allclose(several[2], robot.joint_wrenches(*one, {"tool": push[2]}), atol=1e-12)
    for wrong in (np.ones(7), np.ones(3), 1.0, "no wrench"):
        with pytest.raises(ArgumentError, match=r"'tool' .* expected (numbers )?\(\.\.\., 6\)"):
            robot.joint_wrenches(*one, {"tool": wrong})
    with pytest.raises(ArgumentError, match="expected ones that broadcast"):
        robot.joint_wrenches(q, qd, qdd, {"tool": push[:3]})
