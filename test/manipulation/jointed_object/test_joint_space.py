# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The joint-space model reproduces the worked cases, and is the closed-loop engine in disguise."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from manipulation.jointed_object.cases import (
    NAMES,
    OBJECT_JOINTS,
    SWAP,
    closed_states,
    random_system,
    regular_states,
    state_of,
    system_of,
    terms_of,
)
from numpy.testing import assert_allclose
from support.papers import CASES, close_to

from robot_dynamics.control.jointed.law_program import jointed_law_program
from robot_dynamics.reproductions.joint_space import JointSpaceModel, joint_space_program
from robot_dynamics.robot import Robot
from robot_dynamics.spatial import Inertia, Rotation, Transform, Vector3


def in_report_order(f):
    return f if len(f) == 3 else f[SWAP]


@pytest.mark.parametrize("name", NAMES)
def test_terms_of_the_worked_cases(name):
    """D, C, H_A, H_B qd, A and A_dot qd are those of (24) to (30)."""
    terms, answer = terms_of(CASES[name]), CASES[name]["output"]
    rows = [0, 1, 2] if len(terms.A) == 3 else SWAP
    close_to(terms.D, answer["D"])
    close_to(terms.C, answer["C"])
    close_to(terms.H_A, answer["HA"])
    close_to(terms.H_B_qd, answer["HBqd"])
    close_to(terms.A[rows], answer["A"])
    close_to(terms.A_dot_qd[rows], answer["Adot_qd"])
    close_to(terms.point, answer["Q_cs"])


@pytest.mark.parametrize("name", NAMES)
def test_motion_and_forces_of_the_worked_cases(name):
    """Accelerations, the force between the parts, and both grasp wrenches are right."""
    case = CASES[name]
    terms, answer = terms_of(case), case["output"]
    qdd, f = terms.forward(state_of(case)[2])
    close_to(qdd, answer["qdd"])
    close_to(in_report_order(f), answer["f_cs2"])
    wrenches = terms.grasp_wrenches(qdd, f)[:, SWAP]
    close_to(wrenches[0], answer["f_c1"])
    close_to(wrenches[1], answer["f_c2"])


# The same equations twice; both solve with matrices of condition up to 1e6 or so.
TOL = 1e-9
SYSTEMS = [
    *((kind, (6, 6)) for kind in OBJECT_JOINTS),
    ("spherical", (6, 7)),
    ("spherical", (4, 5)),
    ("fixed", (7, 7)),
]


@pytest.mark.parametrize("states", [25, pytest.param(125, marks=pytest.mark.slow)])
@pytest.mark.parametrize(("kind", "joints"), SYSTEMS)
def test_it_is_the_closed_loop_engine(kind, joints, states):
    """Over 200 states, or 1000, with every object joint: motion and force are the engine's."""
    rng = np.random.default_rng(3)
    system = random_system(rng, kind, joints)
    near_singular = 0
    for there, q, qd in closed_states(rng, system, states):
        terms = JointSpaceModel(there).terms(q, qd)
        assert np.max(np.abs(terms.gap)) < 1e-12
        tau = 10.0 * rng.normal(size=terms.C.size)
        if np.linalg.cond(terms.A @ terms.D_inverse_A) > 1e5:
            near_singular += 1  # both are right to fewer digits there
            continue
        qdd, f = terms.forward(tau)
        robot = Robot(there.model)
        motion = robot.constrained_motion(q, qd, tau)
        assert_allclose(qdd, motion.qdd, rtol=0, atol=TOL * np.max(np.abs(motion.qdd)))
        # Forces in the engine are along the axes of the second part, here in world axes.
        push = terms.A.T @ f
        K = robot.constraint_terms(q, qd)[2]
        expected = -K.T @ motion.multipliers
        assert_allclose(push, expected, rtol=0, atol=TOL * np.max(np.abs(expected)))
    assert near_singular < states // 5


def test_the_projector():
    """Delta is idempotent and oblique, takes A^T to zero, and has rank n - c exactly (33)."""
    for name in NAMES:
        terms = terms_of(CASES[name])
        c, n = terms.A.shape
        yielding = np.linalg.solve(terms.D, terms.A.T)  # Delta = 1 - A^T (A D^-1 A^T)^-1 A D^-1
        Delta = np.eye(n) - terms.A.T @ np.linalg.solve(terms.A @ yielding, yielding.T)
        # Products of the entries of D^-1, of condition 1e4, are right to eleven digits.
        assert_allclose(Delta @ Delta, Delta, atol=1e-10)
        assert_allclose(Delta @ terms.A.T, 0.0, atol=1e-10)
        assert_allclose(Delta @ terms.D, (Delta @ terms.D).T, atol=1e-10)
        assert not np.allclose(Delta, Delta.T, atol=1e-3)
        assert_allclose(np.trace(Delta), n - c, rtol=1e-10)
        assert np.linalg.matrix_rank(Delta, tol=1e-8) == n - c
        answer = CASES[name]["output"]
        assert_allclose(np.trace(Delta), answer["trace_Delta"], rtol=1e-9)
        assert_allclose(np.linalg.norm(Delta), answer["fro_Delta"], rtol=1e-9)


