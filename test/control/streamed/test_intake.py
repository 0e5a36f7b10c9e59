# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""References that come while arms hold a box: followed without a jump, or refused."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from control.streamed.cell import Cell

from robot_dynamics.app.scenarios.scenario import load_scenario
from robot_dynamics.control.faults import State
from robot_dynamics.control.reference import POSE
from robot_dynamics.control.settings import ReferenceSettings
from robot_dynamics.control.streamed.trajectory import HALT_S, TrajectoryError
from robot_dynamics.errors import UnknownNameError

SCENARIO = replace(load_scenario("lift_box"), reference=ReferenceSettings())
HERE = SCENARIO.object_pose


@pytest.fixture(scope="module")
def only_cell():
    """Return the cell of this module."""
    return Cell(SCENARIO)


@pytest.fixture
def cell(only_cell):
    """Return it at the beginning."""
    only_cell.begin()
    return only_cell


def moved(z, y=0.0):
    """Return a pose near to the start."""
    pose = HERE.copy()
    pose[1:3] += [y, z]
    return pose


def test_a_trajectory_is_followed_to_its_end(cell):
    """As exactly as a reference of the scenario, and the torque never jumps."""
    cell.follow([0.0, 1.0], [moved(0.0), moved(0.1)])
    cell.run(1.3)
    assert cell.pilot.intake.taken == 1
    step = cell.steps[-1]
    assert np.allclose(step.reference[POSE], moved(0.1), atol=1e-12)
    assert np.linalg.norm(step.error[3:]) < 1e-3  # of the scenario's own acceptance
    assert max(np.linalg.norm(step.error[3:]) for step in cell.steps) < 1e-3
    assert cell.largest_jump() < 1.0


def test_a_step_is_blended_in(cell):
    """A single pose 2 cm away: no jump of the torque, no overshoot."""
    cell.follow([0.0], [moved(0.02)])
    cell.run(0.8)
    heights = np.array([step.reference[2] for step in cell.steps])
    assert heights[-1] == pytest.approx(moved(0.02)[2], abs=1e-12)
    assert heights.max() <= heights[-1] + 1e-12
    assert cell.largest_jump() < 1.0


def test_a_stream_of_poses_is_followed(cell):
    """50 a second on a circle, each with its twist: behind by less than a centimetre."""
    radius, omega = 0.05, 2.0
    for i in range(60):
        t = i * 0.02
        pose, twist = (
            moved(radius * (1.0 - np.cos(omega * t)), radius * np.sin(omega * t)),
            [
                *(0.0, 0.0, 0.0, 0.0),
                radius * omega * np.cos(omega * t),
                radius * omega * np.sin(omega * t),
            ],
        )
        cell.follow([0.0], [pose], [twist])
        cell.run(0.02)
    assert cell.pilot.intake.refusal == ""
    assert np.linalg.norm(cell.steps[-1].reference[:3] - pose[:3]) < 0.01
    assert cell.largest_jump() < 1.0


def test_a_stream_that_ends_in_motion_is_lost(cell):
    """The object comes to rest by itself, then the fault says why; the squeeze stays."""
    cell.ask_internal_force([0.0, 0.0, 0.0, 10.0, 0.0, 0.0])
    cell.follow([0.0], [moved(0.0)], [[0.0, 0.0, 0.0, 0.0, 0.0, 0.05]])
    stale = SCENARIO.safety.reference_stale_after_s
    cell.run(HALT_S + 0.05)
    assert cell.pilot.safety.state is State.ACTIVE
    # At rest to the rounding of the curve by which one path fades into the other.
    assert np.abs(cell.steps[-1].reference[7:13]).max() < 1e-15
    cell.run(stale - HALT_S + 0.05)
    assert cell.pilot.safety.state is State.FALLBACK
    assert cell.pilot.safety.cause.startswith("object/reference_trajectory: the last trajectory")
    assert cell.pilot.safety.law_runs  # it holds the pose
    cell.run(0.5)
    assert cell.steps[-1].reference[19] == 10.0  # the squeeze comes first
    with pytest.raises(TrajectoryError, match="control does not run"):
        cell.follow([0.0], [moved(0.0)])


def test_an_internal_force_is_made_while_the_path_goes_on(cell):
    """It fades in, and pushes nothing aside."""
    cell.follow([0.0, 1.0], [moved(0.0), moved(0.05)])
    cell.run(0.2)
    cell.ask_internal_force([0.0, 0.0, 0.0, 30.0, 0.0, 0.0])
    cell.run(1.2)
    last = cell.steps[-1]
    assert last.reference[2] == pytest.approx(moved(0.05)[2], abs=1e-12)
    assert last.internal_force[0] == pytest.approx(30.0, abs=0.5)  # the squeeze
    assert cell.largest_jump() < 1.0


