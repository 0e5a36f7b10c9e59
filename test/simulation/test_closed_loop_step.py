# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The integration step: order, energy, momentum, closed loops, and a correction that vanishes."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
from dynamics.test_complex_step import held_chain
from numpy.testing import assert_allclose
from scipy.integrate import solve_ivp, trapezoid
from scipy.spatial.transform import Rotation
from support import linkages
from support.complex_step import evaluated, moving, rates
from support.mechanisms import (
    closed_loop_mechanism,
    consistent_velocity,
    random_tree,
    two_arms,
)

from robot_dynamics.compile import compile_program
from robot_dynamics.compile.differentiation import jacobian_times_vector
from robot_dynamics.dynamics.closed_loop import closed_loop_forward_dynamics, closed_loop_terms
from robot_dynamics.dynamics.inertia_matrix import inertia_matrix
from robot_dynamics.dynamics.kinematics import (
    body_transforms,
    body_velocities,
    joint_transforms,
)
from robot_dynamics.model import JointElement, LinkElement, LoopElement, Mechanism, build, pose
from robot_dynamics.model.parameters import parameters_of
from robot_dynamics.robot import Robot
from robot_dynamics.simulation.closed_loop_step import (
    drive_forces,
    singular_step,
    step_derivative_program,
    step_derivatives,
    step_parameters,
    step_program,
)
from robot_dynamics.simulation.drives import DriveParameters
from robot_dynamics.simulation.runge_kutta import CLASSICAL, ORDERS, scheme_of_order
from robot_dynamics.simulation.stability import decay_rates, largest_step
from robot_dynamics.spatial import Force


def free_drives(na):
    """Return drives without friction and limits."""
    return DriveParameters(np.arange(na), np.full(na, np.inf), np.zeros(na), np.zeros(na), 0.01)


class Setup:
    """A closed-loop system, its step and a closed moving start."""

    def __init__(self, model, q, qd, actuated):
        self.model, self.q, self.actuated = model, q, actuated
        terms = closed_loop_terms(model, q.tolist(), qd.tolist(), parameters_of(model))
        self.qd = consistent_velocity(np.array(terms.H), np.array(terms.loops.K), qd)
        self.program = step_program(model, actuated)
        self.kernel = compile_program(self.program, lanes=1)

    def run(self, h, duration, torque=None, drives=None):
        """Return q, qd and the largest closure and drift of a run."""
        drives = drives or free_drives(len(self.actuated))
        step = self.kernel.bind(step_parameters(self.model, drives, h))
        torque = np.zeros(len(self.actuated)) if torque is None else torque
        q, qd, closure, drift = self.q, self.qd, 0.0, 0.0
        for _ in range(round(duration / h)):
            q, qd, _, gap, correction, _ = step(q, qd, torque)
            closure, drift = max(closure, abs(gap).max()), max(drift, abs(correction).max())
        return q, qd, closure, drift


@pytest.fixture(scope="module")
def arms():
    """Return two arms that hold a box and swing it about."""
    system, q, _ = two_arms()
    rng = np.random.default_rng(6)
    return Setup(system.model, q, 0.7 * rng.normal(size=20), system.v_index.tolist())


@pytest.fixture(scope="module")
def satellite():
    """Return a free-flying ring of bodies, no joint of which is driven."""
    rng = np.random.default_rng(9)
    tree = random_tree(rng, ["floating", *["revolute"] * 8], chain=True)
    model, q = closed_loop_mechanism(rng, tree, [("link0", "link8")])
    model = model.replace(gravity=(0.0, 0.0, 0.0))
    return Setup(model, q, rng.normal(size=14), [])


def energy(model, q, qd):
    """Return the kinetic and potential energy."""
    q, qd = q.tolist(), np.array(qd)
    parameters = parameters_of(model)
    H = np.array(inertia_matrix(model, q, parameters))
    X0 = body_transforms(model, joint_transforms(model, q))
    height = 0.0
    for X, inertia in zip(X0, parameters.inertias, strict=True):
        first_moment = np.array(list(X.inverse_times(inertia).h))  # mass times centre, in world
        height -= first_moment @ np.array(model.gravity)
    return 0.5 * qd @ H @ qd + height


