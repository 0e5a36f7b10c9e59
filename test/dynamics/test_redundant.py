# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Constraints that depend on one another: unique accelerations, and the redundant ones by name."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.spatial.transform import Rotation
from support.mechanisms import random_state, two_arms

from robot_dynamics.dynamics.rank import constraint_rank
from robot_dynamics.dynamics.redundant import rank_revealing_solution
from robot_dynamics.dynamics.scaling import constraint_names, model_length
from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.model import (
    JointElement,
    LinkElement,
    LoopElement,
    Mechanism,
    build,
    joint_type,
    pose,
    transform_of,
)
from robot_dynamics.robot import Robot

# The angles of a rhombus, whose end comes back to its beginning.
RHOMBUS = np.array([0.3, 1.0, np.pi - 1.0, 1.0])
TOL = 1e-10  # conditions of 1e4, and as much again for A


def solution(model, q, qd, tau, **options):
    H, C, K, k, _, _ = Robot(model).constraint_terms(q, qd)
    return rank_revealing_solution(model, H, tau - C, K, k, **options)


@pytest.fixture
def state(rng):
    """Return two arms that hold an object, and a closed state with a force."""
    system, q, _ = two_arms()
    _, qd, tau = random_state(rng, system.model)
    H, _, K, _, _, _ = Robot(system.model).constraint_terms(q, qd)
    HK = np.linalg.solve(H, K.T)
    return system.model, q, qd - HK @ np.linalg.solve(K @ HK, K @ qd), 10 * tau


def planar_linkage():
    """Return a ring of four bars on parallel hinges, closed by a weld: mobility 1, rank 3."""
    bar = LinkElement("", 1.0, (0.25, 0.0, 0.0), np.diag([0.001, 0.02, 0.02]))
    links = [LinkElement("base")] + [replace(bar, name=f"bar{i}") for i in range(4)]
    at = [np.eye(4)] + [pose((0.5, 0.0, 0.0))] * 3
    joints = [
        JointElement(f"hinge{i}", "revolute", links[i].name, f"bar{i}", at[i]) for i in range(4)
    ]
    turned = Rotation.from_euler("z", -RHOMBUS.sum()).as_matrix()
    loop = LoopElement("ring", "fixed", "bar3", "base", pose((0.5, 0.0, 0.0), turned), np.eye(4))
    return build(Mechanism("ring", tuple(links), tuple(joints), (loop,)))


def test_names_tell_loop_and_direction():
    """A constraint is called by its loop joint and the direction it blocks, moments first."""
    assert constraint_names(planar_linkage()) == (
        "ring.rx", "ring.ry", "ring.rz", "ring.x", "ring.y", "ring.z",
    )  # fmt: skip


def test_at_full_rank_all_multipliers_are_determined(state):
    """With independent constraints it is the plain solution: all determined, nothing left."""
    model, q, qd, tau = state
    motion = solution(model, q, qd, tau)
    qdd, multipliers, _ = Robot(model).closed_loop(q, qd, tau)
    assert (motion.rank, motion.redundant) == (12, ())
    assert motion.determined.all()
    assert motion.residual < TOL * np.max(np.abs(qdd))
    assert_allclose(motion.qdd, qdd, atol=TOL * np.max(np.abs(qdd)))
    assert_allclose(motion.multipliers, multipliers, atol=TOL * np.max(np.abs(multipliers)))


def test_the_same_weld_twice(state):
    """Motion and total force stay the same; the second weld is named, its force shared."""
    model, q, qd, tau = state
    again = replace(model.loops[0], name="again")
    motion = solution(replace(model, loops=(*model.loops, again)), q, qd, tau)
    once = solution(model, q, qd, tau)
    assert motion.rank == 12
    assert motion.redundant == tuple(f"again.{d}" for d in ("rx", "ry", "rz", "x", "y", "z"))
    assert np.isfinite(motion.multipliers).all()
    assert_allclose(motion.qdd, once.qdd, atol=TOL * np.max(np.abs(once.qdd)))
    scale = np.max(np.abs(once.multipliers))
    # Of minimum norm: half each.
    assert_allclose(motion.multipliers[:6], 0.5 * once.multipliers[:6], atol=TOL * scale)
    assert_allclose(motion.multipliers[12:], 0.5 * once.multipliers[:6], atol=TOL * scale)
    assert_allclose(motion.multipliers[6:12], once.multipliers[6:], atol=TOL * scale)
    assert motion.determined.tolist() == [False] * 6 + [True] * 6 + [False] * 6
    names = constraint_names(replace(model, loops=(*model.loops, again)))
    assert motion.undetermined == (*names[:6], *names[12:])
    assert (motion.length, motion.closure_error) == (model_length(model), 0.0)
    assert 0.0 < motion.tolerance < 1e-9 < motion.conditioning


