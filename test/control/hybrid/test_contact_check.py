# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Whether contacts and surfaces bear a plan that comes while control runs."""

import pytest
from control.hybrid.tasks import FINGER, Forward, system_of

from robot_dynamics.control.hybrid.surface_check import SurfaceRow
from robot_dynamics.control.hybrid.task_check import ContactCheck, TaskOptions
from robot_dynamics.control.path_check import PreflightError
from robot_dynamics.manipulation.hybrid import ForceDistribution


def looked_at(plan, **options):
    """Look at a plan, three points at a time; return in how many steps."""
    system = system_of("soft finger", FINGER)
    check = ContactCheck(
        system,
        ForceDistribution.of_contacts(system, [0.5, 0.5]),
        plan,
        TaskOptions(margin=1.0, surfaces=(SurfaceRow("wall"),), **options),
    )
    steps = 0
    while not check.done:
        check.advance(3)
        steps += 1
    return steps


def test_a_good_plan_passes_in_parts():
    """2 s are 40 points: 14 steps of three, and one for the surfaces."""
    assert looked_at(Forward()) == 15


@pytest.mark.parametrize(
    ("plan", "words"),
    [
        (Forward(squeeze=5.0), "would slip or open"),
        (Forward(distance=0.3), "into 'wall' where it is not to be touched"),
        (Forward(touching=(0.0, 9.0), press=20.0), "the object is not on that surface"),
    ],
)
def test_a_bad_plan_is_refused(plan, words):
    """Too little squeeze, a way into the wall, a push on a wall that is elsewhere."""
    with pytest.raises(PreflightError, match=words):
        looked_at(plan)


def test_contacts_that_may_slip_do():
    """Then their margins are not looked at."""
    assert looked_at(Forward(squeeze=5.0), may_slip=True) == 15
