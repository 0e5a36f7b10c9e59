# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The object's equation, its grip matrix, and wrenches that make the desired force."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from reproductions.unified.cases import state_of, system_of
from support.mechanisms import random_pose
from support.papers import CASES

from robot_dynamics.reproductions.unified import HeldObjectTerms
from robot_dynamics.reproductions.unified.held_object import grip_matrix


@pytest.fixture
def rng():
    return np.random.default_rng(3)


def test_the_grip_matrix_moves_with_the_object(rng):
    """W V_o is the velocity of frames fixed to the object, by finite differences."""
    grasps = [random_pose(rng) for _ in range(3)]
    V = rng.normal(size=6)
    h = 1e-6
    # The object's pose after a short time at V, to second order.
    x, y, z = V[:3] * h
    turn = np.eye(3) + np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    moved = np.eye(4)
    moved[:3, :3], moved[:3, 3] = turn, V[3:] * h
    for grasp, velocity in zip(grasps, (grip_matrix(grasps) @ V).reshape(3, 6), strict=True):
        there = np.linalg.inv(grasp) @ moved @ grasp
        rate = (there - np.eye(4)) / h
        assert_allclose(rate[:3, 3], velocity[3:], atol=1e-9)
        assert_allclose([rate[2, 1], rate[0, 2], rate[1, 0]], velocity[:3], atol=1e-9)


def test_grasp_wrenches_give_the_acceleration(rng):
    """Whatever internal part is chosen, the object gets its wrench; least of all with none."""
    case = CASES["S3 spring-damper base, 6R+7R"]
    system = system_of(case)
    held: HeldObjectTerms = system.terms(*state_of(case, system)[:2]).held
    wanted = rng.normal(size=6)
    none = held.grasp_wrenches(wanted, 0.3, np.zeros(12))
    assert_allclose(held.W.T @ none, held.needed(wanted), atol=1e-11)
    scale = np.tile([1 / 0.3] * 3 + [1.0] * 3, 2)
    for internal in rng.normal(size=(3, 12)):
        wrenches = held.grasp_wrenches(wanted, 0.3, internal)
        assert_allclose(held.W.T @ wrenches, held.needed(wanted), atol=1e-11)
        assert np.linalg.norm(scale * wrenches) > np.linalg.norm(scale * none)