def test_multipliers_of_least_norm(state):
    """With a pin beside a weld forces are shared so that the sum of their squares is least, with
    moments as forces at the length: no idle combination is left in them, whatever the inertia.
    """
    model, q, qd, tau = state
    grasp = model.loops[0]
    shifted = transform_of(pose((0.3, -0.2, 0.1)))
    pin = replace(
        grasp,
        name="pin",
        type=joint_type("spherical"),
        predecessor_placement=shifted.compose(grasp.predecessor_placement),
        successor_placement=shifted.compose(grasp.successor_placement),
    )
    both = replace(model, loops=(*model.loops, pin))
    H, C, K, k, error, _ = Robot(both).constraint_terms(q, qd)
    assert np.max(np.abs(error)) < 1e-14
    for length in (0.1, 1.0, 10.0):
        ranked = constraint_rank(both, K, error, length=length)
        motion = rank_revealing_solution(both, H, tau - C, K, k, ranked=ranked)
        assert (motion.rank, motion.redundant) == (12, ("pin.x", "pin.y", "pin.z"))
        weights = np.tile([1.0 / length] * 3 + [1.0] * 3, 2).tolist() + [1.0] * 3
        forces = motion.multipliers * weights
        # Any other multipliers with the same effect on the joints have a larger norm.
        idle = np.linalg.svd(K.T / weights)[2][12:]
        scale = np.max(np.abs(forces))
        assert_allclose(idle @ forces, 0.0, atol=TOL * scale)
        assert_allclose(K.T @ motion.multipliers, H @ motion.qdd + C - tau, atol=TOL * scale)


def test_constraints_that_keep_a_ring_planar_are_redundant():
    """A planar ring in space: the constraints out of its plane are redundant, and move nothing."""
    model = planar_linkage()
    rest, push = np.zeros(4), np.array([1.0, 0.0, 0.0, 0.0])
    _, _, K, _, error, _ = Robot(model).constraint_terms(RHOMBUS, rest)
    free = solution(model.replace(gravity=(0.0, 0.0, 0.0)), RHOMBUS, rest, push)
    assert_allclose(error, 0.0, atol=1e-15)
    assert free.rank == 3
    assert free.redundant == ("ring.rx", "ring.ry", "ring.z")
    assert free.determined.tolist() == [False, False, True, True, True, False]
    assert_allclose(free.multipliers[[0, 1, 5]], 0.0, atol=1e-12)
    assert free.residual < 1e-12
    # One freedom is left: opposite corners turn alike, along the torque.
    assert free.qdd[0] > 0
    assert_allclose(free.qdd, free.qdd[0] * np.array([1.0, -1.0, 1.0, -1.0]), rtol=1e-10)
    assert np.linalg.matrix_rank(K) == 3


def test_the_unit_of_length_does_not_matter(state):
    """In millimetres, with the length given in them, rank, names and motion are the same."""
    model, q, qd, tau = state
    twice = replace(model, loops=(*model.loops, replace(model.loops[1], name="again")))
    H, C, K, k, _, _ = Robot(twice).constraint_terms(q, qd)
    # All joints but the object's linear ones are angles; linear rows of K and k get 1000.
    rows = np.tile([1.0] * 3 + [1e3] * 3, 3)
    columns = np.ones(20)
    columns[-3:] = 1e3  # the object's velocity in mm/s
    H_mm, K_mm = H * 1e6 / np.outer(columns, columns), K * rows[:, None] / columns
    force_mm = (tau - C) * 1e6 / columns
    metres = rank_revealing_solution(
        twice, H, tau - C, K, k, ranked=constraint_rank(twice, K, length=0.3)
    )
    millimetres = rank_revealing_solution(
        twice, H_mm, force_mm, K_mm, k * rows, ranked=constraint_rank(twice, K_mm, length=300.0)
    )
    assert (metres.rank, metres.redundant) == (millimetres.rank, millimetres.redundant)
    scale = np.max(np.abs(metres.qdd))
    assert_allclose(millimetres.qdd / columns, metres.qdd, atol=1e-9 * scale)
    assert_allclose(
        millimetres.multipliers * rows * 1e-6,
        metres.multipliers,
        atol=1e-9 * np.max(np.abs(metres.multipliers)),
    )


