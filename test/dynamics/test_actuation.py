# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Drives by name, and the motions that they can force."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from support import linkages
from support.actuated import driven

from robot_dynamics.dynamics.actuation import actuation, actuation_words, drives_of
from robot_dynamics.dynamics.rank import constraint_rank
from robot_dynamics.errors import UnknownNameError
from robot_dynamics.robot import Robot

LENGTH = 0.5


def cylinder_with_drives():
    """Return a four-bar with drives at crank and pin, the pin a cylindrical joint."""
    mechanism = driven(linkages.four_bar("cylindrical"), "crank_joint", effort=7.0)
    loops = (replace(mechanism.loops[0], active=(False, True)),)
    return Robot.from_mechanism(replace(mechanism, loops=loops))


def found(robot, names=None, length=LENGTH):
    q = robot.assemble([0.5, 0.4, 0.3]).q
    K, error = robot.closure(q)
    ranked = constraint_rank(robot.model, K, error, q, length=length)
    drives = drives_of(robot.model, robot.loop_drives(q), length, names)
    return drives, actuation(ranked, drives), q


def test_tree_first_then_loops():
    """Drives are in the order of the model, loop joints last; torques count at the length."""
    drives, _, q = found(cylinder_with_drives())
    assert drives.names == ("crank_joint", "pin.z")
    assert_allclose(drives.scales, [LENGTH, 1.0])
    assert_allclose(drives.limits, [7.0, 7.0])
    assert_allclose(drives.B[:, 0], [1.0, 0.0, 0.0])
    assert_allclose(drives.B[:, 1:], cylinder_with_drives().loop_drives(q))
    assert_allclose(drives.loop_efforts(np.array([3.0, 4.0]), 1), [4.0])


def test_drives_by_name():
    """Names of any joint or coordinate may be used; the order stays that of the model."""
    drives, _, _ = found(cylinder_with_drives(), ["rocker_joint", "crank_joint"])
    assert drives.names == ("crank_joint", "rocker_joint")
    assert_allclose(drives.loop_efforts(np.array([3.0, 4.0]), 1), [0.0])
    drives, _, _ = found(cylinder_with_drives(), ["pin.z"])
    assert drives.names == ("pin.z",)
    with pytest.raises(UnknownNameError, match=r"'pin\.z'"):
        found(cylinder_with_drives(), ["pin.zz"])


def test_forced_motions_are_those_of_the_drives():
    """G_u = B^T G agrees with left, strength and right, and free motions feel no drive."""
    robot = Robot.from_mechanism(linkages.excavator())
    q = robot.assemble([0.9, 1.0, 0.4, 0.3]).q
    K, error = robot.closure(q)
    ranked = constraint_rank(robot.model, K, error, q, length=LENGTH)
    drives = drives_of(robot.model, robot.loop_drives(q), LENGTH, ["boom_joint", "piston_joint"])
    forced = actuation(ranked, drives)
    assert (forced.rank, forced.words()) == (1, "underactuated, redundantly")
    again = forced.left @ np.diag(forced.strength) @ forced.right.T / drives.scales
    assert_allclose(again, forced.G.T @ drives.B, atol=1e-14)
    assert_allclose(drives.B.T @ forced.G @ forced.free, 0.0, atol=1e-14)
    assert_allclose(K @ forced.G, 0.0, atol=1e-14)


@pytest.mark.parametrize(
    ("mobility", "drives", "rank", "words"),
    [
        (2, 0, 0, "none"),
        (2, 2, 2, "fully"),
        (2, 1, 1, "underactuated"),
        (2, 3, 2, "redundantly"),
        (2, 2, 1, "underactuated, redundantly"),
        (0, 1, 0, "redundantly"),
    ],
)
def test_missing_and_redundant_drives_are_reported_together(mobility, drives, rank, words):
    """Too few and too many drives are told apart, and may be there at once."""
    assert actuation_words(mobility, drives, rank) == words


def test_mobility_counts_drives_in_loop_joints():
    """A four-bar with its only drive in the loop joint is fully actuated, and says so."""
    robot = Robot.from_mechanism(driven(linkages.four_bar(), "pin"))
    report = robot.mobility()
    assert (report.drives, report.driven, report.actuation) == (("pin",), 1, "fully")
    assert robot.mobility(active=["rocker_joint"]).drives == ("rocker_joint",)


def test_a_mechanism_that_cannot_move():
    """Nothing can be forced where nothing moves."""
    b = linkages.Builder("truss")
    b.add("a", "base", active=True)
    b.add("b", "base", at=(1, 0, 0))
    b.close("pin", "revolute", "a", "b", (1, 0, 0), (1, 0, 0))
    _, forced, _ = found_at(Robot.from_mechanism(b.done()), [np.pi / 3, 2 * np.pi / 3])
    assert (forced.rank, forced.G.shape) == (0, (2, 0))


def found_at(robot, guess):
    q = robot.assemble(guess).q
    K, error = robot.closure(q)
    drives = drives_of(robot.model, robot.loop_drives(q), LENGTH)
    return drives, actuation(constraint_rank(robot.model, K, error, q, length=LENGTH), drives), q
