# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""References that come while arms hold a jointed object: followed without a jump, or refused."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from control.streamed.cell import Cell

from robot_dynamics.app.scenarios.scenario import load_scenario
from robot_dynamics.control.faults import State
from robot_dynamics.control.reference import POSE, TWIST
from robot_dynamics.control.settings import (
    ForceStepSettings,
    ReferenceSettings,
    SegmentSettings,
    TurnSettings,
)
from robot_dynamics.control.streamed.trajectory import HALT_S, TrajectoryError
from robot_dynamics.errors import UnknownNameError

# The first part stands still by itself, while the second folds for a second.
SCENARIO = replace(
    load_scenario("fold"),
    reference=ReferenceSettings(
        fold=(SegmentSettings(1.0, rotate=TurnSettings((0.0, 0.0, 1.0), -15.0)),),
        force=(ForceStepSettings(0.0, wrench=(0.0, 5.0, 0.0), duration_s=0.2),),
    ),
)


@pytest.fixture(scope="module")
def only_cell():
    """Return the cell of this module."""
    return Cell(SCENARIO)


@pytest.fixture
def cell(only_cell):
    """Return it at the beginning."""
    only_cell.begin()
    return only_cell


def moved(z):
    """Return a pose of the first part near to the start."""
    pose = SCENARIO.object_pose.copy()
    pose[2] += z
    return pose


def followed(cell):
    """Return the commanded motion of both parts at the last step (19,)."""
    row = cell.pilot.law._followed.row(cell.tick - 1)
    return row[:19], row[-19:]


def test_the_first_part_follows_while_the_second_folds_as_planned(cell):
    """As exactly as a reference of the scenario, and the torque never jumps."""
    law = cell.pilot.law
    cell.follow([0.0, 1.0], [moved(0.0), moved(0.05)])
    cell.run(0.5)
    first, second = followed(cell)
    assert 0.01 < first[2] - moved(0.0)[2] < 0.04
    time, path = (cell.tick - 1 - law.ramp_ticks) * law.period, law.plan.path
    together = path.second_rows(first[None], path.references[1].rows([time]))[0]
    np.testing.assert_allclose(second[:13], together[:13], atol=1e-11)
    cell.run(0.8)
    assert cell.pilot.intake.taken == 1
    step = cell.steps[-1]
    np.testing.assert_allclose(step.reference[POSE], moved(0.05), atol=1e-12)
    assert max(np.abs(step.error[3:]).max() for step in cell.steps) < 5e-5
    assert max(np.abs(step.error[:3]).max() for step in cell.steps) < 1e-3
    assert max(np.abs(step.closure).max() for step in cell.steps) < 1e-9
    end = law.reference.second.rows([law.reference.duration])[0, POSE]
    np.testing.assert_allclose(step.second_pose[3:], end[3:], atol=1e-4)
    assert cell.largest_jump() < 1.0


def test_a_step_is_blended_in(cell):
    """A single pose 1 cm away: no jump of the torque, no overshoot."""
    cell.follow([0.0], [moved(0.01)])
    cell.run(0.8)
    heights = np.array([step.reference[2] for step in cell.steps])
    assert heights[-1] == pytest.approx(moved(0.01)[2], abs=1e-12)
    assert heights.max() <= heights[-1] + 1e-12
    assert cell.largest_jump() < 1.0


def test_a_force_in_the_joint_is_made_while_the_path_goes_on(cell):
    """It fades in, and moves nothing aside; a force that the joint cannot transmit is refused."""
    cell.follow([0.0, 0.8], [moved(0.0), moved(0.02)])
    cell.run(0.2)
    cell.ask_internal_force([0.0, 0.0, 0.0, 4.0, 15.0, -2.0])
    cell.run(1.0)
    last = cell.steps[-1]
    np.testing.assert_array_equal(last.reference[cell.pilot.law.internal_columns], [4, 15, -2])
    np.testing.assert_allclose(last.internal_force, [4, 15, -2], atol=0.01)
    assert last.reference[2] == pytest.approx(moved(0.02)[2], abs=1e-12)
    assert max(np.abs(step.error[3:]).max() for step in cell.steps) < 5e-5
    assert cell.largest_jump() < 1.0
    with pytest.raises(TrajectoryError, match="torque z is 1, but the object's joint transmits"):
        cell.ask_internal_force([0.0, 0.0, 1.0, 0.0, 0.0, 0.0])


def test_a_stream_that_ends_in_motion_is_lost(cell):
    """Both parts come to rest, then the fault says why; the force stays."""
    cell.run(0.2)  # the force has been made
    cell.follow([0.0], [moved(0.0)], [[0.0, 0.0, 0.0, 0.0, 0.0, 0.05]])
    cell.run(SCENARIO.safety.reference_stale_after_s + 0.1)
    assert cell.pilot.safety.state is State.FALLBACK
    assert cell.pilot.safety.law_runs  # it holds the pose
    cell.run(HALT_S + 0.2)
    for row in followed(cell):
        assert np.abs(row[TWIST]).max() < 1e-9
    np.testing.assert_allclose(cell.steps[-1].internal_force, [0.0, 5.0, 0.0], atol=0.01)
    assert cell.largest_jump() < 1.0


@pytest.mark.parametrize(
    ("times", "poses", "words"),
    [
        ([0.0], [moved(0.2)], "it begins 0.2 m and "),
        ([0.0, 9.0], [moved(0.0), moved(2.0)], "after "),
        ([0.0, 0.05], [moved(0.0), moved(0.3)], "expected at most"),
    ],
)
def test_impossible_references_are_refused_after_the_check(cell, times, poses, words):
    """When it has been looked at, with the second part; the object goes on as planned."""
    cell.follow(times, poses)
    cell.run(0.3)
    assert words in cell.pilot.intake.refusal
    assert cell.pilot.intake.taken == 0
    np.testing.assert_allclose(cell.steps[-1].reference[POSE], moved(0.0), atol=1e-15)
    assert cell.pilot.safety.state is State.ACTIVE


def test_there_are_no_surfaces(cell):
    """A jointed object touches none: who asks for one is told so."""
    with pytest.raises(UnknownNameError, match="unknown surface 'wall'; there is no surface"):
        cell.ask_contact_force("wall", [0.0, 0.0, 0.0, 0.0, 0.0, 5.0])
    with pytest.raises(TrajectoryError, match="control law"):
        cell.ask_surfaces([])
