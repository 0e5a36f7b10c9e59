# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Forces are felt as they are: at contacts, and on surfaces from Newton and Euler's equations."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from support.hybrid_step import bare_gains, estimate_of, inputs_of
from support.hybrid_systems import environment_of, state_of

from robot_dynamics.control.hybrid.state import ArmState, SystemState
from robot_dynamics.control.hybrid.surface_forces import (
    SurfaceForces,
    SurfaceSensing,
    measured_contact_forces,
)
from robot_dynamics.reproductions.yoshikawa_zheng.system_motion import system_motion
from robot_dynamics.robot import Robot

PUSH = [4.0, 7.0]


@pytest.fixture(scope="module")
def scene():
    """Three arms with soft fingers, two planes, and the effect of a torque."""
    state = state_of(3, "soft finger", 6, environment_of(2), np.random.default_rng(5))
    motion = system_motion(state.terms, np.random.default_rng(6).standard_normal(18))
    return state, motion


def instant_of(state, given):
    """Return arms, object and surfaces."""
    arms = ArmState.of(state.system.passive_joints, given.q, given.qd, given.parameters)
    return SystemState.of(state.system, given, arms, estimate_of(given, arms))


def test_contact_forces_are_those_that_wrench_sensors_measure(scene):
    """Sensors measure in the tools' frames, contacts push along their own directions."""
    state, motion = scene
    robot, R = Robot(state.system.arms), state.pose[:3, :3]
    wrenches, rest = [], motion.contact_forces
    for contact, tool in zip(state.system.contacts, state.system.tools, strict=True):
        own, rest = contact.directions @ rest[:4], rest[4:]
        turn = robot.pose(tool, state.q)[:3, :3].T @ R @ contact.pose[:3, :3]
        wrenches.append([*(turn @ own[:3]), *(turn @ own[3:])])
    given = inputs_of(state)
    now = instant_of(state, given)
    measured = measured_contact_forces(given.constants.points, now.object, now.arms.X0, wrenches)
    assert_allclose(measured, motion.contact_forces, atol=1e-8 * np.abs(measured).max())


def forces_on_surfaces(scene, *, wrenches, forces):
    """Return the measured or estimated forces on the surfaces."""
    state, motion = scene
    given = inputs_of(state, compared_contact=1.5)
    now = instant_of(state, given)
    R = state.pose[:3, :3]
    wrench = given.constants.W @ motion.contact_forces
    a = motion.object_acceleration
    sensing = SurfaceSensing(wrenches, forces, PUSH, wrench.tolist(), [0.0, 0.0], (0, 1))
    return SurfaceForces.of(
        sensing, now.E_F, now.terms, [*(R.T @ a[:3]), *(R.T @ a[3:])], now.constraint_acceleration,
        given.reference, given.memory, bare_gains(state.system, touch_within=0.1),
    )  # fmt: skip


def test_forces_on_surfaces_follow_from_the_contacts_where_none_are_measured(scene):
    """Those of the system equation, at an acceleration that is known; measured ones come first."""
    _, motion = scene
    size = np.abs(motion.contact_forces).max()
    estimated = forces_on_surfaces(scene, wrenches=1.0, forces=0.0)
    assert_allclose(estimated.forces, motion.surface_forces, atol=1e-8 * size)
    assert np.abs(motion.surface_forces).min() > 1e-3 * size
    for wrenches in (0.0, 1.0):
        measured = forces_on_surfaces(scene, wrenches=wrenches, forces=1.0)
        assert (measured.forces, measured.touched) == (PUSH, [1.0, 1.0])


def test_without_any_sensor_forces_are_taken_to_be_as_wanted(scene):
    """And surfaces stay touched."""
    blind = forces_on_surfaces(scene, wrenches=0.0, forces=0.0)
    assert (blind.forces, blind.touched) == ([1.5, 1.5], [1.0, 1.0])
