# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Arms whose grasps are closed along a path of the object."""

from __future__ import annotations

import numpy as np
import pytest
from support.hybrid_systems import LINKAGE
from support.sampled_decoupling import cell_of
from two_arms import BOX, two_arms

from robot_dynamics.control.closed_path import ClosedPath
from robot_dynamics.control.settings import StartSettings
from robot_dynamics.control.start_check import check_start
from robot_dynamics.manipulation.assembly import closed_configuration
from robot_dynamics.robot import Robot

SYSTEM = two_arms()
HELD = closed_configuration(SYSTEM, BOX)[SYSTEM.q_index]
TERMS = Robot(SYSTEM.model).constraint_terms


def row_at(pose, twist=(0.0,) * 6):
    """Return a reference row."""
    return np.concatenate([pose, twist, np.zeros(12)])


@pytest.fixture
def path():
    """Return arms at their grasps."""
    path = ClosedPath(SYSTEM, TERMS)
    path.at[SYSTEM.q_index] = HELD
    return path


def test_grasps_are_closed_where_the_object_is(path):
    """By the check of a start, which asks each arm where it sees the object."""
    moved = BOX.copy()
    moved[2] += 0.05
    assert path.close(row_at(moved))
    tight = StartSettings(position_tolerance_m=1e-9, rotation_tolerance_rad=1e-9)
    q = path.at[SYSTEM.q_index]
    check_start(SYSTEM, tight, moved, q, np.zeros(14))


def test_velocities_move_the_grasps_with_the_object(path):
    """By differences of closed positions."""
    twist, h = np.array([0.1, -0.2, 0.3, 0.05, 0.02, -0.04]), 1e-6
    assert path.close(row_at(BOX, twist))
    rate = path.rate[SYSTEM.v_index].copy()
    other = ClosedPath(SYSTEM, TERMS)
    other.at[SYSTEM.q_index] = HELD
    later = BOX.copy()
    later[:3] += h * twist[3:]
    half = 0.5 * h * twist[:3]
    x, y, z, w = BOX[3:]
    # q + h w q / 2
    later[3:] += [
        half[0] * w + half[1] * z - half[2] * y,
        half[1] * w + half[2] * x - half[0] * z,
        half[2] * w + half[0] * y - half[1] * x,
        -half @ BOX[3:6],
    ]
    assert other.close(
        row_at(later / np.append(np.ones(3), np.full(4, np.linalg.norm(later[3:]))))
    )
    # Both are the smallest motion in the metric of inertia; h is the truncation.
    assert np.allclose((other.at[SYSTEM.q_index] - HELD) / h, rate, atol=1e-4)


def test_out_of_reach_says_what_remains(path):
    """A metre too far."""
    far = BOX.copy()
    far[0] += 2.0
    assert not path.close(row_at(far))
    assert (path.gaps()[:, 0] > 0.1).all()


def test_loops_of_the_arms_own_close_as_well():
    """All errors of position and velocity, the pins' among them, are those of rounding."""
    cell = cell_of(2, LINKAGE)
    system, terms = cell.system, Robot(cell.system.model).constraint_terms
    path = ClosedPath(system, terms)
    path.at = system.positions(system.posture)
    moved = cell.start[system.object_q] + [0.02, 0.0, 0.03, 0.0, 0.0, 0.0, 0.0]
    assert path.close(row_at(moved, (0.1,) * 6))
    _, _, _, _, position, velocity = terms(path.at, path.rate)
    np.testing.assert_allclose(position, 0.0, atol=1e-9)
    np.testing.assert_allclose(velocity, 0.0, atol=1e-9)
    assert path.gaps().shape == (2, 2)
