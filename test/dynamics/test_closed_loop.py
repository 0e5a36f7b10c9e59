# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Closed-loop forward dynamics against dense solutions, Pinocchio, and other spanning trees."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.spatial.transform import Rotation
from support import linkages
from support.mechanisms import (
    closed_loop_mechanism,
    random_arm,
    random_link,
    random_pose,
    random_state,
    random_tree,
    two_arms,
    weld,
)

from robot_dynamics.compile import compile_program, trace
from robot_dynamics.dynamics.closed_loop import (
    closed_loop_forward_dynamics,
    closed_loop_terms,
    constraint_factors,
)
from robot_dynamics.dynamics.redundant import rank_revealing_solution
from robot_dynamics.model import JointElement, LinkElement, Mechanism, build, pose, pose_of
from robot_dynamics.model.parameters import block_size, pack, parameters_of, unpack
from robot_dynamics.robot import Robot
from robot_dynamics.spatial import Transform

TOL = 1e-12  # times the condition of the matrices that are solved with
MECHANISMS = {
    "arms": (["revolute"] * 14, [("link6", "link13")]),
    "tree": (["revolute", "prismatic", "revolute", "revolute"] * 5, []),
    "on the base": (["revolute", "prismatic", "revolute", "revolute"] * 3, [("base", "link11")]),
    "floating": (["floating", *["revolute"] * 9, "prismatic"], [("link0", "link10")]),
    "two loops": (["revolute"] * 10 + ["floating"], [("link9", "link10"), ("link10", "base")]),
}


@pytest.fixture(params=MECHANISMS)
def closed(request, rng):
    """Return a mechanism, its model with loops, and a closed state with matching velocity."""
    types, pairs = MECHANISMS[request.param]
    if request.param == "arms":
        left = random_tree(rng, types[:7], chain=True).prefixed("l_")
        right = random_tree(rng, types[7:], chain=True).prefixed("r_")
        mounts = [
            JointElement(f"{side}mount", "fixed", "world", f"{side}base", random_pose(rng))
            for side in ("l_", "r_")
        ]
        mechanism = Mechanism(
            "arms",
            (LinkElement("world"), *left.links, *right.links),
            (*mounts, *left.joints, *right.joints),
        )
        pairs = [("l_link6", "r_link6")]
    else:
        mechanism = random_tree(rng, types, chain=request.param != "tree")
        pairs = pairs or [longest_loop(build(mechanism))]
    model, q = closed_loop_mechanism(rng, mechanism, pairs)
    _, qd, tau = random_state(rng, model)
    return mechanism, model, q, qd, 10 * tau


def longest_loop(model):
    """Return the two bodies between which the most joints lie."""

    def between(pair):
        return len(set(model.support(pair[0])) ^ set(model.support(pair[1])))

    pair = max(combinations(range(len(model.bodies)), 2), key=between)
    return tuple(model.bodies[body].name for body in pair)


def arrays_of(model, q, qd):
    terms = closed_loop_terms(model, q.tolist(), qd.tolist(), parameters_of(model))
    return tuple(map(np.array, (terms.H, terms.C, terms.loops.K, terms.loops.k)))


def dense(H, C, K, k, tau):
    """Return qdd and lambda by a dense solution of (8.6)."""
    n, m = len(H), len(K)
    matrix = np.block([[H, K.T], [K, np.zeros((m, m))]])
    x = np.linalg.solve(matrix, np.concatenate([tau - C, k]))
    return x[:n], -x[n:]


def condition(H, K):
    return np.linalg.cond(H) * np.linalg.cond(K @ np.linalg.solve(H, K.T))


def test_equals_the_dense_solution(closed):
    """Accelerations and multipliers are those of (8.6) solved as it stands."""
    _, model, q, qd, tau = closed
    terms = arrays_of(model, q, qd)
    qdd, multipliers, pivot = closed_loop_forward_dynamics(
        model, q.tolist(), qd.tolist(), tau.tolist(), parameters_of(model)
    )
    expected, forces = dense(*terms, tau)
    bound = TOL * condition(terms[0], terms[2])
    assert np.max(np.abs(qdd - expected)) < bound * np.max(np.abs(expected))
    assert np.max(np.abs(multipliers - forces)) < bound * np.max(np.abs(forces))
    assert 1e-6 < pivot <= 1.0


