# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The plant that our own dynamics moves."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from robot_dynamics.simulation.contact.contact_engine import ContactEngine
from robot_dynamics.simulation.engine import SceneEngine, SimulationError
from robot_dynamics.simulation.plant import ScenePlant
from robot_dynamics.simulation.rigid_motion import RigidMotion
from robot_dynamics.simulation.scene import Scene
from robot_dynamics.simulation.settings import PlantSettings

__all__ = ["EnginePlant", "SimulationError"]

Array = NDArray[np.float64]


class EnginePlant(ScenePlant):
    """Arms, object and their contacts, moved by our own dynamics.

    The scene decides how. If all grasps are rigid and nothing can be touched, the closed-loop
    equations are integrated by one kernel call a step (`RigidMotion`). Contacts that slip or open,
    surfaces and environment joints need time stepping with impulses (`ContactEngine`).

    Args:
        scene: Arms, object and their contacts, with their true properties.
        start: Positions (nq,) of the start, grasps closed.
        period: Control period [s].
        settings: Step, delay, friction, sensors.

    Raises:
        ArgumentError: If the settings do not fit the scene; see the engines.
    """

    def __init__(self, scene: Scene, start: Array, period: float, settings: PlantSettings) -> None:
        super().__init__(
            scene, start, period, settings, RigidMotion if scene.rigid else ContactEngine
        )

    @property
    def motion(self) -> SceneEngine:
        """The engine, by its former name."""
        return self.engine
