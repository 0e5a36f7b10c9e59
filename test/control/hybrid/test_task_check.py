# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Bad tasks are refused before any torque, with their reasons."""

from __future__ import annotations

import numpy as np
import pytest
from control.hybrid.tasks import START, WALL, Forward, system_of, turned
from two_arms import EFFORT

from robot_dynamics.control.hybrid.task_check import JointLimits, TaskOptions, check_task
from robot_dynamics.control.preflight import PreflightError
from robot_dynamics.errors import RobotDynamicsError
from robot_dynamics.manipulation.hybrid import ForceDistribution, FrictionCone

LIMITS = JointLimits(np.full(14, -2.9), np.full(14, 2.9), np.tile(EFFORT, 2))


def checked(plan, system=None, **options):
    """Return the check of a plan, squeezing by the first internal force."""
    system = system or system_of()
    distribution = ForceDistribution.of_contacts(system)
    assert distribution.names[0] == "squeeze"
    return check_task(system, distribution, plan, START, limits=LIMITS, **options)


def test_a_good_task_passes_with_its_margins():
    """Carried with 80 N of squeeze: what friction leaves of it is told."""
    found = checked(Forward(0.1))
    assert found.warnings == ()
    # mu f - half the weight, over sqrt(1 + mu^2); the motion takes little more.
    expected = (0.6 * 80.0 - 0.5 * 4.0 * 9.81) / np.hypot(1.0, 0.6)
    assert found.margins[0] == pytest.approx(expected)
    assert expected - 0.2 < found.margins.min() < expected
    assert len(found.path.q) == len(found.times)


def test_grasps_that_cannot_hold_are_refused():
    """Two points, and fingers that face past one another, each with the reason."""
    points = system_of("frictional point")
    with pytest.raises(RobotDynamicsError, match="cannot control the rotation about"):
        check_task(points, None, Forward(), START)
    askew = turned(system_of(), 60.0)
    with pytest.raises(RobotDynamicsError, match=r"'left_tool' 60 of 31 degrees"):
        check_task(askew, None, Forward(), START)


def test_too_little_squeeze_is_refused_or_warned_of():
    """20 N do not carry 4 kg with friction 0.6; who wants to see it may."""
    with pytest.raises(PreflightError, match="would slip or open") as error:
        checked(Forward(0.1, squeeze=20.0))
    assert len(error.value.problems) == 2
    found = checked(Forward(0.1, squeeze=20.0), options=TaskOptions(may_slip=True))
    assert "the contact of 'left_tool' would slip or open" in found.warnings[0]
    assert found.margins.min() < 0.0
    with pytest.raises(PreflightError, match="expected at least 30 N"):
        checked(Forward(0.1), options=TaskOptions(margin=30.0))


def test_contacts_that_a_surface_helps_need_no_closure_and_are_judged_by_the_plan():
    """Told so, a grasp that cannot press by itself is looked at on its plan: here it slips."""
    askew = system_of(limits=FrictionCone(0.05, torsion=0.02))
    turned_little = turned(askew, 5.0)
    with pytest.raises(RobotDynamicsError, match="cannot press"):
        checked(Forward(0.05), turned_little)
    with pytest.raises(PreflightError, match="would slip or open"):
        checked(Forward(0.05), turned_little, options=TaskOptions(closure=False))
    loose = TaskOptions(closure=False, may_slip=True)
    assert "would slip" in checked(Forward(0.05), turned_little, options=loose).warnings[0]


def test_surfaces_are_looked_at():
    """A force on a wall that the path does not come to."""
    with pytest.raises(PreflightError, match="the object is not on that surface"):
        checked(Forward(0.05, press=10.0, touching=(1.0, 9.0)))
    assert checked(Forward(WALL, press=10.0, touching=(1.5, 9.0))).warnings == ()


def test_arms_are_looked_at():
    """Out of reach, singular, too weak and beyond joint limits: all are told, in order of time."""
    with pytest.raises(PreflightError) as error:
        checked(Forward(1.0, surfaces=0), system_of(surfaces=()))
    sentences = " ".join(problem.sentence for problem in error.value.problems)
    assert "does not reach its contact" in sentences
    times = [problem.time for problem in error.value.problems]
    assert times == sorted(times)
    with pytest.raises(PreflightError, match="singularity"):
        checked(Forward(0.05), options=TaskOptions(least_freedom=0.9))
    with pytest.raises(PreflightError, match=r"joint 'left_joint\d' would need up to"):
        checked(Forward(0.05, squeeze=800.0))
    tight = LIMITS._replace(lower=np.full(14, 1.0))
    system = system_of()
    with pytest.raises(PreflightError, match=r"joint 'left_joint1' would be at"):
        check_task(
            system, ForceDistribution.of_contacts(system), Forward(0.05), START, limits=tight
        )


def test_numbers_that_are_none_are_refused_first():
    """Before anything is computed of them, with their time."""
    plan = Forward()
    rows = plan.rows(np.linspace(0.0, 2.0, 101))
    rows[40, 3] = np.nan
    plan.rows = lambda times: rows
    with pytest.raises(PreflightError, match=r"refused at 0\.80 s.*not finite"):
        checked(plan)
