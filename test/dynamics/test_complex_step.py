# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""All derivatives against complex steps of the same readable source, to rounding."""

from dataclasses import replace

import numpy as np
import pytest
from dynamics.joint_mechanisms import (
    CARRYING,
    random_pose,
    random_state,
    random_tree,
    with_light_links,
    world_poses,
)
from dynamics.test_derivatives import assert_near
from support.complex_step import STEP, Complex, along, evaluated, moving, rates
from support.linkages import bricard, four_bar, slider_crank

from robot_dynamics.dynamics.closed_loop import closed_loop_forward_dynamics, closed_loop_terms
from robot_dynamics.dynamics.forward import forward_dynamics
from robot_dynamics.dynamics.forward_derivatives import FORWARD_DYNAMICS_VJP
from robot_dynamics.dynamics.inverse import inverse_dynamics
from robot_dynamics.dynamics.inverse_derivatives import INVERSE_DYNAMICS_VJP
from robot_dynamics.dynamics.kinematics import body_links
from robot_dynamics.dynamics.rank import constraint_rank
from robot_dynamics.model import LoopElement, Model, build
from robot_dynamics.model.parameters import pack, parameters_of
from robot_dynamics.robot import Robot
from robot_dynamics.spatial import Inertia, Transform

TOL = 1e-12  # relative to the largest entry: some thousand roundings of well-conditioned systems

pytestmark = pytest.mark.usefixtures("interpreted")


def velocities(model, q):
    """Return the rates of positions (nv, nq) along each velocity."""
    return np.array([model.position_rate(list(q), e) for e in np.eye(model.nv).tolist()])


def by_state(function, model, state):
    """Return the derivatives of a function of q, qd and a third (nv,) by each of them."""
    state = [[float(x) for x in part] for part in state]
    found = []
    for i, directions in enumerate((velocities(model, state[0]), *[np.eye(model.nv)] * 2)):
        moved = [*state[:i], moving(state[i], directions), *state[i + 1 :]]
        found.append(rates(function(*moved), model.nv))
    return found


def motion_of(model, parameters):
    """Return the function of q, qd, tau whose values are qdd and then lambda."""

    def motion(q, qd, tau):
        qdd, multipliers, _ = closed_loop_forward_dynamics(model, q, qd, tau, parameters)
        return [*qdd, *multipliers]

    return motion


def stepped(model, state, directions):
    """Return q, qd and a third (nv,) that step along one direction each (nv,)."""
    q, *others = ([float(x) for x in part] for part in state)
    dq, *more = directions
    pairs = zip(others, more, strict=True)
    return moving(q, [model.position_rate(q, dq.tolist())]), *(moving(x, [d]) for x, d in pairs)


def all_near(found, expected):
    """Check matrices, each relative to its largest entry."""
    for ours, theirs in zip(found, expected, strict=True):
        assert np.abs(theirs).max() > 1e-6  # not rounding alone
        assert_near(ours / np.abs(theirs).max(), theirs / np.abs(theirs).max(), TOL)


@pytest.mark.parametrize("types", [list(CARRYING)[:5], list(CARRYING)[5:]], ids=str)
def test_trees_of_every_joint(types, rng):
    """Inverse and forward dynamics, and gradients of gradients of both."""
    model = build(random_tree(rng, types), gravity=(1.0, -2.0, -9.0))
    robot, parameters, n = Robot(model), parameters_of(model), model.nv
    state = random_state(rng, model)
    for source, found in (
        (inverse_dynamics, robot.inverse_dynamics_derivatives(*state)),
        (forward_dynamics, robot.forward_dynamics_derivatives(*state)[:3]),
    ):
        all_near(found, by_state(lambda *x, f=source: f(model, *x, parameters), model, state))
    w, d = rng.normal(size=n).tolist(), rng.normal(size=(3, n))
    program, block = INVERSE_DYNAMICS_VJP.program(model), pack(model).tolist()
    gradients = evaluated(program, *stepped(model, state, d), w, parameters=block)
    hessian = robot.inverse_dynamics_hvp(*state, w, *d)
    all_near(hessian, [rates(g, 1)[:, 0] for g in gradients])


def held_chain(kind, rng):
    """Return a chain that flies and is held by its last link, and positions that close that."""
    # The subspace of a universal joint turns with it: another way of differentiating.
    second = "universal" if kind == "fixed" else "revolute"
    tree = random_tree(rng, ["floating", second, "prismatic", "revolute"], chain=True)
    model = build(tree)
    q, *_ = random_state(rng, model)
    held, grasp = world_poses(model, q)["link3"], random_pose(rng)
    loop = LoopElement("grasp", kind, "base", "link3", held @ grasp, grasp)
    return replace(tree, loops=(loop,)), np.array(q)