def test_contradicting_constraints_leave_a_residual(state):
    """Two welds that ask for different accelerations are met in the mean, and that is reported."""
    model, q, qd, tau = state
    twice = replace(model, loops=(*model.loops, replace(model.loops[0], name="again")))
    H, C, K, k, _, _ = Robot(twice).constraint_terms(q, qd)
    k = k.copy()
    k[12:] += 0.2
    motion = rank_revealing_solution(twice, H, tau - C, K, k)
    assert_allclose(motion.residual, 0.1, rtol=1e-6)
    assert_allclose(K[:6] @ motion.qdd - k[:6], 0.1, rtol=1e-6)


def test_a_known_rank_is_used(state, rng):
    """Two welds that a small opening makes contradict each other act as one, if it is known."""
    model, q, qd, tau = state
    twice = replace(model, loops=(*model.loops, replace(model.loops[0], name="again")))
    H, C, K, k, _, _ = Robot(twice).constraint_terms(q, qd)
    turned = K.copy()
    turned[12:] += 1e-7 * rng.normal(size=K[12:].shape)
    once = solution(model, q, qd, tau)
    scale = np.max(np.abs(once.qdd))
    naive = rank_revealing_solution(twice, H, tau - C, turned, k)
    assert naive.rank > 12
    known = rank_revealing_solution(
        twice, H, tau - C, turned, k, ranked=constraint_rank(twice, turned, rank=12)
    )
    assert known.rank == 12
    # The opening itself acts in proportion to its size, and conditions of 1e2.
    assert_allclose(known.qdd, once.qdd, atol=1e-4 * scale)
    assert np.max(np.abs(known.multipliers)) < 10 * np.max(np.abs(once.multipliers))
    # A rank that is not there is not believed.
    assert constraint_rank(twice, K, rank=18).rank == 12


def test_without_loops_the_inertia_matrix_is_inverted(rng):
    """Without loops it is H^-1 times the force."""
    links = (LinkElement("base"), LinkElement("body", 2.0, inertia=np.eye(3)))
    model = build(Mechanism("m", links, (JointElement("j", "prismatic", "base", "body"),)))
    motion = rank_revealing_solution(
        model, np.array([[2.0]]), np.array([3.0]), np.zeros((0, 1)), np.zeros(0)
    )
    assert_allclose(motion.qdd, [1.5])
    assert (motion.rank, motion.residual, motion.redundant) == (0, 0.0, ())


@pytest.mark.parametrize("which", ["H", "tau - C", "K", "k"])
def test_numbers_that_are_none_are_refused(state, which):
    """Nothing that is not finite gets through; the message says where it was."""
    model, q, qd, tau = state
    H, C, K, k, _, _ = (np.array(x) for x in Robot(model).constraint_terms(q, qd))
    arrays = {"H": H, "tau - C": tau - C, "K": K, "k": k}
    arrays[which].flat[0] = np.nan
    with pytest.raises(RobotDynamicsError, match=f"^{which} "):
        rank_revealing_solution(model, *arrays.values())


def test_a_body_without_inertia_is_refused(state):
    """An inertia matrix that is not positive definite is said to be one."""
    model, q, qd, tau = state
    H, C, K, k, _, _ = (np.array(x) for x in Robot(model).constraint_terms(q, qd))
    H[3] = H[:, 3] = 0.0
    with pytest.raises(RobotDynamicsError, match="no inertia"):
        rank_revealing_solution(model, H, tau - C, K, k)
