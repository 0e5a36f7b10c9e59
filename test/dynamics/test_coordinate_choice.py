# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A choice of coordinates along a motion: kept while it serves, left in time, not for nothing."""

from __future__ import annotations

import numpy as np
import pytest
from support import linkages

from robot_dynamics.dynamics.coordinate_choice import LARGEST_CONDITIONING, CoordinateChoice
from robot_dynamics.errors import ArgumentError
from robot_dynamics.robot import Robot


def along(robot, choice, guess, driver, angles):
    """Return the forms of a choice while one joint turns, and where that is."""
    q, rest, found = np.array(guess), np.zeros(robot.model.nv), []
    for angle in angles:
        q = robot.assemble(q, held={driver: angle}, limits=False).q
        found.append((q, choice.form(q, rest)))
    return found


def triple_rocker():
    """Return a four-bar of which no link can turn fully: each coordinate has dead points."""
    return Robot.from_mechanism(linkages.four_bar(lengths=(0.6, 0.5, 0.5), ground=0.8))


def test_a_coordinate_that_always_serves_is_never_left():
    """The crank that can turn fully stays through a whole turn."""
    robot = Robot.from_mechanism(linkages.four_bar())
    choice = CoordinateChoice(robot.model, robot.constraint_terms, ["crank_joint"])
    forms = along(robot, choice, [0.5, -0.5, -1.0], "crank_joint", np.linspace(0.5, 6.78, 100))
    assert choice.changes == 0
    assert {form.names for _, form in forms} == {("crank_joint",)}


def test_c9_dead_points_are_passed():
    """Row C9: on the way through a dead point of the crank another takes over, and hands back."""
    robot = triple_rocker()
    choice = CoordinateChoice(robot.model, robot.constraint_terms, ["crank_joint"])
    # The angle between coupler and rocker passes zero: there the crank stands still.
    angles = np.linspace(-0.8, 0.8, 161)
    forms = along(robot, choice, [1.4, -1.0, -0.8], "rocker_joint", angles)
    alone = [robot.independent_form(q, np.zeros(3), ["crank_joint"]).conditioning
             for q, _ in forms if abs(q[2]) > 1e-6]  # fmt: skip
    assert max(alone) > 10 * LARGEST_CONDITIONING
    assert max(form.conditioning for _, form in forms) <= LARGEST_CONDITIONING
    assert max(form.residual_K for _, form in forms) < 1e-9
    assert forms[0][1].names == forms[-1][1].names == ("crank_joint",)
    assert forms[80][1].names != ("crank_joint",)
    assert choice.changes == 2


def test_without_a_preference_it_changes_when_it_must():
    """Chosen by itself, coordinates change no more often than they turn bad."""
    robot = triple_rocker()
    choice = CoordinateChoice(robot.model, robot.constraint_terms)
    along(robot, choice, [1.4, -1.0, -0.8], "rocker_joint", np.linspace(-0.8, 0.8, 161))
    assert choice.changes <= 1


def test_noise_at_the_limit_does_not_make_it_alternate():
    """Going to and fro where the preferred one is left brings one change, not one a step."""
    robot = triple_rocker()
    choice = CoordinateChoice(robot.model, robot.constraint_terms, ["crank_joint"])
    forms = along(robot, choice, [1.4, -1.0, -0.8], "rocker_joint", np.linspace(-0.8, -0.01, 80))
    at = next(i for i, (_, form) in enumerate(forms) if form.names != ("crank_joint",))
    before = choice.changes
    for i in range(20):
        choice.form(forms[at - (i % 2)][0], np.zeros(3))
    assert choice.changes == before == 1


def test_a_change_of_rank_is_noticed():
    """If a further motion becomes possible, other coordinates are chosen."""
    robot = Robot.from_mechanism(linkages.folding_arms())
    choice = CoordinateChoice(robot.model, robot.constraint_terms)
    closed = robot.assemble(np.array([0.4, -0.4, 3.5, -0.4, 3.5]), held=["crank_joint"]).q
    assert len(choice.form(closed, np.zeros(5)).independent) == 1
    # The crank on the ground link: each dyad turns about its folded ends by itself.
    folded = np.array([0.0, 0.4, np.pi, 1.1, np.pi])
    assert np.max(np.abs(robot.closure(folded)[1])) < 1e-12
    form = choice.form(folded, np.zeros(5))
    assert len(form.independent) == 5 - form.rank
    assert form.rank < 4
    assert choice.changes == 1


@pytest.mark.parametrize("limit", [1.0, float("nan")])
def test_a_limit_that_nothing_can_meet_is_refused(limit):
    """Complete pivoting cannot promise a conditioning near 1."""
    robot = triple_rocker()
    with pytest.raises(ArgumentError, match="expected more than 4"):
        CoordinateChoice(robot.model, robot.constraint_terms, largest=limit)
