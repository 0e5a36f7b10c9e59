# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Equilibria, natural frequencies, modes and poles."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.linalg import eigh
from support import linkages
from support.mechanisms import random_link, random_tree

from robot_dynamics.dynamics.vibration import equilibrium, vibrations
from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.model import JointElement, LinkElement, LoopElement, Mechanism, build, pose
from robot_dynamics.robot import Robot

G = 9.81


def pendulum(length=0.7):
    """Return a point mass on a massless rod that hangs along -z at zero."""
    links = (LinkElement("world"), LinkElement("bob", 2.0, (0.0, 0.0, -length)))
    return Mechanism(
        "p", links, (JointElement("pin", "revolute", "world", "bob", axis=(0, 1, 0)),)
    )


def test_a_pendulum_hangs_and_swings():
    """Newton's method finds the hanging bob; its frequency is that of the book, sqrt(g / l)."""
    model = build(pendulum())
    q = equilibrium(model, [0.9])
    assert_allclose(q, 0.0, atol=1e-12)
    expected = np.sqrt(G / 0.7) / (2.0 * np.pi)
    assert_allclose(vibrations(model, q).frequencies, expected, rtol=1e-12)
    # Upside down it does not swing but falls, at the same rate.
    assert_allclose(vibrations(model, [np.pi]).frequencies, -expected, rtol=1e-12)


def test_constant_forces_are_part_of_the_balance():
    """A pendulum held aside swings at sqrt(g cos(angle) / l); without the force it is refused."""
    model, tau = build(pendulum()), np.array([2.0 * G * 0.7 * np.sin(0.5)])
    q = equilibrium(model, [0.3], tau)
    assert_allclose(q, 0.5, rtol=1e-12)
    expected = np.sqrt(G * np.cos(0.5) / 0.7) / (2.0 * np.pi)
    assert_allclose(vibrations(model, q, tau).frequencies, expected, rtol=1e-10)
    with pytest.raises(RobotDynamicsError, match="out of balance by"):
        vibrations(model, q)


@pytest.mark.parametrize("in_tree", [True, False])
def test_mass_on_spring_and_damper(in_tree):
    """m x'' + d x' + k x = 0, whether the spring is in the tree joint or in a loop joint."""
    m, d, k = 2.0, 3.0, 50.0
    links = (LinkElement("world"), LinkElement("mass", m))
    springy = {"stiffness": k, "damping": d}
    rail = JointElement("rail", "prismatic", "world", "mass", **(springy if in_tree else {}))
    loops = (
        ()
        if in_tree
        else (
            LoopElement(
                "spring", "floating", "world", "mass",
                stiffness=(0, 0, 0, 0, 0, k), damping=(0, 0, 0, 0, 0, d),
            ),
        )
    )  # fmt: skip
    model = build(Mechanism("m", links, (rail,), loops))
    q = equilibrium(model, [0.2])
    assert_allclose(q, -m * G / k, rtol=1e-12)
    found = vibrations(model, q)
    assert_allclose(found.frequencies, np.sqrt(k / m) / (2.0 * np.pi), rtol=1e-12)
    assert_allclose(np.sort_complex(found.poles), np.sort_complex(np.roots([m, d, k])), rtol=1e-9)
    assert_allclose(found.damping_ratios, d / (2.0 * np.sqrt(k * m)), rtol=1e-9)
    free = vibrations(model, q, damping=False)
    assert_allclose(free.damping[0, 0], 0.0 if in_tree else d, rtol=1e-12)


def test_a_body_on_a_bushing():
    """A rigid body on six springs: the generalised eigenvalues of its inertia and the springs."""
    rng = np.random.default_rng(3)
    body = random_link(rng, "body")
    stiffness = rng.uniform(100.0, 1000.0, 6)
    model = build(
        Mechanism(
            "b",
            (LinkElement("world"), body),
            (JointElement("free", "floating", "world", "body"),),
            (LoopElement("s", "floating", "world", "body", stiffness=tuple(stiffness)),),
        ),
        gravity=(0, 0, 0),
    )
    found = vibrations(model, model.neutral())
    H = Robot(model).inertia_matrix(model.neutral())
    expected = np.sqrt(eigh(np.diag(stiffness), H, eigvals_only=True)) / (2.0 * np.pi)
    assert_allclose(found.frequencies, expected, rtol=1e-10)
    assert_allclose(found.modes.T @ H @ found.modes, np.eye(6), atol=1e-10)


