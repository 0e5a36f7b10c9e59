# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Plans are at rest from a while after a change until the next one."""

from types import SimpleNamespace

import pytest

from robot_dynamics.app.scenarios.scenario import load_scenario
from robot_dynamics.control.settled import common, settled_rows, settled_until


def test_when_a_reference_is_at_rest():
    """It stays at rest for as long as the run lasts; a shorter run has shorter intervals."""
    reference = load_scenario("lift_box").plan()
    end, last = reference.duration, settled_until(reference, 0.5, reference.duration)[-1]
    longer = settled_until(reference, 0.5, end + 10.0)
    assert longer[-1] == (last[0], end + 10.0)
    assert settled_until(reference, 0.5, 1.0) == []
    # At rest for less than it takes to settle within the reference, for long after it.
    assert settled_until(reference, 5.0, end) == []
    assert settled_until(reference, 5.0, end + 10.0)[-1][1] == end + 10.0


def test_common_intervals_of_two_plans_are_their_overlaps():
    """Both are at rest: overlaps, single instants included."""
    assert common([(0.0, 2.0), (3.0, 5.0)], [(1.0, 3.0), (4.0, 9.0)]) == [
        (1.0, 2.0),
        (3.0, 3.0),
        (4.0, 5.0),
    ]
    assert common([(0.0, 1.0)], [(2.0, 3.0)]) == []


def test_when_something_written_down_was_at_rest():
    """From the settling time on after the first period at rest, to the last one."""
    rests = [False] * 2 + [True] * 4 + [False] + [True] * 2 + [False] + [True] * 3
    assert settled_rows(rests, 0.5, 1.0) == [(2.0, 2.5), (6.0, 6.0)]
    assert settled_rows([], 0.5, 1.0) == []


@pytest.mark.parametrize(
    ("end", "expected"),
    [
        (0.99, []),
        (1.0, [(1.0, 1.0)]),
        (1.5, [(1.0, 1.5)]),
        (10.0, [(1.0, 2.0)]),
        (10.15, [(1.0, 2.0)]),
        (10.25, [(1.0, 2.0), (10.2, 10.25)]),
    ],
)
def test_intervals_end_with_the_run(end, expected):
    """At rest from 1 to 2 s of 10; after its end it has to settle for 0.2 s as well."""
    plan = SimpleNamespace(duration=10.0, settled_intervals=lambda settle_s: [(1.0, 2.0)])
    assert settled_until(plan, 0.2, end) == expected


@pytest.mark.parametrize(("end", "until"), [(9.9, 9.9), (10.0, 10.0), (10.1, 10.1)])
def test_a_plan_that_ends_at_rest_stays_there(end, until):
    """By however little one looks further than it goes."""
    plan = SimpleNamespace(duration=10.0, settled_intervals=lambda settle_s: [(5.0, 10.0)])
    assert settled_until(plan, 0.2, end) == [(5.0, until)]


@pytest.mark.parametrize(("periods", "found"), [(2, []), (3, [(51.0, 51.0)])])
def test_the_shortest_rest_that_counts(periods, found):
    """A second, of periods of half a second, late in a long run."""
    assert settled_rows([False] * 100 + [True] * periods, 0.5, 1.0) == found


@pytest.mark.parametrize(("begin", "both"), [(10.0, [(10.0, 10.0)]), (10.1, [])])
def test_the_shortest_overlap(begin, both):
    """A single instant, late in a long run."""
    assert common([(0.0, 10.0)], [(begin, 20.0)]) == both
