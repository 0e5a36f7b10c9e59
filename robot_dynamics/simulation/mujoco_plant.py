# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The plant that MuJoCo moves."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from robot_dynamics.simulation.mujoco_engine import MujocoEngine
from robot_dynamics.simulation.plant import ScenePlant
from robot_dynamics.simulation.scene import Scene
from robot_dynamics.simulation.settings import PlantSettings

Array = NDArray[np.float64]


class MujocoPlant(ScenePlant):
    """Arms, object and their contacts, moved by MuJoCo; see `MujocoEngine`.

    Args:
        scene: Arms, object and their contacts, with their true properties.
        start: Positions (nq,) of the start, grasps closed.
        period: Control period [s].
        settings: Step (`mujoco_step_s`), delay, friction, sensors.

    Raises:
        RobotDynamicsError: If MuJoCo is not installed, or something in the scene is not
            translated for it.
        ArgumentError: If the control period is no whole number of steps.
    """

    def __init__(self, scene: Scene, start: Array, period: float, settings: PlantSettings) -> None:
        super().__init__(scene, start, period, settings, MujocoEngine)