def test_stiffness_is_the_derivative_of_the_forces():
    """In a tree of all joints, against central differences along each coordinate."""
    rng = np.random.default_rng(1)
    model = build(
        random_tree(rng, ["floating", "revolute", "spherical", "prismatic", "universal"])
    )
    robot, still = Robot(model), np.zeros(model.nv)
    q = np.array(model.normalized((model.neutral() + rng.normal(size=model.nq)).tolist()))
    tau = robot.bias_forces(q, still)
    found = vibrations(model, q, tau)
    h = 1e-5
    for i, unit in enumerate(np.eye(model.nv)):
        ahead, behind = (
            np.array(model.integrate(q.tolist(), (s * unit).tolist())) for s in (h, -h)
        )
        slope = (robot.bias_forces(ahead, still) - robot.bias_forces(behind, still)) / (2.0 * h)
        # Differences over 2e-5 leave their square, and rounding of forces of about 100.
        assert_allclose(found.stiffness[:, i], slope, atol=1e-7 * np.max(np.abs(tau)))


def test_a_closed_loop_swings_like_its_energy():
    """A hanging four-bar: one mode, whose stiffness is the curvature of the potential energy."""
    robot = Robot.from_mechanism(linkages.four_bar())
    model = robot.model
    start = robot.assemble(held={"crank_joint": -1.0}).q
    q = equilibrium(model, start)
    found = vibrations(model, q)
    assert len(found.frequencies) == 1
    h = 1e-3
    crank = model.joint_index("crank_joint")

    def energies(angle):
        guess = q.copy()
        guess[crank] = angle
        at = robot.assemble(guess, held=["crank_joint"], velocities={"crank_joint": 1.0})
        return robot.energies(at.q, at.qd)

    steps = h * np.array([-2.0, -1.0, 0.0, 1.0, 2.0])
    kinetic, potential = np.array([energies(q[crank] + s) for s in steps]).T
    curvature = potential @ np.array([-1.0, 16.0, -30.0, 16.0, -1.0]) / (12.0 * h * h)
    expected = np.sqrt(curvature / (2.0 * kinetic[2])) / (2.0 * np.pi)
    # Fourth-order differences over a thousandth: rounding of the energy over its square.
    assert_allclose(found.frequencies[0], expected, rtol=1e-7)


def test_twice_the_same_constraint_changes_nothing():
    """A loop joint given twice has multipliers that nothing determines, and the same modes."""
    mechanism = linkages.four_bar()
    twice = Mechanism(
        "twice",
        mechanism.links,
        mechanism.joints,
        (*mechanism.loops, LoopElement("again", *_of(mechanism.loops[0]))),
    )
    found = []
    for which in (mechanism, twice):
        robot = Robot.from_mechanism(which)
        q = equilibrium(robot.model, robot.assemble(held={"crank_joint": -1.0}).q)
        found.append(vibrations(robot.model, q).frequencies)
    assert_allclose(found[1], found[0], rtol=1e-9)


def _of(loop):
    """Return type, ends and poses of a loop joint."""
    ends = (loop.type, loop.predecessor, loop.successor)
    return (*ends, loop.predecessor_pose, loop.successor_pose)


def test_nothing_holds_it():
    """A body that falls has no equilibrium, which is said; one at rest in space is free."""
    links = (LinkElement("world"), LinkElement("body", 1.0, inertia=np.eye(3)))
    free = (JointElement("free", "floating", "world", "body", pose((0, 0, 1))),)
    falling, floating = (
        build(Mechanism("b", links, free), gravity=g) for g in ((0, 0, -G), (0, 0, 0))
    )
    with pytest.raises(RobotDynamicsError, match=r"b: .*equilibrium.*\b50\b"):
        equilibrium(falling, falling.neutral())
    assert_allclose(vibrations(floating, floating.neutral()).frequencies, 0.0, atol=1e-9)


@pytest.mark.parametrize(
    ("q", "tau", "message"),
    [
        ([0.0, 0.0], None, r"\bq\b.*shape"),
        ([np.nan], None, r"\bq\b.*finite"),
        ([0.0], [], "tau has"),
    ],
)
def test_arguments_that_do_not_fit(q, tau, message):
    """Shapes and numbers are refused in one sentence."""
    with pytest.raises(RobotDynamicsError, match=message):
        vibrations(build(pendulum()), q, tau)