def momentum(model, q, qd):
    """Return the total spatial momentum (6,) about the world's origin."""
    Xup = joint_transforms(model, q.tolist())
    v = body_velocities(model, Xup, qd.tolist())
    total = Force.zero()
    inertias = parameters_of(model).inertias
    for X, v_i, inertia in zip(body_transforms(model, Xup), v, inertias, strict=True):
        total = total + X.inverse_times(inertia * v_i)
    return np.array(total.components())


def test_error_falls_with_the_fourth_power_of_the_step(arms):
    """Halving the step divides the error by about 16 (Richardson)."""
    ends = [np.concatenate(arms.run(h, 0.24)[:2]) for h in (0.008, 0.004, 0.002, 0.001)]
    differences = [np.max(np.abs(a - b)) for a, b in itertools.pairwise(ends)]
    ratios = np.array(differences[:-1]) / differences[1:]
    assert (ratios > 12).all()
    assert (ratios < 24).all()


def test_energy_is_conserved(arms):
    """Without torque and friction the energy drifts by the integrator's error alone."""
    model = arms.model
    start = energy(model, arms.q, arms.qd)
    drifts = []
    for h in (0.008, 0.004, 0.002):
        q, qd, _, _ = arms.run(h, 0.4)
        drifts.append(abs(energy(model, q, qd) - start))
    assert drifts[-1] < 1e-5 * abs(start)
    # Between the fourth power (16) and the fifth (32), with a margin for signs that cancel.
    assert drifts[0] / drifts[1] > 10
    assert drifts[1] / drifts[2] > 10


def test_momentum_is_conserved(satellite):
    """A free-flying system keeps its momentum, loop or not; the drift falls like the error."""
    model = satellite.model
    start = momentum(model, satellite.q, satellite.qd)
    drifts = []
    for h in (0.004, 0.002):
        q, qd, _, _ = satellite.run(h, 0.2)
        drifts.append(np.max(np.abs(momentum(model, q, qd) - start)))
    assert drifts[1] < 1e-7 * np.max(np.abs(start))
    assert drifts[0] / drifts[1] > 10


def test_correction_vanishes_with_the_step(arms):
    """The projected correction falls with the fifth power of the step: it hides no wrong k."""
    drifts = [arms.run(h, 0.24)[3] for h in (0.008, 0.004, 0.002)]
    ratios = np.array(drifts[:-1]) / drifts[1:]
    # 32 for the local error of a fourth-order scheme.
    assert (ratios > 22).all()
    assert (ratios < 45).all()


def test_loops_stay_closed(arms):
    """At the steps that are used, loops are closed to a nanometre at every instant."""
    _, _, closure, _ = arms.run(0.002, 1.0)
    assert closure < 1e-9


def test_quaternions_stay_of_unit_length(arms):
    """Positions come back normalised."""
    q, _, _, _ = arms.run(0.004, 0.2)
    assert_allclose(np.linalg.norm(q[-4:]), 1.0, atol=1e-15)


def test_velocities_fulfil_the_constraints(arms):
    """K qd = 0 at the state that the step went from; after it, to the size of the correction."""
    q, qd, _, drift = arms.run(0.002, 0.1)
    terms = closed_loop_terms(arms.model, q.tolist(), qd.tolist(), parameters_of(arms.model))
    assert np.max(np.abs(terms.loops.velocity_error)) < 10 * drift


def test_compiled_equals_interpreted(arms):
    """The kernel agrees with the program, to the last few bits."""
    torque = np.linspace(-5, 5, 14)
    block = step_parameters(arms.model, free_drives(14), 0.002)
    compiled = arms.kernel.bind(block)(arms.q, arms.qd, torque)
    interpreted = arms.program.evaluate(arms.q, arms.qd, torque, parameters=block)
    for ours, oracle in zip(compiled, interpreted, strict=True):
        # Products that are fused are rounded once less; conditions of 1e4 amplify that.
        assert_allclose(ours, oracle, atol=1e-11 * max(1.0, np.max(np.abs(oracle))))


