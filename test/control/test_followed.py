# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Rows by ticks: of a plan, of plans that take over, of a halt, and when a surface is left."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.spatial.transform import Rotation
from support.hybrid_control import START, Plan

from robot_dynamics.control.followed import FollowedRows, blended, with_compared
from robot_dynamics.control.reference import row_columns
from robot_dynamics.errors import ArgumentError

COLUMNS = row_columns(surfaces=1, internal=6)
BEGIN, PERIOD, BLEND = 10, 0.01, 0.2
WIDTH = COLUMNS["internal"].stop
FORCES = np.r_[COLUMNS["contact"], COLUMNS["internal"]]


def followed(plan=None):
    """Return the rows of a plan that moves along x."""
    plan = plan or Plan(1, velocity=(0.1, 0.0, 0.0))
    return FollowedRows(
        (plan,), COLUMNS, PERIOD, begin=BEGIN, delay=1, ahead=1.5 * PERIOD, blend_s=BLEND
    )


def test_rows_begin_at_a_tick_and_end_with_the_plan():
    """The first row serves before, the last one after."""
    rows = followed()
    assert rows.last == BEGIN + 100
    assert_allclose(rows.row(0), rows.row(BEGIN))
    assert_allclose(rows.row(BEGIN + 50)[0], START[0] + 0.05)
    assert_allclose(rows.row(9999), rows.row(rows.last))


def test_plans_follow_one_another_for_ever():
    """After a thousand plans no more is kept than after one, and the path is continuous."""
    rows = followed()
    lengths, x = set(), []
    for k in range(1000):
        tick = BEGIN + 30 * (k + 1)
        x.append(rows.row(tick)[0])
        rows.follow((Plan(1, start=START, velocity=(0.1 if k % 2 else -0.1, 0.0, 0.0)),), tick)
        assert rows.row(tick)[0] == pytest.approx(x[-1], abs=1e-12)
        lengths.add(len(rows._rows))
    assert len(lengths) == 1
    rows.restart()
    assert_allclose(rows.row(BEGIN + 50)[0], START[0] + 0.05)


def test_a_halt_is_of_the_plan_that_is_followed():
    """It goes on along the new plan and comes to rest there."""
    rows = followed()
    rows.follow((Plan(1, start=START, velocity=(0.0, 0.1, 0.0)),), BEGIN + 20)
    tick = BEGIN + 20 + 60
    going = rows.row(tick).copy()
    rows.hold(tick)
    assert_allclose(rows.row(tick)[:19], going[:19], atol=1e-12)
    assert rows.row(rows.last)[1] > going[1]
    assert_allclose(rows.row(rows.last)[7:19], 0.0, atol=1e-12)


def test_leaving_a_surface_is_no_error():
    """The path begins where the object is, less its present error, and comes back."""
    rows = followed()
    tick, plain = BEGIN + 40, followed()
    seen = plain.row(tick)[:7].copy()
    seen[2] -= 0.05
    error = np.array([0.0, 0.0, 0.0, 0.001, 0.0, 0.0])
    row = rows.depart(tick, seen, error, np.zeros(6))
    assert_allclose(row[:3] - seen[:3], error[3:], atol=1e-12)
    later = tick + round(BLEND / PERIOD)
    assert_allclose(rows.row(later), plain.row(later), atol=1e-12)


def test_a_surface_is_left_when_its_force_has_faded():
    """It is to be touched as long as there is a force on it."""
    rows, at = followed(Plan(1, contact=20.0)), COLUMNS
    rows.follow((Plan(1, wanted=0.0),), BEGIN + 40)
    part = np.array([rows.row(BEGIN + 40 + k) for k in range(40)])
    on = part[:, at["touch"]][:, 0] > 0.0
    assert on[: round(BLEND / PERIOD)].all()
    assert not on[round(BLEND / PERIOD) + 1 :].any()
    assert_allclose(part[~on][:, at["contact"]], 0.0)


def test_a_plan_begins_where_it_is_followed():
    """Long after the end of the one before as well: no part of it is left out."""
    rows, late = followed(), BEGIN + 500
    end = rows.row(late)[:3].copy()
    moving = Plan(1, start=np.concatenate([end, START[3:]]), velocity=(0.0, 0.1, 0.0))
    rows.follow((moving,), late)
    assert_allclose(rows.row(late)[:3], end, atol=1e-12)
    assert rows.row(late + 60)[1] == pytest.approx(end[1] + 0.06, abs=1e-12)
    assert rows.last == late + 100


def test_a_plan_is_looked_up_in_parts_alike():
    """A path followed for longer than a part equals the plan, also in the comparison."""
    rows, at = followed(), COLUMNS
    rows.follow((Plan(1, start=START, velocity=(0.1, 0.0, 0.0), contact=20.0),), BEGIN)
    whole = followed(Plan(1, start=START, velocity=(0.1, 0.0, 0.0), contact=20.0))
    blend = round(BLEND / PERIOD)
    for k in (30, 31, 60, 99):
        assert k > blend
        assert_allclose(rows.row(BEGIN + k), whole.row(BEGIN + k), atol=1e-12)
    assert rows.row(BEGIN + 99)[at["compared_contact"]] == pytest.approx(20.0)


