# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The rolled-out motion against the motion that the controlled plant makes."""

from __future__ import annotations

import numpy as np
import pytest
from control.jointed.folding import folding
from numpy.testing import assert_allclose
from scipy.spatial.transform import Rotation
from support.free_space import free_space_law
from support.hybrid_systems import LINKAGE
from support.sampled_decoupling import cell_of
from two_arms import BOX, two_arms

from robot_dynamics.app.runs.run import simulate
from robot_dynamics.app.scenarios.laws import make_law
from robot_dynamics.app.scenarios.scenario import load_scenario
from robot_dynamics.control.path_check import path_times
from robot_dynamics.control.rollout import rollout
from robot_dynamics.control.settings import (
    ForceStepSettings,
    ReferenceSettings,
    SegmentSettings,
    TurnSettings,
)
from robot_dynamics.manipulation.assembly import closed_configuration
from robot_dynamics.manipulation.hybrid import Contact
from robot_dynamics.robot import Robot
from robot_dynamics.simulation.plant import ScenePlant
from robot_dynamics.simulation.scene import Scene
from robot_dynamics.simulation.settings import PlantSettings

SYSTEM = two_arms()
TERMS = Robot(SYSTEM.model).constraint_terms
START = closed_configuration(SYSTEM, BOX, terms=TERMS)
HELD = START[SYSTEM.q_index]
PATH = ReferenceSettings(
    segments=(
        SegmentSettings(0.8, move=(0.05, 0.0, 0.15)),
        SegmentSettings(0.8, rotate=TurnSettings((0.0, 0.0, 1.0), 20.0), move=(0.0, 0.05, 0.0)),
    ),
    force=(ForceStepSettings(0.0, 40.0),),
)


def controller(path=PATH, **more):
    """Return the law of the two arms with a path."""
    return free_space_law(SYSTEM, path, BOX, **more)


def rolled_out(law, times, q=HELD, terms=TERMS):
    """Return the motion of a law along its plan."""
    rows = [law.reference.rows(times)]
    return rollout(law.system, terms, law.unlimited(q), rows, times, q, law.grasp.contacts)


def test_the_rollout_is_what_the_plant_does():
    """Joints, self-motion included, and torques are those of a simulated run."""
    control = controller()
    plant = ScenePlant(Scene(SYSTEM), START, control.period, PlantSettings())
    measured = plant.reset()
    control.start(measured.q, measured.qd)
    ramp = control.ticks - round(control.reference.duration / control.period)
    q, torque = [], []
    for tick in range(control.ticks):
        step = control.update(tick, measured.q, measured.qd, measured.wrenches)
        q.append(measured.q)
        torque.append(step.torque)
        measured = plant.step(step.torque)
    times = np.arange(0.0, 1.6, 0.02)
    at = ramp + np.round(times / control.period).astype(int)
    motion = rolled_out(control, times)
    # Steps of 20 ms against the posture's 1 / (10 rad/s) leave some percent of the self-motion,
    # which is of the size of 0.1 rad here.
    assert_allclose(motion.q, np.array(q)[at], atol=5e-3)
    # The run looks one and a half periods ahead and corrects its errors.
    assert_allclose(motion.torque, np.array(torque)[at], atol=1.0)


def test_the_rollout_keeps_the_grasps_closed_and_converges():
    """Positions and velocities satisfy the loops; half the spacing changes little."""
    control = controller()
    times = np.arange(0.0, 1.6, 0.02)
    coarse = rolled_out(control, times)
    fine = rolled_out(control, np.arange(0.0, 1.59, 0.01))
    assert_allclose(coarse.q, fine.q[::2], atol=2e-3)
    for at in coarse.at[::10]:
        assert np.max(np.abs(TERMS(at, np.zeros(SYSTEM.model.nv))[4])) < 1e-9
    slope = (fine.q[2:] - fine.q[:-2]) / 0.02
    # central differences over 20 ms err by h^2 / 6 of the third derivative
    assert_allclose(fine.qd[1:-1], slope, atol=0.02)
    assert coarse.failed_at is None


def test_the_controller_is_not_changed():
    """A rollout leaves gains and memory alone."""
    control = controller()
    control.start(HELD, np.zeros(14))
    gains, memory = control.gains.pack(), control.running.memory.copy()
    rolled_out(control, np.arange(0.0, 0.1, 0.02))
    assert control.gains.pack().tobytes() == gains.tobytes()
    assert control.running.memory.tobytes() == memory.tobytes()


def test_a_path_out_of_reach_ends_where_it_cannot_go_on():
    """Time and gaps say where; earlier rows are there."""
    away = ReferenceSettings(segments=(SegmentSettings(1.0, move=(0.8, 0.0, 0.0)),))
    motion = rolled_out(controller(away), np.arange(0.0, 1.01, 0.02))
    assert 0.3 < motion.failed_at < 0.8
    assert len(motion.q) == len(motion.torque) == round(motion.failed_at / 0.02)
    assert motion.gaps.max() > 1e-4
    assert motion.pivot[-1] == pytest.approx(0.0, abs=0.01)


