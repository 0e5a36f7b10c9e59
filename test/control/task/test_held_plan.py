# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Plans of held objects: the weight changes hands on supports, and parts can be moved."""

import numpy as np
import pytest

from robot_dynamics.control.hybrid_reference import plan_hybrid_reference
from robot_dynamics.control.reference import POSE, TWIST, row_columns
from robot_dynamics.control.rotation_path import from_rpy, rotated
from robot_dynamics.control.settings import SegmentSettings
from robot_dynamics.control.task.held_plan import PlanPart, Support, plan_back, plan_held
from robot_dynamics.control.task_settings import (
    CarrySettings,
    GraspSettings,
    LiftSettings,
    PhaseSettings,
    PutDownSettings,
)
from robot_dynamics.errors import ArgumentError, UnknownNameError

UP, WEIGHT = np.array([0.0, 0.0, 1.0]), np.array([0.0, 0.0, -50.0])
SUPPORTS = {  # the second one is 0.1 m lower
    "table": Support(UP, np.array([0.0, 0.0, 0.6]), np.array([0.0, 0.0, -0.15])),
    "floor": Support(UP, np.array([0.0, 0.0, 0.5]), np.array([0.0, 0.0, -0.15])),
}
START = np.array([0.6, 0.0, 0.75, 0.0, 0.0, 0.0, 1.0])
LIFT, CARRY = LiftSettings(0.1), CarrySettings((SegmentSettings(1.0, move=(0.2, 0.1, 0.0)),))
PHASES = [
    PhaseSettings(lift=LIFT),
    PhaseSettings(carry=CARRY),
    PhaseSettings(put_down=PutDownSettings("floor")),
]
ROWS = {"table": slice(0, 3), "floor": slice(3, 6)}
AT = row_columns(6, 1)


def raised(height):
    """Return the pose at the start, higher by a height."""
    return START + np.array([0.0, 0.0, height, 0.0, 0.0, 0.0, 0.0])


def planned(settings, start=START):
    return plan_hybrid_reference(settings, start, ["squeeze"], ROWS, held_by_squeeze=True)


@pytest.fixture(scope="module")
def held():
    return plan_held(GraspSettings(40.0), PHASES, START, SUPPORTS, WEIGHT)


def test_the_weight_changes_hands_where_the_object_stands(held):
    """It is on the first support at the beginning, on none in the air, on the last at the end."""
    plan = planned(held.reference)
    (unload, rise), (carry,), (down, load) = held.parts
    ends = np.array([0.0, unload[1], rise[1], carry[1], down[1], load[1]])
    rows = plan.rows(np.maximum(ends - 1e-9, 0.0))
    wanted = [[50.0, 0.0], *[[0.0, 0.0]] * 3, [0.0, 5.0], [0.0, 50.0]]
    np.testing.assert_allclose(rows[:, AT["contact"]][:, ::3], wanted, atol=1e-6)
    touch = [[1, 0], [0, 0], [0, 0], [0, 0], [0, 1], [0, 1]]
    np.testing.assert_array_equal(rows[:, AT["touch"]][:, ::3], touch)
    np.testing.assert_array_equal(rows[:, AT["internal"]], 40.0)
    assert not rows[:, TWIST].any()
    assert held.supports == ("table", "floor")


def test_the_way_of_the_object(held):
    """Up by the height, along the segments, and down beyond the place where it must touch."""
    plan = planned(held.reference)
    (_, rise), (carry,), (down, load) = held.parts
    places = plan.rows(np.array([rise[1], carry[1], down[1], load[1]]))[:, :3]
    expected = [[0.6, 0.0, 0.85], [0.8, 0.1, 0.85], [0.8, 0.1, 0.64], [0.8, 0.1, 0.64]]
    np.testing.assert_allclose(places, expected, atol=1e-12)
    np.testing.assert_allclose(held.end, [0.8, 0.1, 0.65, 0, 0, 0, 1], atol=1e-12)
    speeds = np.linalg.norm(plan.rows(np.arange(0.0, load[1], 0.002))[:, 10:13], axis=1)
    assert speeds[round(rise[0] / 0.002) : round(rise[1] / 0.002)].max() == pytest.approx(
        LIFT.speed, rel=1e-5
    )


