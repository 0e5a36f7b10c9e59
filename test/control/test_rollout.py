# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The rolled-out motion against the motion that the controlled plant makes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from two_arms import BOX, two_arms

from robot_dynamics.control.coordinated import CoordinatedController
from robot_dynamics.control.reference import plan_reference
from robot_dynamics.control.rollout import rollout
from robot_dynamics.control.settings import (
    ControlSettings,
    ForceStepSettings,
    ReferenceSettings,
    SafetySettings,
    SegmentSettings,
    TurnSettings,
)
from robot_dynamics.manipulation.assembly import closed_configuration
from robot_dynamics.robot import Robot
from robot_dynamics.simulation.engine_plant import EnginePlant
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


def controller(path=PATH) -> CoordinatedController:
    """Return a controller of the two arms with a reference."""
    reference = plan_reference(path, BOX)
    return CoordinatedController(SYSTEM, ControlSettings(), SafetySettings(), reference)


def test_the_rollout_is_what_the_plant_does():
    """Joints, self-motion included, and torques are those of a simulated run."""
    control = controller()
    plant = EnginePlant(Scene(SYSTEM), START, control.period, PlantSettings())
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
    motion = rollout(control, TERMS, HELD, times)
    # Steps of 20 ms against the posture's 1 / (10 rad/s) leave some percent of the self-motion,
    # which is of the size of 0.1 rad here.
    np.testing.assert_allclose(motion.q, np.array(q)[at], atol=5e-3)
    # The run looks one and a half periods ahead and corrects its errors.
    np.testing.assert_allclose(motion.torque, np.array(torque)[at], atol=1.0)


def test_the_rollout_keeps_the_grasps_closed_and_converges():
    """Positions and velocities satisfy the loops; half the spacing changes little."""
    control = controller()
    times = np.arange(0.0, 1.6, 0.02)
    coarse = rollout(control, TERMS, HELD, times)
    fine = rollout(control, TERMS, HELD, np.arange(0.0, 1.59, 0.01))
    np.testing.assert_allclose(coarse.q, fine.q[::2], atol=2e-3)
    rows = control.reference.rows(times)
    for i in range(0, len(times), 10):
        q = SYSTEM.model.neutral()
        q[SYSTEM.object_q], q[SYSTEM.q_index] = rows[i, :7], coarse.q[i]
        assert np.max(np.abs(TERMS(q, np.zeros(SYSTEM.model.nv))[4])) < 1e-9
    slope = (fine.q[2:] - fine.q[:-2]) / 0.02
    # central differences over 20 ms err by h^2 / 6 of the third derivative
    np.testing.assert_allclose(fine.qd[1:-1], slope, atol=0.02)
    assert coarse.failed_at is None


def test_the_controller_is_not_changed():
    """A rollout leaves gains and memory alone."""
    control = controller()
    control.start(HELD, np.zeros(14))
    gains = replace(control.gains)
    rollout(control, TERMS, HELD, np.arange(0.0, 0.1, 0.02))
    assert control.gains.pack().tobytes() == gains.pack().tobytes()


def test_a_path_out_of_reach_ends_where_it_cannot_go_on():
    """Time and gaps say where; what came before is there."""
    away = ReferenceSettings(segments=(SegmentSettings(1.0, move=(0.8, 0.0, 0.0)),))
    motion = rollout(controller(away), TERMS, HELD, np.arange(0.0, 1.01, 0.02))
    assert 0.3 < motion.failed_at < 0.8
    assert len(motion.q) == len(motion.torque) == round(motion.failed_at / 0.02)
    assert motion.gaps.max() > 1e-4
    assert motion.pivot[-1] == pytest.approx(0.0, abs=0.01)
