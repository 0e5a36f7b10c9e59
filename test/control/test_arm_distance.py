# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Distances between arms."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize
from two_arms import BASE, BOX, HALF_WIDTH, two_arms

from robot_dynamics.control.arm_distance import closest_links, link_points, segment_distance
from robot_dynamics.manipulation.assembly import closed_configuration

RNG = np.random.default_rng(7)


def test_the_distance_of_segments_is_the_smallest_of_their_points():
    """Against a numerical minimum over both segments, for segments in any position."""
    p, p_end, q, q_end = RNG.normal(size=(4, 40, 3))
    got = segment_distance(p, p_end, q, q_end)
    for i in range(40):

        def square(x, i=i):
            gap = p[i] + x[0] * (p_end[i] - p[i]) - q[i] - x[1] * (q_end[i] - q[i])
            return gap @ gap

        # a convex square over a square: one minimum, found to the optimiser's 1e-9 of the square
        best = minimize(square, [0.5, 0.5], bounds=[(0, 1), (0, 1)], options={"ftol": 1e-15})
        assert got[i] == pytest.approx(np.sqrt(best.fun), abs=1e-4)


@pytest.mark.parametrize(
    ("p", "p_end", "q", "q_end", "expected"),
    [
        ((0, 0, 0), (1, 0, 0), (0, 1, 0), (1, 1, 0), 1.0),  # parallel
        (
            (0, 0, 0),
            (1, 0, 0),
            (3, 1, 0),
            (5, 1, 0),
            np.sqrt(5.0),
        ),  # parallel, one after the other
        ((0, 0, 0), (1, 0, 0), (0.5, -1, 0), (0.5, 1, 0), 0.0),  # crossing
        ((0, 0, 0), (0, 0, 0), (1, -1, 0), (1, 1, 0), 1.0),  # a point and a segment
        ((1, -1, 0), (1, 1, 0), (0, 0, 0), (0, 0, 0), 1.0),  # a segment and a point
        ((0, 0, 0), (0, 0, 0), (0, 3, 4), (0, 3, 4), 5.0),  # two points
        ((0, 0, 0), (2, 0, 0), (1, 0, 0), (3, 0, 0), 0.0),  # on one line, overlapping
    ],
)
def test_segments_in_special_positions(p, p_end, q, q_end, expected):
    """Parallel ones, points, and overlaps have no division by zero."""
    arguments = [np.array(x, dtype=float) for x in (p, p_end, q, q_end)]
    assert segment_distance(*arguments) == pytest.approx(expected, abs=1e-12)


def test_link_points_go_from_the_base_to_the_grasp():
    """The first is the first joint, the last the grasp; straight arms are straight up."""
    system = two_arms()
    held = closed_configuration(system, BOX)[system.q_index]
    left, right = link_points(system, np.array([np.zeros(14), held]))
    assert left.shape == (8, 2, 3)
    np.testing.assert_allclose(left[0], [[0.0, BASE, 0.1]] * 2, atol=1e-12)
    np.testing.assert_allclose(left[-1, 0], [0.0, BASE, 1.22], atol=1e-12)
    aside = np.array([0.0, HALF_WIDTH, 0.0])
    np.testing.assert_allclose(left[-1, 1], BOX[:3] + aside, atol=1e-9)
    np.testing.assert_allclose(right[-1, 1], BOX[:3] - aside, atol=1e-9)


def test_the_closest_links_are_named_and_the_tools_left_out():
    """Parallel arms are as far apart as their bases; tools at the object do not count."""
    system = two_arms()
    q = np.zeros((2, 14))
    q[1, [1, 8]] = 0.3, 0.3  # both lean forward, still parallel
    straight = closest_links(system, q)
    np.testing.assert_allclose(straight.distance, 2.0 * BASE, rtol=1e-12)
    q = np.zeros((1, 14))
    q[0, 0], q[0, 1] = -np.pi / 2, np.pi / 2  # the left arm stretched out across the right one
    crossed = closest_links(system, q)
    assert crossed.distance[0] < 1e-9
    assert system.joint_names[crossed.first[0]] == "left_joint5"  # the forearm
    assert system.joint_names[crossed.second[0]].startswith("right_joint")