def test_equals_the_rank_revealing_solution(closed):
    """At full rank the solution that looks for the rank finds all of it, and the same motion."""
    _, model, q, qd, tau = closed
    H, C, K, k = arrays_of(model, q, qd)
    qdd, multipliers, _ = closed_loop_forward_dynamics(
        model, q.tolist(), qd.tolist(), tau.tolist(), parameters_of(model)
    )
    motion = rank_revealing_solution(model, H, tau - C, K, k)
    bound = TOL * condition(H, K)
    assert motion.rank == len(K)
    assert motion.redundant == ()
    assert motion.determined.all()
    assert np.max(np.abs(qdd - motion.qdd)) < bound * np.max(np.abs(qdd))
    assert np.max(np.abs(multipliers - motion.multipliers)) < bound * np.max(np.abs(multipliers))


def test_fulfils_both_rows_of_the_equation(closed):
    """H qdd + C = tau + K^T lambda, and K qdd = k."""
    _, model, q, qd, tau = closed
    H, C, K, k = arrays_of(model, q, qd)
    qdd, multipliers, _ = map(
        np.array,
        closed_loop_forward_dynamics(
            model, q.tolist(), qd.tolist(), tau.tolist(), parameters_of(model)
        ),
    )
    forces = K.T @ multipliers
    bound = TOL * condition(H, K)
    scale = np.max(np.abs(tau)) + np.max(np.abs(forces))
    assert np.max(np.abs(H @ qdd + C - tau - forces)) < bound * scale
    assert np.max(np.abs(K @ qdd - k)) < bound * (np.max(np.abs(k)) + np.max(np.abs(qdd)))


def test_accelerations_of_closed_loops_equal_pinocchio(closed):
    """pin.constraintDynamics with six-dimensional contacts gives the same accelerations."""
    from support.oracle import Pinocchio

    mechanism, model, q, qd, tau = closed
    H, _C, K, _k = arrays_of(model, q, qd)
    # Its contacts see the constraint's velocity in other axes: let it vanish.
    HK = np.linalg.solve(H, K.T)
    qd = qd - HK @ np.linalg.solve(K @ HK, K @ qd)
    qdd, _, _ = closed_loop_forward_dynamics(
        model, q.tolist(), qd.tolist(), tau.tolist(), parameters_of(model)
    )
    theirs = Pinocchio.of_mechanism(mechanism, model).closed_loop(q, qd, tau)
    # Pinocchio regularises by an inertia of 1e-12 or so at best: nine digits.
    assert np.max(np.abs(qdd - theirs)) < 1e-9 * np.max(np.abs(theirs))


def test_two_arms_and_an_object_equal_pinocchio(rng):
    """So do two arms that hold a floating object, at 20 states."""
    from support.oracle import Pinocchio

    system, q, mechanism = two_arms()
    model = system.model
    terms = arrays_of(model, q, np.zeros(model.nv))
    parameters = parameters_of(model)
    oracle = Pinocchio.of_mechanism(mechanism, model)
    for _ in range(20):
        _, qd, tau = random_state(rng, model)
        H, _, K, _ = terms
        HK = np.linalg.solve(H, K.T)
        qd = qd - HK @ np.linalg.solve(K @ HK, K @ qd)
        qdd, _, _ = closed_loop_forward_dynamics(
            model, q.tolist(), qd.tolist(), tau.tolist(), parameters
        )
        theirs = oracle.closed_loop(q, qd, tau)
        assert np.max(np.abs(qdd - theirs)) < 1e-9 * np.max(np.abs(theirs))


