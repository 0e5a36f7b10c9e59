# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Hybrid dynamics by both algorithms: each other's, and those that they have in the limits."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from support.mechanisms import random_state, random_tree

from robot_dynamics.dynamics.hybrid import hybrid_dynamics, hybrid_dynamics_by_inertia_matrix
from robot_dynamics.errors import RobotDynamicsError, UnknownNameError
from robot_dynamics.model import CouplingElement, JointElement, LinkElement, Mechanism, build, pose
from robot_dynamics.model.parameters import parameters_of
from robot_dynamics.robot import Robot

pytestmark = pytest.mark.usefixtures("interpreted")
TOL = 1e-12  # times cond(H): what a backward stable solution may lose


def given(tree, rng):
    _, model = tree
    q, qd, tau = random_state(rng, model)
    qdd = rng.normal(size=model.nv)
    return model, [x.tolist() for x in (q, qd, tau, qdd)], parameters_of(model)


def bound(model, q, parameters):
    from robot_dynamics.dynamics.inertia_matrix import inertia_matrix

    return TOL * np.linalg.cond(np.array(inertia_matrix(model, q, parameters)))


@pytest.mark.book("H1", "H2")
def test_the_two_algorithms_agree(tree, rng):
    """By articulated bodies and by the inertia matrix come the same accelerations and forces."""
    model, state, parameters = given(tree, rng)
    prescribed = set(range(0, len(model.bodies), 2))
    ours = hybrid_dynamics(model, *state, parameters, prescribed)
    others = hybrid_dynamics_by_inertia_matrix(model, *state, parameters, prescribed)
    tol = bound(model, state[0], parameters)
    for one, other in zip(ours, others, strict=True):
        assert_allclose(one, other, rtol=0, atol=tol * np.max(np.abs(other)))


@pytest.mark.book("H1", "H2")
@pytest.mark.parametrize("algorithm", [hybrid_dynamics, hybrid_dynamics_by_inertia_matrix])
def test_accelerations_and_forces_belong_together(tree, rng, algorithm):
    """ID of the accelerations are the forces, and the given values are unchanged."""
    from robot_dynamics.dynamics.inverse import inverse_dynamics

    model, (q, qd, tau, qdd), parameters = given(tree, rng)
    prescribed = set(range(1, len(model.bodies), 2))
    motion, forces = algorithm(model, q, qd, tau, qdd, parameters, prescribed)
    expected = inverse_dynamics(model, q, qd, motion, parameters)
    tol = bound(model, q, parameters) * np.max(np.abs(expected))
    assert_allclose(forces, expected, rtol=0, atol=tol)
    for i, at in enumerate(model.v_slices):
        assert (motion[at], forces[at])[i not in prescribed] == (qdd[at], tau[at])[
            i not in prescribed
        ]


@pytest.mark.book("H1", "H2")
@pytest.mark.parametrize("algorithm", [hybrid_dynamics, hybrid_dynamics_by_inertia_matrix])
def test_hybrid_dynamics_includes_forward_and_inverse_dynamics(tree, rng, algorithm):
    """With no joint prescribed it is forward dynamics, with all of them inverse dynamics."""
    from robot_dynamics.dynamics.forward import forward_dynamics
    from robot_dynamics.dynamics.inverse import inverse_dynamics

    model, (q, qd, tau, qdd), parameters = given(tree, rng)
    motion, _ = algorithm(model, q, qd, tau, qdd, parameters, ())
    free = forward_dynamics(model, q, qd, tau, parameters)
    tol = bound(model, q, parameters)
    assert_allclose(motion, free, rtol=0, atol=tol * np.max(np.abs(free)))
    _, forces = algorithm(model, q, qd, tau, qdd, parameters, range(len(model.bodies)))
    held = inverse_dynamics(model, q, qd, qdd, parameters)
    assert_allclose(forces, held, rtol=0, atol=1e-12 * np.max(np.abs(held)))


@pytest.mark.book("H2", "B3")
def test_a_base_recoils(rng):
    """Joints of a body in space are moved: base and efforts obey momentum, in batches as well."""
    mechanism = random_tree(rng, ["floating", "revolute", "prismatic", "revolute"], chain=True)
    robot = Robot(build(mechanism, gravity=(0.0, 0.0, 0.0)))
    move = robot.hybrid_dynamics(robot.model.joint_names[1:])
    q, qd, qdd = random_state(rng, robot.model, 3)
    motion, forces = move(q, qd, np.zeros_like(qd), qdd)
    assert_allclose(motion[:, 6:], qdd[:, 6:], rtol=0, atol=0)
    A, Ad = robot.centroidal_momentum_matrix(q), robot.centroidal_momentum_matrix_rate(q, qd)
    rate = np.einsum("nij,nj->ni", A, motion) + np.einsum("nij,nj->ni", Ad, qd)
    # Momentum rates of single joints are some ten; sums of a hundred terms.
    assert_allclose(rate, 0.0, atol=1e-11)
    expected = robot.inverse_dynamics(q, qd, motion)
    assert_allclose(forces, expected, rtol=0, atol=1e-12 * np.max(np.abs(expected)) * 10)


@pytest.mark.book("H2")
def test_rotors_and_springs_are_counted(rng):
    """Rotors, springs and dampers of a prescribed joint are in its force."""
    arm = LinkElement("arm", 2.0, (0.3, 0.0, 0.0), 0.02 * np.eye(3))
    hinge = JointElement(
        "hinge", "revolute", "base", "arm", pose((0, 0, 1)), (0.0, 1.0, 0.0),
        armature=0.5, stiffness=3.0, damping=0.7,
    )  # fmt: skip
    mechanism = Mechanism("a", (LinkElement("base"), arm), (hinge,))
    robot = Robot(build(mechanism, joint_friction=True))
    q, qd, qdd = np.array([0.4]), np.array([1.5]), np.array([2.5])
    _, forces = robot.hybrid_dynamics(["hinge"])(q, qd, 0.0 * q, qdd)
    inertia = 0.02 + 2.0 * 0.3**2 + 0.5
    weight = -2.0 * 9.81 * 0.3 * np.cos(0.4)
    assert_allclose(forces, inertia * qdd + weight + 3.0 * q + 0.7 * qd, rtol=1e-13)


@pytest.mark.book("H1")
def test_figure_9_1():
    """Joints 1 and 2 prescribed leave the tree of joints 3 to 7 with its sparsity."""
    from robot_dynamics.model.connectivity import WORLD, Tree

    tree = Tree((WORLD, 0, 0, 1, 1, 2, 2))
    assert tree.merged(range(2, 7)) == (WORLD, WORLD, WORLD, 0, 0)
    assert tree.merged([0, 3]) == (WORLD, 0)
    assert tree.merged([]) == ()


@pytest.mark.parametrize(
    ("names", "error", "words"),
    [(["elbow"], UnknownNameError, "elbow"), (["joint0"], RobotDynamicsError, "expected a tree")],
)
def test_unknown_joints_and_gears_are_refused(rng, names, error, words):
    """Unknown joints, and mechanisms with gears, are refused by name."""
    tree = random_tree(rng, ["revolute", "revolute"])
    gear = CouplingElement.gear("gear", "joint1", "joint0", 2.0)
    robot = Robot(build(Mechanism("m", tree.links, tree.joints, (), (gear,))))
    with pytest.raises(error, match=words):
        robot.hybrid_dynamics(names)