def springy_slider_crank():
    """Return a mechanism with springs, dampers and friction in its tree and in its loop."""
    forces = {"stiffness": 3.0, "rest": 0.2, "damping": 0.4, "friction": 0.3}
    parts = slider_crank()
    joints = tuple(replace(joint, **forces) for joint in parts.joints)
    return replace(parts, joints=joints, loops=(replace(parts.loops[0], **forces),))


def moving_state(robot, q, rng):
    """Return a closed state near positions, and joint forces."""
    found = robot.assemble(q, velocities=rng.normal(size=robot.model.nv))
    return found.q, found.qd, rng.normal(size=robot.model.nv)


CLOSED = ["springy slider-crank", "universal", "fixed"]
CLOSED.append(pytest.param("point_on_line", marks=pytest.mark.slow))


def closed_loop(name, rng):
    """Return a closed loop of independent constraints at a state in motion."""
    if name == "springy slider-crank":
        mechanism, q = springy_slider_crank(), np.array([0.7, -0.9, 1.2])
    else:
        mechanism, q = held_chain(name, rng)
    robot = Robot.from_mechanism(mechanism, gravity=(1.0, -2.0, -9.0), joint_friction=True)
    return robot, moving_state(robot, q, rng)


@pytest.mark.parametrize("name", CLOSED)
def test_closed_loops_and_their_forces(name, rng):
    """Accelerations and constraint forces by q, qd and tau; products, and second derivatives."""
    robot, state = closed_loop(name, rng)
    model, n = robot.model, robot.model.nv
    matrices = by_state(motion_of(model, parameters_of(model)), model, state)
    found = robot.forward_dynamics_derivatives(*state)
    all_near(found[:3], [x[:n] for x in matrices])
    all_near(found[3:], [x[n:] for x in matrices])
    w, of_lambda = rng.normal(size=n), rng.normal(size=model.constraint_count)
    d = rng.normal(size=(3, n))
    products = robot.forward_dynamics_jvp(*state, *d)
    expected = sum(J @ v for J, v in zip(matrices, d, strict=True))
    all_near(products, [expected[:n], expected[n:]])
    gradients = robot.forward_dynamics_vjp(*state, w, of_lambda)
    all_near(gradients, [np.concatenate([w, of_lambda]) @ J for J in matrices])

    program, block = FORWARD_DYNAMICS_VJP.program(model), pack(model).tolist()
    at = stepped(model, state, d)
    _, *moved = evaluated(program, *at, w.tolist(), of_lambda.tolist(), parameters=block)
    hessian = robot.forward_dynamics_hvp(*state, w, *d, of_lambda)
    all_near(hessian, [rates(g, 1)[:, 0] for g in moved])


@pytest.mark.parametrize("name", CLOSED)
def test_parameters_of_closed_loops(name, rng, monkeypatch):
    """By inertial parameters, a payload, grasp poses and friction."""
    robot, (q, qd, tau) = closed_loop(name, rng)
    model, n = robot.model, robot.model.nv
    parameters, state = parameters_of(model), [x.tolist() for x in (q, qd, tau)]
    links = body_links(model)

    def of_inertias(pi):
        rows = [Inertia.of(pi[i : i + 10]) for i in range(0, len(pi), 10)]
        inertias = [link.placement.inverse_times(I) for link, I in zip(links, rows, strict=True)]
        return motion_of(model, replace(parameters, inertias=tuple(inertias)))(*state)

    def of_payload(load):
        inertias = list(parameters.inertias)
        inertias[1] = inertias[1] + links[1].placement.inverse_times(Inertia.of(load))
        return motion_of(model, replace(parameters, inertias=tuple(inertias)))(*state)

    def of_grasp(x):
        ends = []
        for X, (a, b, c, *shift) in zip(parameters.loops[0], (x[:6], x[6:]), strict=True):
            # A small turn by a, b, c and a small displacement, in the frame's own axes.
            E, r = np.array(X.E.rows, dtype=object), np.array([*X.r], dtype=object)
            turn = np.array([[1.0, c, -b], [-c, 1.0, a], [b, -a, 1.0]], dtype=object)
            ends.append(Transform.of([*(turn @ E).ravel(), *(r + E.T @ np.array(shift))]))
        return motion_of(model, replace(parameters, loops=(tuple(ends),)))(*state)

    def of_friction(x):
        with monkeypatch.context() as patch:
            for part, values in (("damping", x[:n]), ("friction", x[n:])):
                array = np.array(values, dtype=object)
                patch.setattr(Model, part, property(lambda self, array=array: array))
            return motion_of(model, parameters)(*state)

    def by(function, x):
        found = along(function, x, np.eye(len(x)))
        return found[:n], found[n:]

    pi = robot.inertial_parameters
    all_near(robot.parameter_derivatives(q, qd, tau), by(of_inertias, pi))
    found = robot.forward_dynamics_derivatives(q, qd, tau)
    Y = robot.payload_regressor(links[1].name, q, qd, robot.forward_dynamics(q, qd, tau))
    all_near((-found.qdd_tau @ Y, -found.lambda_tau @ Y), by(of_payload, np.zeros(10)))
    friction = np.concatenate([model.damping, model.friction])
    all_near(robot.parameter_derivatives(q, qd, tau, "friction"), by(of_friction, friction))
    if name != "springy slider-crank":  # out of its plane it cannot be moved
        # Together: where something is held by a weld does not change how it moves.
        grasps = robot.parameter_derivatives(q, qd, tau, "loops")
        all_near([np.vstack(grasps)], [np.vstack(by(of_grasp, np.zeros(12)))])


