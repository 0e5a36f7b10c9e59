# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The reference of an object in contact with surfaces, over time."""

import numpy as np
import pytest

from robot_dynamics.control.hybrid_reference import TouchPlan, plan_hybrid_reference
from robot_dynamics.control.reference import row_columns
from robot_dynamics.control.settings import (
    ForceStepSettings,
    ReferenceSettings,
    SegmentSettings,
)
from robot_dynamics.control.touch_settings import TouchForceSettings, TouchSettings
from robot_dynamics.errors import ArgumentError, UnknownNameError

ROWS = {"wall": slice(0, 1), "hole": slice(1, 5)}
TOUCHES = (
    TouchSettings("wall", 1.0, 3.0, 10.0, (TouchForceSettings(1.5, 20.0, 0.5),)),
    TouchSettings("hole", 2.0, 2.5),
    TouchSettings("wall", 4.0, 5.0, 5.0),
)
START = [0.6, 0.0, 0.9, 0.0, 0.0, 0.0, 1.0]


def plan(**more):
    settings = ReferenceSettings(
        segments=(SegmentSettings(2.0, move=(0.1, 0.0, 0.0)), SegmentSettings(4.0)),
        force=(ForceStepSettings(0.0, squeeze_n=30.0, duration_s=0.5),),
        touches=TOUCHES,
        **more,
    )
    return plan_hybrid_reference(settings, START, ("squeeze", "twist"), ROWS)


def test_forces_and_what_is_to_be_touched():
    """The first force of a surface is the stated one, in the time of the touch and no other."""
    forces, wanted = TouchPlan(TOUCHES, ROWS).at([0.5, 1.2, 1.75, 2.2, 3.0, 4.5])
    np.testing.assert_allclose(forces[:, 0], [0.0, 10.0, 15.0, 20.0, 0.0, 5.0])
    assert not forces[:, 1:].any()
    assert wanted[:, 0].tolist() == [0, 1, 1, 1, 0, 1]
    np.testing.assert_array_equal(wanted[:, 1:], np.outer([0, 0, 0, 1, 0, 0], np.ones(4)))


def test_a_surface_to_stick_to_is_pushed_along():
    """The forces along it come after the push, and change with it."""
    changes = (TouchForceSettings(2.0, 10.0, duration_s=1.0, along_n=(4.0, -2.0)),)
    plan = TouchPlan([TouchSettings("wall", 1.0, 9.0, 20.0, changes)], {"wall": slice(0, 3)})
    forces, wanted = plan.at([1.5, 2.5, 4.0, 9.5])
    expected = [[20.0, 0.0, 0.0], [15.0, 2.0, -1.0], [10.0, 4.0, -2.0], [0.0, 0.0, 0.0]]
    np.testing.assert_allclose(forces, expected, atol=1e-12)
    assert wanted[:, 2].tolist() == [1, 1, 1, 0]


def test_forces_fade_before_a_surface_is_left():
    """In 0.1 s, those along it alike, so that a sticking contact sticks to the end; then none.

    A touch that is shorter than that begins to fade at once.
    """
    changes = (TouchForceSettings(2.0, 10.0, duration_s=0.1, along_n=(4.0, 0.0)),)
    touches = [
        TouchSettings("wall", 1.0, 3.0, 20.0, changes),
        TouchSettings("wall", 4.0, 4.05, 8.0),
    ]
    plan = TouchPlan(touches, {"wall": slice(0, 3)})
    forces, wanted = plan.at([2.9, 2.95, 2.999, 3.0, 4.0, 4.025])
    np.testing.assert_allclose(forces[:, 0], [10.0, 5.0, 0.0, 0.0, 8.0, 4.0], atol=1e-3)
    np.testing.assert_allclose(forces[:4, 1], 0.4 * forces[:4, 0], rtol=1e-9)
    assert wanted[:, 0].tolist() == [1, 1, 1, 0, 1, 1]


def test_rows_have_motion_forces_and_the_squeeze():
    """Motion is that of the path alone; forces stand where the reference says."""
    reference = plan()
    row, at = reference.row(2.2), row_columns(5, 2)
    assert len(row) == 19 + 5 + 5 + 2
    np.testing.assert_array_equal(row[:19], reference.motion.row(2.2)[:19])
    assert row[at["contact"]].tolist() == [20.0, 0.0, 0.0, 0.0, 0.0]
    assert row[at["touch"]].tolist() == [1.0] * 5
    assert row[at["internal"]].tolist() == [30.0, 0.0]


def test_it_has_settled_where_neither_motion_nor_force_changed_for_long_enough():
    """Every interval keeps its distance from each touch, departure and change before it."""
    reference = plan()
    intervals = reference.settled_intervals(0.3)
    expected = [(2.3, 2.4), (2.8, 2.9), (3.3, 4.0), (4.3, 4.9), (5.3, 6.0)]
    np.testing.assert_allclose(intervals, expected, atol=1e-12)
    assert reference.settled_intervals(10.0) == []


def test_all_squeezes_of_a_grasp_are_squeezed():
    """With three arms a squeeze is that of every line between two of them."""
    settings = ReferenceSettings(force=(ForceStepSettings(0.0, squeeze_n=7.0),))
    names = ("squeeze a-b", "squeeze a-c", "moment x of a", "squeeze b-c")
    reference = plan_hybrid_reference(settings, START, names, {})
    assert reference.row(9.0)[19:].tolist() == [7.0, 7.0, 0.0, 7.0]


@pytest.mark.parametrize(
    ("touches", "error", "message"),
    [
        ([TouchSettings("wal")], UnknownNameError, "unknown surface 'wal'; did you mean 'wall'"),
        (
            [TouchSettings("wall", 1.0, 3.0), TouchSettings("wall", 2.0, 4.0)],
            ArgumentError,
            "before it is left at 3 s",
        ),
        (
            [TouchSettings("wall", changes=(TouchForceSettings(1.0, 5.0, along_n=(0.0, 2.0)),))],
            ArgumentError,
            r"pushed with \[0.0, 2.0\] N along it, but bears",
        ),
    ],
)
def test_touches_that_make_no_sense(touches, error, message):
    """A surface that is not there, or is touched twice at once, is refused."""
    with pytest.raises(error, match=message):
        TouchPlan(touches, ROWS)


def test_a_squeeze_that_a_grasp_does_not_have():
    """A squeeze where no internal force is one is refused."""
    settings = ReferenceSettings(force=(ForceStepSettings(0.0, squeeze_n=7.0),))
    with pytest.raises(ArgumentError, match="not defined for this grasp"):
        plan_hybrid_reference(settings, START, ("twist",), {})
