# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Chosen rows span all rows, and chosen coordinates follow from the others."""

from __future__ import annotations

import numpy as np
import pytest
from support.linkages import bricard
from support.motions import (
    Motion,
    parallelogram,
    skew_four_bar,
    swinging_platform,
    turning_four_bar,
)

from robot_dynamics.robot import Robot
from robot_dynamics.simulation.integrators.choice import choose, first_choice


def bricards_linkage() -> Motion:
    """Return Bricard's linkage at rest, five constraints of which one is redundant."""
    robot = Robot.from_mechanism(bricard())
    return Motion(robot, robot.assemble(np.full(5, 0.3)).q, np.zeros(5))


@pytest.mark.parametrize(
    "start", [turning_four_bar, skew_four_bar, bricards_linkage, swinging_platform]
)
def test_rows_imply_all_others(start):
    """As many rows as the rank, with full rank, and so have their dependent columns."""
    robot, q, _ = start()
    K, _ = robot.closure(q)
    found = choose(robot, q, 0.6)
    rank = robot.mobility(q).rank
    assert len(found.rows) == len(found.dependent) == rank
    rows = K[list(found.rows)]
    assert np.linalg.matrix_rank(rows, tol=1e-6) == rank
    assert np.linalg.matrix_rank(rows[:, list(found.dependent)], tol=1e-6) == rank


def test_a_floating_joint_is_not_torn():
    """The platform's six freedoms are independent together: all that depends is in the legs."""
    robot, q, _ = swinging_platform()
    floating = robot.model.v_slices[robot.model.joint_index("platform_joint")]
    dependent = set(choose(robot, q, 1.0).dependent)
    assert dependent.isdisjoint(range(floating.start, floating.stop))


def test_a_singular_start_is_chosen_for_nearby():
    """On the flat pose of a parallelogram one row is enough, nearby and for a start it is two."""
    robot, _, _ = parallelogram()
    flat = np.array([0.0, 0.0, np.pi])
    assert len(choose(robot, flat, 0.5).rows) == 1
    choice, regular = first_choice(robot, flat, 0.5)
    assert len(choice.rows) == 2
    # Margins are measured against what constraints do there.
    assert choose(robot, regular, 0.5) == choice
