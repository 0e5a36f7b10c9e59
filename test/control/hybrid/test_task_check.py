# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Tasks that contacts and surfaces cannot do are found before any torque, with their reasons."""

from __future__ import annotations

import numpy as np
import pytest
from control.hybrid.tasks import WALL, Forward, system_of, turned

from robot_dynamics.control.hybrid.task_check import TaskOptions, check_task
from robot_dynamics.control.path_check import PreflightError, path_times
from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.manipulation.hybrid import ForceDistribution, FrictionCone


def checked(plan, system=None, **options):
    """Return the check of a plan, squeezing by the first internal force."""
    system = system or system_of()
    distribution = ForceDistribution.of_contacts(system)
    assert distribution.names[0] == "squeeze"
    times = path_times(plan.duration)
    return check_task(system, distribution, times, plan.rows(times), TaskOptions(**options))


def sentences(found):
    """Return the messages about a task."""
    return " ".join(problem.sentence for problem in found.problems)


def test_a_good_task_passes_with_its_margins():
    """Carried with 80 N of squeeze: the remaining friction is reported."""
    found = checked(Forward(0.1))
    assert found.problems == found.warnings == ()
    # mu f - half the weight, over sqrt(1 + mu^2); the motion takes little more.
    expected = (0.6 * 80.0 - 0.5 * 4.0 * 9.81) / np.hypot(1.0, 0.6)
    assert found.margins[0] == pytest.approx(expected)
    assert expected - 0.2 < found.margins.min() < expected


def test_grasps_that_cannot_hold_are_refused():
    """Two points, and fingers that face past one another, each with the reason."""
    points = system_of("frictional point")
    rows = Forward().rows(path_times(2.0))
    with pytest.raises(RobotDynamicsError, match="cannot control the rotation about"):
        check_task(points, None, path_times(2.0), rows)
    askew = turned(system_of(), 60.0)
    with pytest.raises(RobotDynamicsError, match=r"60 degrees at 'left_tool', friction holds 31"):
        check_task(askew, None, path_times(2.0), rows)


def test_too_little_squeeze_is_refused_or_warned_of():
    """20 N do not carry 4 kg with friction 0.6; who wants to see it may."""
    found = checked(Forward(0.1, squeeze=20.0))
    assert len(found.problems) == 2
    assert "would slip or open" in found.problems[0].sentence
    found = checked(Forward(0.1, squeeze=20.0), may_slip=True)
    assert found.problems == ()
    assert "the contact of 'left_tool' would slip or open" in found.warnings[0]
    assert found.margins.min() < 0.0
    assert "expected at least 30 N" in sentences(checked(Forward(0.1), margin=30.0))


def test_contacts_that_a_surface_helps_need_no_closure_and_are_judged_by_the_plan():
    """Told so, a grasp that cannot press by itself is checked on its plan: here it slips."""
    askew = system_of(limits=FrictionCone(0.05, torsion=0.02))
    turned_little = turned(askew, 5.0)
    with pytest.raises(RobotDynamicsError, match="no force closure"):
        checked(Forward(0.05), turned_little)
    found = checked(Forward(0.05), turned_little, closure=False)
    assert "would slip or open" in sentences(found)
    loose = checked(Forward(0.05), turned_little, closure=False, may_slip=True)
    assert "would slip" in loose.warnings[0]


def test_surfaces_are_checked():
    """A force on a wall that the path does not come to."""
    found = checked(Forward(0.05, press=10.0, touching=(1.0, 9.0)))
    assert "the object is not on that surface" in sentences(found)
    assert checked(Forward(WALL, press=10.0, touching=(1.5, 9.0))).problems == ()


def test_numbers_that_are_none_are_refused_first():
    """Before anything is computed of them, with their time."""
    plan = Forward()
    rows = plan.rows(path_times(2.0))
    rows[80, 3] = np.nan
    plan.rows = lambda times: rows
    with pytest.raises(PreflightError, match=r"refused at 0\.80 s.*not finite"):
        checked(plan)
