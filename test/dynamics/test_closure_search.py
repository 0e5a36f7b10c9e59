# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""One start of the search: rate of convergence, acceptance, and admissible region."""

from itertools import pairwise

import numpy as np
import pytest
from numpy.testing import assert_allclose
from support import linkages

from robot_dynamics.dynamics.closure_search import ClosureSearch, metric_root
from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.model import Limits
from robot_dynamics.robot import Robot


def search_of(mechanism, fixed=None, limits=True):
    """Return the search of a mechanism, and the gaps that it has seen."""
    robot = Robot.from_mechanism(mechanism)
    model, gaps = robot.model, []

    def closure(q):
        K, error = robot.closure(q)
        gaps.append(float(np.max(np.abs(error))))
        return K, error

    still = np.zeros(model.nv, dtype=bool) if fixed is None else np.array(fixed)
    return ClosureSearch(model, closure, still, limits, None, 1.0, 1e-9, 200), gaps


@pytest.mark.parametrize("mechanism", [linkages.four_bar(), linkages.bricard()])
def test_convergence_is_quadratic(mechanism):
    """Near closure the error falls to about its square, redundant constraints or not."""
    search, gaps = search_of(mechanism)
    q, gap = search.run(np.linspace(0.4, 0.8, search.model.nv))
    assert gap < 1e-14
    small = [g for g in gaps if 1e-14 < g < 1e-2]
    # Errors are of lengths and angles of order one, so that the factor is of order ten at most.
    assert all(after < 10.0 * before**2 for before, after in pairwise(small))
    assert search.is_genuine(q, gap, np.random.default_rng(0))


def test_fixed_coordinates_stay():
    """Steps leave fixed coordinates alone."""
    search, _ = search_of(linkages.four_bar(), fixed=[True, False, False])
    q, gap = search.run(np.array([0.7, 0.1, -0.4]))
    assert gap < 1e-14
    assert q[0] == 0.7


def test_settling_only_goes_down():
    """If the loop cannot close, settling ends at the narrowest gap: here three bars in line."""
    search, _ = search_of(linkages.four_bar(lengths=(0.1, 0.2, 0.3), ground=0.9))
    start = np.array([0.8, -0.7, 0.6])
    before = np.max(np.abs(search.rows * search.closure(start)[1]))
    q, gap = search.settled(start)
    assert gap < before
    assert_allclose(gap, 0.3, rtol=1e-6)
    assert_allclose(np.sin(q), 0.0, atol=1e-3)


def test_starts_are_spread_within_limits():
    """Random starts respect limits, keep fixed values, and reach everywhere at spread one."""
    b = linkages.Builder("ranges")
    b.add("narrow", "base", limits=Limits(1.0, 1.5))
    b.add("wide", "narrow")
    b.add("held", "wide")
    b.add("free", "held", "spherical")
    b.close("touch", "point_on_plane", "base", "free")
    search, _ = search_of(b.done(), fixed=[False, False, True, False, False, False])
    rng = np.random.default_rng(1)
    guess = search.model.neutral()
    starts = np.array([search.scattered(guess, 1.0, rng) for _ in range(200)])
    assert starts[:, 0].min() >= 1.0
    assert starts[:, 0].max() <= 1.5
    assert np.ptp(starts[:, 1]) > 6.0
    assert np.all(starts[:, 2] == 0.0)
    assert_allclose(np.linalg.norm(starts[:, 3:], axis=1), 1.0)
    assert_allclose(search.scattered(guess, 0.0, rng), guess)


def test_steps_end_at_limits():
    """A coordinate at its limit is left out of the step, and the others do the work."""
    b = linkages.Builder("slides")
    b.add("first", "base", "prismatic", axis=linkages.X, limits=Limits(0.0, 0.2))
    b.add("second", "first", "prismatic", axis=linkages.X)
    b.close("stop", "point_on_plane", "base", "second",
            np.array([[0, 0, 1, 1.0], [0, 1, 0, 0], [-1, 0, 0, 0], [0, 0, 0, 1.0]]))  # fmt: skip
    search, _ = search_of(b.done())
    q, gap = search.run(np.zeros(2))
    assert gap < 1e-14
    assert_allclose(q, [0.2, 0.8], atol=1e-12)
    free, _ = search_of(b.done(), limits=False)
    assert_allclose(free.run(np.zeros(2))[0], [0.5, 0.5], atol=1e-12)


def test_steps_are_smallest_in_the_metric_of_the_free_coordinates():
    """A matrix is factored for the free coordinates; without one displacements count alike."""
    H = np.array([[4.0, 1.0], [1.0, 3.0]])
    both, second = np.array([True, True]), np.array([False, True])
    root = metric_root(H, np.ones(2), both)
    assert_allclose(root @ root.T, H)
    assert_allclose(metric_root(H, np.ones(2), second), [[np.sqrt(3.0)]])
    assert_allclose(metric_root(None, np.array([2.0, 1.0]), both), np.diag([2.0, 1.0]))
    assert_allclose(metric_root(None, np.array([2.0, 1.0]), second), [[1.0]])


def test_a_metric_without_inertia():
    """Motions without a size in the metric are reported: links without mass move freely."""
    H = np.diag([1.0, 0.0])
    with pytest.raises(RobotDynamicsError, match="expected the metric of displacements"):
        metric_root(H, np.ones(2), np.array([True, True]))
    assert_allclose(metric_root(H, np.ones(2), np.array([True, False])), [[1.0]])
