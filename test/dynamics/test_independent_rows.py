# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Overconstrained mechanisms in compiled code: rows left out for good, and looked after."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from support import linkages
from support.closed_loops import LINKAGES, closed_at, closed_state
from support.mechanisms import random_pose

from robot_dynamics.dynamics.full_rank import SMALLEST_PIVOT
from robot_dynamics.dynamics.independent_rows import CLOSED_FORWARD_DYNAMICS, general_rows
from robot_dynamics.robot import Robot

REDUNDANT = [
    "four-bar, skewed",
    "slider-crank",
    "Bricard",
    "Stewart, a ball twice",
    "walking leg, a weld twice",
]


def compiled(robot, rows):
    """Return `(q, qd, tau) -> (qdd, pivot)` with some rows used."""
    solve = CLOSED_FORWARD_DYNAMICS.bind(robot.model, rows)
    return lambda *state: (lambda x: (x[..., :-2], x[..., -1]))(solve(*state))


@pytest.mark.parametrize("name", REDUNDANT)
def test_c7_as_fast_as_others_and_right(name, rng):
    """Row C7: with rows left out no state needs the slow path, and the motion is the one found
    by looking for the rank.
    """
    robot = Robot.from_mechanism(LINKAGES[name])
    rows = general_rows(robot.model, robot.closure)
    solve = compiled(robot, rows)
    for _ in range(10):
        state = closed_state(robot, rng)
        motion = robot.constrained_motion(*state)
        assert len(rows) == motion.rank < robot.model.constraint_count
        qdd, pivot = solve(*state)
        assert pivot > 1e-4
        bound = 1e-13 / pivot * np.max(np.abs(motion.qdd))
        assert_allclose(qdd, motion.qdd, atol=max(bound, 1e-11 * np.max(np.abs(motion.qdd))))
        assert_allclose(robot.forward_dynamics(*state), qdd, atol=0.0)


@pytest.mark.parametrize("name", ["Stewart", "delta", "four-bar, sphere in cylinder"])
def test_at_full_rank_all_rows_are_used(name):
    """Nothing is left out where nothing is redundant."""
    robot = Robot.from_mechanism(LINKAGES[name])
    assert general_rows(robot.model, robot.closure) is None


def test_loops_that_cannot_be_closed_leave_all_rows():
    """Without a configuration to look at, the program takes all constraints as they come."""
    robot = Robot.from_mechanism(linkages.four_bar(ground=5.0))
    assert general_rows(robot.model, robot.closure) is None


def test_a_constraint_that_counts_after_all_is_noticed(rng):
    """Leaving out an independent row gives a pivot that tells, unless nothing comes of it."""
    robot = Robot.from_mechanism(linkages.four_bar("sphere_in_cylinder"))
    solve = compiled(robot, (0,))
    q, qd, tau = closed_state(robot, rng)
    assert not solve(q, qd, tau)[1] >= SMALLEST_PIVOT
    # At rest, without weight and forces, any constraint is met.
    free = Robot(robot.model.replace(gravity=(0.0, 0.0, 0.0)))
    qdd, pivot = compiled(free, (0,))(q, 0 * qd, 0 * tau)
    assert pivot > SMALLEST_PIVOT
    assert_allclose(qdd, 0.0, atol=1e-15)


def test_open_by_a_little_it_stays_fast(rng):
    """Loops open by a micrometre make redundant rows contradict each other by as much: still the
    compiled answer, off by no more than that.
    """
    robot = Robot.from_mechanism(linkages.bricard())
    solve = compiled(robot, general_rows(robot.model, robot.closure))
    q, qd, tau = closed_state(robot, rng)
    qdd, pivot = solve(q + 1e-6 * rng.normal(size=5), qd, tau)
    assert pivot > SMALLEST_PIVOT
    expected = robot.constrained_motion(q, qd, tau).qdd
    assert_allclose(qdd, expected, atol=1e-3 * np.max(np.abs(expected)))


def test_beyond_that_the_slow_path_answers(rng):
    """A weld, a point on a line across it that the weld implies, and velocities that break both,
    ask for different accelerations. They are met in the mean, which no choice of rows gives.
    """
    leg = linkages.walking_leg()
    q, _, tau = closed_state(Robot.from_mechanism(leg), rng)
    line = ("line", "heel_rod_top", "heel_rod_low", random_pose(rng))
    robot = Robot.from_mechanism(closed_at(leg, q, [line], "point_on_line"))
    rows = general_rows(robot.model, robot.closure)
    assert len(rows) == 12
    qd = rng.normal(size=robot.model.nv)
    assert not compiled(robot, rows)(q, qd, tau)[1] >= SMALLEST_PIVOT
    motion = robot.constrained_motion(q, qd, tau)
    assert motion.residual > 0.01
    assert_allclose(robot.forward_dynamics(q, qd, tau, check=False), motion.qdd, atol=0.0)


def test_bricard_through_a_full_turn(rng):
    """All the way round hardly a state needs the slow path, and none is wrong."""
    robot = Robot.from_mechanism(linkages.bricard())
    solve = compiled(robot, general_rows(robot.model, robot.closure))
    q = robot.assemble(np.full(5, 0.5), limits=False).q
    start, along, slow, turn = q, None, 0, 0
    for turn in range(400):
        form = robot.independent_form(q, np.zeros(5))
        step = form.G[:, 0] / np.max(np.abs(form.G))
        along = step if along is None or step @ along > 0 else -step
        q = robot.assemble(q + 0.05 * along, limits=False).q
        qd, tau = along * rng.normal(), rng.normal(size=5)
        qd = robot.assemble(q, velocities=qd, limits=False).qd
        qdd, pivot = solve(q, qd, tau)
        if pivot >= SMALLEST_PIVOT:
            expected = robot.constrained_motion(q, qd, tau).qdd
            # A pivot leaves a relative error of about precision over pivot.
            assert_allclose(qdd, expected, rtol=0.0, atol=1e-13 / pivot * np.abs(expected).max())
        else:
            slow += 1
        if turn > 20 and np.max(np.abs(np.angle(np.exp(1j * (q - start))))) < 0.06:
            break
    assert 200 < turn < 399
    assert slow <= 2
