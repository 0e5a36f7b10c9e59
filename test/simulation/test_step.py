# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The integration step: order, energy, momentum, closed loops, and a correction that vanishes."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.integrate import trapezoid
from support.mechanisms import (
    closed_loop_mechanism,
    consistent_velocity,
    random_tree,
    two_arms,
)

from robot_dynamics.compile import compile_program
from robot_dynamics.dynamics.closed_loop import closed_loop_forward_dynamics, closed_loop_terms
from robot_dynamics.dynamics.inertia_matrix import inertia_matrix
from robot_dynamics.dynamics.kinematics import (
    body_transforms,
    body_velocities,
    joint_transforms,
)
from robot_dynamics.model.parameters import parameters_of
from robot_dynamics.simulation.step import Drives, drive_forces, step_parameters, step_program
from robot_dynamics.spatial import Force


def free_drives(na):
    """Return drives without friction and limits."""
    return Drives(np.arange(na), np.full(na, np.inf), np.zeros(na), np.zeros(na), 0.01)


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
    """Halving the step divides what is left by about 16 (Richardson)."""
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
    """What projection takes away falls with the fifth power of the step: it hides no wrong k."""
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
    """The kernel does what the program says, to the last few bits."""
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
    drives = Drives(np.arange(14), np.full(14, 3.0), np.zeros(14), np.zeros(14), 0.01)
    sign = np.where(np.arange(14) % 2, 1.0, -1.0)
    far = arms.run(0.002, 0.02, 100.0 * sign, drives)
    at = arms.run(0.002, 0.02, 3.0 * sign, drives)
    assert (far[0] == at[0]).all()


def test_friction_takes_the_energy_that_it_should(arms):
    """Energy falls by the integral of the friction's power, and never grows."""
    drives = Drives(np.arange(14), np.full(14, np.inf), np.full(14, 0.5), np.full(14, 0.8), 0.05)
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


def test_drive_forces():
    """Limits first, then damping and smoothed friction; what has no drive has no force."""
    drives = Drives(
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
