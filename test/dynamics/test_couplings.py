# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Gears in the dynamics: rows of K, reflected inertia, and rotors as bodies of their own."""

from dataclasses import replace

import numpy as np
import pytest
from support import linkages
from support.mechanisms import random_tree

from robot_dynamics.dynamics.closed_loop import closed_loop_terms
from robot_dynamics.dynamics.closure_functions import ClosureFunction
from robot_dynamics.dynamics.couplings import with_couplings
from robot_dynamics.dynamics.loops import LoopTerms
from robot_dynamics.dynamics.scaling import constraint_names
from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.model import (
    CouplingElement,
    JointElement,
    LinkElement,
    Mechanism,
    build,
    pose,
)
from robot_dynamics.model.parameters import parameters_of
from robot_dynamics.robot import Robot
from robot_dynamics.scalar.functions import sin


def two_wheels(*couplings):
    """Return two wheels of 0.2 and 0.05 kg m^2 on parallel axles, and no gravity along them."""
    wheels = [("big", 0.2), ("small", 0.05)]
    links = [LinkElement("base")]
    links += [LinkElement(n, 1.0, (0.0, 0.0, 0.0), i * np.eye(3)) for n, i in wheels]
    joints = [JointElement(f"{n}_axle", "continuous", "base", n) for n, _ in wheels]
    return Mechanism("wheels", tuple(links), tuple(joints), (), couplings)


def test_rows_of_the_jacobian_and_errors():
    """K has the coefficients, k is zero, and errors are those of the relation and its rate."""
    gear = CouplingElement.gear("gear", "small_axle", "big_axle", ratio=-4.0, offset=0.1)
    model = build(two_wheels(gear))
    terms = with_couplings(LoopTerms([], [], [], []), model, [0.2, 0.5], [1.0, 2.0])
    assert terms.K == [[4.0, 1.0]]
    assert terms.k == [0.0]
    # 0.5 + 4 * 0.2 - 0.1 in floats
    assert terms.position_error[0] == pytest.approx(1.2, rel=1e-15)
    assert terms.velocity_error == [6.0]
    assert constraint_names(model) == ("gear",)


@pytest.mark.parametrize("loop", [False, True])
def test_closure_is_that_of_the_terms(loop, rng):
    """K and errors of loops and gears are those of the equation of motion, one state or many."""
    mechanism = linkages.four_bar() if loop else random_tree(rng, ["revolute"] * 3)
    first, second, third = (joint.name for joint in mechanism.joints)
    gears = (
        CouplingElement.gear("one", first, second, ratio=-4.0, offset=0.1),
        CouplingElement("two", ((first, 1.0), (third, 2.0), (second, -0.5)), 0.3),
    )
    robot = Robot(build(replace(mechanism, couplings=gears)))
    q = rng.normal(size=(4, 3))
    _, _, K, _, error, _ = robot.constraint_terms(q, np.zeros((4, 3)))
    for found, expected in zip(robot.closure(q), (K, error), strict=True):
        # Sums of three products.
        np.testing.assert_allclose(found, expected, atol=1e-15)
    for found, expected in zip(robot.closure(q[2]), (K[2], error[2]), strict=True):
        np.testing.assert_allclose(found, expected, atol=1e-15)


@pytest.mark.book("G1")
def test_geared_wheels_accelerate_as_one_inertia():
    """qdd of the driver is (tau_1 + r tau_2) / (I_1 + r^2 I_2), of the follower r times that."""
    r = -4.0
    robot = Robot(build(two_wheels(CouplingElement.gear("gear", "small_axle", "big_axle", r))))
    tau = np.array([0.7, 0.3])
    qdd = robot.forward_dynamics([0.1, -0.4], [1.0, -4.0], tau)
    expected = (tau[0] + r * tau[1]) / (0.2 + r**2 * 0.05)
    # A handful of operations on numbers of order one.
    np.testing.assert_allclose(qdd, [expected, r * expected], rtol=1e-13)