def test_multipliers_are_those_at_the_end(arms):
    """The loop forces returned belong to the state returned, under the same torque."""
    torque = np.linspace(-5, 5, 14)
    step = arms.kernel.bind(step_parameters(arms.model, free_drives(14), 0.0005))
    q, qd, multipliers, _, drift, _ = step(arms.q, arms.qd, torque)
    tau = np.zeros(20)
    tau[arms.actuated] = torque
    _, expected, _ = closed_loop_forward_dynamics(
        arms.model, q.tolist(), qd.tolist(), tau.tolist(), parameters_of(arms.model)
    )
    # Solved before the projection: off by what it moves, times stiffness of motion.
    atol = 1e-9 * np.max(np.abs(expected)) + 1e4 * np.max(np.abs(drift))
    assert_allclose(multipliers, expected, atol=atol)


def test_held_up_it_rests(arms):
    """Under the torque of static balance nothing moves."""
    model = arms.model
    rest = np.zeros(20)
    terms = closed_loop_terms(model, arms.q.tolist(), rest.tolist(), parameters_of(model))
    C, K = np.array(terms.C), np.array(terms.loops.K)
    # tau + K^T lambda = C with nothing on the object: any lambda that carries it.
    carry = np.linalg.lstsq(K[:, -6:].T, C[-6:], rcond=None)[0]
    torque = (C - K.T @ carry)[:14]
    step = arms.kernel.bind(step_parameters(model, free_drives(14), 0.002))
    q, qd = arms.q, rest
    for _ in range(50):
        q, qd, multipliers, _, _, _ = step(q, qd, torque)
    assert_allclose(q, arms.q, atol=1e-9)
    assert_allclose(qd, 0.0, atol=1e-8)
    assert_allclose(multipliers, carry, atol=1e-8)


def test_torques_end_at_the_limits(arms):
    """A drive gives no more than its limit, in either direction."""
    drives = DriveParameters(np.arange(14), np.full(14, 3.0), np.zeros(14), np.zeros(14), 0.01)
    sign = np.where(np.arange(14) % 2, 1.0, -1.0)
    far = arms.run(0.002, 0.02, 100.0 * sign, drives)
    at = arms.run(0.002, 0.02, 3.0 * sign, drives)
    assert (far[0] == at[0]).all()


def test_friction_takes_the_energy_that_it_should(arms):
    """Energy falls by the integral of the friction's power, and never grows."""
    drives = DriveParameters(
        np.arange(14), np.full(14, np.inf), np.full(14, 0.5), np.full(14, 0.8), 0.05
    )
    model, h = arms.model, 0.001
    step = arms.kernel.bind(step_parameters(model, drives, h))
    q, qd = arms.q, arms.qd
    power, energies = [], [energy(model, q, qd)]
    for _ in range(40):
        rate = qd[:14]
        power.append(np.sum(0.5 * rate**2 + 0.8 * rate**2 / np.sqrt(rate**2 + 0.05**2)))
        q, qd, *_ = step(q, qd, np.zeros(14))
        energies.append(energy(model, q, qd))
    rate = qd[:14]
    power.append(np.sum(0.5 * rate**2 + 0.8 * rate**2 / np.sqrt(rate**2 + 0.05**2)))
    assert (np.diff(energies) < 0).all()
    # The trapezoid rule over 40 steps is good to a few parts in 10^4 where velocities change sign.
    assert_allclose(energies[0] - energies[-1], trapezoid(power, dx=h), rtol=1e-3)