def test_the_family_of_torques():
    """All torques of the family give one motion; each transmits the force that it was made for."""
    rng = np.random.default_rng(0)
    terms = terms_of(CASES["U2 spherical 6+7"])
    qdd, _ = terms.forward(rng.normal(size=13))
    for f in 10.0 * rng.normal(size=(5, 3)):
        again, transmitted = terms.forward(terms.inverse(qdd, f))
        assert_allclose(again, qdd, atol=1e-9 * np.max(np.abs(qdd)))
        assert_allclose(transmitted, f, atol=1e-9 * np.max(np.abs(f)))
    weights = rng.uniform(0.1, 10.0, 13)
    least, f = terms.least_torque(qdd, weights)
    assert_allclose(terms.inverse(qdd, f), least, atol=1e-12)
    # The least of a quadratic function: it does not fall along the family.
    assert_allclose(terms.A @ (weights * least), 0.0, atol=1e-8)


def test_rates_are_derivatives():
    """A_dot qd and G_dot qd are the derivatives of A qd and G qd along qd."""
    case = CASES["U2 spherical 6+7"]
    q, qd, _ = state_of(case)
    model = JointSpaceModel(system_of(case))
    terms, h = model.terms(q, qd), 1e-5
    before, after = model.terms(q - h * qd, qd), model.terms(q + h * qd, qd)
    # Central differences of entries near 10 leave h^2 times third derivatives: 1e-8 or so.
    assert_allclose((after.A @ qd - before.A @ qd) / (2 * h), terms.A_dot_qd, atol=1e-7)
    assert_allclose((after.G @ qd - before.G @ qd) / (2 * h), terms.G_dot_qd, atol=1e-7)


def test_parts_carry_over_to_the_engine():
    """Other inertias of the parts change both models alike."""
    case = CASES["U2 spherical 6+7"]
    system = system_of(case)
    q, qd, tau = state_of(case)
    heavy = [Inertia.of([2.0 * v for v in part.inertia.components()]) for part in system.parts]
    changed = system.with_part_inertias(heavy)
    qdd, _ = JointSpaceModel(changed).terms(q, qd).forward(tau)
    assert np.max(np.abs(qdd - case["output"]["qdd"])) > 0.1
    motion = Robot(changed.model).constrained_motion(q, qd, tau)
    assert_allclose(qdd, motion.qdd, atol=TOL * np.max(np.abs(qdd)))


@pytest.mark.parametrize("kind", OBJECT_JOINTS)
def test_motions_that_the_joint_allows(kind):
    """They make up all relative motions of the parts, one for each free direction."""
    free = {"spherical": 3, "universal": 2, "revolute": 1, "prismatic": 1, "fixed": 0}[kind]
    for _, terms, _, _ in regular_states(kind, (6, 6)):
        assert terms.joint_motions.shape == (6, free)
        # Velocities of both parts at the point, from those of their centres of mass.
        twist = terms.velocity.copy()
        twist[:, 3:] += np.cross(twist[:, :3], terms.point - terms.centers)
        relative = twist[1] - twist[0]
        if free:
            parts = np.linalg.lstsq(terms.joint_motions, relative, rcond=None)[0]
            relative = relative - terms.joint_motions @ parts
        assert_allclose(relative, 0.0, atol=1e-10 * max(1.0, np.abs(twist).max()))
        if kind == "spherical":
            assert_allclose(terms.joint_motions, np.eye(6, 3), atol=1e-12)


def test_another_grasp_needs_no_compilation():
    """Nothing of inertias and placements of the parts is in the program."""
    system = random_system(np.random.default_rng(3), "revolute")
    turned = Transform(Rotation.from_quaternion(0.1, -0.7, 0.5, 0.5), Vector3.of([0.1, 0.2, -0.3]))
    parts = tuple(
        replace(part, placement=turned, tool_placement=turned.inverse()) for part in system.parts
    )
    other = replace(system, parts=parts)
    assert joint_space_program(other).fingerprint == joint_space_program(system).fingerprint
    assert jointed_law_program(other).fingerprint == jointed_law_program(system).fingerprint