def test_does_not_depend_on_the_spanning_tree(rng):
    """An object held by two arms moves alike as a floating body with two welds, and as part of
    the first arm with one.
    """
    arms = [random_arm(rng, "a"), random_arm(rng, "b")]
    held = random_link(rng, "held")
    mounts = tuple(
        JointElement(f"{name}_mount", "fixed", "world", f"{name}_base", random_pose(rng))
        for name in "ab"
    )
    links = (LinkElement("world"), *arms[0].links, *arms[1].links, held)
    joints = (*mounts, *arms[0].joints, *arms[1].joints)
    grasp = random_pose(rng)
    carried = Mechanism(
        "carried", links, (*joints, JointElement("grasp", "fixed", "a_tool", "held", grasp))
    )
    one, q = closed_loop_mechanism(rng, carried, [("b_tool", "held")])
    # The pose of the object at that state, and the second grasp.
    frame = Robot(one).pose("held", q)
    loop = one.loops[0]
    free = Mechanism("free", links, (*joints, JointElement("free", "floating", "world", "held")))
    second = build(
        free.with_loops(
            [
                weld("first", "a_tool", "held", grasp, np.eye(4)),
                weld("second", "b_tool", "held", *_frames(one, loop)),
            ]
        )
    )
    q2 = second.neutral()
    arm = slice(0, 14)
    q2[arm] = q[arm]
    at = second.q_slices[second.joint_index("free")]
    q2[at] = [*frame[:3, 3], *Rotation.from_matrix(frame[:3, :3]).as_quat()]

    H, _C, K, _k = arrays_of(one, q, np.zeros(14))
    HK = np.linalg.solve(H, K.T)
    qd = rng.normal(size=14)
    qd = qd - HK @ np.linalg.solve(K @ HK, K @ qd)
    tau = 10 * rng.normal(size=14)
    H2, _, K2, _ = arrays_of(second, q2, np.zeros(20))
    v = second.v_slices[second.joint_index("free")]
    qd2 = np.zeros(20)
    qd2[arm] = qd
    qd2[v] = np.linalg.lstsq(K2[:, v], -K2[:, arm] @ qd, rcond=None)[0]
    assert_allclose(K2 @ qd2, 0.0, atol=1e-11)
    tau2 = np.zeros(20)
    tau2[arm] = tau
    a1 = closed_loop_forward_dynamics(
        one, q.tolist(), qd.tolist(), tau.tolist(), parameters_of(one)
    )[0]
    a2 = closed_loop_forward_dynamics(
        second, q2.tolist(), qd2.tolist(), tau2.tolist(), parameters_of(second)
    )[0]
    bound = TOL * max(condition(H, K), condition(H2, K2))
    assert np.max(np.abs(np.array(a2)[arm] - a1)) < bound * np.max(np.abs(a1))


def test_multipliers_are_forces_on_the_successor():
    """A body that hangs on a weld to the base is held up by its weight."""
    links = (LinkElement("base"), LinkElement("body", 3.0, inertia=np.eye(3)))
    free = JointElement("free", "floating", "base", "body")
    for ends, sign in ((("base", "body"), 1.0), (("body", "base"), -1.0)):
        loop = weld("w", *ends, pose((0.0, 0.0, 0.0)), pose((0.0, 0.0, 0.0)))
        model = build(Mechanism("m", links, (free,), (loop,)))
        rest = [0.0] * 6
        qdd, multipliers, _ = closed_loop_forward_dynamics(
            model, model.neutral().tolist(), rest, rest, parameters_of(model)
        )
        assert_allclose(qdd, 0.0, atol=1e-14)
        assert_allclose(multipliers, [0, 0, 0, 0, 0, sign * 3.0 * 9.81], atol=1e-12)


