# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Lockstep does not depend on the machine: the same bits, however busy it is."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

from robot_dynamics.app.runs.demo import demonstrate
from robot_dynamics.app.runs.run import simulate
from robot_dynamics.app.scenarios.scenario import load_scenario

HEAVY = ["plant.object_mass_scale=1.2", "control.payload=adapt"]
CHANGES = [
    "plant.sensors={position: 1e-5, velocity: 1e-3, force: 0.2, moment: 0.01, encoder_step: 1e-5}",
    "plant.sensors.wrench_delay_periods=2",
    "plant.sensors.sample_periods={right: 2}",
    # A moment without torque; an arm whose numbers come back; one that is left to its drive.
    "plant.faults=[{kind: drive_gain, value: 0.0, arm: left, time_s: 0.25, duration_s: 0.004}, "
    "{kind: position_nan, arm: right, time_s: 0.3, duration_s: 0.1}, "
    "{kind: position_nan, arm: left, time_s: 0.5, duration_s: 0.3}]",
]


@pytest.mark.slow
@pytest.mark.parametrize(
    "changes", [HEAVY, CHANGES], ids=["estimated payload", "real sensors and a fault"]
)
def test_a_run_on_a_busy_machine_is_equal_to_the_last_bit(changes):
    """On topics while every core is busy, as without ROS; test_demo has it without the load."""
    pytest.importorskip("rclpy", reason="ROS 2 is not installed")
    scenario = load_scenario("lift_box", changes)
    alone = simulate(scenario, duration=1.0).recording
    busy = [sys.executable, "-c", "while True: pass"]
    loops = [subprocess.Popen(busy) for _ in range(os.cpu_count() or 2)]
    try:
        recording = demonstrate(scenario, duration=1.0).recording
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()
    assert recording.get("plant_state_hash") == alone.get("plant_state_hash")
    assert np.array_equal(recording["commanded_torque"], alone["commanded_torque"])
