# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Recursions along the tree as sparse systems."""

from __future__ import annotations

import numpy as np
from numpy.testing import assert_allclose

from robot_dynamics.dynamics.tree_recursion import solve_outwards
from robot_dynamics.model import WORLD


def test_it_is_the_recursion(rng):
    """The solution equals that of a loop over the bodies, for a tree with branches and roots."""
    parent = np.array([WORLD, 0, 0, 2, WORLD, 4, 1, 3])
    steps, own = rng.normal(size=(8, 3, 3)), rng.normal(size=(8, 3, 2))
    expected = own.copy()
    for i, p in enumerate(parent):
        if p != WORLD:
            expected[i] += steps[i] @ expected[p]
    # A few products of numbers of size one.
    assert_allclose(solve_outwards(parent, steps, own), expected, rtol=1e-13, atol=1e-13)


def test_a_recursion_without_bodies_is_empty():
    """Without bodies there is nothing."""
    nothing = solve_outwards(np.zeros(0, dtype=int), np.zeros((0, 6, 6)), np.zeros((0, 6, 1)))
    assert nothing.shape == (0, 6, 1)


def test_a_long_chain_fills_nothing_in(rng):
    """Rounding does not build up either: 20000 small turns are still a rotation."""
    angles = 1e-3 * rng.normal(size=20000)
    turns = np.array([[np.cos(angles), -np.sin(angles)], [np.sin(angles), np.cos(angles)]])
    steps = np.moveaxis(turns, 2, 0)
    own = np.zeros((20000, 2, 1))
    own[0, 0] = 1.0
    found = solve_outwards(np.arange(20000) - 1, steps, own)[-1, :, 0]
    total = np.sum(angles[1:])
    # Random signs: the root of 20000 roundings.
    assert_allclose(found, [np.cos(total), np.sin(total)], atol=1e-13)