def test_a_path_that_is_over_is_not_come_back_to():
    """The object comes to rest where it leaves the surface, from the velocity that it has."""
    rows = followed(Plan(1))
    seen = rows.row(BEGIN + 300)[:7].copy()
    seen[0] -= 0.003
    rate = np.array([0.0, 0.0, 0.0, -0.01, 0.0, 0.0])
    row = rows.depart(BEGIN + 300, seen, np.zeros(6), rate)
    assert_allclose(row[:7], seen, atol=1e-12)
    assert_allclose(row[7:13], rate, atol=1e-12)
    last = rows.row(BEGIN + 999)
    assert last[0] == pytest.approx(seen[0] - 0.5 * BLEND * 0.01, abs=1e-12)
    assert_allclose(last[7:19], 0.0, atol=1e-12)


def test_an_end_in_free_space_is_come_back_to():
    """A path that leads away from the surface may be over when that is left: its end counts."""
    rows = followed(Plan(1))
    end = rows.row(BEGIN + 999)[:7].copy()
    seen = end.copy()
    seen[0] += 0.003
    row = rows.depart(BEGIN + 999, seen, np.zeros(6), np.zeros(6), behind=False)
    assert_allclose(row[:7], seen, atol=1e-12)
    assert_allclose(rows.row(BEGIN + 999 + round(BLEND / PERIOD) + 1)[:7], end, atol=1e-12)


def test_a_plan_of_other_forces_is_refused():
    """Rows must have a column for each surface force and internal force."""
    with pytest.raises(ArgumentError, match="rows of 25, expected 27"):
        followed().follow((Plan(0),), 0)


class Ramp:
    """A plan on which every number is the time."""

    def rows(self, times):
        """Return rows of the time."""
        return np.repeat(np.asarray(times, dtype=float)[:, None], WIDTH, axis=1)


def test_measured_forces_are_compared_with_what_they_answer():
    """Two samples late, across the rows that were followed before; the first row at the start."""
    rows = Ramp().rows(np.arange(4.0))
    alone = with_compared(rows, rows[:0], COLUMNS, 2)
    assert_allclose(alone[:, COLUMNS["compared_contact"]].ravel(), [0, 0, 0, 1])
    before = Ramp().rows(np.array([7.0, 8.0, 9.0]))
    after = with_compared(rows, before, COLUMNS, 2)
    assert_allclose(after[:, COLUMNS["compared_internal"]][:, 0], [8, 9, 0, 1])


def test_a_new_plan_takes_over_smoothly():
    """Pose, twist and acceleration begin with the old row and end with the new plan's.

    In between they are each other's derivatives, by differences of a millisecond.
    """
    h, count = 1e-3, 601
    t = np.arange(count) * h
    rows = np.zeros((count, WIDTH))
    rows[:, 0], rows[:, 10] = 0.3 * t, 0.3
    rows[:, 3:7] = Rotation.from_rotvec(np.outer(0.5 * t, [0.0, 0.0, 1.0])).as_quat()
    rows[:, 9] = 0.5
    rows[:, FORCES] = 10.0
    last = np.zeros(WIDTH)
    last[:3], last[10:13], last[16:19] = [0.1, -0.2, 0.3], [0.2, 0.1, 0.0], [1.0, 0.0, -2.0]
    last[3:7] = Rotation.from_rotvec([0.0, 0.0, -0.4]).as_quat()
    last[9], last[15] = -0.3, 0.7
    last[FORCES] = 25.0
    got = blended(rows, last, h, 0.4, FORCES)
    assert_allclose(got[0], last, atol=1e-12)
    assert_allclose(got[400:], rows[400:], atol=1e-12)
    turn = Rotation.from_quat(got[:, 3:7])
    spin = (turn[2:] * turn[:-2].inv()).as_rotvec() / (2 * h)
    assert_allclose(spin[:398], got[1:399, 7:10], atol=1e-4)
    assert_allclose(np.gradient(got[:399, 0], h)[1:-1], got[1:398, 10], atol=1e-4)
    assert_allclose(np.gradient(got[:399, 10], h)[1:-1], got[1:398, 16], atol=1e-3)
    assert np.all(np.diff(got[:400, FORCES[0]]) < 0.0)


def test_turns_about_different_axes_are_mixed_exactly():
    """Half a radian aside, about another axis: twist and its rate are those of the poses."""
    h, count = 1e-3, 301
    rows = np.zeros((count, WIDTH))
    rows[:, 3:7] = Rotation.from_rotvec(np.outer(np.arange(count) * h, [0.8, 0, 0])).as_quat()
    rows[:, 7] = 0.8
    last = np.zeros(WIDTH)
    last[3:7] = Rotation.from_rotvec([0.0, 0.5, 0.0]).as_quat()
    last[9] = -0.6
    got = blended(rows, last, h, 0.3, FORCES)
    turn = Rotation.from_quat(got[:, 3:7])
    spin = (turn[2:] * turn[:-2].inv()).as_rotvec() / (2 * h)
    # Central differences err by h^2 / 6 times third derivatives, of 1e3 rad/s^3 at most.
    assert_allclose(spin[:297], got[1:298, 7:10], atol=5e-4)
    assert_allclose((got[2:299, 7:10] - got[:297, 7:10]) / (2 * h), got[1:298, 13:16], atol=2e-2)


def test_a_short_plan_is_held_at_its_end():
    """A plan of one row is taken over in the same time."""
    rows = np.zeros((1, WIDTH))
    rows[:, 6] = 1.0
    last = rows[0].copy()
    last[0] = 0.1
    got = blended(rows, last, 0.01, 0.1, FORCES)
    assert len(got) == 11
    assert_allclose(got[-1], rows[0])
