# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""From one reference to another: what is continuous, and where it ends."""

from __future__ import annotations

import numpy as np
import pytest

from robot_dynamics.app.scenario import load_scenario
from robot_dynamics.control.reference import ACCELERATION, FORCE, POSE, TWIST, plan_reference
from robot_dynamics.control.streamed.trajectory import ObjectTrajectory
from robot_dynamics.control.streamed.transition import (
    SHORTEST_S,
    Standing,
    Transition,
    WithForces,
    distance_between,
)

SCENARIO = load_scenario("lift_box")
REFERENCE = plan_reference(SCENARIO.reference, SCENARIO.object_pose)


@pytest.fixture
def target():
    """Return a path from near to where the reference is at 1.3 s, with a larger squeeze."""
    row = REFERENCE.row(1.3)
    begin = np.array(row[POSE])
    begin[2] += 0.02
    end = begin.copy()
    end[1] += 0.1
    end[3:] *= -1.0
    forces = row[FORCE] + [0.0, 0.0, 0.0, 10.0, 0.0, 0.0]
    return WithForces(ObjectTrajectory([0.0, 2.0], [begin, end]), forces)


def test_it_begins_with_what_was_followed(target):
    """In pose, velocity, acceleration and force, to rounding."""
    row = REFERENCE.row(1.3)
    passage = Transition(row, target)
    assert np.allclose(passage.row(0.0), row, rtol=0.0, atol=1e-11)


def test_it_ends_with_the_new_reference(target):
    """Exactly."""
    passage = Transition(REFERENCE.row(1.3), target)
    times = passage.blend_s + np.linspace(0.0, 1.0, 5)
    assert np.array_equal(passage.rows(times), target.rows(times))
    assert passage.duration == target.duration


def test_nothing_jumps_on_the_way(target):
    """Accelerations and forces of neighbouring instants differ by their slope alone."""
    passage = Transition(REFERENCE.row(1.3), target)
    coarse, fine = (passage.rows(np.arange(0.0, 1.0, h)) for h in (1e-3, 1e-4))
    for columns in (ACCELERATION, FORCE):
        slope = np.abs(np.diff(coarse[:, columns], axis=0)).max() / 1e-3
        assert np.abs(np.diff(fine[:, columns], axis=0)).max() < 1.5e-4 * slope


def test_velocities_are_those_of_the_mixed_path(target):
    """By central differences: nothing else would be followed without an error."""
    passage, h = Transition(REFERENCE.row(1.3), target), 1e-5
    t = np.linspace(0.02, 0.9 * passage.blend_s, 9)
    positions = [passage.rows(t + d)[:, :3] for d in (-h, h)]
    assert np.allclose(
        passage.rows(t)[:, TWIST][:, 3:], (positions[1] - positions[0]) / (2 * h), atol=1e-8
    )


def test_a_larger_step_takes_longer(target):
    """So that it adds no more jerk; a step of nothing takes the shortest time."""
    row = REFERENCE.row(0.0)
    near, far = (np.array(row) for _ in range(2))
    near[2] += 0.01
    far[2] += 0.04
    stands = [WithForces(Standing(one[POSE]), row[FORCE]) for one in (row, near, far)]
    times = [Transition(row, stand).blend_s for stand in stands]
    assert times[0] == SHORTEST_S
    assert times[2] == pytest.approx(4.0 ** (1.0 / 3.0) * times[1])
    for stand in stands:
        passage = Transition(row, stand)
        times = np.linspace(0.0, passage.blend_s, 400)
        jerk = np.diff(passage.rows(times)[:, ACCELERATION], axis=0) / (times[1] - times[0])
        # The largest is at the beginning; the difference is that in the middle of a step.
        assert np.abs(jerk).max() < 15.0


def test_what_is_switched_changes_at_once(target):
    """As the columns that say which surfaces are to be touched."""
    row = REFERENCE.row(1.3)
    passage = Transition(row, target, switched=[3])
    first = passage.row(0.0)[FORCE]
    assert first[3] == row[FORCE][3] + 10.0
    assert np.array_equal(first[:3], row[FORCE][:3])


def test_delays():
    """A part that is over is left out, and one that has yet to begin is waited for."""
    path = ObjectTrajectory([0.0, 1.0], [[0, 0, 0, 0, 0, 0, 1.0], [1.0, 0, 0, 0, 0, 0, 1.0]])
    late, early = WithForces(path, [], -0.5), WithForces(path, [], 0.5)
    assert late.rows([0.0])[0, 0] == pytest.approx(0.5)
    assert late.duration == 0.5
    assert early.rows([0.25])[0, 0] == 0.0
    assert early.duration == 1.5
    assert early.settled_intervals(0.0) == [(1.5, 1.5)]


def test_distances():
    """In metres and radians."""
    row = np.zeros(19)
    row[6] = 1.0
    other = row.copy()
    other[:3] = [0.3, 0.0, 0.4]
    other[3:7] = [np.sin(0.1), 0.0, 0.0, np.cos(0.1)]
    assert distance_between(row, other) == pytest.approx((0.5, 0.2))