def test_derivatives_of_a_step(arms):
    """By positions along velocities, velocities and torques: of differences and complex steps."""
    model, na, step = arms.model, len(arms.actuated), 1e-5
    full = np.full(na, 0.2)
    drives = DriveParameters(np.array(arms.actuated), np.full(na, 50.0), full, full, 0.5)
    parameters = step_parameters(model, drives, 2e-3)
    program = step_derivative_program(model, arms.actuated)
    torque = np.linspace(-1.0, 1.0, na)
    torque[3] = 60.0  # beyond its limit: nothing follows it
    state, multipliers = step_derivatives(
        model, lambda *x: program.evaluate(*x, parameters=parameters), arms.q, arms.qd, torque
    )
    A, B = state[:, : 2 * model.nv], state[:, 2 * model.nv :]
    kernel = arms.kernel.bind(parameters)

    def ends(change):
        dq, dqd, dtorque = np.split(change, [model.nv, 2 * model.nv])
        q = np.array(model.integrate(arms.q.tolist(), dq.tolist()))
        return kernel(q, arms.qd + dqd, torque + dtorque)[:3]

    columns, loops = [], []
    for e in step * np.eye(2 * model.nv + na):
        (q1, v1, f1), (q0, v0, f0) = ends(e), ends(-e)
        columns.append(np.concatenate([model.difference(q0.tolist(), q1.tolist()), v1 - v0]))
        loops.append(f1 - f0)
    expected = np.array(columns).T / (2.0 * step)
    forces = np.array(loops).T / (2.0 * step)
    assert_allclose(multipliers, forces, atol=1e-6 * np.abs(forces).max())
    # Of central differences with that step; B is of the size of a step over an inertia.
    assert_allclose(A, expected[:, : 2 * model.nv], atol=1e-7 * np.abs(A).max())
    assert_allclose(B, expected[:, 2 * model.nv :], atol=1e-7 * np.abs(B).max())
    assert np.abs(B[:, 3]).max() == 0.0
    # To rounding those of complex steps through all stages and the projection.
    n, q = model.nv, arms.q.tolist()
    dq, dqd, dtorque = np.split(np.eye(2 * n + na), [n, 2 * n], axis=1)
    dq = [model.position_rate(q, e) for e in dq.tolist()]
    state = moving(q, dq), moving(arms.qd, dqd), moving(torque, dtorque)
    new_q, new_v, *_ = evaluated(arms.program, *state, parameters=parameters.tolist())
    end = [float(x.z[0].real) for x in new_q]
    units = np.array([model.position_rate(end, e) for e in np.eye(n).tolist()])
    along = np.linalg.lstsq(units.T, rates(new_q, 2 * n + na), rcond=None)[0]
    expected = np.split(np.vstack([along, rates(new_v, 2 * n + na)]), [2 * n], axis=1)
    for ours, theirs in zip((A, B), expected, strict=True):
        assert_allclose(ours, theirs, rtol=0, atol=1e-12 * np.abs(theirs).max())


def test_derivatives_of_a_step_by_parameters():
    """By gravity, inertias, grasp poses, limits, friction and length: of complex steps."""
    rng = np.random.default_rng(8)
    mechanism, q = held_chain("universal", rng)
    named = [*(link.name for link in mechanism.links[1:]), "grasp"]
    model = build(mechanism, variable=named)
    actuated = [6, 7, 8]
    drives = DriveParameters(
        np.array(actuated), np.array([0.5, 9.0, 9.0]), *np.full((2, 3), 0.2), 0.5
    )
    block = step_parameters(model, drives, 2e-3)
    assert len(block) == 3 + 4 * 10 + 2 * 12 + 3 * 3 + 1 + 1
    qd, torque = rng.normal(size=model.nv), np.array([2.0, -1.0, 3.0])
    program = step_program(model, actuated)
    direction = rng.normal(size=len(block)) * block
    state = [x.tolist() for x in (q, qd, torque)]
    stepped = evaluated(program, *state, parameters=moving(block, direction[None]))
    still = [[0.0] * len(x) for x in state]
    found = jacobian_times_vector(
        program.with_parameters_as_input(), [*state, block.tolist()], [*still, direction.tolist()]
    )
    for name, end in zip(program.outputs, stepped, strict=True):
        expected = rates(end, 1)[:, 0]
        error = np.abs(np.array(found[name]).ravel() - expected).max()
        assert error <= 1e-12 * np.abs(expected).max()


def test_drive_forces():
    """Limits first, then damping and smoothed friction; joints without a drive have no force."""
    drives = DriveParameters(
        np.array([2, 0]), np.array([5.0, np.inf]), np.array([0.1, 0.0]), np.array([0.0, 2.0]), 0.3
    )
    forces = drive_forces(3, [2, 0], [0.4, 9.0, -2.0], [7.0, 1.0], drives.pack().tolist())
    assert_allclose(forces, [1.0 - 2.0 * 0.4 / 0.5, 0.0, 5.0 + 0.2], rtol=1e-15)