@pytest.mark.book("G1")
@pytest.mark.parametrize("chain", [True, False])
def test_gears_in_a_tree_are_those_of_the_reduced_equation(rng, chain):
    """With q = G y the accelerations are G (G^T H G)^-1 G^T (tau - C)."""
    tree = random_tree(rng, ["revolute", "prismatic", "revolute", "revolute"], chain=chain)
    names = [joint.name for joint in tree.joints]
    gears = (
        CouplingElement.gear("one", names[2], names[0], 3.0),
        CouplingElement("sum", ((names[3], 1.0), (names[0], -1.0), (names[1], 0.5))),
    )
    robot = Robot(build(replace(tree, couplings=gears)))
    rows = {names[0]: (1, 0), names[1]: (0, 1), names[2]: (3, 0), names[3]: (1, -0.5)}
    G = np.array([rows[name] for name in robot.model.joint_names], dtype=float)
    q, qd = G @ rng.normal(size=2), G @ rng.normal(size=2)
    tau = rng.normal(size=4)
    H, C = robot.inertia_matrix(q), robot.bias_forces(q, qd)
    expected = G @ np.linalg.solve(G.T @ H @ G, G.T @ (tau - C))
    # Two solutions of systems with a condition number below a thousand.
    np.testing.assert_allclose(robot.forward_dynamics(q, qd, tau), expected, rtol=1e-10)


def test_a_doubled_gear_is_named_redundant(rng):
    """A second relation that says the same adds no rank, is named, and changes no motion."""
    gear = CouplingElement.gear("gear", "small_axle", "big_axle", -4.0)
    again = CouplingElement("again", (("big_axle", 8.0), ("small_axle", 2.0)))
    robot = Robot(build(two_wheels(gear, again)))
    motion = robot.constrained_motion(np.zeros(2), np.zeros(2), np.array([0.7, 0.3]))
    assert (motion.rank, motion.redundant) == (1, ("again",))
    single = Robot(build(two_wheels(gear)))
    expected = single.forward_dynamics(np.zeros(2), np.zeros(2), [0.7, 0.3])
    np.testing.assert_allclose(motion.qdd, expected, rtol=1e-12)


@pytest.mark.book("G2")
@pytest.mark.parametrize("kind", ["revolute", "prismatic"])
def test_reflected_inertia_is_on_the_diagonal(rng, kind):
    """H has the armature on its diagonal; inverse and forward dynamics agree with H and C."""
    plain = random_tree(rng, [kind] * 4)
    armatures = (0.5, 0.0, 2.0, 0.1)
    joints = tuple(replace(j, armature=a) for j, a in zip(plain.joints, armatures, strict=True))
    robot, bare = Robot(build(replace(plain, joints=joints))), Robot(build(plain))
    q, qd, qdd = rng.normal(size=(3, 4))
    H = robot.inertia_matrix(q)
    names = [joint.name for joint in plain.joints]
    order = [armatures[names.index(name)] for name in robot.model.joint_names]
    # The same operations but for one addition.
    np.testing.assert_allclose(H, bare.inertia_matrix(q) + np.diag(order), rtol=1e-14, atol=1e-14)
    tau = robot.inverse_dynamics(q, qd, qdd)
    # Both are sums of about a hundred terms of order ten.
    np.testing.assert_allclose(tau, H @ qdd + robot.bias_forces(q, qd), rtol=1e-11, atol=1e-11)
    back = robot.tree_forward_dynamics(q, qd, tau)
    np.testing.assert_allclose(back, qdd, rtol=1e-10, atol=1e-10)


@pytest.mark.book("G2")
def test_a_rotor_as_a_body_is_a_rotor_as_reflected_inertia():
    """A geared rotor on the base moves a pendulum exactly as its inertia times ratio squared."""
    ratio, rotor = 50.0, 2e-5
    arm = LinkElement("arm", 2.0, (0.3, 0.0, 0.0), 0.02 * np.eye(3))
    hinge = JointElement("hinge", "revolute", "base", "arm", pose((0, 0, 1)), (0.0, 1.0, 0.0))
    base = LinkElement("base")
    reflected = Mechanism("a", (base, arm), (replace(hinge, armature=ratio**2 * rotor),))
    spinning = LinkElement("rotor", 0.1, (0.0, 0.0, 0.0), rotor * np.eye(3))
    shaft = JointElement(
        "shaft", "continuous", "base", "rotor", pose((0, 0.1, 1)), (0.0, 1.0, 0.0)
    )
    gear = CouplingElement.gear("gear", "shaft", "hinge", ratio)
    explicit = Mechanism("b", (base, arm, spinning), (hinge, shaft), (), (gear,))
    one = Robot(build(reflected)).forward_dynamics([0.4], [1.5], [3.0])
    robot = Robot(build(explicit))
    both = robot.forward_dynamics([0.4, 0.4 * ratio], [1.5, 1.5 * ratio], [3.0, 0.0])
    # cond(K H^-1 K^T) is 1, but H spans 2e-5 to 0.2 kg m^2.
    np.testing.assert_allclose(both[0], one[0], rtol=1e-11)
    np.testing.assert_allclose(both[1], ratio * one[0], rtol=1e-11)


