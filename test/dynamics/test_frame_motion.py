# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Frames in local, world and aligned axes: Pinocchio's, finite differences, closed forms."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from support import linkages
from support.mechanisms import random_pose, random_state

from robot_dynamics.dynamics.jacobian import AXES
from robot_dynamics.errors import ArgumentError, UnknownNameError
from robot_dynamics.model import JointElement, LinkElement, Mechanism, pose
from robot_dynamics.robot import Robot

H = 1e-6  # of central differences, which leave H^2 times third derivatives, and rounding / H


def moved(model, q, qd, time):
    """Return the positions (nq,) after a time at velocities of joints."""
    return np.array(model.integrate(q.tolist(), (time * qd).tolist()))


def reference_frames(pin):
    """Return Pinocchio's name of each choice of axes."""
    frames = pin.ReferenceFrame
    return {
        "local": frames.LOCAL, "world": frames.WORLD, "aligned": frames.LOCAL_WORLD_ALIGNED
    }  # fmt: skip


@pytest.mark.parametrize("axes", AXES)
def test_equal_pinocchio_on_trees(tree, rng, axes, interpreted):
    """Jacobians, velocities, spatial and classical accelerations are Pinocchio's, of all frames
    and joint types; J is the one that it computes, and so is dJ/dt qd.
    """
    from support.oracle import Pinocchio, pin

    mechanism, model = tree
    robot, oracle = Robot(model), Pinocchio.of_mechanism(mechanism, model)
    where = reference_frames(pin)[axes]
    q, qd, qdd = random_state(rng, model)
    ours_first = [3, 4, 5, 0, 1, 2]
    state = (oracle.q_of(q), oracle.v_of(qd), oracle.v_of(qdd))
    their, data = oracle.theirs, oracle.data
    for link in model.links[:: max(1, len(model.links) // 4)]:
        frame = their.getFrameId(link.name)
        J = pin.computeFrameJacobian(their, data, state[0], frame, where)
        found = robot.jacobian(link.name, q, axes)
        assert_allclose(found, J[ours_first][:, oracle.at_v], atol=1e-12)
        pin.forwardKinematics(their, data, *state)
        v = pin.getFrameVelocity(their, data, frame, where).vector[ours_first]
        assert_allclose(robot.velocity(link.name, q, qd, axes), v, atol=1e-12)
        assert_allclose(found @ qd, v, atol=1e-12)
        for classical, get in (
            (False, pin.getFrameAcceleration), (True, pin.getFrameClassicalAcceleration)
        ):  # fmt: skip
            a = get(their, data, frame, where).vector[ours_first]
            ours = robot.acceleration(link.name, q, qd, qdd, axes, classical=classical)
            assert_allclose(ours, a, atol=1e-11)
            bias = robot.bias_acceleration(link.name, q, qd, axes, classical=classical)
            assert_allclose(bias + found @ qdd, a, atol=1e-11)
        pin.computeJointJacobiansTimeVariation(their, data, state[0], state[1])
        dJ = pin.getFrameJacobianTimeVariation(their, data, frame, where)
        bias = robot.bias_acceleration(link.name, q, qd, axes, classical=axes == "aligned")
        assert_allclose(bias, (dJ @ state[1])[ours_first], atol=1e-11)


@pytest.mark.parametrize("axes", AXES)
def test_the_jacobian_of_a_closed_loop(axes):
    """On closed loops J qd is the rate of the pose, and dJ/dt qd that of J qd at constant qd."""
    robot = Robot.from_mechanism(linkages.four_bar())
    start = robot.assemble([0.5, -0.5, -1.0], velocities={"crank_joint": 2.0})
    q, qd, name = start.q, start.qd, robot.model.bodies[1].name
    before, after = (robot.pose(name, moved(robot.model, q, qd, t)) for t in (-H, H))
    R, p = robot.pose(name, q)[:3, :3], robot.pose(name, q)[:3, 3]
    rate = (after - before) / (2 * H)
    turning = rate[:3, :3] @ R.T
    omega, v = np.array([turning[2, 1], turning[0, 2], turning[1, 0]]), rate[:3, 3]
    expected = {
        "local": [*(R.T @ omega), *(R.T @ v)],
        "aligned": [*omega, *v],
        "world": [*omega, *(v - np.cross(omega, p))],
    }
    found = robot.jacobian(name, q, axes) @ qd
    assert_allclose(found, expected[axes], atol=1e-8)
    assert_allclose(robot.velocity(name, q, qd, axes), found, atol=1e-13)
    slope = sum(
        s * robot.velocity(name, moved(robot.model, q, qd, s * H), qd, axes) for s in (1, -1)
    )
    bias = robot.bias_acceleration(name, q, qd, axes, classical=axes == "aligned")
    assert_allclose(bias, slope / (2 * H), atol=1e-6)
    assert np.abs(bias).max() > 0.1


@pytest.mark.book("S3")
def test_a_point_on_a_wheel():
    """On a wheel of radius r the rim has speed r w, and w^2 r towards the axle; a link that is
    fixed to the world has no motion.
    """
    links = (LinkElement("ground"), LinkElement("wheel", 1.0, inertia=np.eye(3)))
    axle = JointElement("axle", "revolute", "ground", "wheel", pose((0.0, 0.0, 1.0)))
    robot = Robot.from_mechanism(Mechanism("wheel", links, (axle,)))
    robot = robot.with_frame("rim", "wheel", pose((0.3, 0.0, 0.0)))
    q, w = [np.pi / 2], [4.0]
    assert_allclose(robot.pose("rim", q)[:3, 3], [0.0, 0.3, 1.0], atol=1e-15)
    assert_allclose(robot.velocity("rim", q, w), [0, 0, 4, 0, 1.2, 0], atol=1e-15)
    assert_allclose(robot.velocity("rim", q, w, "aligned"), [0, 0, 4, -1.2, 0, 0], atol=1e-15)
    assert_allclose(robot.velocity("rim", q, w, "world"), [0, 0, 4, 0, 0, 0], atol=1e-15)
    towards_axle = [0, 0, 0, 0, -(4.0**2) * 0.3, 0]
    bias = robot.bias_acceleration("rim", q, w, "aligned", classical=True)
    assert_allclose(bias, towards_axle, atol=1e-14)
    assert_allclose(robot.bias_acceleration("rim", q, w, "world"), np.zeros(6), atol=1e-14)
    for axes in AXES:
        assert_allclose(robot.velocity("ground", q, w, axes), np.zeros(6), atol=0)
        assert_allclose(robot.acceleration("ground", q, w, w, axes), np.zeros(6), atol=0)
        assert_allclose(robot.jacobian("ground", q, axes), np.zeros((6, 1)), atol=0)


@pytest.mark.book("E3")
def test_wrenches_on_frames(tree, rng):
    """The joint forces of wrenches do their power, in each choice of axes; on a real tree inverse
    and forward dynamics with them are Pinocchio's with external forces.
    """
    from support.oracle import Pinocchio, pin

    mechanism, model = tree
    robot, oracle = Robot(model), Pinocchio.of_mechanism(mechanism, model)
    q, qd, tau = random_state(rng, model)
    names = [link.name for link in model.links[1:4]]
    wrenches = {name: rng.normal(size=6) for name in names}
    for axes in AXES:
        power = sum(f @ robot.velocity(name, q, qd, axes) for name, f in wrenches.items())
        assert_allclose(robot.external_forces(q, wrenches, axes) @ qd, power, rtol=1e-9)
    forces = pin.StdVec_Force([pin.Force.Zero() for _ in range(oracle.theirs.njoints)])
    for name, f in wrenches.items():
        frame = oracle.theirs.frames[oracle.theirs.getFrameId(name)]
        local = pin.Force(f[3:], f[:3])
        forces[frame.parentJoint] += frame.placement.act(local)
    external = robot.external_forces(q, wrenches)
    state = (oracle.q_of(q), oracle.v_of(qd), oracle.v_of(tau))
    expected = pin.aba(oracle.theirs, oracle.data, *state, forces)[oracle.at_v]
    found = robot.forward_dynamics(q, qd, tau + external)
    assert_allclose(found, expected, atol=1e-9 * np.abs(expected).max())
    expected = pin.rnea(oracle.theirs, oracle.data, *state, forces)[oracle.at_v]
    assert_allclose(robot.inverse_dynamics(q, qd, tau) - external, expected, atol=1e-10)


def test_batches_and_places_for_results(rng):
    """Leading dimensions broadcast, and `out` is written to and returned."""
    robot = Robot.from_mechanism(linkages.four_bar())
    q, qd = rng.normal(size=(2, 5, robot.model.nv))
    name = robot.model.bodies[2].name
    calls = [
        lambda i, **out: robot.jacobian(name, q[i], "aligned", **out),
        lambda i, **out: robot.velocity(name, q[i], qd[i], "world", **out),
        lambda i, **out: robot.acceleration(name, q[i], qd[i], qd[i], classical=True, **out),
        lambda i, **out: robot.bias_acceleration(name, q[i], qd[i], **out),
        lambda i, **out: robot.external_forces(q[i], {name: np.arange(6.0)}, **out),
        lambda i, **out: robot.pose(name, q[i], **out),
    ]
    for call in calls:
        everything = call(slice(None))
        assert_allclose(everything[3], call(3), atol=0)
        out = np.empty_like(everything)
        assert call(slice(None), out=out) is out
        assert_allclose(out, everything, atol=0)
    assert robot.external_forces(q, {}).shape == q.shape
    for wrong in (np.zeros(3), 1.0, "text", None):
        with pytest.raises(ArgumentError, match=f"'{name}'"):
            robot.external_forces(q, {name: wrong})


def test_frames_of_the_user(rng):
    """A frame on a frame has the product of their poses, and the model keeps its frames."""
    robot = Robot.from_mechanism(linkages.four_bar())
    first, second = random_pose(rng), random_pose(rng)
    name = robot.model.bodies[1].name
    more = robot.with_frame("holder", name, first).with_frame("tip", "holder", second)
    q = rng.normal(size=robot.model.nq)
    assert_allclose(more.pose("tip", q), robot.pose(name, q) @ first @ second, atol=1e-14)
    assert more.model.structure_key == robot.model.structure_key
    assert more.link_poses(q).shape[0] == robot.link_poses(q).shape[0] + 2


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda r, q: r.jacobian("crnk", q), UnknownNameError, "'crnk'"),
        (lambda r, q: r.jacobian("crank", q, "tool"), UnknownNameError, "'tool'"),
        (lambda r, q: r.velocity("crank", q, q, "LOCAL"), UnknownNameError, r"axes.*'LOCAL'"),
        (lambda r, q: r.external_forces(q, [0.0] * 6), ArgumentError, "expected a mapping"),
        (lambda r, q: r.with_frame("crank", "rocker", np.eye(4)), ArgumentError, "a new name"),
        (lambda r, q: r.with_frame("tip", "crank", np.eye(3)), ArgumentError, r"shape \(3, 3\)"),
        (lambda r, q: r.with_frame("tip", "crank", 2 * np.eye(4)), ArgumentError, "no pose"),
        (lambda r, q: r.with_frame("tip", "crank", "here"), ArgumentError, "pose is 'here'"),
    ],
)
def test_arguments_that_cannot_be_meant(call, error, words):
    """Unknown frames and axes, and poses that are none: one sentence each."""
    robot = Robot.from_mechanism(linkages.four_bar())
    with pytest.raises(error, match=words):
        call(robot, np.zeros(3))


