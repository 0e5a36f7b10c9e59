# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The plan of a jointed object: rows of both parts, rest, and coming to rest."""

import numpy as np
import pytest
from control.jointed.situations import FIRST, POSES, SECOND, SYSTEM, path

from robot_dynamics.control.followed import FollowedRows
from robot_dynamics.control.jointed.fold_plan import FoldPlan, SecondPart
from robot_dynamics.control.reference import ACCELERATION, FORCE, POSE, TWIST, row_columns
from robot_dynamics.control.settings import ForceStepSettings, ReferenceSettings
from robot_dynamics.errors import ArgumentError
from robot_dynamics.reproductions.parts_motion import parts_motion

STEP = ForceStepSettings(time_s=0.1, wrench=(5.0, -3.0, 8.0), duration_s=0.2)
SETTINGS = ReferenceSettings(FIRST.segments, (STEP,), fold=SECOND.segments)
TIMES = np.linspace(0.0, 0.6, 61)


@pytest.fixture(scope="module")
def plan():
    """Return the plan of a small motion."""
    return FoldPlan(SYSTEM, POSES, SETTINGS)


def test_rows_are_the_motion_of_the_links(plan):
    """Origins and orientations are those of the path's parts, at all times."""
    motion = parts_motion(path(), TIMES)
    for i, rows in enumerate((plan.rows(TIMES), plan.second.rows(TIMES))):
        np.testing.assert_allclose(rows[:, :3], motion.origin[:, i], atol=1e-12)
        np.testing.assert_allclose(rows[:, TWIST][:, :3], motion.velocity[:, i, :3], atol=1e-12)
        # Velocity and acceleration are the derivatives of the position; of second order in 1 ms.
        h = 1e-3
        make = (plan.rows, plan.second.rows)[i]
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
            FoldPlan(SYSTEM, POSES, settings)


def test_it_is_at_rest_when_everything_is(plan):
    """From the end of the longer path on; the force has come to rest before."""
    assert plan.duration == pytest.approx(0.5)
    assert plan.settled_intervals(0.1) == []
    only_fold = FoldPlan(SYSTEM, POSES, ReferenceSettings(fold=SECOND.segments, force=(STEP,)))
    assert only_fold.settled_intervals(0.0) == [(0.0, 0.0), (0.4, 0.4)]
    only_force = FoldPlan(SYSTEM, POSES, ReferenceSettings(force=(STEP,)))
    assert only_force.settled_intervals(0.05) == [(0.05, 0.1)]


def followed(plan, ahead=0.0):
    """Return a function from times to the rows of both parts that are followed, and the rows."""
    period, columns = 1e-3, row_columns(surfaces=0, internal=3)
    rows = FollowedRows(
        (plan, plan.second), columns, period, begin=0, delay=0, ahead=ahead, blend_s=0.1
    )

    def at(times):
        found = np.array([rows.row(round(time / period)) for time in np.atleast_1d(times)])
        return found[:, : columns["internal"].stop], found[:, -19:]

    return at, rows


def test_accelerations_and_forces_are_those_of_the_command(plan):
    """Poses and velocities are those of the time, accelerations and force those ahead."""
    first, second = followed(plan, 0.01)[0](TIMES[:50])
    times = TIMES[:50]
    np.testing.assert_allclose(first[:, POSE], plan.rows(times)[:, POSE], atol=1e-12)
    np.testing.assert_allclose(first[:, FORCE], plan.rows(times + 0.01)[:, FORCE], atol=1e-12)
    later = plan.second.rows(times + 0.01)
    np.testing.assert_allclose(second[:, ACCELERATION], later[:, ACCELERATION], atol=1e-12)
    np.testing.assert_allclose(second[:, POSE], plan.second.rows(times)[:, POSE], atol=1e-12)


def test_coming_to_rest_on_the_path(plan):
    """Both parts stop, smoothly from where they were, together on the path."""
    at, rows = followed(plan)
    rows.hold(200)
    first, second = at(np.arange(0.2, 0.65, 1e-3))
    np.testing.assert_allclose(first[0, :19], plan.rows([0.2])[0, :19], atol=1e-12)
    np.testing.assert_allclose(second[0], plan.second.rows([0.2])[0], atol=1e-12)
    for part in (first, second):
        assert np.abs(part[-1, TWIST]).max() < 1e-9
        np.testing.assert_allclose(
            np.diff(part[:, :3], axis=0)[1:-1] / 1e-3,
            0.5 * (part[1:-2, TWIST] + part[2:-1, TWIST])[:, 3:],
            atol=1e-4,
        )
    end = np.argmin(np.abs(plan.rows(TIMES)[:, :3] - first[-1, :3]).sum(axis=1))
    np.testing.assert_allclose(plan.second.rows(TIMES)[end, :3], second[-1, :3], atol=1e-3)


def test_the_second_part_folds_as_planned_on_another_path_of_the_first(plan):
    """It takes over without a jump of pose, velocity or acceleration; the object stays closed.

    While it takes over from a path that is 5 mm away, that is so to 1e-5 m: each part is blended
    by itself.
    """
    at, rows = followed(plan)
    before = at(0.15)

    class Aside:
        """The first part's plan from 0.15 s on, 5 mm aside."""

        duration = plan.duration - 0.15

        def rows(self, times):
            found = plan.rows(np.asarray(times) + 0.15)
            found[:, 0] += 5e-3
            return found

    path = Aside()
    rows.follow((path, SecondPart(plan.path, path, 0.15)), 150)
    for old, new in zip(before, at(0.15), strict=True):
        np.testing.assert_allclose(new, old, atol=1e-11)
    times = np.arange(0.15, 0.6, 1e-3)
    first, second = at(times)
    expected = plan.path.second_rows(first, plan.path.references[1].rows(times))
    np.testing.assert_allclose(second[:, :3], expected[:, :3], atol=1e-5)
    later = times > 0.26
    np.testing.assert_allclose(second[later], expected[later], atol=1e-11)
    np.testing.assert_allclose(first[later, 0] - plan.rows(times)[later, 0], 5e-3, atol=1e-12)
