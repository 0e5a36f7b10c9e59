# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Settings of tasks: one key each, in an order in which hands can do them."""

import pytest

from robot_dynamics.app.scenarios.scenario import load_scenario
from robot_dynamics.control.settings import SegmentSettings
from robot_dynamics.control.task_settings import (
    ApproachSettings,
    CarrySettings,
    GraspSettings,
    LiftSettings,
    MoveSettings,
    PhaseSettings,
    PutDownSettings,
    ReleaseSettings,
    WaitSettings,
    check_order,
)
from robot_dynamics.description.diagnosis import DescriptionError
from robot_dynamics.errors import ArgumentError

GRASPED = [
    PhaseSettings(approach=ApproachSettings()),
    PhaseSettings(grasp=GraspSettings()),
    PhaseSettings(lift=LiftSettings()),
]
PUT = [PhaseSettings(put_down=PutDownSettings("table")), PhaseSettings(release=ReleaseSettings())]
WAIT = PhaseSettings(wait=WaitSettings(1.0))


def test_phases_in_an_order_that_hands_can_do():
    """Any number of carries, waits anywhere, several objects one after the other, or none."""
    carry = PhaseSettings(carry=CarrySettings((SegmentSettings(1.0),)))
    check_order([*GRASPED, carry, carry, *PUT])
    check_order([WAIT])
    check_order([WAIT, GRASPED[0], WAIT, *GRASPED[1:], WAIT, *PUT, *GRASPED, *PUT, WAIT])


@pytest.mark.parametrize(
    ("phases", "said"),
    [
        (GRASPED[1:], r"task\[0\] is 'grasp', which needs hands that are at the grasps"),
        ([*GRASPED, *PUT[1:]], r"task\[3\] is 'release'.*closed in the air"),
        ([*GRASPED, PUT[0]], "ends with hands that are closed after put_down"),
        ([*GRASPED[:2], PUT[1]], r"task\[2\] is 'release'.*expected lift or wait there"),
        ([*GRASPED, PUT[0], GRASPED[2]], r"task\[4\] is 'lift'.*expected release or wait there"),
        ([*GRASPED, GRASPED[2]], r"expected carry, put_down or wait there"),
    ],
)
def test_impossible_orders_are_refused(phases, said):
    """With the state of the hands, and the possible phases."""
    with pytest.raises(ArgumentError, match=said):
        check_order(phases)


def test_a_phase_has_one_key():
    """Neither none nor two."""
    for given in ({}, {"wait": WaitSettings(1.0), "lift": LiftSettings()}):
        with pytest.raises(ArgumentError, match="expected one of move, approach"):
            PhaseSettings(**given)
    for own in ({}, {"to": "home", "joints": {"left": (0.0,)}}):
        with pytest.raises(
            ArgumentError, match="one of `to: home`, `joints` and `until: operator`"
        ):
            MoveSettings(**own)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ("reference.segments=[{duration_s: 1.0}]", "both `task` and `reference`"),
        ("control.law=impedance", "expected 'hybrid' with a `task`"),
        ("control.object_pose=sensor", "expected 'joints' with a `task`"),
        ("cell.arms.0.home=[0.0, 0.1]", r"cell.arms\[0\].home is of 2 joints"),
        ("cell.arms.1.home=null", r"cell.arms\[1\].home is missing"),
    ],
)
def test_a_task_fits_its_scenario(change, said):
    """The place of the problem is told."""
    with pytest.raises(DescriptionError, match=said):
        load_scenario("pick_and_place", [change])