def test_one_code_for_all_steps(arms):
    """Step length, friction and payload are parameters: the same kernel serves them all."""
    block = step_parameters(arms.model, free_drives(14), 0.002)
    other = step_parameters(arms.model, free_drives(14), 0.001)
    assert len(block) == arms.program.parameters
    assert (block != other).sum() == 1


H = 0.002


@pytest.fixture(scope="module")
def setup():
    """Return two arms that hold a box, drives with friction and limits, and a moving state."""
    system, q, _ = two_arms()
    rng = np.random.default_rng(6)
    robot = Robot(system.model)
    inertia, _, K, _, _, _ = robot.constraint_terms(q, np.zeros(20))
    qd = consistent_velocity(inertia, K, rng.normal(size=20))
    drives = DriveParameters(
        system.v_index, np.full(14, 20.0), np.full(14, 0.2), np.full(14, 0.1), 0.02
    )
    return robot, drives, q, qd, 10 * rng.normal(size=14)


def fast_step(model, drives):
    """Return the step of `step.py`, interpreted, as a function of q, qd and torque."""
    program = step_program(model, drives.v_index.tolist())
    parameters = step_parameters(model, drives, H)
    return lambda q, qd, torque: program.evaluate(q, qd, torque, parameters=parameters)


def test_equals_the_kernel_at_regular_states(setup):
    """Over ten steps the two give the same motion, forces and errors."""
    robot, drives, q, qd, torque = setup
    step = fast_step(robot.model, drives)
    fast = slow = (q, qd)
    for _ in range(10):
        fast = step(*fast[:2], torque)
        slow = singular_step(robot, drives, H, *slow[:2], torque)
        for ours, theirs in zip(slow, fast[:5], strict=True):
            # Conditions of 1e6 on numbers up to a hundred; errors are differences of such.
            assert_allclose(ours, theirs, atol=1e-9 * max(1.0, np.max(np.abs(theirs))))


def test_the_same_weld_twice_moves_alike(setup):
    """With a redundant weld the motion is that without it, and nothing is not a number."""
    robot, drives, q, qd, torque = setup
    model = robot.model
    twice = replace(model, loops=(*model.loops, replace(model.loops[0], name="again")))
    step = fast_step(model, drives)
    one = two = (q, qd)
    for _ in range(5):
        one = step(*one[:2], torque)
        two = singular_step(Robot(twice), drives, H, *two[:2], torque)
    assert_allclose(two[0], one[0], atol=1e-9)
    assert_allclose(two[1], one[1], atol=1e-9 * np.max(np.abs(one[1])))
    multipliers = two[2].reshape(3, 6)
    scale = np.max(np.abs(one[2]))
    assert_allclose(multipliers[0] + multipliers[2], one[2][:6], atol=1e-8 * scale)
    # And the fast step says that it cannot be trusted.
    assert not fast_step(twice, drives)(q, qd, torque)[5] >= 1e-10


def test_a_planar_ring_swings_on():
    """Four bars in a plane, three constraints too many: the ring stays closed, energy stays."""
    corners = np.array([0.3, 1.0, np.pi - 1.0, 1.0])
    links = [LinkElement("base")] + [
        LinkElement(f"bar{i}", 1.0, (0.25, 0.0, 0.0), np.diag([0.001, 0.02, 0.02]))
        for i in range(4)
    ]
    at = [np.eye(4)] + [pose((0.5, 0.0, 0.0))] * 3
    joints = [
        JointElement(f"hinge{i}", "revolute", links[i].name, f"bar{i}", at[i]) for i in range(4)
    ]
    turned = Rotation.from_euler("z", -corners.sum()).as_matrix()
    loop = LoopElement("ring", "fixed", "bar3", "base", pose((0.5, 0.0, 0.0), turned), np.eye(4))
    # Hinges along gravity: what swings keeps its kinetic energy.
    model = build(Mechanism("ring", tuple(links), tuple(joints), (loop,)))
    robot = Robot(model)
    rest = DriveParameters(np.arange(4), np.full(4, np.inf), np.zeros(4), np.zeros(4), 0.01)
    q, qd = corners, 2.0 * np.array([1.0, -1.0, 1.0, -1.0])
    inertia = robot.inertia_matrix(q)
    start = 0.5 * qd @ inertia @ qd
    for _ in range(100):
        q, qd, multipliers, closure, drift = singular_step(robot, rest, H, q, qd, np.zeros(4))
    end = 0.5 * qd @ robot.inertia_matrix(q) @ qd
    assert np.max(np.abs(closure)) < 1e-9
    assert np.max(np.abs(drift)) < 1e-8
    assert np.isfinite(multipliers).all()
    assert_allclose(end, start, rtol=1e-7)
    assert abs(q[0] - corners[0]) > 0.1


