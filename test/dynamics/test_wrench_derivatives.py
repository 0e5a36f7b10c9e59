# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Derivatives with external wrenches against complex steps, Pinocchio and differences."""

import numpy as np
import pytest
from dynamics.joint_mechanisms import CARRYING, random_state, random_tree, with_rotors
from dynamics.test_complex_step import (
    TOL,
    all_near,
    by_state,
    closed_loop,
    motion_of,
    velocities,
)
from dynamics.test_derivatives import assert_near
from support.complex_step import moving, rates
from support.oracle import Pinocchio, robot_file

from robot_dynamics.dynamics.frame_motion import frame_forces
from robot_dynamics.dynamics.hybrid import hybrid_dynamics
from robot_dynamics.dynamics.inverse import inverse_dynamics
from robot_dynamics.dynamics.jacobian import AXES
from robot_dynamics.errors import ArgumentError, RobotDynamicsError, UnknownNameError
from robot_dynamics.model import build
from robot_dynamics.model.parameters import parameters_of
from robot_dynamics.robot import Robot, load

pytestmark = pytest.mark.usefixtures("interpreted")


def pushed(rng, model, count=2):
    """Return wrenches on the last links of a mechanism, by name."""
    return {body.name: 5.0 * rng.normal(size=6) for body in model.bodies[-count:]}


def forces_of(model, wrenches, axes):
    """Return the readable function of q whose values are the joint forces of wrenches."""

    def forces(q):
        parts = [
            frame_forces(model, model.link(name), q, wrench.tolist(), axes)
            for name, wrench in wrenches.items()
        ]
        return [a + b for a, b in zip(*parts, strict=True)]

    return forces


@pytest.mark.parametrize("axes", AXES)
@pytest.mark.parametrize("types", [list(CARRYING)[:5], list(CARRYING)[5:]], ids=str)
def test_wrenches_keep_their_axes_while_joints_of_every_type_move(types, axes, rng):
    """The forces, inverse and hybrid dynamics of a tree with rotors, by complex steps."""
    model = build(with_rotors(random_tree(rng, types, chain=True)), gravity=(1.0, -2.0, -9.0))
    robot, parameters, n = Robot(model), parameters_of(model), model.nv
    state = random_state(rng, model)
    wrenches = pushed(rng, model)
    forces = forces_of(model, wrenches, axes)
    found = robot.external_forces_derivatives(state[0], wrenches, axes)
    expected = rates(forces(moving(state[0], velocities(model, state[0]))), n)
    all_near([found.tau_q], [expected])
    for name, wrench in wrenches.items():
        assert_near(
            found.tau_wrench[name] @ wrench,
            robot.external_forces(state[0], {name: wrench}, axes),
            1e-13,
        )

    def needed(q, qd, qdd):
        tau = inverse_dynamics(model, q, qd, qdd, parameters)
        return [a - b for a, b in zip(tau, forces(q), strict=True)]

    given = {"wrenches": wrenches, "axes": axes}
    all_near(robot.inverse_dynamics_derivatives(*state, **given), by_state(needed, model, state))

    which = {0, len(model.bodies) - 2}
    names = [model.bodies[i].joint.name for i in which]
    tau, qdd = rng.normal(size=(2, n))

    def hybrid(q, qd, tau, qdd):
        driving = [a + b for a, b in zip(tau, forces(q), strict=True)]
        motion, force = hybrid_dynamics(model, q, qd, driving, qdd, parameters, which)
        held = [
            i in which for i, at in enumerate(model.v_slices) for _ in range(at.start, at.stop)
        ]
        external = zip(force, forces(q), tau, held, strict=True)
        return [*motion, *(f - e if own else t for f, e, t, own in external)]

    by_qqdtau = by_state(lambda *x: hybrid(*x, qdd.tolist()), model, [*state[:2], tau])
    by_qdd = by_state(lambda q, qd, x: hybrid(q, qd, tau.tolist(), x), model, [*state[:2], qdd])[2]
    solved = robot.hybrid_dynamics_derivatives(names)(*state[:2], tau, qdd, **given)
    scale = [np.abs(x).max() for x in (*by_qqdtau, by_qdd)]
    for i, theirs in enumerate((*by_qqdtau, by_qdd)):
        ours = np.vstack([solved[i], solved[4 + i]])
        assert_near(ours / scale[i], theirs / scale[i], 1e-10)