def test_light_links_in_loops(rng):
    """Without its loop a link of milligrams would move a million times as much as with it."""
    mechanism, q = held_chain("fixed", rng)
    mechanism = with_light_links(mechanism, ("link2", "link3"), 1e-6)
    robot = Robot.from_mechanism(mechanism, gravity=(1.0, -2.0, -9.0))
    state = moving_state(robot, q, rng)
    model = robot.model
    found = robot.forward_dynamics_derivatives(*state)
    expected = by_state(motion_of(model, parameters_of(model)), model, state)
    for at, both in enumerate(expected):
        for ours, theirs in zip(found[at::3], np.split(both, [model.nv]), strict=True):
            # K H^-1 K^T has a condition of 1e8, of which rounding takes its part.
            assert np.abs(ours - theirs).max() < 1e-7 * np.abs(theirs).max()


REDUNDANT = {
    "four-bar": (four_bar, [1.0, -0.9, 1.9]),
    "Bricard": (bricard, [0.9, 2.0, 0.9, 2.0, 0.9]),
    "springy slider-crank": (springy_slider_crank, [0.7, -0.9, 1.2]),
}


@pytest.mark.parametrize("name", REDUNDANT)
def test_derivatives_on_redundant_loops_equal_complex_steps(name, rng):
    """Motion in independent coordinates by state, forces and inertias, where the rank stays."""
    mechanism, near = REDUNDANT[name]
    robot = Robot.from_mechanism(mechanism(), gravity=(1.0, -2.0, -9.0), joint_friction=True)
    model, n, links = robot.model, robot.model.nv, body_links(robot.model)
    q, qd, tau = moving_state(robot, np.array(near), rng)
    found = robot.linearize(q, qd, tau)
    kept = [model.joint_names.index(joint) for joint in found.names]
    others, m = [i for i in range(n) if i not in kept], len(kept)
    *_, K, _, error, _ = robot.constraint_terms(q, qd)
    ranked = constraint_rank(model, K, error, q)
    rows = sorted(ranked.independent_rows())
    assert ranked.rank < model.constraint_count
    pi = robot.inertial_parameters

    def numbers(nested):
        """Return an array of complex numbers (count, ...) of nested scalars."""
        flat = np.array(nested, dtype=object)
        values = [np.broadcast_to(getattr(x, "z", x), count) for x in flat.ravel()]
        return np.moveaxis(np.array(values, dtype=complex), -1, 0).reshape(count, *flat.shape)

    # Directions of y, yd, tau and pi; of all positions K G = 0 keeps the loops closed.
    count = 2 * m + n + len(pi)
    y, yd, forces, masses = np.split(np.eye(count), [m, 2 * m, 2 * m + n], axis=1)
    at = moving(q, y @ found.G.T)
    inertias = [
        link.placement.inverse_times(Inertia.of(values))
        for link, values in zip(
            links, zip(*[iter(moving(pi, masses))] * 10, strict=True), strict=True
        )
    ]
    parameters = replace(parameters_of(model), inertias=tuple(inertias))
    K = numbers(closed_loop_terms(model, at, qd.tolist(), parameters).loops.K)[:, rows]
    rate = qd[kept] + 1j * STEP * yd
    dependent = np.linalg.solve(K[:, :, others], -(K[:, :, kept] @ rate[:, :, None]))[:, :, 0]
    speeds = np.empty((count, n), dtype=complex)
    speeds[:, kept], speeds[:, others] = rate, dependent
    terms = closed_loop_terms(model, at, [Complex(v) for v in speeds.T], parameters)
    H, C, k = (numbers(x) for x in (terms.H, terms.C, terms.loops.k))
    right = np.concatenate([tau + 1j * STEP * forces - C, k[:, rows]], axis=1)
    zero = np.zeros((count, len(rows), len(rows)))
    matrix = np.block([[H, K.transpose(0, 2, 1)], [K, zero]])
    ydd = np.linalg.solve(matrix, right[:, :, None])[:, kept, 0].imag.T / STEP
    Y = robot.inverse_dynamics_regressor(q, qd, robot.constrained_motion(q, qd, tau).qdd)
    expected = np.split(ydd, [2 * m, 2 * m + n], axis=1)
    all_near([found.A[m:], found.B[m:], -found.B[m:] @ Y], expected)