# Bennett's linkage: four hinges in space whose closure leaves one freedom because sides and
# twists are in proportion; by count it could not move.
SIDE, TWIST, OTHER_TWIST = 0.5, 0.7, 1.2
OTHER_SIDE = SIDE * np.sin(OTHER_TWIST) / np.sin(TWIST)
BENNETT = np.sin(0.5 * (OTHER_TWIST + TWIST)) / np.sin(0.5 * (OTHER_TWIST - TWIST))


def bennett_linkage():
    """Return the linkage, and its angles at a first one of 1 rad."""

    def side(length, twist):
        return pose((length, 0.0, 0.0), Rotation.from_euler("x", twist).as_matrix())

    short, long = side(SIDE, TWIST), side(OTHER_SIDE, OTHER_TWIST)
    inertia = np.diag([0.01, 0.03, 0.03])
    links = [LinkElement("base")] + [
        LinkElement(f"link{i}", 1.0, (0.2, 0.05, 0.02), inertia) for i in range(4)
    ]
    joints = [
        JointElement(f"hinge{i}", "revolute", links[i].name, f"link{i}", at)
        for i, at in enumerate((np.eye(4), short, long, short))
    ]
    loop = LoopElement("ring", "fixed", "link3", "base", long, np.eye(4))
    mechanism = Mechanism("bennett", tuple(links), tuple(joints), (loop,))
    second = 2.0 * np.arctan(BENNETT / np.tan(0.5))
    return build(mechanism, gravity=(0.0, 0.0, 0.0)), np.array([1.0, second, -1.0, -second])


def test_bennetts_linkage_moves_as_it_must():
    """Constraints that only depend on one another when closed do not stop the motion: angles
    keep Bennett's relation, and the energy stays.
    """
    model, q = bennett_linkage()
    robot = Robot(model)
    assert robot.constrained_motion(q, np.zeros(4), np.zeros(4)).rank == 3
    _, _, K, *_ = robot.constraint_terms(q, np.zeros(4))
    qd = np.linalg.svd(K)[2][-1]
    qd = qd / qd[0]
    rest = DriveParameters(np.arange(4), np.full(4, np.inf), np.zeros(4), np.zeros(4), 0.01)
    start = qd @ robot.inertia_matrix(q) @ qd
    for _ in range(100):
        q, qd, multipliers, closure, _ = singular_step(robot, rest, H, q, qd, np.zeros(4))
    assert q[0] > 1.15
    assert np.max(np.abs(closure)) < 1e-12
    assert np.max(np.abs(multipliers)) < 1.0
    assert_allclose(qd @ robot.inertia_matrix(q) @ qd, start, rtol=1e-9)
    assert_allclose(np.tan(0.5 * q[0]) * np.tan(0.5 * q[1]), BENNETT, rtol=1e-10)
    assert_allclose(q[2:], -q[:2], atol=1e-12)


def rolling_body():
    """Return a body that rolls on a soft finger off its centre, closed and moving, no weight."""
    b = linkages.Builder("finger")
    b.add("body", "base", "floating")
    b.close("touch", "soft_finger", "base", "body", (0.3, 0.1, 0.0), (0.2, -0.1, 0.15))
    model = build(b.done(), gravity=(0.0, 0.0, 0.0))
    q = Robot(model).assemble(model.neutral()).q
    K, _ = Robot(model).closure(q)
    wish = np.array([5.0, -3.0, 0.0, 0.0, 0.0, 0.0])
    return model, q, consistent_velocity(Robot(model).inertia_matrix(q), K, wish)


