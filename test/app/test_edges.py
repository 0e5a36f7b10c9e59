# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The safety layer does no harm where the model of the payload is wrong."""

from __future__ import annotations

import numpy as np
import pytest

from robot_dynamics.app.run import simulate
from robot_dynamics.app.scenario import build_system, load_scenario


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