def test_a_lifted_object_goes_back(held):
    """It touches from the beginning, because it may have been lifted only a little."""
    settings, (down, load) = plan_back(GraspSettings(40.0), LIFT, "table", WEIGHT)
    plan = planned(settings, raised(0.1))
    rows = plan.rows(np.array([0.0, down[1], load[1]]))
    np.testing.assert_array_equal(rows[:, AT["touch"]][:, 0], 1.0)
    np.testing.assert_allclose(rows[:, AT["contact"]][:, 0], [5.0, 5.0, 50.0], atol=1e-6)
    np.testing.assert_allclose(rows[:, 2], [0.85, 0.74, 0.74], atol=1e-12)


def test_parts_can_be_moved(held):
    """The path is carried along rigidly; its rates are those of the moved path."""
    plan, (begin, end) = planned(held.reference), held.parts[1][0]
    there = np.array([0.5, 0.3, 0.9, *from_rpy([0.1, 0.2, 0.7])])
    part = PlanPart(plan, begin, end, 0.002).moved_to(there)
    np.testing.assert_allclose(part.start, there, atol=1e-12)
    step, t = 1e-4, np.array([0.3, 0.6])
    rows = part.rows(t)
    rate = (part.rows(t + step)[:, :3] - part.rows(t - step)[:, :3]) / (2.0 * step)
    np.testing.assert_allclose(rows[:, 10:13], rate, rtol=1e-6)
    way = rotated(there[3:], plan.rows([end])[0, :3] - plan.rows([begin])[0, :3])
    np.testing.assert_allclose(part.rows([9.0])[0, :3] - there[:3], way, atol=1e-12)
    assert not part.rows([9.0])[0, TWIST].any()
    np.testing.assert_array_equal(PlanPart(plan, begin, end, 0.002).rows(t), plan.rows(begin + t))
    assert part.rows([0.0])[0, POSE].shape == (7,)
    between = np.array([0.3003, 0.6001])
    np.testing.assert_array_equal(
        PlanPart(plan, begin, end, 0.002).rows(between), plan.rows(begin + between)
    )


def test_supports_must_be_there():
    """The object stands on one at the start, and is put down from above."""
    grasp = GraspSettings()
    with pytest.raises(ArgumentError, match=r"stands on no surface.*'table' is 0.006 m away"):
        plan_held(grasp, PHASES, raised(0.006), SUPPORTS, WEIGHT)
    plan_held(grasp, PHASES, raised(0.004), SUPPORTS, WEIGHT)
    on = PhaseSettings(put_down=PutDownSettings("shelf"))
    with pytest.raises(UnknownNameError, match="'shelf'"):
        plan_held(grasp, [*PHASES[:2], on], START, SUPPORTS, WEIGHT)
    for height, fits in ((0.011, True), (0.009, False)):
        phases = [PhaseSettings(lift=LiftSettings(height)), PhaseSettings(
            put_down=PutDownSettings("table")
        )]  # fmt: skip
        if fits:
            plan_held(grasp, phases, START, SUPPORTS, WEIGHT)
        else:
            with pytest.raises(ArgumentError, match=r"0.009 m above 'table'"):
                plan_held(grasp, phases, START, SUPPORTS, WEIGHT)


@pytest.mark.parametrize("weight", [np.zeros(3), np.array([50.0, 0.0, -4.9]), -WEIGHT])
def test_supports_must_bear_the_weight(weight):
    """Without gravity, and with gravity along the plane or out of it, there is no put-down."""
    with pytest.raises(ArgumentError, match="gravity into the plane"):
        plan_held(GraspSettings(), PHASES, START, SUPPORTS, weight)


def test_gravity_may_be_tilted():
    """A steep support bears the weight as well: the object rises against gravity."""
    held = plan_held(GraspSettings(), PHASES[:1], START, SUPPORTS, np.array([49.0, 0.0, -5.1]))
    ((_, rise),) = held.parts
    way = planned(held.reference).rows([rise[1]])[0, :3] - START[:3]
    np.testing.assert_allclose(way, [-0.0995, 0.0, 0.01035], atol=1e-4)