@pytest.mark.parametrize("name", ["springy slider-crank", "universal"])
def test_closed_loops_under_wrenches(name, rng):
    """Accelerations, constraint forces and small motions; columns of wrenches and differences."""
    robot, state = closed_loop(name, rng)
    model, n = robot.model, robot.model.nv
    wrenches, axes = pushed(rng, model), "aligned"
    forces, motion = forces_of(model, wrenches, axes), motion_of(model, parameters_of(model))

    def moved(q, qd, tau):
        return motion(q, qd, [a + b for a, b in zip(tau, forces(q), strict=True)])

    matrices = by_state(moved, model, state)
    found = robot.forward_dynamics_derivatives(*state, wrenches=wrenches, axes=axes)
    all_near(found[:3], [x[:n] for x in matrices])
    all_near(found[3:], [x[n:] for x in matrices])
    without = robot.forward_dynamics_derivatives(*state)
    assert np.abs(found.qdd_q - without.qdd_q).max() > 1e-3 * np.abs(found.qdd_q).max()

    pushing = robot.external_forces_derivatives(state[0], wrenches, axes)
    dq, dqd, dtau = d = rng.normal(size=(3, n))
    total = state[2] + robot.external_forces(state[0], wrenches, axes)
    direction = dq, dqd, dtau + pushing.tau_q @ dq  # as the manual says
    products = robot.forward_dynamics_jvp(*state[:2], total, *direction)
    expected = sum(J @ v for J, v in zip(matrices, d, strict=True))
    all_near(products, [expected[:n], expected[n:]])

    frame, h = next(iter(wrenches)), 1e-4
    columns = pushing.tau_wrench[frame]
    ends = []
    for change in h * np.concatenate([np.eye(6), -np.eye(6)]):
        other = {**wrenches, frame: wrenches[frame] + change}
        tau = state[2] + robot.external_forces(state[0], other, axes)
        ends.append(robot.forward_dynamics(*state[:2], tau))
    by_wrench = (np.array(ends[:6]) - np.array(ends[6:])).T / (2.0 * h)
    assert_near(found.qdd_tau @ columns, by_wrench, 1e-8)

    q, tau = robot.assemble(state[0]).q, state[2]
    rest = np.zeros(n)
    ours = robot.linearize(q, rest, tau, wrenches=wrenches, axes=axes)
    theirs = robot.linearize(
        q, rest, tau, controller=lambda q, qd: robot.external_forces(q, wrenches, axes)
    )
    assert_near(ours.A, theirs.A)
    assert_near(ours.B, theirs.B, 1e-12)
    assert_near(ours.ydd, theirs.ydd, 1e-12)


def test_inverse_dynamics_equals_pinocchio(rng):
    """`computeRNEADerivatives` with a force on the last joint, constant in its frame."""
    pin = pytest.importorskip("pinocchio", exc_type=ImportError)
    robot = load(robot_file("panda"))
    peer = Pinocchio.of_urdf(robot_file("panda"), robot.model)
    q, qd, qdd = random_state(rng, robot.model)
    w = 5.0 * rng.normal(size=6)
    name = "panda_link7"
    frame = peer.theirs.frames[peer.theirs.getFrameId(name)]
    external = [pin.Force.Zero() for _ in peer.theirs.joints]
    external[frame.parentJoint] = frame.placement * pin.Force(w[3:], w[:3])
    theirs = pin.computeRNEADerivatives(
        peer.theirs, peer.data, peer.q_of(q), peer.v_of(qd), peer.v_of(qdd), external
    )
    ours = robot.inverse_dynamics_derivatives(q, qd, qdd, wrenches={name: w})
    for found, expected in zip(ours[:2], theirs[:2], strict=True):
        assert_near(found, expected[np.ix_(peer.at_v, peer.at_v)], 1e-11)


def test_batches_of_wrenches_and_states(rng):
    """Leading dimensions broadcast, and `out` takes the results."""
    model = build(random_tree(rng, ["floating", "revolute", "prismatic"]))
    robot, n = Robot(model), model.nv
    q, qd, x = random_state(rng, model)
    name = model.bodies[-1].name
    w = rng.normal(size=(4, 6))
    solve = robot.hybrid_dynamics_derivatives([model.bodies[1].joint.name])
    together = robot.inverse_dynamics_derivatives(q, qd, x, wrenches={name: w})
    assert [m.shape for m in together] == [(4, n, n)] * 3
    out = tuple(np.empty((4, n, n)) for _ in range(3))
    assert robot.inverse_dynamics_derivatives(q, qd, x, out, wrenches={name: w})[0] is out[0]
    forward = robot.forward_dynamics_derivatives(q, qd, x, wrenches={name: w})
    mixed = solve(q, qd, x, x, wrenches={name: w})
    for i in range(4):
        one = {name: w[i]}
        single = robot.inverse_dynamics_derivatives(q, qd, x, wrenches=one)
        assert_near(together[0][i], single[0], TOL)
        assert_near(out[0][i], single[0], TOL)
        assert_near(
            forward.qdd_q[i], robot.forward_dynamics_derivatives(q, qd, x, wrenches=one)[0], TOL
        )
        assert_near(mixed.tau_q[i], solve(q, qd, x, x, wrenches=one).tau_q, TOL)


def test_wrong_wrenches_are_refused(rng):
    """Frames, shapes and loops, each with its own error."""
    model = build(random_tree(rng, ["revolute", "revolute"]))
    robot, rest = Robot(model), np.zeros(2)
    with pytest.raises(UnknownNameError, match="'hand'"):
        robot.inverse_dynamics_derivatives(rest, rest, rest, wrenches={"hand": np.zeros(6)})
    with pytest.raises(ArgumentError, match="tau has shape"):
        robot.forward_dynamics_derivatives(
            rest, rest, np.zeros(3), wrenches={"link1": np.zeros(6)}
        )
    with pytest.raises(ArgumentError, match="joint forces of the wrenches"):
        robot.linearize(rest, rest, rest, wrenches={"link1": np.zeros((2, 6))})
    loops, _ = closed_loop("springy slider-crank", rng)
    with pytest.raises(RobotDynamicsError, match="expected a tree"):
        loops.hybrid_dynamics_derivatives([])
