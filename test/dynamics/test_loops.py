# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""K, k and the errors of loop constraints against finite differences and a worked example."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.spatial.transform import Rotation
from support import golden
from support.mechanisms import (
    closed_loop_mechanism,
    random_pose,
    random_state,
    random_tree,
    weld,
)

from robot_dynamics.dynamics.inertia_matrix import inertia_matrix
from robot_dynamics.dynamics.inverse import bias_forces, velocities_and_accelerations
from robot_dynamics.dynamics.kinematics import joint_transforms
from robot_dynamics.dynamics.loops import LoopTerms, loop_terms
from robot_dynamics.model import JointElement, LinkElement, Mechanism, build, pose
from robot_dynamics.model.parameters import parameters_of
from robot_dynamics.robot import Robot

TYPES = ["revolute", "prismatic", "revolute", "floating", "revolute", "revolute", "prismatic"]
# Between branches, to the base from either side, along one chain.
PAIRS = {
    "branches": ("link5", "link6"),
    "base first": ("base", "link4"),
    "base last": ("link6", "base"),
    "floating": ("link2", "link3"),
}


def terms_at(model, q, qd) -> LoopTerms:
    q, qd = list(q), list(qd)
    parameters = parameters_of(model)
    Xup = joint_transforms(model, q)
    v, a = velocities_and_accelerations(model, Xup, qd, None, parameters.gravity)
    return loop_terms(model, Xup, v, a, parameters)


@pytest.fixture(params=PAIRS)
def closed(request, rng):
    """Return a model with one weld, closed at the positions returned with it."""
    return closed_loop_mechanism(rng, random_tree(rng, TYPES), [PAIRS[request.param]])


def test_there_is_no_error_at_closure(closed):
    """delta vanishes where the two frames of a weld coincide."""
    model, q = closed
    assert_allclose(terms_at(model, q, np.zeros(model.nv)).position_error, 0.0, atol=1e-14)


def test_K_is_the_rate_of_the_position_error(closed, rng):
    """d delta / dt = K qd at closure."""
    model, q = closed
    _, qd, _ = random_state(rng, model)
    K = np.array(terms_at(model, q, qd).K)
    h = 1e-5

    def error(step):
        there = model.integrate(q.tolist(), (step * qd).tolist())
        return np.array(terms_at(model, there, qd).position_error)

    # Order h^2 = 1e-10 and roundings 1e-16 / h = 1e-11, of numbers up to ten.
    assert_allclose((error(h) - error(-h)) / (2 * h), K @ qd, atol=1e-7)


def test_velocity_error_is_K_times_velocity(closed, rng):
    """T^T v_J = K qd at any state, closed or not."""
    model, _ = closed
    q, qd, _ = random_state(rng, model)
    terms = terms_at(model, q, qd)
    assert_allclose(terms.velocity_error, np.array(terms.K) @ qd, atol=1e-13)


def test_k_is_what_the_rate_of_the_velocity_error_lacks(closed, rng):
    """d (K qd) / dt = K qdd - k at any state and acceleration (8.14, 8.15)."""
    model, _ = closed
    q, qd, qdd = random_state(rng, model)
    terms = terms_at(model, q, qd)
    h = 1e-5

    def error(step):
        # Exact to second order: the mean velocity of the step moves the positions.
        there = model.integrate(q.tolist(), (step * (qd + 0.5 * step * qdd)).tolist())
        return np.array(terms_at(model, there, qd + step * qdd).velocity_error)

    rate = (error(h) - error(-h)) / (2 * h)
    # As above; k contains squares of velocities times distances.
    assert_allclose(rate, np.array(terms.K) @ qdd - terms.k, atol=1e-6)


def test_gravity_does_not_enter(closed, rng):
    """k is the same under any gravity: -a_g cancels, also where an end is the base."""
    model, _ = closed
    q, qd, _ = random_state(rng, model)
    one = terms_at(model, q, qd).k
    other = terms_at(model.replace(gravity=(3.0, -5.0, 7.0)), q, qd).k
    assert_allclose(one, other, atol=1e-12)


def test_nothing_moves_a_loop_that_does_not_belong_to_it(rng):
    """Columns of joints that are in no path of the loop are the constant 0.0 (8.20)."""
    model, _ = closed_loop_mechanism(
        rng, random_tree(rng, TYPES, chain=True), [("link2", "link6")]
    )
    q, qd, _ = random_state(rng, model)
    inside = {j for body in (3, 4, 5, 6) for j in range(model.nv)[model.v_slices[body]]}
    for row in terms_at(model, q, qd).K:
        for j, entry in enumerate(row):
            assert (isinstance(entry, float) and entry == 0.0) or j in inside


def test_nothing_is_lost_far_from_the_base(rng):
    """A loop within a free-flying system does not notice where the system is."""
    types = ["floating", "revolute", "revolute", "revolute"]
    tree = random_tree(rng, types, chain=True)
    model, q = closed_loop_mechanism(rng, tree, [("link0", "link3")])
    far = q.copy()
    far[:3] = 1e8
    rest = np.zeros(model.nv)
    here, there = terms_at(model, q, rest), terms_at(model, far, rest)
    assert (here.K, here.position_error) == (there.K, there.position_error)


