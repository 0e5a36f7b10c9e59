# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The compiled functions of a model, on their own."""

from __future__ import annotations

import pickle

import numpy as np
from numpy.testing import assert_allclose
from support.mechanisms import random_state, random_tree

from robot_dynamics.compiled_model import CompiledModel
from robot_dynamics.model import build
from robot_dynamics.robot import Robot


def test_robots_have_the_same_functions():
    """A robot is a compiled model with answers that need decisions; the equations are the same."""
    rng = np.random.default_rng(3)
    model = build(random_tree(rng, ["revolute", "prismatic", "spherical"]))
    q, qd, qdd = random_state(rng, model)
    plain, robot = CompiledModel(model), Robot(model)
    assert isinstance(robot, CompiledModel)
    assert_allclose(plain.inverse_dynamics(q, qd, qdd), robot.inverse_dynamics(q, qd, qdd), atol=0)
    assert_allclose(plain.pose("link2", q), robot.pose("link2", q), atol=0)
    assert not hasattr(plain, "assemble")


def test_without_loops():
    """A tree has no loop joints: no drives, forces or constraints of theirs, of any batch."""
    model = build(random_tree(np.random.default_rng(0), ["revolute"] * 3))
    plain = CompiledModel(model)
    q = np.zeros((4, 3))
    assert plain.loop_drives(q).shape == (4, 3, 0)
    assert plain.loop_forces(q, q, np.zeros((4, 0))).shape == (4, 0, 6)
    K, error = plain.closure(q[0])
    assert (K.shape, error.shape) == ((0, 3), (0,))


def test_it_travels_without_code():
    """Pickled, it is its model."""
    model = build(random_tree(np.random.default_rng(1), ["revolute"] * 2))
    plain = CompiledModel(model)
    H = plain.inertia_matrix(np.ones(2))
    again = pickle.loads(pickle.dumps(plain))
    assert vars(again) == {"model": model}
    assert_allclose(again.inertia_matrix(np.ones(2)), H, atol=0)
