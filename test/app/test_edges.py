# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The safety layer does no harm where the model of the payload is wrong."""

from __future__ import annotations

import numpy as np
import pytest

from robot_dynamics.app.run import simulate
from robot_dynamics.app.scenario import load_scenario


@pytest.mark.parametrize("name", ["lift_box", "lift_box_panda", "lift_box_xarm7"])
@pytest.mark.parametrize("moment", [4.9, 9.8])
def test_a_stopped_start_holds_a_box_whose_centre_is_off(name, moment):
    """A centre of mass 5 or 10 cm off at 10 kg: no joint runs away, and the box stays up."""
    scenario = load_scenario(name, [f"plant.pushes=[{{moment: [0, {moment}, 0]}}]"])
    columns = simulate(scenario, duration=0.8).recording.columns
    assert np.abs(columns["joint_velocity"]).max() < 2.6
    height = columns["object_pose"][:, 2]
    assert height.min() > height[0] - 0.03
    assert np.abs(columns["joint_velocity"][-1]).max() < 0.15