@pytest.mark.parametrize(
    ("times", "poses", "words"),
    [
        ([0.0], [moved(0.2)], "it begins 0.2 m and 0 rad from where the object is to be now"),
        ([0.0, 9.0], [moved(0.0), moved(0.0, 2.0)], "after "),
        ([0.0, 0.05], [moved(0.0), moved(0.3)], "expected at most"),
    ],
)
def test_impossible_references_are_refused_after_the_check(cell, times, poses, words):
    """When it has been looked at; the object stays where it is."""
    cell.follow(times, poses)
    cell.run(0.3)
    assert words in cell.pilot.intake.refusal
    assert cell.pilot.intake.taken == 0
    assert np.array_equal(cell.steps[-1].reference[POSE], HERE)
    assert cell.pilot.safety.state is State.ACTIVE


def test_invalid_references_are_refused_at_once(cell):
    """Invalid references are refused with one sentence each."""
    with pytest.raises(TrajectoryError, match="is not finite"):
        cell.follow([0.0], [np.full(7, np.nan)])
    with pytest.raises(TrajectoryError, match="its time is 3 s ago"):
        cell.follow([0.0], [moved(0.0)], late=3.0)
    with pytest.raises(TrajectoryError, match="expected finite ones up to 1000 N"):
        cell.ask_internal_force([0.0, 0.0, 0.0, np.inf, 0.0, 0.0])
    with pytest.raises(TrajectoryError, match="3 components, expected 6"):
        cell.ask_internal_force([0.0, 0.0, 0.0])
    with pytest.raises(UnknownNameError, match="unknown surface 'wall'; there is no surface"):
        cell.ask_contact_force("wall", [0.0, 0.0, 0.0, 0.0, 0.0, 5.0])
    with pytest.raises(TrajectoryError, match="the control law knows of none"):
        cell.ask_surfaces([])


def test_the_last_reference_is_the_last_that_came(cell):
    """A refusal stays reported although an earlier request is accepted after it."""
    cell.begin()
    intake = cell.pilot.intake
    cell.follow([0.0, 1.0], [moved(0.0), moved(0.1)])
    with pytest.raises(TrajectoryError):
        cell.follow([0.0], [np.full(7, np.nan)])
    cell.run(1.3)
    assert intake.taken == 1
    assert "not finite" in intake.refusal
    cell.ask_internal_force([0.0, 0.0, 0.0, 20.0, 0.0, 0.0])
    cell.run(0.1)
    assert (intake.taken, intake.refusal) == (2, "")


def still(name):
    """Return a hybrid scenario in which nothing moves, and nothing is touched, by itself."""
    scenario = load_scenario(name)
    return replace(scenario, reference=replace(scenario.reference, segments=(), touches=()))


def push(force):
    """Return a push on a surface."""
    return [0.0, 0.0, 0.0, 0.0, 0.0, force]


def test_tasks_follow_one_another_without_a_jump():
    """Approach a wall, touch it, press it, wipe it, leave it: each when it is asked for.

    Pressing with 20 N more changes a torque by several N m; the same change at once would be the
    jump that there is not: a force fades in at up to 1.9 / 150 of it in a period, and a little is
    left for the servos. Where the wall is left control goes from force to motion, at the velocity
    that the object has: at once that would be 0.8 N m.
    """
    scenario = still("wipe")
    cell, here = Cell(scenario), scenario.object_pose

    def at(x, z=0.0):
        pose = here.copy()
        pose[[0, 2]] += [x, z]
        return pose

    def jump(begin):
        return np.abs(np.diff(np.array(cell.torques[begin:]), axis=0)).max()

    with pytest.raises(TrajectoryError, match="which is not to be touched"):
        cell.ask_contact_force("wall", push(5.0))
    cell.follow([0.0, 0.6], [at(0.0), at(0.039)])  # the wall is met at 0.04 m
    cell.run(0.7)
    assert cell.pilot.intake.taken == 1
    cell.ask_surfaces(["wall"])
    cell.run(0.1)
    assert cell.pilot.intake.taken == 2
    assert jump(1) < 0.1
    assert not cell.steps[-1].outputs.touched[0]
    cell.follow([0.0, 0.3], [at(0.039), at(0.044)])
    cell.ask_contact_force("wall", push(10.0))
    cell.run(0.8)
    assert cell.steps[-1].outputs.touched[0]
    assert cell.steps[-1].outputs.contact_force[0] == pytest.approx(10.0, rel=0.05)

    pressing = len(cell.torques)
    cell.ask_contact_force("wall", push(30.0))
    cell.run(0.6)
    assert cell.steps[-1].outputs.contact_force[0] == pytest.approx(30.0, rel=0.05)
    change = np.abs(cell.torques[-1] - cell.torques[pressing - 1]).max()
    assert jump(pressing) < 0.03 * change
    leaving = len(cell.torques)
    cell.ask_surfaces([])
    cell.run(0.6)
    assert not cell.steps[-1].outputs.touched[0]
    assert jump(leaving) < 0.15
    cell.follow([0.0, 0.5], [at(0.044), at(0.02)])
    cell.run(0.7)
    assert np.allclose(cell.steps[-1].reference[POSE], at(0.02), atol=1e-12)
    assert np.linalg.norm(cell.steps[-1].error[3:]) < 1e-3
    assert jump(leaving) < 0.15
    assert cell.pilot.safety.state is State.ACTIVE


