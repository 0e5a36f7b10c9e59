# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Method 3 as a program: G and g along pivots settled beforehand, and the pivot that tells."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from numpy.testing import assert_allclose
from support import linkages
from support.closed_loops import LINKAGES, closed_state

from robot_dynamics.dynamics import algorithm
from robot_dynamics.dynamics.elimination import (
    INDEPENDENT_DYNAMICS,
    eliminate,
    elimination_order,
)
from robot_dynamics.dynamics.full_rank import SMALLEST_PIVOT
from robot_dynamics.dynamics.independent import form_in
from robot_dynamics.dynamics.independent_rows import CLOSED_FORWARD_DYNAMICS
from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.robot import Robot


@pytest.mark.parametrize("name", LINKAGES)
def test_c9_g_and_small_g(name, rng):
    """Row C9: as scalars G and g are those found with NumPy, at states the pivots were not made
    for.
    """
    robot = Robot.from_mechanism(LINKAGES[name])
    model = robot.model
    q = closed_state(robot, rng)[0]
    pivots = elimination_order(model, *robot.closure(q), q)
    q, qd, _ = closed_state(robot, rng)
    _, _, K, k, _, _ = robot.constraint_terms(q, qd)
    found = eliminate(model, K.tolist(), k.tolist(), pivots)
    form = form_in(model, K, k, found.independent)
    scale = form.conditioning
    assert_allclose(np.array(found.columns).T, form.G, atol=1e-10 * scale * np.max(np.abs(form.G)))
    assert_allclose(found.g, form.g, atol=1e-10 * scale * (1.0 + np.max(np.abs(form.g))))
    assert found.pivot > 1e-3


@pytest.mark.parametrize("name", LINKAGES)
def test_c6_compiled_elimination_equals_method_2(name, rng):
    """Row C6: compiled, at any rank, single and in batches, the motion is that of method 2."""
    robot = Robot.from_mechanism(LINKAGES[name])
    states = [closed_state(robot, rng) for _ in range(3)]
    solve = robot.independent_dynamics(q=states[0][0])
    together = solve(*map(np.array, zip(*states, strict=True)))
    for i, state in enumerate(states):
        qdd, pivot = solve(*state)
        expected = robot.constrained_motion(*state).qdd
        assert SMALLEST_PIVOT < pivot <= 1.0
        # The pivot says how many digits are left of sixteen.
        assert_allclose(qdd, expected, atol=1e-12 / pivot * np.max(np.abs(expected)))
        assert_allclose(together[0][i], qdd, atol=0.0)
        assert together[1][i] == pivot


def test_a_dead_point_shows_in_the_pivot(rng):
    """At the crank's dead point the pivot of its coordinate is zero, and another's is not."""
    robot = Robot.from_mechanism(linkages.four_bar(lengths=(0.6, 0.5, 0.5), ground=0.8))
    away = robot.assemble(np.array([1.4, -1.0, -0.8]), held={"rocker_joint": -0.8}).q
    crank = robot.independent_dynamics(["crank_joint"], q=away)
    rocker = robot.independent_dynamics(["rocker_joint"], q=away)
    _, qd, tau = closed_state(robot, rng)
    dead = np.array([np.pi / 2, -np.pi / 2 - np.arctan2(0.6, 0.8), 0.0])
    assert crank(away, 0 * qd, tau)[1] > 0.1
    with np.errstate(divide="ignore", invalid="ignore"):
        assert not crank(dead, 0 * qd, tau)[1] >= SMALLEST_PIVOT
    qdd, pivot = rocker(dead, 0 * qd, tau)
    assert pivot > 0.1
    expected = robot.constrained_motion(dead, 0 * qd, tau).qdd
    assert_allclose(qdd, expected, atol=1e-11 * np.max(np.abs(expected)))


def test_a_rank_that_grew_is_noticed(rng):
    """Pivots made where the arms of Fig 8.2 are free leave a constraint out; elsewhere it counts,
    and the flag says so.
    """
    robot = Robot.from_mechanism(linkages.folding_arms())
    folded = np.array([0.0, 0.4, np.pi, 1.1, np.pi])
    solve = robot.independent_dynamics(q=folded)
    q, qd, tau = closed_state(robot, rng)
    assert robot.constrained_motion(q, qd, tau).rank == 4
    assert not solve(q, qd, tau)[1] >= SMALLEST_PIVOT
    qdd, pivot = solve(folded, np.zeros(5), tau)
    assert pivot > SMALLEST_PIVOT
    expected = robot.constrained_motion(folded, np.zeros(5), tau).qdd
    assert_allclose(qdd, expected, atol=1e-10 * np.max(np.abs(expected)))


