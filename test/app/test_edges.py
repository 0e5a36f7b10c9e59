# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The safety layer does no harm where the model of the payload is wrong."""

from __future__ import annotations

import numpy as np
import pytest

from robot_dynamics.app.run import simulate
from robot_dynamics.app.scenario import build_system, load_scenario
from robot_dynamics.errors import RobotDynamicsError


@pytest.mark.parametrize(("name", "weight"), [("lift_box", 98.1), ("lift_box_panda", 29.4)])
@pytest.mark.parametrize("offset", [0.05, 0.1])
@pytest.mark.parametrize("engine", ["engine", "mujoco"])
def test_a_box_whose_centre_is_off_is_held(name, weight, offset, engine):
    """Control masters it, or stops and holds: no joint runs away, and the box stays up."""
    push = f"plant.pushes=[{{moment: [0, {offset * weight}, 0]}}]"
    scenario = load_scenario(name, [push])
    run = simulate(scenario, plant=engine, duration=0.6)
    speed = np.abs(run.recording.columns["joint_velocity"])
    assert (speed < build_system(scenario).limits["velocity"]).all()
    height = run.recording.columns["object_pose"][:, 2]
    assert height.min() > height[0] - 0.03


@pytest.mark.parametrize("scale", [0.5, 2.0])
def test_a_box_of_another_weight_is_held_after_a_stop(scale):
    """The fallback finds the weight that the description does not have."""
    run = simulate(load_scenario("lift_box", [f"plant.object_mass_scale={scale}"]), duration=1.2)
    pose = run.recording.columns["object_pose"]
    assert any("stopped" in sentence for sentence in run.report["failures"])
    assert np.abs(pose[:, 2] - pose[0, 2]).max() < 0.03
    assert np.abs(run.recording.columns["joint_velocity"][-1]).max() < 0.02


_SIGN, _STILL = "its sign seems to be wrong", "it seems to stand still"
_DEGREES, _STALE = "it seems to be in degrees", "not stale data under new time stamps"


@pytest.mark.parametrize("arm", ["left", ""])
@pytest.mark.parametrize(
    ("kind", "time", "why"),
    [
        ("velocity_sign", 0.0, _SIGN),
        ("velocity_sign", 0.5, _SIGN),
        ("velocity_degrees", 0.0, f"{_DEGREES} per second"),
        ("velocity_degrees", 0.5, f"{_DEGREES} per second"),
        ("velocity_zero", 0.0, _STILL),
        ("velocity_zero", 0.5, _STILL),
        ("late_joints", 0.0, _STALE),
        ("late_joints", 0.5, "stale, repeated or false data"),
        ("stuck_sensors", 0.0, _STALE),
        ("stuck_sensors", 0.5, _STALE),
        ("position_degrees", 0.5, _DEGREES),
        ("position_jump", 0.5, "stale, repeated or false data"),
        ("swapped_joints", 0.5, "names seem swapped"),
    ],
)
def test_false_joint_data_stop_control_with_their_cause(kind, time, why, arm):
    """Of one arm or of both; the object stays where it is until the drives take over."""
    fault = f"plant.faults=[{{kind: {kind}, time_s: {time}, arm: '{arm}'}}]"
    run = simulate(load_scenario("lift_box", [fault]), duration=time + 0.8)
    stopped = [text for text in run.report["failures"] if "controller stopped" in text]
    assert len(stopped) == 1
    assert why in stopped[0]
    columns = run.recording.columns
    times, pose = columns["time"], columns["object_pose"]
    at = np.searchsorted(times, float(stopped[0].split(" at ")[1].split()[0]))
    # One arm alone brakes both; if both are false, their drives do after 0.05 s.
    end = len(times) if arm else at + 25
    assert np.linalg.norm(pose[at:end, :3] - pose[at, :3], axis=1).max() < 0.03
    speed = np.abs(np.diff(pose[:end, :3], axis=0)).max() / (times[1] - times[0])
    assert speed < 0.5


@pytest.mark.parametrize("kind", ["swapped_joints", "position_degrees", "position_jump"])
def test_no_start_with_false_positions(kind):
    """Limits and grasps show them while the arms stand still."""
    with pytest.raises(RobotDynamicsError, match="start refused"):
        simulate("lift_box", overrides=[f"plant.faults=[{{kind: {kind}}}]"], duration=0.1)
