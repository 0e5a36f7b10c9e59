# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""References that contradict surfaces."""

from __future__ import annotations

import numpy as np
import pytest
from control.hybrid.tasks import WALL, Forward, floor, system_of, wall

from robot_dynamics.control.hybrid.planned_forces import object_motion
from robot_dynamics.control.hybrid.surface_check import (
    Grip,
    SurfaceRow,
    slipping_pushes,
    surface_problems,
)
from robot_dynamics.errors import ArgumentError

TIMES = np.linspace(0.0, 2.0, 101)


def problems_of(plan, surfaces=(wall,), names=("wall", "floor"), *, pushed=True):
    """Return the problems of a plan."""
    system = system_of(surfaces=surfaces)
    rows = plan.rows(TIMES)
    described = tuple(SurfaceRow(name, pushed) for name in names[: len(surfaces)])
    motion = object_motion(rows, system.held.center)
    return list(surface_problems(system.environment, TIMES, rows, motion, described))


@pytest.mark.parametrize(
    "plan",
    [
        Forward(0.1),
        Forward(WALL + 0.02, press=10.0, touching=(1.0, 9.0)),
        Forward(WALL, press=0.0, touching=(0.0, 9.0)),
    ],
)
def test_good_tasks_pass(plan):
    """Staying away, ending a little behind a wall that is to be found, and touching gently."""
    assert problems_of(plan) == []


@pytest.mark.parametrize(
    ("plan", "sentence"),
    [
        (Forward(WALL + 0.05), "goes 0.05 m into 'wall' where it is not to be touched"),
        (
            Forward(0.1, press=10.0, touching=(1.0, 9.0)),
            "10 N are wanted on 'wall', but the path stays 0.05 m away from it",
        ),
        (
            Forward(WALL, press=-5.0, touching=(1.0, 9.0)),
            "-5 N are wanted on 'wall', which can only be pushed on",
        ),
        (
            Forward(WALL + 0.2, press=5.0, touching=(0.0, 9.0)),
            "the path goes into 'wall' by 0.2 m while a force on it is wanted",
        ),
    ],
)
def test_contradictions_are_told_with_place_and_size(plan, sentence):
    """Motion into a surface, pulling on it, and force on one that the object is not on."""
    found = problems_of(plan)
    assert len(found) == 1
    assert sentence in found[0].sentence
    assert found[0].joint == "wall"
    assert 0.0 <= found[0].time <= 2.0


def test_the_time_is_when_it_begins():
    """A path into the wall is refused at the time at which it is too deep."""
    (found,) = problems_of(Forward(WALL + 0.05))
    x = Forward(WALL + 0.05).rows(TIMES)[:, 0] - 0.5
    assert found.time == pytest.approx(TIMES[np.argmax(x > WALL + 5e-3)])


def test_forces_where_nothing_is_are_refused():
    """A force without its surface being touched acts in a direction that is not constrained."""
    plan = Forward(0.1)
    rows = plan.rows(TIMES)
    rows[50:, 19] = 3.0
    plan.rows = lambda times: rows
    (found,) = problems_of(plan)
    assert "3 N are wanted on 'wall' while it is not to be touched" in found.sentence
    assert found.time == pytest.approx(1.0)


def test_paths_that_leave_a_surface_they_press_on_are_refused():
    """To and away from it, with a force wanted all the time."""
    plan = Forward(2 * WALL)
    rows = plan.rows(TIMES)
    there = np.minimum(rows[:, 0], 1.0 + 2 * WALL - rows[:, 0])
    rows[:, 0], rows[:, 20] = there, 1.0
    plan.rows = lambda times: rows
    (found,) = problems_of(plan)
    assert "the path leaves 'wall' by 0.15 m" in found.sentence


def test_two_surfaces_that_block_the_same_are_refused():
    """Their forces could not be told apart."""
    again = Forward(WALL, surfaces=2)
    rows = again.rows(TIMES)
    rows[80:, 21:23] = 1.0
    again.rows = lambda times: rows
    found = problems_of(again, (wall, wall))
    assert any("block the same motion" in one.sentence for one in found)
    assert problems_of(Forward(0.1, surfaces=2), (wall, floor)) == []


def test_a_rail_takes_both_signs_of_force_and_refuses_a_path_beside_it():
    """A rail takes forces of either sign; a path beside it is refused on both sides."""
    on = Forward(WALL, press=-5.0, touching=(1.9, 9.0))
    assert problems_of(on, pushed=False) == []
    (found,) = problems_of(Forward(WALL + 0.02, press=5.0, touching=(1.9, 9.0)), pushed=False)
    assert "away from it" in found.sentence


def test_every_function_is_described_or_none():
    """A description of one surface for two is a mistake of the caller."""
    with pytest.raises(ArgumentError, match="expected 2"):
        problems_of(Forward(0.1, surfaces=2), (wall, floor), ("wall",))


def test_a_push_too_steep_for_its_friction_is_told_with_its_angle():
    """With friction 0.3 a push may be 16.7 degrees off the normal; it slips when it is more."""
    grip = Grip(0, (1, 2), 0.3)
    rows = np.zeros((101, 19 + 6))
    rows[20:, 19], rows[:, 20], rows[:, 21] = 20.0, 0.0, 8.0 * TIMES / 2.0
    rows[20:, 22:25] = 1.0
    rows[:20, 21] = 0.0
    (found,) = slipping_pushes({"wall": grip}, TIMES, rows, 3)
    # 8 t / 2 > 0.3 * 20 from 1.5 s on
    assert found.time == pytest.approx(1.52)
    assert "16.9 degrees from its normal where friction holds 16.7" in found.sentence
    gentle = rows.copy()
    gentle[:, 21] *= 0.7
    assert list(slipping_pushes({"wall": grip}, TIMES, gentle, 3)) == []
    assert np.all(grip.cone.distance(grip.wrenches(gentle[30:, 19:22])) > 0.0)
