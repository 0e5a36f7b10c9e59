# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Settings of the simulated plant."""

import pytest

from robot_dynamics.description.diagnosis import DescriptionError
from robot_dynamics.description.yaml_document import decode, parse_yaml
from robot_dynamics.errors import ArgumentError
from robot_dynamics.manipulation.settings import PoseSettings
from robot_dynamics.simulation.settings import PlantSettings, SensorSettings


def test_defaults_are_what_is_believed():
    """Without any key the plant is the cell: nothing differs but one period of command delay."""
    plant = decode(PlantSettings, parse_yaml("{}"))
    assert plant == PlantSettings()
    assert plant.object_mass_scale == plant.damping_scale == plant.friction_scale == 1.0
    assert plant.grasp_error == {}
    assert plant.sensors == SensorSettings(0.0, 0.0, 0.0, 0.0)
    assert plant.command_delay_periods == 1


def test_differences_are_read():
    """A wrong payload and a wrong grasp are stated in the file."""
    text = "{engine: mujoco, object_mass_scale: 1.2, grasp_error: {left: {xyz: [0.002, 0, 0]}}}"
    plant = decode(PlantSettings, parse_yaml(text))
    assert plant.engine == "mujoco"
    assert plant.object_mass_scale == 1.2
    assert plant.grasp_error == {"left": PoseSettings((0.002, 0.0, 0.0))}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("engine: mujuco", "did you mean 'mujoco'"),
        ("step_s: 0", "at least 1e-06 s, not 0"),
        ("object_mass_scale: -1", "more than 0"),
        ("command_delay_periods: 0.5", "a whole number"),
        ("object_mas_scale: 1.2", "did you mean 'object_mass_scale'"),
    ],
)
def test_nonsense_is_refused(text, message):
    """Values that cannot be meant are refused with the expected ones."""
    with pytest.raises(DescriptionError, match=message):
        decode(PlantSettings, parse_yaml(text))


@pytest.mark.parametrize(("period", "step"), [(0.002, 0.003), (0.002, 0.0015), (0.002, 0.0007)])
def test_periods_are_whole_numbers_of_steps(period, step):
    """Anything else is refused with both lengths."""
    with pytest.raises(ArgumentError, match=r"plant\.step_s .* whole number"):
        PlantSettings(step_s=step).steps("step_s", period)


def test_steps():
    """Rounding of decimal fractions is no reason to refuse."""
    assert PlantSettings(step_s=0.002).steps("step_s", 0.002) == 1
    assert PlantSettings(step_s=0.0001).steps("step_s", 0.01) == 100
    assert PlantSettings(step_s=0.001).steps("step_s", 1 / 500) == 2


@pytest.mark.parametrize(
    ("rate", "own", "mujoco"),
    [(500, 1, 10), (1000, 1, 5), (400, 2, 13), (333, 2, 16), (100, 5, 50)],
)
def test_steps_that_are_not_stated(rate, own, mujoco):
    """They are the longest that divide the control period and are not above 2 ms and 0.2 ms."""
    assert PlantSettings().steps("step_s", 1 / rate) == own
    assert PlantSettings().steps("mujoco_step_s", 1 / rate) == mujoco
