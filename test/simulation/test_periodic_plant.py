# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What plants of any engine share holds for an engine that does nothing but count."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from robot_dynamics.errors import ArgumentError
from robot_dynamics.simulation.faults import FaultSettings
from robot_dynamics.simulation.plant import Plant, drives_of
from robot_dynamics.simulation.scene import Scene
from robot_dynamics.simulation.settings import PlantSettings
from test.two_arms import two_arms

SYSTEM = two_arms()
NA = len(SYSTEM.joint_names)


class Counting(Plant):
    """An engine whose positions are the number of times it was run."""

    def __init__(self, **settings):
        super().__init__(Scene(SYSTEM), SYSTEM.model.neutral(), 0.002, PlantSettings(**settings))
        self.reset()

    def _begin(self):
        self.runs = []

    def _run(self, torque):
        self.runs.append(torque)

    def _state(self):
        return np.array([float(len(self.runs))]), np.zeros(0)

    def _sensed(self):
        return np.full(NA, float(len(self.runs))), np.zeros(NA), np.zeros((2, 6))

    def passive_joints(self):
        raise NotImplementedError

    def truth(self):
        raise NotImplementedError


def test_brakes_hold_until_the_first_command_acts():
    """With two periods of delay the engine stands still for two, then gets the first torque."""
    plant = Counting(command_delay_periods=2)
    seen = [plant.step(np.full(NA, float(tick))).q[0] for tick in range(4)]
    assert seen == [0.0, 0.0, 1.0, 2.0]
    assert_array_equal(plant.runs, [np.zeros(NA), np.ones(NA)])


def test_torques_are_limited_by_the_drives():
    """The engine never gets more than the effort limits; without limits it gets the command."""
    plant = Counting(command_delay_periods=0)
    plant.step(np.full(NA, -1e9))
    assert_array_equal(plant.runs[0], -SYSTEM.limits["effort"])
    free = Counting(command_delay_periods=0, torque_limit=False)
    free.step(np.full(NA, -1e6))
    assert_array_equal(free.runs[0], np.full(NA, -1e6))


def test_time_and_hash_follow_the_periods():
    """Time is a tick times the period; a reset begins ticks, states and their hash anew."""
    plant = Counting()
    hashes = []
    for _ in range(2):
        assert plant.reset().tick == 0
        seen = [plant.step(np.zeros(NA)) for _ in range(3)]
        assert [m.time for m in seen] == [0.002, 0.004, 0.006]
        hashes.append(plant.state_hash())
    assert hashes[0] == hashes[1]
    plant.step(np.zeros(NA))
    assert plant.state_hash() != hashes[0]


@pytest.mark.parametrize("torque", [np.full(NA, np.inf), np.zeros(NA - 1)])
def test_torques_that_are_none_are_refused(torque):
    """Before anything moves."""
    plant = Counting()
    with pytest.raises(ArgumentError):
        plant.step(torque)
    assert plant.runs == []


def test_drives_drop_out_of_torque_mode():
    """One arm gets no torque while it lasts; measurements go wrong in the same period."""
    faults = (
        FaultSettings("torque_dropout", 0.002, "right", 0.004),
        FaultSettings("position_nan", 0.004, "left", 0.002),
    )
    plant = Counting(command_delay_periods=0, faults=faults)
    left, right = SYSTEM.arm_slices
    for _ in range(2):
        seen = [plant.step(np.ones(NA)) for _ in range(4)]
        torques = np.array(plant.runs)
        assert (torques[:, left] == 1.0).all()
        assert torques[:, right.start].tolist() == [1.0, 0.0, 0.0, 1.0]
        assert [bool(np.isnan(m.q[left.start])) for m in seen] == [False, True, False, False]
        plant.reset()


def test_friction_scales():
    """The drives have the friction of the descriptions, scaled."""
    plain = drives_of(SYSTEM, PlantSettings())
    half = drives_of(SYSTEM, PlantSettings(friction_scale=0.5, damping_scale=0.25))
    assert_array_equal(half.friction, 0.5 * plain.friction)
    assert_array_equal(half.damping, 0.25 * plain.damping)