@pytest.mark.book("E3")
def test_wrenches_on_closed_loops(rng):
    """A wrench on a bar of a four-bar acts in all closed-loop dynamics alike, and as the virtual
    work says that it does on the crank.
    """
    robot = Robot.from_mechanism(linkages.four_bar())
    start = robot.assemble([0.5, -0.5, -1.0], velocities={"crank_joint": 2.0})
    q, qd, tau = start.q, start.qd, rng.normal(size=3)
    push = {"coupler": [0.0, 0.0, 0.0, 3.0, -2.0, 0.5]}
    external = robot.external_forces(q, push, "aligned")
    qdd = robot.forward_dynamics(q, qd, tau + external)
    assert np.abs(qdd - robot.forward_dynamics(q, qd, tau)).max() > 0.1
    found = robot.constrained_motion(q, qd, tau + external, method="maximal coordinates")
    assert_allclose(found.qdd, qdd, rtol=1e-8)
    drives = ["crank_joint"]
    alone = robot.closed_loop_inverse_dynamics(q, qd, qdd, drives=drives)
    helped = robot.closed_loop_inverse_dynamics(q, qd, qdd, drives=drives, external=external)
    along = qd / qd[0]  # all motions of one degree of freedom
    work = push["coupler"] @ robot.jacobian("coupler", q, "aligned") @ along
    assert_allclose(alone.efforts - helped.efforts, [work], rtol=1e-9)
    assert abs(work) > 0.1
    held = robot.gravity_compensation(q, drives=drives, external=external)
    weight = robot.gravity_compensation(q, drives=drives)
    assert_allclose(weight.efforts - held.efforts, [work], rtol=1e-9)
    with pytest.raises(ArgumentError, match=r"external.*\(2,\)"):
        robot.gravity_compensation(q, external=[1.0, 2.0])
