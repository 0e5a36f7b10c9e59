# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Distances between arms."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import minimize
from support.hybrid_systems import LINKAGE
from support.sampled_decoupling import cell_of
from two_arms import BASE, BOX, HALF_WIDTH, two_arms

from robot_dynamics.control.faults import Cause
from robot_dynamics.control.link_distance import (
    LinkDistances,
    Proximity,
    link_points,
    segment_distance,
)
from robot_dynamics.control.settings import SafetySettings
from robot_dynamics.manipulation.assembly import closed_configuration
from robot_dynamics.spatial import Vector3

RNG = np.random.default_rng(7)


def test_the_distance_of_segments_is_the_smallest_of_their_points():
    """Against a numerical minimum over both segments, for segments in any position."""
    p, p_end, q, q_end = RNG.normal(size=(4, 40, 3))
    got = segment_distance(*(Vector3.of(x.T) for x in (p, p_end, q, q_end)))
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
    arguments = [Vector3.of([float(value) for value in x]) for x in (p, p_end, q, q_end)]
    assert segment_distance(*arguments) == pytest.approx(expected, abs=1e-12)


def test_link_points_go_from_the_base_to_the_grasp():
    """The first is the first joint, the last the grasp; straight arms are straight up."""
    system = two_arms()
    held = closed_configuration(system, BOX)[system.q_index]
    left, _ = (np.array([list(p) for p in arm]) for arm in link_points(system, np.zeros(14)))
    assert left.shape == (8, 3)
    np.testing.assert_allclose(left[0], [0.0, BASE, 0.1], atol=1e-12)
    np.testing.assert_allclose(left[-1], [0.0, BASE, 1.22], atol=1e-12)
    left, right = (np.array([list(p) for p in arm]) for arm in link_points(system, held))
    aside = np.array([0.0, HALF_WIDTH, 0.0])
    np.testing.assert_allclose(left[-1], BOX[:3] + aside, atol=1e-9)
    np.testing.assert_allclose(right[-1], BOX[:3] - aside, atol=1e-9)


def test_the_closest_links_are_named_and_the_tools_left_out():
    """Parallel arms are as far apart as their bases; tools at the object do not count."""
    distances = LinkDistances(two_arms(), 0.06)
    across = [i for i, pair in enumerate(distances.pairs) if not pair.related]
    within = np.setdiff1d(np.arange(len(distances.pairs)), across)
    assert ("left_joint7", "right_joint7") not in [pair[:2] for pair in distances.pairs]
    q = np.zeros((2, 14))
    q[1, [1, 8]] = 0.3, 0.3  # both lean forward, still parallel
    poses = np.tile(BOX, (2, 1))
    straight = distances.closest(q, poses, within)
    np.testing.assert_allclose(straight.distance, 2.0 * BASE - 2 * 0.06, rtol=1e-12)
    q = np.zeros((1, 14))
    q[0, 0], q[0, 1] = -np.pi / 2, np.pi / 2  # the left arm stretched out across the right one
    crossed = distances.closest(q, poses[:1], within)
    assert crossed.distance[0] < 1e-9 - 2 * 0.06
    pair = int(crossed.pair[0])
    assert distances.pairs[pair].first == "left_joint5"  # the forearm
    sentence = distances.sentence(pair, -0.12, 0.02)
    assert sentence.startswith("the link after joint 'left_joint5' comes to -0.12 m from the one")


def test_a_folded_arm_comes_close_to_itself():
    """Its forearm to its upper arm, and nothing else does when it is straight."""
    distances = LinkDistances(two_arms(), 0.06)
    folded, straight = np.zeros((2, 14))
    folded[3] = np.pi * 0.99
    same = [i for i, pair in enumerate(distances.pairs) if pair.related]
    near = distances(folded, BOX)
    closest = distances.pairs[min(same, key=lambda i: near[i])]
    assert near[same].min() < 0.0
    assert closest.first.startswith("left_joint")
    assert closest.second.startswith("left_joint")
    assert distances.touching(0.0, folded, BOX).size > distances.touching(0.0, straight, BOX).size


def test_the_object_is_a_box():
    """An arm that stretches through it is at distance 0 less its radius; far away it is free."""
    system = two_arms()
    box = np.array([[-0.1, -0.2, -0.15], [0.1, 0.2, 0.15]])
    distances = LinkDistances(system, 0.05, box)
    of_object = [i for i, pair in enumerate(distances.pairs) if pair.second == "object"]
    assert len(of_object) == 2 * 5
    up = np.zeros(14)
    beside = np.array([0.5, BASE, 0.6, 0.0, 0.0, 0.0, 1.0])
    left = [i for i in of_object if distances.pairs[i].first.startswith("left")]
    # Straight up beside a face: the axis is 0.4 m away, and some of its points are beside it.
    assert distances(up, beside)[left].min() == pytest.approx(0.4 - 0.05, abs=1e-12)
    turned = beside.copy()
    turned[3:] = [0.0, 0.0, np.sqrt(0.5), np.sqrt(0.5)]  # its long side points to the arm now
    assert distances(up, turned)[left].min() == pytest.approx(0.3 - 0.05, abs=1e-12)
    through = np.array([0.0, BASE, 0.6, 0.0, 0.0, 0.0, 1.0])
    assert distances(up, through)[left].min() == pytest.approx(-0.05, abs=1e-12)