@pytest.mark.parametrize("kind", ["fast", "slow"])
def test_a_soft_finger_rolls(kind):
    """The torsion row turns with the body: velocities keep to it, positions do not.

    The motion is that of the accelerations integrated to twelve digits; on its way the body turns
    about the normal although it never spins about it, which a constraint on positions would not
    let it do.
    """
    model, q, qd = rolling_body()
    robot = Robot(model)
    none = np.zeros(0)
    rest = DriveParameters(np.zeros(0, dtype=np.intp), none, none, none, 0.01)
    step = fast_step(model, rest)
    start, energy, steps = q.copy(), qd @ robot.inertia_matrix(q) @ qd, 100

    def slope(_, state):
        at, v = state[:7], state[7:]
        rate = model.position_rate(at.tolist(), v.tolist())
        return np.concatenate([rate, robot.forward_dynamics(at, v, np.zeros(6))])

    exact = solve_ivp(slope, (0.0, steps * H), [*q, *qd], "DOP853", rtol=1e-12, atol=1e-13)
    for _ in range(steps):
        if kind == "fast":
            q, qd = step(q, qd, none)[:2]
        else:
            q, qd = singular_step(robot, rest, H, q, qd, none)[:2]
    K, error = robot.closure(q)
    assert_allclose(error, 0.0, atol=1e-12)
    assert_allclose(K @ qd, 0.0, atol=1e-12)
    # At 5 rad/s with steps of 2 ms the error of fourth order is (0.01)^4 / 120 each.
    assert_allclose(q, exact.y[:7, -1], atol=1e-9)
    assert_allclose(qd, exact.y[7:, -1], atol=5e-8)
    assert_allclose(qd @ robot.inertia_matrix(q) @ qd, energy, rtol=1e-8)
    turned = Rotation.from_quat(start[3:]).inv() * Rotation.from_quat(q[3:])
    assert abs(turned.as_rotvec()[2]) > 1e-3  # far above the errors


@pytest.mark.parametrize("kind", ["fast", "slow"])
def test_positions_are_projected_without_the_torsion(kind):
    """From an open contact one step closes it, by the smallest motion: one that also turns."""
    model, q, qd = rolling_body()
    robot = Robot(model)
    none = np.zeros(0)
    rest = DriveParameters(np.zeros(0, dtype=np.intp), none, none, none, 0.01)
    opened = q.copy()
    opened[:3] += [1e-6, -2e-6, 1e-6]
    H_, _, K, _, delta, _ = robot.constraint_terms(opened, qd)
    HK = np.linalg.solve(H_, K[1:].T)
    smallest = -HK @ np.linalg.solve(K[1:] @ HK, delta[1:])
    tiny = 1e-12  # a step of no length: what is left of it is the projection
    if kind == "fast":
        program = step_program(model, [])
        parameters = step_parameters(model, rest, tiny)
        found = program.evaluate(opened, 0 * qd, none, parameters=parameters)[0]
    else:
        found = singular_step(robot, rest, tiny, opened, 0 * qd, none)[0]
    expected = np.array(model.integrate(opened.tolist(), smallest.tolist()))
    assert_allclose(found - opened, expected - opened, atol=1e-11)
    assert abs(K[0] @ smallest) > 1e-8


MASS, STIFFNESS, DAMPING = 2.0, 5e3, 30.0


def sledge(stiffness=0.0, damping=0.0, in_loop=False):
    """Return a body that slides, with a spring and a damper in its joint or beside it."""
    values = {"stiffness": stiffness, "rest": 0.1}
    links = (LinkElement("base"), LinkElement("body", MASS, inertia=np.eye(3)))
    slide = JointElement("slide", "prismatic", "base", "body", axis=(1.0, 0.0, 0.0))
    if not in_loop:
        return Robot.from_mechanism(Mechanism("sledge", links, (replace(slide, **values),)))
    strut = LoopElement(
        "strut", "floating", "base", "body",
        stiffness=(0.0, 0.0, 0.0, stiffness, 0.0, 0.0), damping=(0.0, 0.0, 0.0, damping, 0.0, 0.0),
    )  # fmt: skip
    return Robot.from_mechanism(Mechanism("sledge", links, (slide,), (strut,)))