def test_zeros_are_kept():
    """The order of the pivots leaves the legs of a platform to themselves, which takes fewer
    operations than multipliers first.
    """
    robot = Robot.from_mechanism(linkages.stewart_platform())
    platform = [f"platform_joint.{d}" for d in ("rx", "ry", "rz", "x", "y", "z")]
    q = robot.assemble(limits=False).q
    pivots = elimination_order(robot.model, *robot.closure(q), q, platform)
    rows = Counter(pivot.row // 3 for pivot in pivots)
    assert set(rows.values()) == {3}  # three of each ball joint
    ours = INDEPENDENT_DYNAMICS.program(robot.model, pivots, more=len(pivots)).operation_counts()
    theirs = CLOSED_FORWARD_DYNAMICS.program(robot.model).operation_counts()
    assert sum(ours.values()) < 0.9 * sum(theirs.values())


def test_nan_is_handed_on(rng):
    """An argument that is not a number leaves a pivot that is none."""
    robot = Robot.from_mechanism(linkages.four_bar())
    state = closed_state(robot, rng)
    solve = robot.independent_dynamics()
    for which in range(3):
        spoilt = [x.copy() for x in state]
        spoilt[which][0] = np.nan
        with np.errstate(invalid="ignore"):
            assert not solve(*spoilt)[1] >= SMALLEST_PIVOT


def test_coordinates_that_do_not_fit_are_refused():
    """As `independent_form` has it."""
    robot = Robot.from_mechanism(linkages.four_bar())
    with pytest.raises(RobotDynamicsError, match="cannot stand for the motion"):
        robot.independent_dynamics(["crank_joint", "rocker_joint"])


def flat(angle):
    """A parallelogram, how its constraints are there, and a state of it that is at rest."""
    robot = Robot.from_mechanism(linkages.four_bar(lengths=(0.3, 0.8, 0.3), ground=0.8))
    q = np.array([angle, -angle, angle + np.pi])
    return robot, robot.constraint_terms(q, np.zeros(3))[2], q


def test_rows_that_vanish_show():
    """A parallelogram that is nearly flat: its pivots are the sine of its angle, with its sign.

    All of a row becomes small there, so that the pivot would stay a part of it as it was.
    """
    robot, K, q = flat(np.pi / 2)
    pivots = elimination_order(robot.model, *robot.closure(q), q, ["crank_joint"])
    still = [0.0] * len(K)
    upright = eliminate(robot.model, K.tolist(), still, pivots)
    assert 0.1 < upright.signed <= 1.0
    assert upright.pivot == pytest.approx(upright.signed, rel=1e-15)
    for angle in (0.1, 1e-3, 1e-6, -1e-6, -0.1):
        _, K, _ = flat(angle)
        found = eliminate(robot.model, K.tolist(), still, pivots)
        # Entries of K are sums of lengths of about 1 m, to rounding.
        expected = upright.signed * np.sin(angle)
        assert found.signed == pytest.approx(expected, rel=1e-12, abs=1e-15)
        assert found.pivot == pytest.approx(abs(expected), rel=1e-12, abs=1e-15)


def test_a_flat_parallelogram_shows_in_the_pivot():
    """At its dead point the crank tells nothing; near to it, on both sides, it does with less."""
    robot, _, upright = flat(np.pi / 2)
    solve = robot.independent_dynamics(["crank_joint"], q=upright)
    tau, still = np.array([1.0, -0.5, 0.3]), np.zeros(3)
    with np.errstate(divide="ignore", invalid="ignore"):
        for angle in (0.0, 1e-9, -1e-9):
            assert not solve(flat(angle)[2], still, tau)[1] >= SMALLEST_PIVOT
    for angle in (0.1, 1e-3, -1e-3, -0.1):
        *_, q = flat(angle)
        qdd, pivot = solve(q, still, tau)
        assert 0.3 * abs(angle) < pivot < abs(angle)
        expected = robot.constrained_motion(q, still, tau).qdd
        assert_allclose(qdd, expected, atol=1e-12 / pivot * np.max(np.abs(expected)))


def test_no_order_makes_a_regular_state_a_dead_point():
    """All around, the pivot is the determinant's: far from zero, and of its sign for both ways in
    which the linkage can be assembled. Motion is that of method 2 everywhere.
    """
    mechanism, here, there = linkages.turned_four_bar()
    robot = Robot.from_mechanism(mechanism)
    model, names = robot.model, list(robot.model.joint_names)
    pivots = elimination_order(model, *robot.closure(here[0]), here[0], ["crank_joint"])
    rows, columns = ([pivot[i] for pivot in pivots] for i in range(2))
    assert names.index("crank_joint") not in columns
    entries, found, dets = [], [], []
    for q in (*here, *there):
        K = robot.closure(q)[0]
        entries.append(K[rows[0], columns[0]])
        dets.append(np.linalg.det(K[np.ix_(rows, columns)]))
        found.append(eliminate(model, K.tolist(), [0.0] * len(K), pivots).signed)
    entries, found = np.array(entries[:181]), np.array(found)
    assert entries.min() < 0.0 < entries.max()  # what would be the first pivot passes zero
    assert np.all(np.sign(found) == np.sign(dets) * np.sign(dets[0]))
    # Sines of the angle between coupler and rocker are 0.41 at least, and rows are no longer than
    # three times their parts.
    assert np.abs(found).min() > 0.1
    solve = robot.independent_dynamics(["crank_joint"], q=here[0])
    tau, still = np.array([1.0, 0.5, -0.3]), np.zeros(3)
    k = int(np.argmin(np.abs(entries)))
    middle = [here[k]]
    for q in (*middle, *here[::15]):
        qdd, pivot = solve(q, still, tau)
        assert pivot > 0.1
        expected = robot.constrained_motion(q, still, tau).qdd
        assert_allclose(qdd, expected, atol=1e-12 * np.max(np.abs(expected)))


def test_one_kernel_serves_all_states(monkeypatch):
    """Sizes at the place of the choice are parameters: only the order is a part of the code."""
    robot = Robot.from_mechanism(linkages.four_bar())
    keys = []
    load = algorithm.shared_kernel
    monkeypatch.setattr(
        algorithm, "shared_kernel", lambda key, *a, **o: keys.append(key) or load(key, *a, **o)
    )
    q = robot.assemble().q
    near = robot.assemble(q + np.array([1e-3, 0.0, 0.0]), held=["crank_joint"]).q
    assert np.abs(near - q).max() > 1e-4
    keys.clear()
    for at in (q, near):
        robot.independent_dynamics(["crank_joint"], q=at)
        robot.drive_efforts(q=at)
    named = [key for key in keys if key.startswith((b"independent", b"drive_efforts"))]
    assert len(named) == 4
    assert len(set(named)) == 2
