# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Compiled inverse dynamics of closed loops against the one that decides at every state."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from support import golden, linkages
from support.actuated import GRAVITY_DOWN_Y, driven, motion
from support.closed_loops import LINKAGES
from support.mechanisms import two_arms

from robot_dynamics.dynamics.assembly import AssemblyError
from robot_dynamics.dynamics.full_rank import SMALLEST_PIVOT
from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.model import build
from robot_dynamics.robot import Robot

# The walking leg's rods spin idly: no drives force that.
ACTUATED = [name for name in LINKAGES if "leg" not in name]


@pytest.mark.parametrize("name", [*ACTUATED, "two arms"])
def test_c13_compiled_efforts_equal_numpy(name, rng):
    """Row C13: single and in batches, at any rank, the efforts are those found with NumPy."""
    cell = two_arms()
    near = cell.start if name == "two arms" else None
    robot = Robot(cell.system.model if near is not None else build(LINKAGES[name]))
    states = [motion(robot, rng, near) for _ in range(3)]
    solve = robot.drive_efforts(q=states[0][0])
    together = solve(*map(np.array, zip(*states, strict=True)))
    for i, state in enumerate(states):
        efforts, pivot = solve(*state)
        expected = robot.closed_loop_inverse_dynamics(*state)
        assert SMALLEST_PIVOT < pivot <= 1.0
        # The pivot says how many digits are left of sixteen; loops are closed to 1e-9 at most.
        scale = np.max(np.abs(expected.tau)) + np.max(np.abs(expected.multipliers))
        assert_allclose(efforts, expected.efforts, atol=1e-10 / pivot * scale)
        assert_allclose(together[0][i], efforts, atol=0.0)
        assert together[1][i] == pivot


def test_c13_efforts_of_case_n10_are_as_printed():
    """Row C13, N10: the two efforts as printed."""
    model = golden.actuated_arm_model()
    robot = Robot(model)
    q, qd, qdd = (golden.ordered(model, v) for v in (golden.Q, golden.QD, golden.QDD))
    efforts, _ = robot.drive_efforts(["q3", "q4"], q=q)(q, qd, qdd)
    names = robot.closed_loop_inverse_dynamics(q, qd, qdd, drives=["q3", "q4"]).drives
    assert_allclose([efforts[names.index(n)] for n in ("q3", "q4")], golden.U, atol=1e-10)


def test_c13_weights_and_a_drive_in_a_loop(rng):
    """Row C13: crank and pin of a four-bar share one motion as their weights say."""
    mechanism = driven(linkages.four_bar(), "crank_joint", "pin")
    robot = Robot(build(mechanism, gravity=GRAVITY_DOWN_Y))
    state = motion(robot, rng)
    for weights in (None, [1.0, 9.0], {"pin": 0.01}):
        efforts, _ = robot.drive_efforts(weights=weights, q=state[0])(*state)
        expected = robot.closed_loop_inverse_dynamics(*state, weights=weights).efforts
        assert_allclose(efforts, expected, rtol=1e-9)


def test_c13_a_dead_point_shows_in_the_pivot(rng):
    """Row C13: where coupler and rocker are in line the crank forces nothing, and that is told."""
    robot = Robot.from_mechanism(linkages.four_bar(lengths=(0.6, 0.5, 0.4), ground=0.7))
    solve = robot.drive_efforts()
    dead = robot.assemble([1.5, -0.7, 0.0], held={"rocker_joint": 0.0}).q
    with np.errstate(divide="ignore", invalid="ignore"):
        assert not solve(dead, np.zeros(3), np.zeros(3))[1] >= SMALLEST_PIVOT
    fine = motion(robot, rng)
    assert solve(*fine)[1] > 1e-3


def test_c13_a_flat_parallelogram_shows_in_the_pivot():
    """Row C13: at its dead point a crank does not hold the rocker; near to it, it just does."""
    robot = Robot.from_mechanism(linkages.four_bar(lengths=(0.3, 0.8, 0.3), ground=0.8))

    def flat(angle):
        return np.array([angle, -angle, angle + np.pi])

    solve, still = robot.drive_efforts(["crank_joint"], q=flat(np.pi / 2)), np.zeros(3)
    with np.errstate(divide="ignore", invalid="ignore"):
        for angle in (0.0, 1e-9, -1e-9):
            assert not solve(flat(angle), still, still)[1] >= SMALLEST_PIVOT
    for angle in (0.1, 1e-3, -1e-3, -0.1):
        efforts, pivot = solve(flat(angle), still, still)
        assert 0.3 * abs(angle) < pivot < abs(angle)
        found = robot.closed_loop_inverse_dynamics(
            flat(angle), still, still, drives=["crank_joint"]
        )
        # As above; forces in the links grow as the parallelogram becomes flat.
        scale = np.max(np.abs(found.tau)) + np.max(np.abs(found.multipliers))
        assert_allclose(efforts, found.efforts, atol=1e-10 / pivot * scale)


def test_c13_not_a_number_is_handed_on(rng):
    """Row C13: a state that is no number has a pivot that is none."""
    robot = Robot.from_mechanism(linkages.slider_crank())
    q, qd, qdd = motion(robot, rng)
    with np.errstate(invalid="ignore"):
        assert not robot.drive_efforts(q=q)(q, qd, qdd * np.nan)[1] >= SMALLEST_PIVOT


def test_c13_too_few_drives_are_refused():
    """Row C13: drives that leave a motion are for the other method; open loops are refused."""
    robot = Robot.from_mechanism(linkages.excavator())
    with pytest.raises(RobotDynamicsError, match=r"excavator.*\b1\b.*\b2\b"):
        robot.drive_efforts(["bucket_joint"])
    with pytest.raises(AssemblyError, match="'pin'"):
        robot.drive_efforts(q=np.array([0.3, 0.3, 0.3, 0.3]))
