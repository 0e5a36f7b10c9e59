# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Nearest points within bounds: the conditions of Karush, Kuhn and Tucker hold to rounding."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import linprog, nnls

from robot_dynamics.contact.complementarity import linear_complementarity
from robot_dynamics.dynamics import quadratic_program
from robot_dynamics.dynamics.quadratic_program import minimum_within, nearest_within
from robot_dynamics.errors import RobotDynamicsError

# Feasible to the solver's tolerance; bounds that hold are taken for active within a hundred times.
FEASIBLE = 1e-10


def require_optimal(x, goal, rows, lower, upper):
    """Check that x is within bounds and the pull to the goal is held by active ones alone."""
    values = rows @ x
    assert np.all(values >= lower - FEASIBLE)
    assert np.all(values <= upper + FEASIBLE)
    pull = np.zeros(len(x))
    pull[: len(goal)] = goal - x[: len(goal)]
    at_upper, at_lower = values > upper - 100 * FEASIBLE, values < lower + 100 * FEASIBLE
    normals = np.vstack([rows[at_upper], -rows[at_lower], np.zeros((1, len(x)))])
    _, rest = nnls(normals.T, pull)
    # Multipliers come from a system as well conditioned as the active rows, 1e2 here.
    assert rest < 1e-9 * max(1.0, np.linalg.norm(pull))


@pytest.mark.parametrize("free", [0, 3])
@pytest.mark.parametrize("seed", range(10))
def test_solutions_are_optimal(seed, free):
    """With and without entries that cost nothing, the point found is optimal."""
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(30, 6 + free))
    inside = 0.3 * rng.normal(size=6 + free)
    lower = rows @ inside - rng.uniform(0.05, 1.0, 30)
    upper = rows @ inside + rng.uniform(0.05, 1.0, 30)
    upper[::5], lower[1::5] = np.inf, -np.inf
    goal = 2.0 * rng.normal(size=6)
    x = nearest_within(goal, rows, lower, upper)
    require_optimal(x, goal, rows, lower, upper)


def test_goal_within_bounds():
    """A goal that obeys all bounds is reached."""
    goal = np.array([0.3, -0.2])
    x = nearest_within(goal, np.eye(2), -np.ones(2), np.ones(2))
    assert_allclose(x, goal, atol=1e-15)


def test_coincident_bounds_hold_exactly():
    """Lower and upper bounds that coincide hold exactly: the projection onto a line."""
    x = nearest_within(np.zeros(2), np.array([[3.0, 4.0]]), np.array([5.0]), np.array([5.0]))
    assert_allclose(x, [0.6, 0.8], atol=1e-14)


@pytest.mark.parametrize("seed", range(10))
def test_infeasible_programs_have_no_solution(seed):
    """Nothing is returned exactly where a linear program finds nothing either."""
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(12, 4))
    lower = rng.normal(size=12) - 0.6
    upper = lower + rng.uniform(0.5, 1.5, 12)
    both = linprog(
        np.zeros(4), np.vstack([rows, -rows]), np.concatenate([upper, -lower]), bounds=(None, None)
    )
    found = nearest_within(np.zeros(4), rows, lower, upper)
    assert (found is None) == (both.status == 2)


def test_infeasible_with_entries_that_cost_nothing():
    """Two bounds that exclude each other, on an entry without a goal."""
    rows = np.array([[0.0, 1.0], [0.0, 1.0]])
    assert nearest_within(np.ones(1), rows, np.array([1.0, -9.0]), np.array([9.0, 0.0])) is None


@pytest.mark.parametrize("seed", [8, 12, 34])
def test_forces_in_a_stack_of_very_different_masses(seed):
    """Four corners bear each of three boxes, of a gram to a ton: the accelerations of Lemke."""
    rng = np.random.default_rng(seed)
    masses, T = 10 ** rng.uniform(-3, 3, 3), np.zeros((9, 12))  # height and two tilts of each box
    corners = np.array([(1.0, y, -x) for x in (-0.1, 0.1) for y in (-0.1, 0.1)]).T
    for i in range(3):
        T[3 * i : 3 * i + 3, 4 * i : 4 * i + 4] = corners
        if i:
            T[3 * i - 3 : 3 * i, 4 * i : 4 * i + 4] = -corners
    weight = np.repeat(masses, 3) / np.tile([1.0, 150.0, 150.0], 3)
    M = T.T @ (T / weight[:, None])
    d = T.T @ (rng.normal(size=9) * 5 / np.tile([1.0, 0.1, 0.1], 3))
    scale = 1.0 / np.sqrt(M.diagonal())
    M, d = scale[:, None] * M * scale, scale * d / np.abs(scale * d).max()
    found = minimum_within(M, d, np.eye(12), np.zeros(12), np.full(12, np.inf))
    # Proximal iterations end at 1e-10 of numbers of about one, forces are a hundred times that.
    assert_allclose(M @ found.x, M @ linear_complementarity(M, d), rtol=0, atol=1e-8)


def test_without_the_solver(monkeypatch):
    """The message names the package that is missing and how to get it."""
    monkeypatch.setitem(sys.modules, "daqp", None)
    quadratic_program._solver.cache_clear()
    one, none = np.eye(1), np.zeros(1)
    with pytest.raises(RobotDynamicsError, match=r"^bounds on .* daqp: .*pip install daqp"):
        nearest_within(np.ones(1), one, none, none)
    with pytest.raises(RobotDynamicsError, match=r"^quadratic programs of contact forces need"):
        minimum_within(one, none, one, none, none)
    monkeypatch.undo()
    quadratic_program._solver.cache_clear()


def test_a_solver_that_gives_up(monkeypatch):
    """Its flag is passed on instead of a result."""
    monkeypatch.setattr(
        quadratic_program, "_solver", lambda what: lambda *a, **k: (np.zeros(1), 0.0, -4, {})
    )
    with pytest.raises(RobotDynamicsError, match="exit flag -4"):
        nearest_within(np.ones(1), np.eye(1), np.zeros(1), np.zeros(1))
