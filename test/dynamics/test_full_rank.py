# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""C7: where the full-rank solution is believed, it is right; elsewhere the other one answers."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.spatial.transform import Rotation
from support import linkages
from support.closed_loops import LOOP_TYPES, closed_at
from support.mechanisms import random_pose, random_tree

from robot_dynamics.dynamics.closed_loop import closed_loop_forward_dynamics
from robot_dynamics.dynamics.full_rank import ACCURACY, SMALLEST_PIVOT, strong_rows
from robot_dynamics.dynamics.scaling import constraint_scales, coordinate_scales, tree_length
from robot_dynamics.model import pose
from robot_dynamics.model.parameters import parameters_of
from robot_dynamics.robot import Robot

TAU = np.array([0.3, 0.0, 0.0])


def parallelogram():
    """Return a parallelogram whose loop joint has turned axes, so that its rows are alike."""
    mechanism = linkages.four_bar("sphere_in_cylinder", lengths=(0.5, 0.9, 0.5), ground=0.9)
    turned = linkages.turn("z", 0.7)
    pin = replace(
        mechanism.loops[0],
        predecessor_pose=pose((0.9, 0.0, 0.0), turned),
        successor_pose=pose((0.5, 0.0, 0.0), turned),
    )
    return Robot.from_mechanism(replace(mechanism, loops=(pin,)))


def near_flat(angle):
    """Return closed positions and velocities with the crank at an angle from the flat pose."""
    return np.array([angle, -angle, angle - np.pi]), np.array([2.0, -2.0, 2.0])


def exact_accelerations(robot, q, qd):
    """Return the solution of (8.36) in rational numbers, from the same H, C, K and k."""
    H, C, K, k, _, _ = robot.constraint_terms(q, qd)
    n = len(H) + len(K)
    A = np.block([[H, K.T], [K, np.zeros((len(K), len(K)))]])
    b = [Fraction(t) - Fraction(c) for t, c in zip(TAU.tolist(), C.tolist(), strict=True)]
    b += [Fraction(x) for x in k.tolist()]
    M = [[*map(Fraction, row), right] for row, right in zip(A.tolist(), b, strict=True)]
    for i in range(n):
        pivot = max(range(i, n), key=lambda row: abs(M[row][i]))
        M[i], M[pivot] = M[pivot], M[i]
        for row in range(i + 1, n):
            factor = M[row][i] / M[i][i]
            M[row] = [x - factor * y for x, y in zip(M[row], M[i], strict=True)]
    x = [Fraction(0)] * n
    for i in reversed(range(n)):
        x[i] = (M[i][n] - sum(M[i][j] * x[j] for j in range(i + 1, n))) / M[i][i]
    return np.array([float(value) for value in x[: len(H)]])


def test_crossing_the_threshold_makes_no_jump():
    """Towards a singular pose both solutions are those in rational numbers, each as promised.

    The error of the full-rank one is that of numbers over the pivot; the other one loses half as
    many digits, and takes over before the promised accuracy is lost.
    """
    robot = parallelogram()
    fast_used, slow_used, jumps = 0, 0, []
    for angle in 10.0 ** -np.arange(0.0, 8.1, 0.125):
        q, qd = near_flat(angle)
        exact = exact_accelerations(robot, q, qd)
        scale = np.max(np.abs(exact))
        fast, _, pivot = robot.closed_loop(q, qd, TAU)
        slow = robot.constrained_motion(q, qd, TAU)
        assert (slow.rank, slow.redundant) == (2, ())
        # Rounding of the rows over their weakest one, with a condition of H of about ten.
        assert_allclose(slow.qdd, exact, atol=1e-15 * scale / slow.conditioning)
        if pivot >= SMALLEST_PIVOT:
            fast_used += 1
            assert_allclose(fast, exact, atol=ACCURACY * scale)
            if pivot < 10.0 * SMALLEST_PIVOT:
                jumps.append(np.max(np.abs(fast - slow.qdd)) / scale)
        else:
            slow_used += 1
        assert_allclose(robot.forward_dynamics(q, qd, TAU), exact, atol=ACCURACY * scale)
    assert fast_used > 20
    assert slow_used > 20
    assert 0.0 < max(jumps) < ACCURACY


def test_batches_cross_the_threshold_alike():
    """In a batch each state goes its own way, and gets the bits that it gets alone."""
    robot = parallelogram()
    states = [near_flat(angle) for angle in (1.0, 1e-2, 1e-5, 1e-7, 0.5)]
    q, qd = (np.array(x) for x in zip(*states, strict=True))
    batch = robot.forward_dynamics(q, qd, TAU)
    for at, state in enumerate(states):
        assert_allclose(batch[at], robot.forward_dynamics(*state, TAU), rtol=0, atol=0)