def test_a_single_arm_without_an_object_collides_with_itself_alone():
    """Fewer than four joints with nothing at all."""

    class NoArms:
        arms = ()
        joint_names = ()

    assert LinkDistances(NoArms(), 0.05).closest(
        np.zeros((2, 0)), np.zeros((2, 7))
    ).distance.tolist() == [np.inf, np.inf]


def test_links_of_arms_with_loops_are_those_on_the_way_to_the_tool():
    """Joints without drives are where they follow to; cranks and rods are left out."""
    cell = cell_of(2, LINKAGE)
    system = cell.system
    distances = LinkDistances(system, 0.03, [[-0.1] * 3, [0.1] * 3])
    named = {name for pair in distances.pairs for name in pair[:2]}
    assert "arm0_fore" in named
    assert not named & {"arm0_crank", "arm0_rod"}
    at = system.positions(system.posture)[system.every_q].tolist()
    one, other = link_points(system, at)
    assert len(one) == 7  # joints on the way to the tool, and the grasp
    found = distances(system.posture, cell.start[system.object_q])
    assert found[0] == pytest.approx(segment_distance(*one[:2], *other[:2]) - 2 * 0.03, abs=1e-12)
    both = np.array([system.posture, system.posture])
    batch = distances(both, np.array([cell.start[system.object_q]] * 2))
    np.testing.assert_allclose(batch, [found, found], atol=1e-15)


# -- while control runs

SYSTEM = two_arms()
HELD = closed_configuration(SYSTEM, BOX)[SYSTEM.q_index]


def test_arms_at_their_grasps_are_far_enough_apart():
    """Nothing is found where a run starts."""
    watch = Proximity(SYSTEM, SafetySettings())
    watch.begin(HELD, BOX)
    assert watch.finding(HELD, BOX) is None


def test_an_arm_across_the_other_one():
    """The finding names both links, their distance, and the least distance."""
    watch = Proximity(SYSTEM, SafetySettings())
    watch.begin(HELD, BOX)
    across = np.zeros(14)
    across[0], across[1] = -np.pi / 2, np.pi / 2
    found = watch.finding(across, BOX)
    assert found.cause is Cause.TOO_CLOSE
    assert found.subject.startswith("left_joint")
    assert "after 'right_joint" in found.sentence
    assert (
        "expected at least 0.02 m (links of radius safety.link_radius_m = 0.06 m)"
        in found.sentence
    )


def test_different_arms_are_never_neighbours():
    """Also where they start too close: only capsules of one arm may overlap there."""
    wide = replace(SafetySettings(), link_radius_m=0.3)
    watch = Proximity(SYSTEM, wide)
    watch.begin(HELD, BOX)
    assert watch.finding(HELD, BOX).cause is Cause.TOO_CLOSE


def test_the_object_has_a_distance_of_its_own():
    """An object that comes to an upper arm."""
    box = np.array([[-0.1, -0.1, -0.1], [0.1, 0.1, 0.1]])
    watch = Proximity(SYSTEM, SafetySettings(), box)
    watch.begin(HELD, BOX)
    assert watch.finding(HELD, BOX) is None
    at_the_base = np.array([0.0, BASE, 0.3, 0.0, 0.0, 0.0, 1.0])
    found = watch.finding(HELD, at_the_base)
    assert "m from the object, expected at least 0 m" in found.sentence
    assert Proximity(SYSTEM, SafetySettings()).finding(HELD, at_the_base) is None


def test_the_first_time_at_which_a_motion_comes_too_close_is_found():
    """The object moves to the base of an arm; the distance is that of the row that is named."""
    box = np.array([[-0.1, -0.1, -0.1], [0.1, 0.1, 0.1]])
    watch = Proximity(SYSTEM, SafetySettings(), box)
    poses = np.tile(BOX, (50, 1))
    poses[:, :3] += np.linspace(0.0, 1.0, 50)[:, None] * (np.array([0.0, BASE, 0.3]) - BOX[:3])
    q = np.tile(HELD, (50, 1))
    row, joint, sentence = watch.first_too_close(q, poses)
    assert joint.startswith("left")
    assert "from the object, expected at least 0 m" in sentence
    assert watch.first_too_close(q[:row], poses[:row]) is None
    watch.begin(HELD, BOX)
    assert watch.finding(HELD, poses[row - 1]) is None
    assert watch.finding(HELD, poses[row]) is not None


def test_a_link_that_is_nearer_to_the_object_than_stated_is_not_left_out():
    """Not at the start either: it is refused there, and found while control runs."""
    box = np.array([[-0.1, -0.1, -0.1], [0.1, 0.1, 0.1]])
    distances = LinkDistances(SYSTEM, SafetySettings().link_radius_m, box)
    to_object = [pair.second == "object" for pair in distances.pairs]
    nearest = distances(HELD, BOX)[to_object].min()
    assert nearest > 0.0
    for stated, refused in ((0.9 * nearest, False), (1.1 * nearest, True)):
        settings = replace(SafetySettings(), minimum_object_distance_m=stated)
        watch = Proximity(SYSTEM, settings, box)
        found = watch.first_too_close(HELD[None], BOX[None])
        assert (found is not None) == refused
        if refused:
            assert f"comes to {nearest:.3g} m from the object" in found[2]
        watch.begin(HELD, BOX)
        assert (watch.finding(HELD, BOX) is not None) == refused


def test_nan_counts_as_too_close():
    """Comparisons are written so that a NaN never passes."""
    watch = Proximity(SYSTEM, SafetySettings())
    watch.begin(HELD, BOX)
    assert watch.finding(np.full(14, np.nan), BOX) is not None