def quadratic(mass, damping, stiffness):
    """Return the roots of m s^2 + d s + k."""
    return np.sort_complex(np.roots([mass, damping, stiffness]))


@pytest.mark.parametrize("in_loop", [False, True])
def test_rates_of_a_mass_on_a_spring(in_loop):
    """Springs and dampers of tree joints and of loop joints give the roots of the quadratic."""
    robot = sledge(STIFFNESS, DAMPING, in_loop)
    friction = np.zeros(1) if in_loop else np.array([DAMPING])
    rates = decay_rates(robot, np.array([0.3]), friction)
    # The slope of a linear spring by differences of 1e-5: its rounding over that.
    assert_allclose(np.sort_complex(rates), quadratic(MASS, DAMPING, STIFFNESS), rtol=1e-9)


def test_rates_of_a_closed_loop():
    """A torsion spring at a four-bar's crank oscillates with the inertia that the crank feels."""
    mechanism = linkages.four_bar()
    crank = replace(mechanism.joints[0], stiffness=300.0, rest=0.5)
    robot = Robot.from_mechanism(replace(mechanism, joints=(crank, *mechanism.joints[1:])))
    q = robot.assemble([0.5, -0.5, -1.0], held=["crank_joint"]).q
    form = robot.independent_form(q, np.zeros(3), ["crank_joint"])
    H, *_ = robot.constraint_terms(q, np.zeros(3))
    felt = float((form.G.T @ H @ form.G)[0, 0])
    # At rest the spring has no tension, so that its slope is the stiffness alone.
    assert_allclose(
        np.sort_complex(decay_rates(robot, q, np.zeros(3))),
        quadratic(felt, 0.0, 300.0),
        rtol=1e-8,
        atol=1e-6,
    )


@pytest.mark.parametrize(("in_loop", "damping"), [(False, 0.0), (True, 0.0), (True, 400.0)])
def test_longer_steps_grow_and_shorter_ones_do_not(in_loop, damping):
    """Integration stays bounded with the longest step and grows with half as much again."""
    robot = sledge(STIFFNESS, damping, in_loop)
    start = np.array([0.3])
    longest = largest_step(CLASSICAL, decay_rates(robot, start, np.zeros(1)), 1.0)
    reach = []
    for step in (longest, 1.5 * longest):
        q, qd = start.copy(), np.zeros(1)
        for _ in range(300):
            q, qd = classical_step(robot, q, qd, step)
        reach.append(abs(q[0] - 0.1 * (not in_loop)))
    assert reach[0] <= 0.31
    assert reach[1] > 1e3


def classical_step(robot, q, qd, h):
    """Return a state after a step of the classical scheme, by numbers alone."""

    def rate(y):
        return np.array([y[1], robot.forward_dynamics(y[:1], y[1:], np.zeros(1))[0]])

    y = np.array([q[0], qd[0]])
    k1 = rate(y)
    k2 = rate(y + h / 2 * k1)
    k3 = rate(y + h / 2 * k2)
    k4 = rate(y + h * k3)
    y = y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    return y[:1], y[1:]


def test_limits_of_the_classical_scheme():
    """Decay is followed to 2.785 and oscillation to 2.828 a step, less the margin of a tenth."""
    for rate, limit in ((-1.0, 2.7852936), (1.0j, np.sqrt(8.0))):
        assert_allclose(largest_step(CLASSICAL, np.array([rate]), 10.0), limit / 1.1, rtol=1e-6)


@pytest.mark.parametrize("scheme", list(map(scheme_of_order, ORDERS)), ids=lambda s: f"{s.order}")
def test_motions_that_grow_may_grow(scheme):
    """Toppling or resting bodies set no limit; a short enough step is granted."""
    assert largest_step(scheme, np.array([3.0, 0.0]), 0.2) == 0.2
    assert largest_step(scheme, np.array([-1.0, 2.0j]), 0.01) == 0.01


def test_a_higher_order_bears_more():
    """The scheme of order 8 has a longer step on the axis of decay than the classical one."""
    decay = np.array([-1.0])
    assert largest_step(scheme_of_order(8), decay, 50.0) > 2.0 * largest_step(
        CLASSICAL, decay, 50.0
    )
