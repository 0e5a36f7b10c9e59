# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The plan of a jointed object: rows of both parts, rest, and coming to rest."""

import numpy as np
import pytest
from control.jointed.situations import AT_REST, FIRST, SECOND, SYSTEM, path

from robot_dynamics.control.jointed.fold_plan import FoldPlan
from robot_dynamics.control.reference import ACCELERATION, FORCE, POSE, TWIST
from robot_dynamics.control.settings import ForceStepSettings, ReferenceSettings
from robot_dynamics.errors import ArgumentError

STEP = ForceStepSettings(time_s=0.1, wrench=(5.0, -3.0, 8.0), duration_s=0.2)
SETTINGS = ReferenceSettings(FIRST.segments, (STEP,), fold=SECOND.segments)
TIMES = np.linspace(0.0, 0.6, 61)


@pytest.fixture(scope="module")
def plan():
    """Return the plan of a small motion."""
    return FoldPlan(SYSTEM, AT_REST, SETTINGS)


def test_rows_are_the_motion_of_the_links(plan):
    """Origins and orientations are those of the path's parts, at all times."""
    motion = path().at(TIMES)
    for i, rows in enumerate((plan.rows(TIMES), plan.second_rows(TIMES))):
        np.testing.assert_allclose(rows[:, :3], motion.origin[:, i], atol=1e-12)
        np.testing.assert_allclose(rows[:, TWIST][:, :3], motion.velocity[:, i, :3], atol=1e-12)
        # Velocity and acceleration are the derivatives of the position; of second order in 1 ms.
        h = 1e-3
        make = (plan.rows, plan.second_rows)[i]
        before, after = make(TIMES - h)[:, :3], make(TIMES + h)[:, :3]
        inside = slice(5, 35)
        np.testing.assert_allclose(
            ((after - before) / (2.0 * h))[inside], rows[inside, TWIST][:, 3:], atol=2e-5
        )
        np.testing.assert_allclose(
            ((after - 2.0 * rows[:, :3] + before) / h**2)[inside],
            rows[inside, ACCELERATION][:, 3:],
            atol=2e-3,
        )
        turns = np.sum(rows[1:, 3:7] * rows[:-1, 3:7], axis=1)
        assert (turns > 0.99).all()  # the quaternion's sign is continuous


def test_the_force_is_behind_the_first_part(plan):
    """It has as many components as the joint blocks directions."""
    rows = plan.rows([0.0, 1.0])
    np.testing.assert_array_equal(rows[:, FORCE], [[0.0, 0.0, 0.0], STEP.wrench])
    short = ForceStepSettings(time_s=0.0, wrench=(1.0, 2.0))
    squeeze = ForceStepSettings(time_s=0.0, squeeze_n=10.0)
    for wrong, sentence in ((short, "wrench 1"), (squeeze, "squeeze")):
        settings = ReferenceSettings(force=(wrong,))
        with pytest.raises(ArgumentError, match=sentence):
            FoldPlan(SYSTEM, AT_REST, settings)


def test_it_is_at_rest_when_everything_is(plan):
    """From the end of the longer path on; the force has come to rest before."""
    assert plan.duration == pytest.approx(0.5)
    assert plan.settled_intervals(0.1) == []
    only_fold = FoldPlan(SYSTEM, AT_REST, ReferenceSettings(fold=SECOND.segments, force=(STEP,)))
    assert only_fold.settled_intervals(0.0) == [(0.0, 0.0), (0.4, 0.4)]
    only_force = FoldPlan(SYSTEM, AT_REST, ReferenceSettings(force=(STEP,)))
    assert only_force.settled_intervals(0.05) == [(0.05, 0.1)]


def test_what_acts_later_is_looked_up_later(plan):
    """Poses and velocities are those of the time, accelerations and force those ahead."""
    first, second = plan.at(TIMES, 0.01)
    np.testing.assert_array_equal(first[:, POSE], plan.rows(TIMES)[:, POSE])
    np.testing.assert_array_equal(first[:, FORCE], plan.rows(TIMES + 0.01)[:, FORCE])
    later = plan.second_rows(TIMES + 0.01)
    np.testing.assert_array_equal(second[:, ACCELERATION], later[:, ACCELERATION])


def test_coming_to_rest_on_the_path(plan):
    """Both parts stop, smoothly from where they were, together on the path."""
    first, second = plan.halted(0.2, 1e-3, 0.0)
    np.testing.assert_allclose(first[0, :19], plan.rows([0.2])[0, :19], atol=1e-12)
    np.testing.assert_allclose(second[0], plan.second_rows([0.2])[0], atol=1e-12)
    for rows in (first, second):
        assert np.abs(rows[-1, TWIST]).max() < 1e-9
        np.testing.assert_allclose(
            np.diff(rows[:, :3], axis=0)[1:-1] / 1e-3,
            0.5 * (rows[1:-2, TWIST] + rows[2:-1, TWIST])[:, 3:],
            atol=1e-4,
        )
    end = np.argmin(np.abs(plan.rows(TIMES)[:, :3] - first[-1, :3]).sum(axis=1))
    np.testing.assert_allclose(plan.second_rows(TIMES)[end, :3], second[-1, :3], atol=1e-3)