@pytest.mark.parametrize("kind", ["rigid", "soft finger", "line"])
def test_tools_stay_at_their_contacts(kind):
    """Points stay together; a rigid grasp keeps its orientation, a line that of its axis alone."""
    contacts = [Contact.of_kind(kind, grasp) for grasp in SYSTEM.grasps]
    law, times = controller(contacts=contacts), np.arange(0.0, 1.6, 0.02)
    motion, rows = rolled_out(law, times), law.reference.rows(times)
    assert motion.failed_at is None
    arms = Robot(SYSTEM.arms_alone)
    for at, row in zip(motion.at[::10], rows[::10], strict=True):
        for arm, grasp in zip(SYSTEM.arms, SYSTEM.grasps, strict=True):
            there, wanted = arms.pose(arm.tool, at[SYSTEM.every_q]), _matrix(row) @ grasp
            assert_allclose(there[:3, 3], wanted[:3, 3], atol=1e-8)
            if kind == "rigid":
                assert_allclose(there[:3, :3], wanted[:3, :3], atol=1e-8)
            if kind == "line":  # it rolls about x
                assert_allclose(there[:3, 0], wanted[:3, 0], atol=1e-8)
    slope = (motion.q[2:] - motion.q[:-2]) / 0.04
    # central differences over 40 ms err by h^2 / 6 of the third derivative
    assert_allclose(motion.qd[1:-1], slope, atol=0.08)


def _matrix(row):
    """Return the pose (4, 4) of a row."""
    at = np.eye(4)
    at[:3, :3], at[:3, 3] = Rotation.from_quat(row[3:7]).as_matrix(), row[:3]
    return at


def test_internal_chains_of_arms_are_closed_all_along():
    """Of arms with linkages: positions are those of all joints, torques those of drives (12,)."""
    cell = cell_of(2, LINKAGE)
    system = cell.system
    path = ReferenceSettings(segments=(SegmentSettings(1.0, move=(0.0, 0.03, 0.0)),))
    law = free_space_law(system, path, cell.start[system.object_q])
    terms = Robot(system.model).constraint_terms
    motion = rolled_out(law, np.linspace(0.0, 1.0, 51), cell.start[system.q_index], terms)
    assert motion.failed_at is None
    assert motion.q.shape == motion.torque.shape == (51, 12)
    for at in motion.at[::10]:
        assert_allclose(terms(at, np.zeros(system.model.nv))[4], 0.0, atol=1e-9)
    far = ReferenceSettings(segments=(SegmentSettings(1.0, move=(0.0, 0.5, 0.0)),))
    law = free_space_law(system, far, cell.start[system.object_q])
    late = rolled_out(law, np.linspace(0.0, 1.0, 51), cell.start[system.q_index], terms)
    assert late.failed_at is not None
    assert late.gaps.max() > 1e-4


def fold_of(*changes):
    """Return a jointed law, its terms, and its motion."""
    law, start = folding(*changes)
    terms = Robot(law.system.model).constraint_terms
    times = path_times(law.reference.duration)
    rows = [law.reference.rows(times), law.reference.second.rows(times)]
    return law, start, rollout(law.system, terms, law.unlimited(start, terms), rows, times, start)


def test_the_motion_of_a_jointed_object_is_the_one_that_follows():
    """Positions and torques along the path, beside those of the simulated plant.

    Torques of the plant have friction in them, at most 0.5 N m a joint and 0.5 N m s/rad.
    """
    law, start, motion = fold_of()
    assert motion.failed_at is None
    run = simulate("fold", duration=0.9)
    for at, time in enumerate(motion.times[:70:23]):
        tick = law.ramp_ticks + round(time / law.period)
        assert_allclose(motion.q[23 * at], run.recording["joint_position"][tick], atol=0.02)
        assert_allclose(motion.torque[23 * at], run.recording["commanded_torque"][tick], atol=1.5)
    assert_allclose(motion.support[0], law.hold_support(start), atol=1e-6)


def test_pivots_of_both_laws_are_the_same():
    """The same arms with the same grasps at the same place: of parts as of a box."""
    _, start, motion = fold_of()
    box = make_law(load_scenario("lift_box")).start(start, 0.0 * start)
    assert_allclose(motion.pivot[0], box.scales[4], rtol=1e-6)


def test_where_an_arm_does_not_reach_a_part():
    """The rollout ends there, and reports the rest for each arm."""
    *_, motion = fold_of(
        "reference.segments=[{duration_s: 4.0, move: [0.0, 0.0, 2.0]}]", "reference.fold=[]"
    )
    assert motion.failed_at is not None
    assert 0.0 < motion.failed_at < 4.0
    assert len(motion.q) == len(motion.times) < 400
    assert motion.gaps[:, 0].max() > 1e-6
