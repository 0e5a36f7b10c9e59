# Copyright 2026 The robot_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Weight of the tools that wrist sensors carry besides what the arms exert on the object."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from robot_dynamics.manipulation.system import GraspSystem
from robot_dynamics.robot import Robot

Array = NDArray[np.float64]


class ToolWeights:
    """What wrist sensors measure of the weight of their tools.

    With a tool of mass m and centre c in its link's frame, at rest the arm exerts on it the force
    f = -R^T m g and the moment c x f; R are the axes of that link in the world.

    Attributes:
        any: Whether a sensor carries a tool of stated mass.

    Args:
        system: Arms and object.
    """

    def __init__(self, system: GraspSystem) -> None:
        self._system = system
        self._carried = [
            (i, arm.tool, arm.sensor_tool_mass, np.array(arm.sensor_tool_center))
            for i, arm in enumerate(system.arms)
            if arm.sensor_tool_mass > 0.0
        ]
        self.any = bool(self._carried)
        self._gravity = np.array(system.model.gravity, dtype=float)
        if self.any:
            self._pose = Robot(system.model).pose
            self.wrenches(system.posture)  # compiled before arms move

    def wrenches(self, q: Array) -> Array:
        """Return the wrenches (k, 6) by the arms on their tools, in tool frames [N m, N].

        Args:
            q: Positions of the arm joints (na,).
        """
        found = np.zeros((len(self._system.arms), 6))
        if not self.any:
            return found
        at = self._system.positions(q)
        for i, tool, mass, center in self._carried:
            force = -mass * self._pose(tool, at)[:3, :3].T @ self._gravity
            found[i] = [*np.cross(center, force), *force]
        return found