@pytest.mark.parametrize("force", [-500.0, -250.0, 250.0, 900.0])
def test_an_internal_force_beyond_the_drives_is_refused(cell, force):
    """With the joint and its torque; the old one is kept, and control goes on."""
    cell.ask_internal_force([0.0, 0.0, 0.0, 30.0, 0.0, 0.0])
    cell.run(0.5)
    with pytest.raises(TrajectoryError, match=r"at joint '.*_joint\d'; expected one .* at most"):
        cell.ask_internal_force([0.0, 0.0, 0.0, force, 0.0, 0.0])
    assert "an internal force that needs" in cell.pilot.intake.refusal
    cell.run(0.5)
    assert cell.steps[-1].internal_force[0] == pytest.approx(30.0, abs=0.5)
    assert cell.pilot.safety.state is State.ACTIVE
    assert cell.pilot.intake.taken == 1


@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_the_largest_internal_force_is_what_drives_can_give(cell, sign):
    """A percent less is followed exactly, a percent more is refused."""
    step, law = cell.pilot.following()[1], cell.pilot.law
    effort = 0.95 * cell.pilot.system.limits["effort"]
    per_newton, others = sign * step.internal_force_torques[:, 0], step.torque_range
    with np.errstate(divide="ignore"):
        room = np.maximum((effort - others) / per_newton, (-effort - others) / per_newton)
    largest = sign * room.min()
    with pytest.raises(TrajectoryError, match="an internal force that needs"):
        cell.ask_internal_force([0.0, 0.0, 0.0, 1.01 * largest, 0.0, 0.0])
    cell.ask_internal_force([0.0, 0.0, 0.0, 0.99 * largest, 0.0, 0.0])
    cell.run(1.0)
    assert cell.steps[-1].internal_force[0] == pytest.approx(0.99 * largest, rel=0.02)
    assert cell.pilot.safety.state is State.ACTIVE
    # Where drives give too much already, less is taken though it is too much as well.
    tuned = law.running.tuned
    law.running.tuned = tuned._replace(effort=0.5 * tuned.effort)
    try:
        with pytest.raises(TrajectoryError, match="an internal force that needs"):
            cell.ask_internal_force([0.0, 0.0, 0.0, largest, 0.0, 0.0])
        cell.ask_internal_force([0.0, 0.0, 0.0, 0.9 * largest, 0.0, 0.0])
    finally:
        law.running.tuned = tuned


@pytest.mark.parametrize("squeeze", [-500.0, -10.0, 0.0])
def test_a_squeeze_that_opens_the_grasp_is_refused(squeeze):
    """Of contacts that only push; the squeeze that holds the tray stays."""
    cell = Cell(still("tray"))
    before = cell.pilot.following()[1].reference[19]
    refused = ""
    try:
        cell.ask_internal_force([0.0, 0.0, 0.0, squeeze, 0.0, 0.0])
    except TrajectoryError as error:
        refused = str(error)
    cell.run(0.5)
    refused = refused or cell.pilot.intake.refusal
    assert "would slip or open" in refused or "needs" in refused
    assert cell.steps[-1].reference[19] == before
    assert cell.pilot.safety.state is State.ACTIVE
    assert cell.pilot.intake.taken == 0


def test_a_squeeze_that_drops_the_tray_is_refused():
    """More is followed; less than holds it inside its friction cones is not."""
    cell = Cell(still("tray"))
    squeeze = cell.pilot.law.reference.rows(np.zeros(1))[0, 19]
    wrench = np.zeros(6)
    for factor, taken in ((1.3, 1), (0.5, 1)):
        wrench[3] = factor * squeeze
        cell.ask_internal_force(wrench)
        cell.run(0.5)
        assert cell.pilot.intake.taken == taken
    assert "would slip or open" in cell.pilot.intake.refusal
    assert cell.steps[-1].reference[19] == pytest.approx(1.3 * squeeze)
    assert cell.steps[-1].internal_force[0] == pytest.approx(1.3 * squeeze, rel=0.02)
    assert cell.largest_jump() < 1.0