def test_stabilisation_adds_the_errors(closed, rng):
    """C4: k_stab = -2 a (velocity error) - a^2 (position error) with a = 1 / T (8.22)."""
    model, _ = closed
    q, qd, _ = random_state(rng, model)
    terms = terms_at(model, q, qd)
    added = np.array(terms.stabilised(0.1)) - terms.k
    expected = -20.0 * np.array(terms.velocity_error) - 100.0 * np.array(terms.position_error)
    assert_allclose(added, expected, rtol=1e-10)


def test_the_worked_example_of_figure_8_3_is_reproduced():
    """N10: H, C, K and k of Fig 8.3 at theta_1 = 0.9, as worked out with independent code.

    The loop joint of the book is revolute; the weld here blocks its rotation as well and has the
    book's constraints among its own, because both axes are z.
    """
    model = golden.actuated_arm_model("fixed")
    order = golden.order(model)
    q, qd = golden.ordered(model, golden.Q), golden.ordered(model, golden.QD)
    terms = terms_at(model, q, qd)
    K, k = np.array(terms.K)[3:5][:, order], np.array(terms.k)[3:5]
    assert_allclose(K, golden.K, atol=1e-11)
    assert_allclose(k, golden.SMALL_K, atol=1e-11)
    assert_allclose(terms.position_error[3:], 0.0, atol=1e-11)
    assert_allclose(np.array(terms.K)[[0, 1, 5]][:, order], 0.0, atol=1e-15)

    parameters = parameters_of(model)
    H = np.array(inertia_matrix(model, q.tolist(), parameters))[np.ix_(order, order)]
    C = np.array(bias_forces(model, q.tolist(), qd.tolist(), parameters))[order]
    assert_allclose(H, golden.H, atol=1e-11)
    assert_allclose(C, golden.C, atol=1e-10)


def test_a_frame_of_each_end_is_all_that_counts(rng):
    """The error of a weld is the small displacement from predecessor to successor frame."""
    free = JointElement("free", "floating", "base", "body")
    links = (LinkElement("base"), LinkElement("body", 1.0, inertia=np.eye(3)))
    at = random_pose(rng)
    model = build(Mechanism("m", links, (free,), (weld("w", "base", "body", at, np.eye(4)),)))
    turn, move = 1e-4 * rng.normal(size=3), 1e-4 * rng.normal(size=3)
    there = at @ pose(move, Rotation.from_rotvec(turn).as_matrix())
    q = [*there[:3, 3], *Rotation.from_matrix(there[:3, :3]).as_quat()]
    error = terms_at(model, q, [0.0] * 6).position_error
    # First-order exact: what is left is of the order of the square, 1e-8.
    assert_allclose(error, [*turn, *move], atol=5e-8)


def drift(alpha, beta):
    """Return the largest |delta| of N10 each tenth of a second, with q3 off by a millimetre.

    k_stab = -2 alpha T^T v_J - beta^2 delta (8.22); Runge-Kutta steps of 2 ms.
    """
    model = golden.actuated_arm_model()
    robot = Robot(model)
    q = golden.ordered(model, golden.Q + np.array([0.0, 0.0, 1e-3, 0.0]))
    qd = golden.ordered(model, golden.QD)

    def accelerations(q, qd):
        H, C, K, k, position, velocity = robot.constraint_terms(q, qd)
        k = k - 2.0 * alpha * velocity - beta**2 * position
        n, m = len(H), len(K)
        system = np.block([[H, K.T], [K, np.zeros((m, m))]])
        # Of five constraints two are independent: the least squares solution.
        return np.linalg.lstsq(system, np.concatenate([-C, k]), rcond=1e-12)[0][:n]

    found, h = [], 2e-3
    for step in range(1, 301):
        a1 = accelerations(q, qd)
        a2 = accelerations(q + h / 2 * qd, qd + h / 2 * a1)
        a3 = accelerations(q + h / 2 * qd + h * h / 4 * a1, qd + h / 2 * a2)
        a4 = accelerations(q + h * qd + h * h / 2 * a2, qd + h * a3)
        q = q + h * qd + h * h / 6 * (a1 + a2 + a3)
        qd = qd + h / 6 * (a1 + 2 * a2 + 2 * a3 + a4)
        if step % 50 == 0:
            found.append(np.abs(robot.closure(q)[1]).max())
    return found


@pytest.mark.parametrize(
    ("alpha", "beta", "expected"),
    [
        (0.0, 0.0, [1.00e-3, 9.9e-4, 9.4e-4, 7.9e-4, 1.07e-3, 1.08e-3]),
        (10.0, 10.0, [7.4e-4, 4.0e-4, 1.9e-4, 7.0e-5, 4.8e-5, 2.6e-5]),
        (-10.0, 10.0, [1.9e-4, 7.4e-3, 4.0e-2, 0.16, 0.59, 2.1]),
    ],
    ids=["none", "T_stab = 0.1 s", "wrong sign"],
)
def test_stabilisation_decays_with_its_time(alpha, beta, expected):
    """C4, N10: errors stay without it, decay with it, and grow with the wrong sign."""
    # Two or three digits are given.
    assert_allclose(drift(alpha, beta), expected, rtol=0.03)