def test_stabilisation_makes_errors_decay():
    """A position error decays as (1 + t/T) e^(-t/T) with Baumgarte's method, and stays without."""
    system, q, _ = two_arms()
    model = system.model
    bent = model.replace(
        successor_placement={
            loop.name: Transform(loop.successor_placement.E, loop.successor_placement.r * 1.001)
            for loop in model.loops
        }
    )
    T, h, steps = 0.05, 0.0025, 80

    def errors(time_constant):
        def run(q, qd, block):
            parameters = unpack(bent, block)
            terms = closed_loop_terms(bent, q, qd, parameters)
            qdd, _, _ = closed_loop_forward_dynamics(
                bent, q, qd, terms.C, parameters, time_constant
            )
            return {
                "rate": bent.position_rate(q, qd),
                "qdd": qdd,
                "error": terms.loops.position_error,
            }

        program = trace(run, "motion", {"q": model.nq, "qd": model.nv}, block_size(bent))
        slope = compile_program(program, lanes=1).bind(pack(bent))
        x, v, history = q.copy(), np.zeros(model.nv), []
        for _ in range(steps):  # the midpoint rule is accurate enough here
            rate, qdd, error = slope(x, v)
            history.append(np.max(np.abs(error)))
            rate, qdd, _ = slope(x + 0.5 * h * rate, v + 0.5 * h * qdd)
            x, v = x + h * rate, v + h * qdd
        return np.array(history)

    stabilised = errors(T)
    t = h * np.arange(steps)
    assert 1e-4 < stabilised[0] < 1e-3
    # The midpoint rule's own error over four time constants is a few percent at this step.
    assert_allclose(stabilised / stabilised[0], (1 + t / T) * np.exp(-t / T), atol=0.02)
    assert errors(None)[-1] > 0.5 * stabilised[0]


def test_correction_is_the_smallest_that_closes(closed):
    """K times the correction is minus the error, and it is orthogonal to free motions in H."""
    _, model, q, qd, _ = closed
    terms = closed_loop_terms(model, q.tolist(), qd.tolist(), parameters_of(model))
    factors = constraint_factors(terms.H, terms.loops.K)
    H, K = np.array(terms.H), np.array(terms.loops.K)
    step = np.array(factors.correction(terms.loops.velocity_error))
    bound = TOL * condition(H, K)
    assert np.max(np.abs(K @ (qd + step))) < bound * np.max(np.abs(qd))
    _, _, Vt = np.linalg.svd(K)
    free = Vt[len(K) :]
    assert np.max(np.abs(free @ H @ step)) < bound * np.max(np.abs(H @ step))
    # So kinetic energy never grows by it.
    assert (qd + step) @ H @ (qd + step) <= qd @ H @ qd


def test_dependent_constraints_show_in_the_pivot():
    """The same weld twice leaves a relative pivot of rounding size."""
    system, q, _ = two_arms()
    twice = replace(system.model, loops=(*system.model.loops, system.model.loops[0]))
    rest = [0.0] * system.model.nv
    pivot = closed_loop_forward_dynamics(twice, q.tolist(), rest, rest, parameters_of(twice))[2]
    assert not pivot >= 1e-10


def _frames(model, loop):
    """Return the poses of a loop's frames in the links `b_tool` and `held`."""
    ends = []
    for name, X in (
        ("b_tool", loop.predecessor_placement),
        ("held", loop.successor_placement),
    ):
        ends.append(np.linalg.inv(pose_of(model.link(name).placement)) @ pose_of(X))
    return ends


@pytest.mark.parametrize("closure", ["revolute", "sphere_in_cylinder"])
def test_planar_loops_need_no_detour(closure):
    """Constraints normal to a planar loop, which no joint affects, do not make the rank drop.

    Their multipliers are exactly zero; the motion is that of the loop without them.
    """
    robot = Robot.from_mechanism(linkages.four_bar(closure), gravity=(1.0, -9.0, 0.5))
    state = robot.assemble([0.5, -0.5, -1.0], velocities={"crank_joint": 2.0})
    tau = np.array([3.0, 0.0, 0.0])
    qdd, multipliers, pivot = robot.closed_loop(state.q, state.qd, tau)
    assert pivot > 1e-3
    expected = robot.constrained_motion(state.q, state.qd, tau)
    assert expected.rank == 2
    # Conditions of H and of two constraints of order one: fourteen digits are left.
    assert_allclose(qdd, expected.qdd, rtol=1e-11)
    assert_allclose(robot.forward_dynamics(state.q, state.qd, tau), expected.qdd, rtol=1e-11)
    assert_allclose(multipliers, expected.multipliers, atol=1e-10)
    if closure == "revolute":
        assert (multipliers[[0, 1, 4]] == 0.0).all()