def test_at_the_singular_pose_itself():
    """At rest in the flat pose one row is gone: the motion is finite and the report says so."""
    robot = parallelogram()
    q, _ = near_flat(0.0)
    qdd = robot.forward_dynamics(q, np.zeros(3), TAU)
    motion = robot.constrained_motion(q, np.zeros(3), TAU)
    assert np.isfinite(qdd).all()
    assert_allclose(qdd, motion.qdd, rtol=0, atol=0)
    assert (motion.rank, motion.redundant) == (1, ("pin.y",))
    assert motion.undetermined == ("pin.x", "pin.y")


def rounded_ring(bars, error, seed=0):
    """Return a planar ring of hinges whose frames are off by an error in space, and positions."""
    b = linkages.Builder("ring")
    rng, parent = np.random.default_rng(seed), "base"
    for i in range(bars):
        off = Rotation.from_rotvec(error * rng.normal(size=3)).as_matrix()
        at = np.array([0.4 if i else 0.0, 0.0, 0.0]) + error * rng.normal(size=3)
        b.add(f"bar{i}", parent, at=tuple(at), rotation=off)
        parent = f"bar{i}"
    b.close("pin", "revolute", "base", parent, (0.5, 0, 0), (0.4, 0, 0))
    robot = Robot.from_mechanism(b.done())
    return robot, robot.assemble(np.linspace(0.5, 1.0, bars), tolerance=1e-3).q


@pytest.mark.parametrize("error", [1e-9, 1e-5])
@pytest.mark.parametrize("bars", [4, 5, 6])
def test_rounded_frames_do_not_lock_a_planar_loop(bars, error):
    """C7: rows that would be zero in a plane do not count, also where pivots are fine.

    With five bars and more, motions are left over for the three rows that are next to nothing:
    no row depends on the others, and the kernel by itself would hold the ring still.
    """
    robot, q = rounded_ring(bars, error)
    tau, rest = np.ones(bars), np.zeros(bars)
    motion = robot.constrained_motion(q, rest, tau)
    assert (motion.rank, motion.redundant) == (2, ("pin.rx", "pin.ry", "pin.z"))
    assert_allclose(robot.forward_dynamics(q, rest, tau), motion.qdd, rtol=0, atol=0)
    plane, _ = rounded_ring(bars, 0.0)
    flat = plane.assemble(q).q
    expected = plane.constrained_motion(flat, rest, tau).qdd
    scale = np.max(np.abs(expected))
    assert scale > 1.0
    # Errors in the frames act on accelerations in proportion, with conditions up to 1e3.
    assert_allclose(motion.qdd, expected, atol=1e3 * error * scale)
    # Forces of a few newtons bear the ring; locking would take 1 / error of them.
    assert np.max(np.abs(motion.multipliers)) < 20.0


def test_the_interpreted_pivot_is_the_compiled_one():
    """Over floats nothing is known to be constant; the omitted terms do not matter."""
    robot = Robot.from_mechanism(linkages.stewart_platform())
    q = robot.assemble().q
    qd, tau = np.zeros(24), np.zeros(24)
    parameters = parameters_of(robot.model)
    *_, pivot = closed_loop_forward_dynamics(
        robot.model, q.tolist(), qd.tolist(), tau.tolist(), parameters
    )
    assert_allclose(robot.closed_loop(q, qd, tau)[2], pivot, rtol=1e-9)


def test_wide_openings_keep_their_constraints():
    """Far from closure constraints still act: they bring the loops together."""
    robot = parallelogram()
    q = np.array([0.9, -0.5, 1.0])
    motion = robot.constrained_motion(q, np.zeros(3), TAU)
    assert motion.closure_error > 0.1
    assert motion.rank == 2
    _, _, pivot = robot.closed_loop(q, np.zeros(3), TAU)
    assert pivot > SMALLEST_PIVOT


@pytest.mark.parametrize("middle", ["floating", "spherical", "revolute"])
@pytest.mark.parametrize("kind", LOOP_TYPES)
def test_rows_called_strong_are(kind, middle, rng):
    """Rows that are not looked at have at least the size of one, wherever the joints are.

    A free body makes all rows strong whose direction does not depend on the placement, a ball in
    the loop those of rotations without a force in them, a hinge none.
    """
    tree = random_tree(rng, ["revolute", middle, "prismatic"], chain=True)
    q = Robot.from_mechanism(tree).model.neutral()
    ends = [("loop", "base", "link2", random_pose(rng))]
    robot = Robot.from_mechanism(closed_at(tree, q, ends, kind))
    model = robot.model
    strong = strong_rows(model)
    rows = model.loops[0].type.rows
    if kind in ("fixed", "cylindrical", "planar", "spherical", "prismatic"):
        free = {"floating": (True, True), "spherical": (True, False), "revolute": (False, False)}
        turns, moves = free[middle]
        assert strong == {i for i, row in enumerate(rows) if (turns if row.rotational else moves)}
    length = tree_length(model)
    for _ in range(20):
        step = 3.0 * rng.normal(size=model.nv)
        K, _ = robot.closure(np.array(model.integrate(q.tolist(), step.tolist())))
        J = constraint_scales(model, length)[:, None] * K / coordinate_scales(model, length)
        for row in strong:
            assert np.linalg.norm(J[row]) > 1.0 - 1e-12
