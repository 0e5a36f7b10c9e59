# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Method 1: the whole system of equations, without its redundant rows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from support import linkages
from support.closed_loops import LINKAGES, closed_state

from robot_dynamics.dynamics.direct import direct_solution
from robot_dynamics.dynamics.rank import constraint_rank
from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.robot import Robot


def problem(robot, q, qd, tau):
    """Return the rank and the terms of (8.36) at a state."""
    H, C, K, k, error, _ = robot.constraint_terms(q, qd)
    return constraint_rank(robot.model, K, error, q), H, tau - C, K, k


@pytest.mark.parametrize("name", ["Stewart", "Fig 8.2", "delta"])
def test_at_full_rank_it_is_the_plain_solution(name, rng):
    """Accelerations and multipliers are those of a dense solution of the same matrix."""
    robot = Robot.from_mechanism(LINKAGES[name])
    ranked, H, force, K, k = problem(robot, *closed_state(robot, rng))
    found = direct_solution(ranked, H, force, K, k)
    zero = np.zeros((len(K), len(K)))
    x = np.linalg.solve(np.block([[H, K.T], [K, zero]]), np.concatenate([force, k]))
    n = len(H)
    # Conditions of 1e4 in these units; scaled and refined the solution itself has more digits.
    assert_allclose(found.qdd, x[:n], atol=1e-10 * np.max(np.abs(x[:n])))
    assert_allclose(found.multipliers, -x[n:], atol=1e-10 * np.max(np.abs(x[n:])))


@pytest.mark.parametrize("name", ["Bricard", "four-bar, skewed", "walking leg, a weld twice"])
def test_c7_pruned_rows_are_met_all_the_same(name, rng):
    """Row C7: every constraint is met, those that were left out as well, and by forces that the
    constraints can exert.
    """
    robot = Robot.from_mechanism(LINKAGES[name])
    ranked, H, force, K, k = problem(robot, *closed_state(robot, rng))
    found = direct_solution(ranked, H, force, K, k)
    assert found.rank < len(K)
    assert found.redundant
    scale = np.max(np.abs(found.qdd))
    assert found.residual < 1e-11 * scale
    assert_allclose(H @ found.qdd, force + K.T @ found.multipliers,
                    atol=1e-11 * np.max(np.abs(force)))  # fmt: skip


def test_contradictions_are_met_in_the_mean(rng):
    """Two welds that ask for different accelerations: half way, whatever row was left out."""
    robot = Robot.from_mechanism(LINKAGES["walking leg, a weld twice"])
    ranked, H, force, K, k = problem(robot, *closed_state(robot, rng))
    wrong = k.copy()
    wrong[12:] += 0.2
    found = direct_solution(ranked, H, force, K, wrong)
    assert_allclose(found.residual, 0.1, rtol=1e-9)
    assert_allclose(K[:6] @ found.qdd - k[:6], 0.1, rtol=1e-9)


def test_parts_without_inertia(rng):
    """Rods without mass: H is singular, the motion is determined, and is the limit of light ones.

    The rods are coupler and rocker of a four-bar, so that the crank carries all inertia.
    """

    def four_bar(part):
        whole = linkages.four_bar()
        links = tuple(
            link if link.name in ("base", "crank")
            else replace(link, mass=part * link.mass, inertia=part * link.inertia)
            for link in whole.links
        )  # fmt: skip
        return Robot.from_mechanism(replace(whole, links=links))

    light = four_bar(1e-9)
    q, qd, tau = closed_state(light, rng)
    tau[1:] = 0.0
    ranked, H, force, K, k = problem(light, q, qd, tau)
    expected = direct_solution(ranked, H, force, K, k).qdd
    # The model refuses a moving end without inertia: take it away from the terms instead.
    mass = H - four_bar(2e-9).inertia_matrix(q) + H
    mass[1:] = mass[:, 1:] = 0.0
    found = direct_solution(ranked, mass, force, K, k)
    assert_allclose(found.qdd, expected, rtol=1e-6)
    with pytest.raises(RobotDynamicsError, match="a motion without inertia"):
        direct_solution(ranked, 0.0 * H, force, K, k)