def test_couplings_and_loops_stand_in_one_matrix(rng):
    """Rows of couplings follow those of loop joints in K, k and the errors."""
    from robot_dynamics.model import LoopElement

    tree = random_tree(rng, ["revolute"] * 8, chain=True)
    loop = LoopElement("weld", "fixed", "base", "link7")
    names = [joint.name for joint in tree.joints]
    gear = CouplingElement.gear("gear", names[1], names[0], 2.0)
    both = build(replace(tree, loops=(loop,), couplings=(gear,)))
    alone = build(replace(tree, loops=(loop,)))
    q, qd = rng.normal(size=(2, 8)).tolist()
    terms = closed_loop_terms(both, q, qd, parameters_of(both)).loops
    expected = closed_loop_terms(alone, q, qd, parameters_of(alone)).loops
    assert terms.K[:6] == expected.K
    assert len(terms.K) == len(terms.k) == 7
    assert terms.k[:6] == expected.k
    np.testing.assert_allclose(np.array(terms.K) @ qd, terms.velocity_error, atol=1e-12)


@pytest.mark.book("G1")
def test_a_nonlinear_gear(rng):
    """A gear with a ratio that changes is a closure function: (9.26) with G and g by hand."""
    tree = random_tree(rng, ["revolute", "revolute", "prismatic"], chain=True)
    robot = Robot(build(tree))
    gear = ClosureFunction(("joint0",), lambda y: {"joint2": 0.2 * y[0] + 0.3 * sin(y[0])})
    # The check compares with loops, and the mechanism has none that says what the gear does.
    with pytest.raises(RobotDynamicsError, match=r"joint0, joint1.*\b3\b"):
        robot.with_closure(gear)
    explicit = robot.with_closure(gear, check=False)
    y, yd, tau = np.array([0.4, -0.7]), rng.normal(size=2), rng.normal(size=3)
    ratio = 0.2 + 0.3 * np.cos(y[0])
    G = np.array([[1, 0], [0, 1], [ratio, 0]])
    g = np.array([0, 0, -0.3 * np.sin(y[0]) * yd[0] ** 2])
    q, qd = np.array([*y, 0.2 * y[0] + 0.3 * np.sin(y[0])]), G @ yd
    H, C = robot.inertia_matrix(q), robot.bias_forces(q, qd)
    expected = np.linalg.solve(G.T @ H @ G, G.T @ (tau - C - H @ g))
    found = explicit.forward_dynamics(y, yd, tau)
    # Two solutions of systems with a condition number below a thousand.
    np.testing.assert_allclose(found, expected, rtol=1e-10)


@pytest.mark.book("G1", "N5")
def test_a_geared_arm_of_two_links(rng):
    """G^T H G of two links with rotors is the matrix of Eq 9.27, zeros of branches included."""
    mechanism = random_tree(rng, ["revolute"] * 4)
    parents = ("base", "base", "link0", "link0")
    joints = tuple(replace(j, parent=p) for j, p in zip(mechanism.joints, parents, strict=True))
    r1, r2 = 80.0, -50.0
    gears = (
        CouplingElement.gear("one", "joint1", "joint0", r1),
        CouplingElement.gear("two", "joint3", "joint2", r2),
    )
    robot = Robot(build(replace(mechanism, joints=joints, couplings=gears)))
    names = list(robot.model.joint_names)
    at = [names.index(f"joint{i}") for i in range(4)]
    y, yd, tau = rng.normal(size=(3, 2))
    G = np.array([[1, 0], [r1, 0], [0, 1], [0, r2]])
    q, qd, forces = np.zeros((3, 4))
    q[at], qd[at], forces[at] = G @ y, G @ yd, [0, tau[0], 0, tau[1]]
    H = robot.inertia_matrix(q)[np.ix_(at, at)]
    C = robot.bias_forces(q, qd)[at]
    assert H[0, 1] == H[1, 2] == H[1, 3] == H[2, 3] == 0.0
    reduced = [
        [H[0, 0] + r1**2 * H[1, 1], H[0, 2] + r2 * H[0, 3]],
        [H[0, 2] + r2 * H[0, 3], H[2, 2] + r2**2 * H[3, 3]],
    ]
    np.testing.assert_allclose(G.T @ H @ G, reduced, rtol=1e-12)
    expected = np.linalg.solve(reduced, G.T @ (forces[at] - C))
    qdd = robot.forward_dynamics(q, qd, forces)[at]
    np.testing.assert_allclose(qdd, G @ expected, rtol=1e-8)
